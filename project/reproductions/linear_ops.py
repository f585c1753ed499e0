"""mylinearops: the matrix product and the linear layer as custom functions, with checked gradients and a fair timing against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import minitorch
from minitorch import FastBackend, Function, float32, grad_check, tensor
from minitorch.nn import Linear, ReLU, Sequential, cross_entropy
from project.reproductions.results import Row, at_most, equal, measured, not_run, reproduction

SOURCE = "mylinearops"
SIZES, BATCH, STEPS, RATE, MOMENTUM = (784, 256, 256, 10), 128, 60, 0.01, 0.9


class MatMul(Function):
    """a @ b, with gradients derived by hand."""

    @staticmethod
    def forward(ctx: Any, a: minitorch.Tensor, b: minitorch.Tensor) -> minitorch.Tensor:
        """Return a @ b."""
        ctx.save_for_backward(a, b)
        return a.f.matrix_multiply(a, b)

    @staticmethod
    def backward(ctx: Any, grad_output: minitorch.Tensor) -> tuple[Any, Any]:
        """Return the gradients with respect to a and b."""
        a, b = ctx.saved_values
        by_a, by_b = ctx.needs_input_grad
        return grad_output @ b.permute(1, 0) if by_a else None, a.permute(1, 0) @ grad_output if by_b else None


class LinearFunction(Function):
    """x @ weight.t() + bias, with gradients derived by hand."""

    @staticmethod
    def forward(ctx: Any, x: minitorch.Tensor, weight: minitorch.Tensor, bias: minitorch.Tensor | None) -> minitorch.Tensor:
        """Return x @ weight.t() + bias."""
        ctx.save_for_backward(x, weight)
        out = x @ weight.permute(1, 0)
        return out if bias is None else out + bias

    @staticmethod
    def backward(ctx: Any, grad_output: minitorch.Tensor) -> tuple[Any, Any, Any]:
        """Return the gradients with respect to x, weight and bias."""
        x, weight = ctx.saved_values
        by_x, by_weight, by_bias = ctx.needs_input_grad
        return (
            grad_output @ weight if by_x else None,
            grad_output.permute(1, 0) @ x if by_weight else None,
            grad_output.sum(0, keepdim=False) if by_bias else None,
        )


@reproduction("mylinearops", f"{SOURCE}: gradients by hand, a product of 4098, MLP on MNIST in 23.47 s, PyTorch's in 26.59 s (unfair)")
def linear_ops() -> Iterator[Row]:
    """Gradients checked in float64, a product of a size that no tile divides, and training steps compared with PyTorch's."""
    rng = np.random.default_rng(0)
    a, b, x, weight, bias = (tensor(rng.standard_normal(shape), FastBackend) for shape in ((3, 4), (4, 2), (5, 3), (2, 3), (2,)))
    checks: list[tuple[str, Callable[[], None]]] = [
        ("gradients of the product", lambda: grad_check(MatMul.apply, a, b)),
        ("gradients of the layer", lambda: grad_check(LinearFunction.apply, x, weight, bias)),
        ("gradients without a bias", lambda: grad_check(lambda x, weight: LinearFunction.apply(x, weight, None), x, weight)),
    ]
    for what, check in checks:
        yield equal(what, "right", _checked(check))
    size = 4098
    left, right = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    ours = (tensor(left, FastBackend) @ tensor(right, FastBackend)).to_numpy()
    apart = float(np.abs(ours - left @ right).max() / np.abs(ours).max())
    yield at_most(f"product of size {size}, difference from NumPy's", "right", apart, 1e-5)
    if find_spec("torch") is None:
        yield not_run("training time relative to PyTorch's", "0.88", "PyTorch is not installed: pip install -r requirements.torch.txt")
        return
    first, second = _race(("ours", "theirs")), _race(("theirs", "ours"))
    times = {name: median([*first[name], *second[name]]) for name in first}
    yield measured("time of a step relative to PyTorch's", "0.88", f"{times['ours'] / times['theirs']:.2f} ({1e3 * times['ours']:.2f} ms)")


def _checked(check: Callable[[], None]) -> str:
    """Run a gradient check and return its result as text."""
    try:
        check()
    except AssertionError as error:
        return str(error)
    return "right"


def _race(order: tuple[str, str]) -> dict[str, list[float]]:
    """Measure the steps of both libraries, in this order, with the same weights and batches. Return the seconds of each step."""
    rng = np.random.default_rng(1)
    bounds = [1 / np.sqrt(n) for n in SIZES]
    weights = [rng.uniform(-s, s, (m, n)).astype(np.float32) for n, m, s in zip(SIZES, SIZES[1:], bounds, strict=False)]
    images, labels = rng.random((BATCH, SIZES[0]), np.float32), rng.integers(0, SIZES[-1], BATCH)
    steps = {"ours": _our_step, "theirs": _their_step}
    found = {}
    for name in order:
        step = steps[name](weights, images, labels)
        step()  # compiles the kernels if necessary
        times = []
        for _ in range(STEPS):
            start = perf_counter()
            step()
            times.append(perf_counter() - start)
        found[name] = times
    return found


def _our_step(weights: list[np.ndarray], images: np.ndarray, labels: np.ndarray) -> Callable[[], None]:
    """Return a function that takes a training step with MiniTorch."""
    layers: list[Any] = []
    for w in weights:
        layers += [Linear(w.shape[1], w.shape[0]), ReLU()]
        layers[-2].weight.update(tensor(w))
    model = Sequential(*layers[:-1]).to("cpu", float32)
    optimizer = minitorch.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    x, y = tensor(images, FastBackend), tensor(labels, FastBackend)

    def step() -> None:
        loss = cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _their_step(weights: list[np.ndarray], images: np.ndarray, labels: np.ndarray) -> Callable[[], None]:
    """Return a function that takes the same training step with PyTorch."""
    import torch  # type: ignore[import-not-found]

    layers: list[Any] = []
    for w in weights:
        layers += [torch.nn.Linear(w.shape[1], w.shape[0]), torch.nn.ReLU()]
        with torch.no_grad():
            layers[-2].weight.copy_(torch.from_numpy(w))
            layers[-2].bias.zero_()
    model = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step
