"""Gradients of minitorch.torch at points where a rule chooses among subgradients: ties, limits, zeros, infinities, NaN."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitorch.torch as ours

inf, nan = float("inf"), float("nan")


class Row(NamedTuple):
    """One function at one point.

    Attributes:
        name: The function.
        call: Takes the library and the tensors.
        points: The numbers of the tensors.
        gradients: Their gradients, where those of the result are 1, 2, 3, …
    """

    name: str
    call: Callable[..., Any]
    points: list[Any]
    gradients: list[Any]


ROWS = [
    Row("max", lambda torch, x: x.max(), [[3, 1, 3]], [[0.5, 0, 0.5]]),
    Row("min", lambda torch, x: x.min(), [[1, 1, 3]], [[0.5, 0.5, 0]]),
    Row("max of a matrix", lambda torch, x: torch.max(x), [[[3, 1], [3, 0]]], [[[0.5, 0], [0.5, 0]]]),
    Row("max of NaN", lambda torch, x: x.max(), [[3, nan, 3, nan]], [[0, 0.5, 0, 0.5]]),
    Row("max(0)", lambda torch, x: x.max(0).values, [[3, 1, 3]], [[1, 0, 0]]),
    Row("min(0)", lambda torch, x: x.min(dim=0).values, [[1, 1, 3]], [[1, 0, 0]]),
    Row("max(1)", lambda torch, x: x.max(1).values, [[[3, 3], [1, 1]]], [[[1, 0], [2, 0]]]),
    Row("max(0) of NaN", lambda torch, x: x.max(0).values, [[3, nan, 3, nan]], [[0, 1, 0, 0]]),
    Row("amax", lambda torch, x: x.amax(), [[3, 1, 3]], [[0.5, 0, 0.5]]),
    Row("amin(0)", lambda torch, x: x.amin(0), [[1, 1, 3]], [[0.5, 0.5, 0]]),
    Row("amax((0, 1))", lambda torch, x: x.amax((0, 1)), [[[3, 1], [3, 3]]], [[[0.333333, 0], [0.333333, 0.333333]]]),
    Row("amin, keepdim", lambda torch, x: x.amin(1, True), [[[3, 3], [1, 2]]], [[[0.5, 0.5], [2, 0]]]),
    Row("amax(())", lambda torch, x: x.amax(()), [[[3, 1], [3, 0]]], [[[0.5, 0], [0.5, 0]]]),
    Row("max without dimensions", lambda torch, x: x.max(), [3], [1]),
    Row("aminmax", lambda torch, x: x.aminmax().max, [[3, 1, 3]], [[0.5, 0, 0.5]]),
    Row("aminmax(0)", lambda torch, x: x.aminmax(dim=0).min, [[3, 1, 1]], [[0, 0.5, 0.5]]),
    Row("norm(inf)", lambda torch, x: x.norm(inf), [[3, -3, 1]], [[0.5, -0.5, 0]]),
    Row("norm(-inf)", lambda torch, x: x.norm(-inf), [[3, -3, -3]], [[0.333333, -0.333333, -0.333333]]),
    Row("norm(inf, 1)", lambda torch, x: x.norm(inf, 1), [[[3, -3, 1], [0, 0, 0]]], [[[0.5, -0.5, 0], [0, 0, 0]]]),
    Row("linalg.norm(inf)", lambda torch, x: torch.linalg.norm(x, inf), [[3, -3, 1]], [[0.5, -0.5, 0]]),
    Row("dist(inf)", lambda torch, x, y: torch.dist(x, y, inf), [[1, 2], [2, 3]], [[-0.5, -0.5], [0.5, 0.5]]),
    Row("norm at 0", lambda torch, x: x.norm(), [[0, 0]], [[0, 0]]),
    Row("norm(1) at 0", lambda torch, x: x.norm(1), [[0, -1]], [[0, -1]]),
    Row("norm(3) at 0", lambda torch, x: x.norm(3), [[0, 0]], [[0, 0]]),
    Row("norm(3), one is 0", lambda torch, x: x.norm(3), [[0, 1]], [[0, 1]]),
    Row("norm(1.5)", lambda torch, x: x.norm(1.5), [[0, -1]], [[0, -1]]),
    Row("norm(0.5) at 0", lambda torch, x: x.norm(0.5), [[0, 0]], [[0, 0]]),
    Row("norm(0.5), one is 0", lambda torch, x: x.norm(0.5), [[0, 1]], [[0, 1]]),
    Row("norm(-1), one is 0", lambda torch, x: x.norm(-1), [[0, -1]], [[0, 0]]),
    Row("norm(-1)", lambda torch, x: x.norm(-1), [[2, -1]], [[0.111111, -0.444444]]),
    Row("norm without dimensions", lambda torch, x: x.norm(), [0], [0]),
    Row("dist at 0", lambda torch, x, y: torch.dist(x, y), [[1, 2], [1, 2]], [[0, 0], [0, 0]]),
    Row("clamp(-1, 1)", lambda torch, x: x.clamp(-1, 1), [[-1, 1, 0, 2, -3]], [[0, 0, 3, 0, 0]]),
    Row("clamp(min=0)", lambda torch, x: x.clamp(min=0), [[0, -1, 1]], [[0, 0, 3]]),
    Row("clamp(max=0)", lambda torch, x: x.clamp(max=0), [[0, -1, 1]], [[0, 2, 0]]),
    Row("clamp_min", lambda torch, x: torch.clamp_min(x, 0), [[0, -1, 1]], [[0, 0, 3]]),
    Row("clamp of NaN", lambda torch, x: x.clamp(-1, 1), [[nan, inf, -inf]], [[0, 0, 0]]),
    Row("clamp, limits exchanged", lambda torch, x: x.clamp(1, -1), [[0, 2, -2, 1, -1]], [[0, 0, 0, 0, 0]]),
    Row("clamp, tensors", lambda torch, x, y, z: x.clamp(y, z),
        [[-1, 1, 0, 2, -3], [-1, -1, -1, -1, -1], [1, 1, 1, 1, 1]], [[0.5, 1, 3, 0, 0], [0.5, 0, 0, 0, 5], [0, 1, 0, 4, 0]]),
    Row("clamp, a tensor", lambda torch, x, y: x.clamp(y),
        [[-1, 1, 0, 2, -3], [-1, -1, -1, -1, -1]], [[0.5, 2, 3, 4, 0], [0.5, 0, 0, 0, 5]]),
    Row("clamp, broadcast", lambda torch, x, y: x.clamp(max=y), [[-1, 1, 0, 2, -3], [1]], [[1, 1, 3, 0, 5], [5]]),
    Row("clamp, tensors exchanged", lambda torch, x, y, z: x.clamp(y, z),
        [[0, 2, -2, 1, -1], [1, 1, 1, 1, 1], [-1, -1, -1, -1, -1]], [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 2, 3, 4, 5]]),
    Row("clamp, tensors of NaN", lambda torch, x, y: x.clamp(y), [[nan, 1, nan], [0, nan, nan]], [[1, 2, 3], [1, 2, 3]]),
    Row("std of equal", lambda torch, x: x.std(), [[2, 2, 2]], [[0, 0, 0]]),
    Row("std(0) of equal", lambda torch, x: x.std(0), [[[2, 2], [2, 3]]], [[[0, -1.414214], [0, 1.414214]]]),
    Row("std, unbiased=False", lambda torch, x: x.std(unbiased=False), [[2, 2, 2]], [[0, 0, 0]]),
    Row("std of one", lambda torch, x: x.std(), [[2]], [[nan]]),
    Row("var of equal", lambda torch, x: x.var(), [[2, 2]], [[0, 0]]),
    Row("std_mean", lambda torch, x: torch.std_mean(x)[0], [[2, 2]], [[0, 0]]),
    Row("abs", lambda torch, x: x.abs(), [[0, nan, -inf, -2]], [[0, 0, -3, -4]]),
    Row("maximum", lambda torch, x, y: torch.maximum(x, y), [[1, 2, 3], [1, 3, 2]], [[0.5, 0, 3], [0.5, 2, 0]]),
    Row("minimum", lambda torch, x, y: torch.minimum(x, y), [[1, 2, 3], [1, 3, 2]], [[0.5, 2, 0], [0.5, 0, 3]]),
    Row("maximum of NaN", lambda torch, x, y: torch.maximum(x, y), [[nan, 1, nan], [1, nan, nan]], [[1, 2, 3], [1, 2, 3]]),
    Row("max of two", lambda torch, x, y: torch.max(x, y), [[1, 2, 3], [1, 3, 2]], [[0.5, 0, 3], [0.5, 2, 0]]),
    Row("maximum of infinities", lambda torch, x, y: torch.maximum(x, y), [[inf, -inf], [inf, -inf]], [[0.5, 1], [0.5, 1]]),
    Row("relu", lambda torch, x: x.relu(), [[0, nan, 1, -1]], [[0, 2, 3, 0]]),
    Row("sign", lambda torch, x: x.sign(), [[0, 1]], [[0, 0]]),
    Row("floor", lambda torch, x: x.floor(), [[0, 1.5]], [[0, 0]]),
    Row("round", lambda torch, x: x.round(), [[0.5, 1]], [[0, 0]]),
    Row("frac", lambda torch, x: x.frac(), [[0.5, 1]], [[1, 2]]),
    Row("prod, one 0", lambda torch, x: x.prod(), [[0, 2, 3]], [[6, 0, 0]]),
    Row("prod, two 0", lambda torch, x: x.prod(), [[0, 2, 0]], [[0, 0, 0]]),
    Row("prod(0)", lambda torch, x: x.prod(0), [[[0, 2], [3, 0], [4, 0]]], [[[12, 0], [0, 0], [0, 0]]]),
    Row("prod(1)", lambda torch, x: x.prod(1), [[[0, 2, 0], [3, 1, 0]]], [[[0, 0, 0], [0, 0, 6]]]),
    Row("prod without dimensions", lambda torch, x: x.prod(), [0], [1]),
    Row("cumprod", lambda torch, x: x.cumprod(0), [[2, 0, 3, 0, 4]], [[1, 22, 0, 0, 0]]),
    Row("cummax", lambda torch, x: x.cummax(0).values, [[1, 1, 3, 3]], [[1, 2, 3, 4]]),
    Row("cummin", lambda torch, x: x.cummin(0).values, [[1, 1, 3, 0, 0]], [[1, 5, 0, 4, 5]]),
    Row("sqrt", lambda torch, x: x.sqrt(), [[0, -1, 4]], [[inf, nan, 0.75]]),
    Row("log", lambda torch, x: x.log(), [[0, -1]], [[inf, -2]]),
    Row("x ** 0", lambda torch, x: x**0, [[0, 1]], [[0, 0]]),
    Row("x ** 0.5", lambda torch, x: x**0.5, [[0, 1, -1]], [[inf, 1, nan]]),
    Row("x ** 1", lambda torch, x: x**1, [[0, 1]], [[1, 2]]),
    Row("x ** -1", lambda torch, x: x**-1, [[0, 1]], [[-inf, -2]]),
    Row("x ** y", lambda torch, x, y: x**y,
        [[0, 0, 0, 1, -1, -1, 2], [0, 1, -1, 0, 2, 0.5, 0]], [[0, 2, -inf, 0, -10, nan, 0], [0, 0, -inf, 0, nan, nan, 4.85203]]),
    Row("0 ** x", lambda torch, x: 0**x, [[0, 1, -1]], [[0, 0, -inf]]),
    Row("(-1) ** x", lambda torch, x: (-1.0) ** x, [[0, 1, 0.5]], [[nan, nan, nan]]),
    Row("atan2 at 0", lambda torch, x, y: torch.atan2(x, y), [[0, 0, 1], [0, -1, 0]], [[0, -2, 0], [0, 0, -3]]),
    Row("hypot at 0", lambda torch, x, y: torch.hypot(x, y), [[0, 3], [0, 4]], [[nan, 1.2], [nan, 1.6]]),
    Row("logaddexp", lambda torch, x, y: torch.logaddexp(x, y), [[0, -inf], [0, -inf]], [[0.5, nan], [0.5, nan]]),
    Row("copysign", lambda torch, x, y: torch.copysign(x, y), [[0, 1], [1, -1]], [[0, -2], [0, 0]]),
    Row("fmod", lambda torch, x, y: torch.fmod(x, y), [[4, 5], [2, 3]], [[1, 2], [-2, -2]]),
    Row("remainder", lambda torch, x, y: torch.remainder(x, y), [[4, -5], [2, 3]], [[1, 2], [-2, 4]]),
    Row("logsumexp of -inf", lambda torch, x: x.logsumexp(0), [[-inf, -inf]], [[nan, nan]]),
    Row("logsumexp, one -inf", lambda torch, x: x.logsumexp(0), [[-inf, 0]], [[0, 1]]),
    Row("asin", lambda torch, x: x.asin(), [[1, -1, 2]], [[inf, inf, nan]]),
    Row("logit, eps", lambda torch, x: x.logit(0.1), [[0, 1, 0.1, 0.9, 0.5]], [[0, 0, 33.333333, 44.444444, 20]]),
    Row("nan_to_num", lambda torch, x: x.nan_to_num(), [[nan, inf, 1]], [[0, 0, 3]]),
    Row("masked_fill", lambda torch, x: x.masked_fill(x > 0, 2.0), [[nan, inf, 1, 0]], [[1, 0, 0, 4]]),
    Row("where", lambda torch, x, y: torch.where(x > 0, x, y), [[nan, inf, 1, 0], [nan, inf, 1, 0]], [[0, 2, 3, 0], [1, 0, 0, 4]]),
    Row("sort", lambda torch, x: x.sort().values, [[3, 3, 1]], [[2, 3, 1]]),
    Row("nansum", lambda torch, x: x.nansum(), [[nan, 1]], [[0, 1]]),
]  # fmt: skip
"""The gradients are PyTorch's, which shares them among equal elements of max(), amax, maximum and norm(inf), but not of max(dim)."""


def found(torch: Any, row: Row) -> list[Any]:
    leaves = [torch.tensor(points, dtype=torch.float64, requires_grad=True) for points in row.points]
    out = row.call(torch, *leaves)
    out.backward(torch.arange(1, out.numel() + 1, dtype=torch.float64).reshape(out.shape))
    return [leaf.grad for leaf in leaves]


def check(torch: Any, row: Row) -> None:
    for got, wanted in zip(found(torch, row), row.gradients, strict=True):
        np.testing.assert_allclose(got.numpy(), np.array(wanted, float), 1e-5, 1e-9, err_msg=row.name)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_gradient_where_a_rule_chooses_is_known(row: Row) -> None:
    check(ours, row)


@pytest.mark.filterwarnings("ignore:std\\(\\). degrees of freedom")
def test_the_known_gradients_are_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    changed = () if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 14) else ("clamp",)
    for row in ROWS:
        if not row.name.startswith(changed):
            check(torch, row)


def test_a_norm_of_order_0_counts_and_has_no_slope() -> None:
    x = ours.tensor([0.0, -3.0, nan], requires_grad=True)
    out = x.norm(0)
    out.backward()
    assert (out.item(), x.grad.tolist()) == (2, [0, 0, 0])


def test_an_extremum_of_nan_gives_each_nan_a_part() -> None:
    x = ours.tensor([3.0, nan, 3.0, nan], requires_grad=True)
    x.max().backward()
    assert x.grad.tolist() == [0, 0.5, 0, 0.5]


@pytest.mark.parametrize(
    "call",
    [lambda x: x.amax(1), lambda x: x.max(), lambda x: ours.maximum(x, x.flip(1)), lambda x: ours.minimum(x * x, x),
     lambda x: x.clamp(x * x, x), lambda x: ours.where(x > 0, x * x, x), lambda x: x.masked_fill(x > 1, 2.0),
     lambda x: x.norm(inf), lambda x: x.std(1)],
)  # fmt: skip
def test_these_gradients_can_be_differentiated(call: Callable[[Any], Any]) -> None:
    x = ours.tensor([[0.5, -1.5], [2.5, 1.25]], dtype=ours.float64, requires_grad=True)

    def slopes(x: Any) -> Any:
        return ours.autograd.grad((call(x) ** 2).sum(), x, create_graph=True)[0]

    (second,) = ours.autograd.grad((slopes(x) * slopes(x).detach()).sum(), x)
    assert second is not None
    steps = []
    for i in range(4):
        step = ours.zeros(4, dtype=ours.float64)
        step[i] = 1e-6
        ends = [slopes((x.detach() + sign * step.view(2, 2)).requires_grad_()).detach() for sign in (1, -1)]
        steps.append(((ends[0] - ends[1]) * slopes(x).detach()).sum().item() / 2e-6)
    np.testing.assert_allclose(second.flatten().numpy(), steps, 1e-5, 1e-6)
