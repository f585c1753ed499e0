"""Gradients of extremes, medians and scatter_reduce where elements are NaN, equal or 0: the same as PyTorch's."""

from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours

inf, nan = float("inf"), float("nan")

CALLS = {
    "x.amax()": [nan, [[nan, nan, nan, nan], [nan, nan, nan, nan]]],
    "x.amax(1)": [[nan, 2], [[nan, nan, nan, nan], [0.6666667, 0.6666667, 0, 0.6666667]]],
    "x.amin(0)": [[1, nan, 0, nan], [[1, nan, 0, nan], [0, nan, 3, nan]]],
    "x.amin(1, keepdim=True)": [[[nan], [0]], [[nan, nan, nan, nan], [0, 0, 2, 0]]],
    "torch.aminmax(x).max": [nan, [[nan, nan, nan, nan], [nan, nan, nan, nan]]],
    "torch.aminmax(x, dim=1).min": [[nan, 0], [[nan, nan, nan, nan], [0, 0, 2, 0]]],
    "x.max()": [nan, [[0, 0.5, 0, 0.5], [0, 0, 0, 0]]],
    "x.min()": [nan, [[0, 0.5, 0, 0.5], [0, 0, 0, 0]]],
    "x.max(1).values": [[nan, 2], [[0, 1, 0, 0], [2, 0, 0, 0]]],
    "x.min(0).values": [[1, nan, 0, nan], [[1, 2, 0, 4], [0, 0, 3, 0]]],
    "x.cummax(1).values": [[[1, nan, nan, nan], [2, 2, 2, 2]], [[1, 5, 0, 4], [5, 13, 0, 8]]],
    "x.cummin(0).values": [[[1, nan, 3, nan], [1, nan, 0, nan]], [[6, 8, 3, 12], [0, 0, 7, 0]]],
    "x.median()": [nan, [[0, 0.5, 0, 0.5], [0, 0, 0, 0]]],
    "x.median(1).values": [[nan, 2], [[0, 1, 0, 0], [2, 0, 0, 0]]],
    "x[1].median()": [2, [[0, 0, 0, 0], [0.3333333, 0.3333333, 0, 0.3333333]]],
    "x.nanmedian()": [2, [[0, 0, 0, 0], [0.3333333, 0.3333333, 0, 0.3333333]]],
    "x.nanmedian(1).values": [[1, 2], [[1, 0, 0, 0], [2, 0, 0, 0]]],
    "x.norm(inf)": [nan, [[0, 0, 0, 0], [0, 0, 0, 0]]],
    "x.norm(-inf, 1)": [[nan, 0], [[0, 0, 0, 0], [0, 0, 0, 0]]],
    "torch.maximum(x, x.flip(1))": [[[nan, nan, nan, nan], [2, 2, 2, 2]], [[5, 5, 5, 5], [6.5, 13, 0, 6.5]]],
    "torch.copysign(x, -x)": [[[-1, nan, -3, nan], [-2, -2, -0, -2]], [[-1, nan, -3, nan], [-5, -6, 0, -8]]],
    "torch.xlogy(y, y.abs() + 0.5)": [
        [0, -1.832581, 3.758289, 0, 8.52374, nan],
        [-0.6931472, 3.432581, 6.329717, -2.772589, 13.0692, nan]],
    "torch.xlogy(y * 0, v[:6])": [[0, 0, 0, 0, 0, nan], [0, 0, 0, 0, 0, nan], [nan, -0, 0, nan, 0, nan, 0, 0, 0]],
    'y.scatter_reduce(0, i, v, "sum")': [[0, 2, 6, 0, 17, nan], [1, 2, 3, 4, 5, 6], [1, 2, 2, 3, 3, 4, 5, 6, 5]],
    'y.scatter_reduce(0, i, v, "sum", include_self=False)': [[0, 4, 3, 0, 12, 3], [0, 0, 0, 0, 0, 0], [1, 2, 2, 3, 3, 4, 5, 6, 5]],
    'y.scatter_reduce(0, i, v, "mean")': [
        [0, 0.6666667, 2, 0, 5.666667, nan],
        [0.5, 0.6666667, 1, 2, 1.666667, 3],
        [0.5, 0.6666667, 0.6666667, 1, 1, 2, 1.666667, 3, 1.666667]],
    'y.scatter_reduce(0, i, v, "mean", include_self=False)': [
        [0, 2, 1.5, 0, 6, 3],
        [0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1.5, 1.5, 4, 2.5, 6, 2.5]],
    'y.scatter_reduce(0, i, v, "prod")': [[0, -8, 0, 0, 175, nan], [0, 8, 0, 0, 175, nan], [0, -8, -8, 27, 0, 0, 125, nan, 175]],
    'y.scatter_reduce(0, i, v, "prod", include_self=False)': [[0, 4, 0, 0, 35, 3], [0, 0, 0, 0, 0, 0], [1, 4, 4, 9, 0, 4, 25, 6, 35]],
    'y.scatter_reduce(0, i, v, "amax")': [[0, 2, 3, 0, 7, nan], [0.5, 0, 1.5, 2, 0, nan], [0.5, 1, 1, 0, 1.5, 2, 5, nan, 0]],
    'y.scatter_reduce(0, i, v, "amax", include_self=False)': [[0, 2, 3, 0, 7, 3], [0, 0, 0, 0, 0, 0], [0.5, 1, 1, 0, 1.5, 2, 5, 6, 0]],
    'y.scatter_reduce(0, i, v, "amin")': [[0, -2, 0, 0, 5, nan], [0.5, 2, 0, 2, 2.5, nan], [0.5, 0, 0, 3, 0, 2, 0, nan, 2.5]],
    'y.scatter_reduce(0, i, v, "amin", include_self=False)': [[0, 2, 0, 0, 5, 3], [0, 0, 0, 0, 0, 0], [0.5, 1, 1, 3, 0, 2, 0, 6, 2.5]],
}  # fmt: skip
"""Calls of x, or of y, v and i, with the result and the gradients of its tensors, which are PyTorch's."""


def results(torch: Any, call: str, create_graph: bool = False) -> list[Any]:
    """The result of a call, and the gradients of those of x, y and v that it depends on."""
    x = torch.tensor([[1.0, nan, 3.0, nan], [2.0, 2.0, 0.0, 2.0]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.0, -2.0, 3.0, 0.0, 5.0, nan], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([0.0, 2.0, 2.0, 0.0, 3.0, 0.0, 7.0, 3.0, 5.0], dtype=torch.float64, requires_grad=True)
    i = torch.tensor([0, 1, 1, 2, 2, 3, 4, 5, 4])
    out = eval(call, {"torch": torch, "x": x, "y": y, "v": v, "i": i, "inf": inf})
    weighted = (out * torch.arange(1, out.numel() + 1, dtype=torch.float64).reshape(out.shape)).sum()
    gradients = torch.autograd.grad(weighted, (x, y, v), create_graph=create_graph, allow_unused=True)
    return [each.detach().tolist() for each in (out, *gradients) if each is not None]


def check(torch: Any, call: str, create_graph: bool = False) -> None:
    for got, wanted in zip(results(torch, call, create_graph), CALLS[call], strict=True):
        np.testing.assert_allclose(got, wanted, 2e-6, err_msg=call)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("call", CALLS)
def test_gradients_at_special_elements_are_known(call: str, create_graph: bool) -> None:
    check(ours, call, create_graph)


def test_the_known_gradients_are_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for call in CALLS:
        check(torch, call)


@pytest.mark.parametrize("include_self", [True, False])
def test_the_gradient_of_scattered_products_is_differentiable(include_self: bool) -> None:
    y = ours.tensor([1.5, -2.0, 3.0], dtype=ours.float64, requires_grad=True)
    v = ours.tensor([0.5, 0.0, -1.5, 2.5], dtype=ours.float64, requires_grad=True)
    i = ours.tensor([0, 0, 1, 0])
    ours.autograd.gradcheck(lambda y, v: y.scatter_reduce(0, i, v, "prod", include_self=include_self), (y, v))
    v = ours.tensor([0.5, 1.25, -1.5, 2.5], dtype=ours.float64, requires_grad=True)
    ours.autograd.gradgradcheck(lambda y, v: y.scatter_reduce(0, i, v, "prod", include_self=include_self), (y, v))


TWICE = """
    x.scatter_reduce(0,i,2*x,"prod") x.scatter_reduce(0,i,x,"prod",include_self=False) x.amax() x.median() torch.xlogy(x,x) torch.xlogy(o,x)
    torch.xlogy(x,o) torch.logit(x/4) torch.copysign(x,-o) x.maximum(o)*x x.clamp(o/2,o)*x x.clamp(min=0.9)*x torch.lerp(x,o,x)
    torch.fmod(o,x)*x F.kl_div(o,x) F.huber_loss(x,o,delta=0.7) x.norm(3) F.cosine_similarity(x,o,0) F.normalize(x,dim=0)"""


@pytest.mark.parametrize("call", TWICE.split())
def test_second_derivatives_are_those_of_differences(call: str) -> None:
    def total(x: Any) -> Any:
        names = {"torch": ours, "F": ours.nn.functional, "x": x, "i": ours.tensor([0, 0, 1])}
        return eval(call, names | {"o": ours.tensor([0.5, 1.5, 2.0], dtype=ours.float64)}).sum()

    def slope(numbers: np.ndarray) -> np.ndarray:
        x = ours.tensor(numbers, requires_grad=True)
        return ours.autograd.grad(total(x), x)[0].numpy()

    x = np.array([1.0, 0.7, 2.6])
    differences = [(slope(x + step) - slope(x - step)) / 2e-6 for step in np.eye(3) * 1e-6]
    np.testing.assert_allclose(ours.func.hessian(total)(ours.tensor(x)).numpy(), differences, 1e-6, 1e-6)


def test_the_median_of_elements_with_nan_is_the_first_nan() -> None:
    x = ours.tensor([[3.0, nan, 1.0, nan], [3.0, 2.0, 1.0, 0.0]])
    assert x.median().isnan()
    assert x.median(1).indices.tolist() == [1, 2]
    assert x.median(0, keepdim=True).values.isnan().tolist() == [[False, True, False, True]]
