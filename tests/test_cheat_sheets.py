"""The cheat sheets of the book: each backward formula against the library, each idiom against PyTorch."""

import re

import numpy as np
import pytest

import minitorch
from course.manifest import ROOT

PAGE = (ROOT / "docs" / "cheat_sheets.md").read_text(encoding="utf-8")
RNG = np.random.default_rng(0)
A, B = RNG.uniform(0.5, 2, (2, 3)), RNG.uniform(0.5, 2, (2, 3))
SIGNED = A * [[1, -1, 1], [-1, 1, 0]]
TIED = np.array([[1.0, 2.0, 2.0], [3.0, 1.0, 0.5]])
IMAGE = RNG.normal(size=(1, 1, 4, 4))


def windows(values):
    """Each value repeated over a window of 2 × 2."""
    return np.repeat(np.repeat(values, 2, 2), 2, 3)


def conv_gradients(a, w, y, g):
    """The two sums of the formula of Conv, term by term."""
    a, w, g = a.ravel(), w.ravel(), g.ravel()
    n, size = len(a), len(w)
    grad_a = [sum(g[t - k] * w[k] for k in range(size) if 0 <= t - k < n) for t in range(n)]
    grad_w = [sum(g[t] * a[t + k] for t in range(n) if t + k < n) for k in range(size)]
    return np.reshape(grad_a, (1, 1, n)), np.reshape(grad_w, (1, 1, size))


def convolve(a, w):
    return minitorch.conv1d(a.to("cpu"), w.to("cpu")).to("simple")


def drop_half(a):
    """Dropout of ones, so that its result is the mask."""
    minitorch.manual_seed(0)
    return minitorch.dropout(a, 0.5)


FORMULAS = {
    "Add": (lambda a, b: a + b, lambda a, b, y, g: (g, g), A, B),
    "Neg": (lambda a: -a, lambda a, y, g: -g, A),
    "Sub": (lambda a, b: a - b, lambda a, b, y, g: (g, -g), A, B),
    "Mul": (lambda a, b: a * b, lambda a, b, y, g: (g * b, g * a), A, B),
    "Inv": (lambda a: 1 / a, lambda a, y, g: -g / a**2, A),
    "Div": (lambda a, b: a / b, lambda a, b, y, g: (g / b, -g * a / b**2), A, B),
    "Log": (lambda a: a.log(), lambda a, y, g: g / (a + 1e-6), A),
    "Exp": (lambda a: a.exp(), lambda a, y, g: g * y, A),
    "Sigmoid": (lambda a: a.sigmoid(), lambda a, y, g: g * y * (1 - y), SIGNED),
    "ReLU": (lambda a: a.relu(), lambda a, y, g: np.where(a > 0, g, 0), SIGNED),
    "Tanh": (lambda a: a.tanh(), lambda a, y, g: g * (1 - y**2), SIGNED),
    "Sqrt": (lambda a: a.sqrt(), lambda a, y, g: g / (2 * y), A),
    "Sin": (lambda a: a.sin(), lambda a, y, g: g * np.cos(a), SIGNED),
    "Cos": (lambda a: a.cos(), lambda a, y, g: -g * np.sin(a), SIGNED),
    "Abs": (lambda a: a.abs(), lambda a, y, g: np.where(a > 0, g, np.where(a < 0, -g, 0)), SIGNED),
    "Pow": (lambda a, b: a**b, lambda a, b, y, g: (g * b * a ** (b - 1), g * y * np.log(a)), A, B),
    "LT": (lambda a, b: (a < b) * 1.0 + 0 * a, lambda a, b, y, g: (0, 0), A, B),
    "EQ": (lambda a, b: (a == b) * 1.0 + 0 * a, lambda a, b, y, g: (0, 0), A, B),
    "Sum": (lambda a: a.sum(1), lambda a, y, g: np.broadcast_to(g, a.shape), A),
    "Mean": (lambda a: a.mean(1), lambda a, y, g: np.broadcast_to(g / 3, a.shape), A),
    "Max": (lambda a: minitorch.max(a, 1), lambda a, y, g: np.where(a == y, g, 0), TIED),
    "Permute": (lambda a: a.permute(1, 0), lambda a, y, g: g.T, A),
    "View": (lambda a: a.view(3, 2), lambda a, y, g: g.reshape(a.shape), A),
    "Copy": (lambda a: a.clone(), lambda a, y, g: g, A),
    "Expand": (lambda a: a.expand(4, 3), lambda a, y, g: g.sum(0, keepdims=True), A[:1]),
    "MatMul": (lambda a, b: a @ b, lambda a, b, y, g: (g @ b.T, a.T @ g), A, B.T.copy()),
    "Softmax": (lambda a: minitorch.softmax(a, 1), lambda a, y, g: y * (g - (g * y).sum(1, keepdims=True)), A),
    "LogSoftmax": (lambda a: minitorch.logsoftmax(a, 1), lambda a, y, g: g - np.exp(y) * g.sum(1, keepdims=True), A),
    "Dropout": (drop_half, lambda a, y, g: g * y, np.ones((2, 3))),
    "AvgPool": (lambda a: minitorch.avgpool2d(a, (2, 2)), lambda a, y, g: windows(g / 4), IMAGE),
    "MaxPool": (lambda a: minitorch.maxpool2d(a, (2, 2)), lambda a, y, g: np.where(a == windows(y), windows(g), 0), IMAGE),
    "Conv": (convolve, conv_gradients, RNG.normal(size=(1, 1, 6)), RNG.normal(size=(1, 1, 3))),
}
"""For every row of the table: the function, the formula for its gradients from inputs, output and g, and the inputs."""


def test_every_formula_of_the_table_is_checked() -> None:
    table = PAGE.partition("\n| Function | Forward | Backward |\n")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\w+) \|", table, re.MULTILINE) == list(FORMULAS)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_backward_formula_is_what_the_library_computes(name) -> None:
    function, formula, *arrays = FORMULAS[name]
    inputs = [minitorch.tensor(array, requires_grad=True) for array in arrays]
    y = function(*inputs)
    g = np.random.default_rng(1).normal(size=y.shape)
    y.backward(minitorch.tensor(g))
    expected = formula(*arrays, y.to_numpy(), g)
    for x, gradient in zip(inputs, expected if isinstance(expected, tuple) else (expected,), strict=True):
        got = np.zeros(x.shape) if x.grad is None else x.grad.to_numpy()
        assert np.shape(gradient) in ((), x.shape)
        np.testing.assert_allclose(got, np.broadcast_to(gradient, x.shape), rtol=1e-9, atol=1e-12)


def test_the_idioms_of_the_cheat_sheets_work_in_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    source = re.findall(r"^IDIOMS = \[.*?^\}$", PAGE, re.MULTILINE | re.DOTALL)[0]  # IDIOMS and ARRAYS
    names: dict = {"np": np}
    exec(source, names)
    assert len(names["IDIOMS"]) >= 40
    tensors = {name: torch.from_numpy(array) for name, array in names["ARRAYS"].items()} | {"array": names["ARRAYS"]["array"]}
    for numpy_code, _, torch_code in names["IDIOMS"]:
        expected = eval(numpy_code, {"np": np, **names["ARRAYS"]})
        got = eval(torch_code, {"torch": torch, **tensors})
        if isinstance(expected, np.dtype):
            assert str(got) == f"torch.{expected}"
        else:
            assert np.shape(got) == np.shape(expected), torch_code
            np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6, err_msg=torch_code)
