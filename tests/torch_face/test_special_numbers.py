"""Results of minitorch.torch for NaN, infinities and signed zeros: the same as PyTorch's, as a method, in torch and in nn.functional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitorch.torch as ours

inf, nan = float("inf"), float("nan")

X = [nan, inf, -inf, -0.0, 0.0, 0.3, -0.3, 2.5, -2.5]

FUNCTIONS = {
    "exp": [nan, inf, 0, 1, 1, 1.349859, 0.7408182, 12.18249, 0.082085],
    "log": [nan, inf, nan, -inf, -inf, -1.203973, nan, 0.9162907, nan],
    "sqrt": [nan, inf, nan, -0.0, 0, 0.5477226, nan, 1.581139, nan],
    "sin": [nan, nan, nan, -0.0, 0, 0.2955202, -0.2955202, 0.5984721, -0.5984721],
    "cos": [nan, nan, nan, 1, 1, 0.9553365, 0.9553365, -0.8011436, -0.8011436],
    "tan": [nan, nan, nan, -0.0, 0, 0.3093362, -0.3093362, -0.7470223, 0.7470223],
    "tanh": [nan, 1, -1, -0.0, 0, 0.2913126, -0.2913126, 0.9866143, -0.9866143],
    "sigmoid": [nan, 1, 0, 0.5, 0.5, 0.5744425, 0.4255575, 0.9241418, 0.07585818],
    "reciprocal": [nan, 0, -0.0, -inf, inf, 3.333333, -3.333333, 0.4, -0.4],
    "asin": [nan, nan, nan, -0.0, 0, 0.3046927, -0.3046927, nan, nan],
    "acos": [nan, nan, nan, 1.570796, 1.570796, 1.266104, 1.875489, nan, nan],
    "atan": [nan, 1.570796, -1.570796, -0.0, 0, 0.2914568, -0.2914568, 1.19029, -1.19029],
    "sinh": [nan, inf, -inf, -0.0, 0, 0.3045203, -0.3045203, 6.050204, -6.050204],
    "cosh": [nan, inf, inf, 1, 1, 1.045339, 1.045339, 6.132289, 6.132289],
    "erf": [nan, 1, -1, -0.0, 0, 0.3286268, -0.3286268, 0.999593, -0.999593],
    "erfc": [nan, 0, 2, 1, 1, 0.6713732, 1.328627, 0.000406952, 1.999593],
    "expm1": [nan, inf, -1, -0.0, 0, 0.3498588, -0.2591818, 11.18249, -0.917915],
    "log1p": [nan, inf, nan, -0.0, 0, 0.2623643, -0.3566749, 1.252763, nan],
    "asinh": [nan, inf, -inf, -0.0, 0, 0.295673, -0.295673, 1.647231, -1.647231],
    "acosh": [nan, inf, nan, nan, nan, nan, nan, 1.566799, nan],
    "atanh": [nan, nan, nan, -0.0, 0, 0.3095196, -0.3095196, nan, nan],
    "floor": [nan, inf, -inf, -0.0, 0, 0, -1, 2, -3],
    "ceil": [nan, inf, -inf, -0.0, 0, 1, -0.0, 3, -2],
    "trunc": [nan, inf, -inf, -0.0, 0, 0, -0.0, 2, -2],
    "round": [nan, inf, -inf, -0.0, 0, 0, -0.0, 2, -2],
    "log2": [nan, inf, nan, -inf, -inf, -1.736966, nan, 1.321928, nan],
    "log10": [nan, inf, nan, -inf, -inf, -0.5228787, nan, 0.39794, nan],
    "rsqrt": [nan, 0, nan, -inf, inf, 1.825742, nan, 0.6324555, nan],
    "square": [nan, inf, inf, 0, 0, 0.09, 0.09, 6.25, 6.25],
    "abs": [nan, inf, inf, 0, 0, 0.3, 0.3, 2.5, 2.5],
    "sign": [0, 1, -1, 0, 0, 1, -1, 1, -1],
    "frac": [nan, nan, nan, 0, 0, 0.3, -0.3, 0.5, -0.5],
    "neg": [nan, -inf, inf, 0, -0.0, -0.3, 0.3, -2.5, 2.5],
    "relu": [nan, inf, 0, -0.0, 0, 0.3, 0, 2.5, 0],
    "isnan": [True, False, False, False, False, False, False, False, False],
    "isinf": [False, True, True, False, False, False, False, False, False],
    "isfinite": [False, False, False, True, True, True, True, True, True],
    "signbit": [False, False, True, True, False, False, True, False, True],
    "logit": [nan, nan, nan, -inf, -inf, -0.8472979, nan, nan, nan],
    "deg2rad": [nan, inf, -inf, -0.0, 0, 0.005235988, -0.005235988, 0.04363323, -0.04363323],
    "logical_not": [False, False, False, True, True, False, False, False, False],
}  # fmt: skip
"""Functions of one tensor and their results for X, which are PyTorch's."""

EITHER_ZERO = {"relu"}
"""Both zeros are the larger one of a zero and 0; PyTorch keeps that of the argument."""


class Row(NamedTuple):
    """One call for X and its result, or results, which are PyTorch's."""

    name: str
    call: Callable[..., Any]
    wanted: Any


ROWS = [
    Row("nan_to_num", lambda torch, x: x.nan_to_num(),
        [0, 1.797693e+308, -1.797693e+308, -0.0, 0, 0.3, -0.3, 2.5, -2.5]),
    Row("sum", lambda torch, x: x.sum(), nan),
    Row("mean", lambda torch, x: x.mean(), nan),
    Row("max", lambda torch, x: x.max(), nan),
    Row("min", lambda torch, x: x.min(), nan),
    Row("amax", lambda torch, x: x.amax(0), nan),
    Row("amin", lambda torch, x: x.amin(), nan),
    Row("max(0)", lambda torch, x: x.max(0), [nan, 0]),
    Row("min(0)", lambda torch, x: x.min(0), [nan, 0]),
    Row("argmax", lambda torch, x: x.argmax(), 0),
    Row("argmin", lambda torch, x: x.argmin(0), 0),
    Row("aminmax", lambda torch, x: tuple(x.aminmax()), [nan, nan]),
    Row("sum of infinities", lambda torch, x: x[1:3].sum(), nan),
    Row("max of infinities", lambda torch, x: x[1:].max(), inf),
    Row("prod", lambda torch, x: x.prod(), nan),
    Row("prod of infinities and zeros", lambda torch, x: x[1:].prod(), nan),
    Row("any", lambda torch, x: x[:1].any(), True),
    Row("all", lambda torch, x: x[:3].all(), True),
    Row("count_nonzero", lambda torch, x: x.count_nonzero(), 7),
    Row("var", lambda torch, x: x[1:].var(), nan),
    Row("norm", lambda torch, x: x[1:].norm(), inf),
    Row("norm(inf)", lambda torch, x: x.norm(inf), nan),
    Row("norm(0)", lambda torch, x: x[1:].norm(0), 6),
    Row("logsumexp", lambda torch, x: x[1:].logsumexp(0), inf),
    Row("logsumexp of -inf", lambda torch, x: x[2:3].logsumexp(0), -inf),
    Row("logsumexp of NaN", lambda torch, x: x.logsumexp(0), nan),
    Row("cumsum", lambda torch, x: x.flip(0).cumsum(0), [-2.5, 0, -0.3, 0, 0, 0, -inf, nan, nan]),
    Row("cumprod", lambda torch, x: x[2:].cumprod(0), [-inf, nan, nan, nan, nan, nan, nan]),
    Row("unique", lambda torch, x: torch.unique(torch.cat([x, x]), return_inverse=True, return_counts=True),
        [[-inf, -2.5, -0.3, -0.0, 0.3, 2.5, inf, nan, nan], [8, 6, 0, 3, 3, 4, 2, 5, 1, 7, 6, 0, 3, 3, 4, 2, 5, 1],
        [2, 2, 2, 4, 2, 2, 2, 1, 1]]),
    Row("unique(dim=0)", lambda torch, x: torch.unique(torch.stack([x, x, x.abs()]), dim=0)[0],
        [nan, inf, -inf, -0.0, 0, 0.3, -0.3, 2.5, -2.5]),
    Row("softmax", lambda torch, x: x[1:].softmax(0), [nan, nan, nan, nan, nan, nan, nan, nan]),
    Row("softmax of -inf", lambda torch, x: x[2:].softmax(0), [0, 0.06114242, 0.06114242, 0.08253364, 0.04529542, 0.7448672, 0.005018876]),
    Row("log_softmax", lambda torch, x: x[2:].log_softmax(0), [-inf, -2.794549, -2.794549, -2.494549, -3.094549, -0.2945493, -5.294549]),
    Row("clamp(-1, 1)", lambda torch, x: x.clamp(-1, 1), [nan, 1, -1, -0.0, 0, 0.3, -0.3, 1, -1]),
    Row("clamp(min=-0.0)", lambda torch, x: x[5:].clamp(min=-1), [0.3, -0.3, 2.5, -1]),
    Row("clamp, tensors", lambda torch, x: x.clamp(x.flip(0), x), [nan, inf, -inf, -0.0, 0, 0.3, -0.3, 2.5, nan]),
    Row("maximum", lambda torch, x: torch.maximum(x, x.flip(0)), [nan, inf, -0.3, 0.3, 0, 0.3, -0.3, inf, nan]),
    Row("minimum", lambda torch, x: torch.minimum(x, x.flip(0)), [nan, 2.5, -inf, -0.0, 0, -0.0, -inf, 2.5, nan]),
    Row("where", lambda torch, x: torch.where(x == x, x, x), [nan, inf, -inf, -0.0, 0, 0.3, -0.3, 2.5, -2.5]),
    Row("where, numbers", lambda torch, x: torch.where(x > 0, -0.0, x), [nan, -0.0, -inf, -0.0, 0, -0.0, -0.3, -0.0, -2.5]),
    Row("masked_fill", lambda torch, x: x.masked_fill(x > 0, -0.0), [nan, -0.0, -inf, -0.0, 0, -0.0, -0.3, -0.0, -2.5]),
    Row("x + 0", lambda torch, x: x + 0, [nan, inf, -inf, 0, 0, 0.3, -0.3, 2.5, -2.5]),
    Row("x * -1", lambda torch, x: x * -1, [nan, -inf, inf, 0, -0.0, -0.3, 0.3, -2.5, 2.5]),
    Row("x / 0", lambda torch, x: x / 0, [nan, inf, -inf, nan, nan, inf, -inf, inf, -inf]),
    Row("0 / x", lambda torch, x: 0 / x, [nan, 0, -0.0, nan, nan, 0, -0.0, 0, -0.0]),
    Row("x ** 2", lambda torch, x: x**2, [nan, inf, inf, 0, 0, 0.09, 0.09, 6.25, 6.25]),
    Row("x ** 0.5", lambda torch, x: x**0.5, [nan, inf, nan, -0.0, 0, 0.5477226, nan, 1.581139, nan]),
    Row("x ** -0.5", lambda torch, x: x**-0.5, [nan, 0, nan, -inf, inf, 1.825742, nan, 0.6324555, nan]),
    Row("x % -2", lambda torch, x: x % -2, [nan, nan, nan, -0.0, 0, -1.7, -0.3, -1.5, -0.5]),
    Row("x ** 0", lambda torch, x: x**0, [1, 1, 1, 1, 1, 1, 1, 1, 1]),
    Row("2 ** x", lambda torch, x: 2**x, [nan, inf, 0, 1, 1, 1.231144, 0.8122524, 5.656854, 0.1767767]),
    Row("x % 2", lambda torch, x: x % 2, [nan, nan, nan, -0.0, 0, 0.3, 1.7, 0.5, 1.5]),
    Row("x // 2", lambda torch, x: x // 2, [nan, nan, nan, -0.0, 0, 0, -1, 1, -2]),
    Row("fmod", lambda torch, x: torch.fmod(x, 2), [nan, nan, nan, -0.0, 0, 0.3, -0.3, 0.5, -0.5]),
    Row("atan2", lambda torch, x: torch.atan2(x, x.flip(0)), [nan, 1.570796, -1.570796, -0.0, 0, 1.570796, -3.141593, 0, nan]),
    Row("hypot", lambda torch, x: torch.hypot(x, x.flip(0)), [nan, inf, inf, 0.3, 0, 0.3, inf, inf, nan]),
    Row("logaddexp", lambda torch, x: torch.logaddexp(x, x),
        [nan, inf, -inf, 0.6931472, 0.6931472, 0.9931472, 0.3931472, 3.193147, -1.806853]),
    Row("copysign", lambda torch, x: torch.copysign(x, x.flip(0)), [nan, inf, -inf, 0, 0, -0.3, -0.3, 2.5, 2.5]),
    Row("xlogy", lambda torch, x: torch.xlogy(x, x.abs()), [nan, inf, -inf, 0, 0, -0.3611918, 0.3611918, 2.290727, -2.290727]),
    Row("x == x", lambda torch, x: x == x, [False, True, True, True, True, True, True, True, True]),
    Row("x != x", lambda torch, x: x != x, [True, False, False, False, False, False, False, False, False]),
    Row("x < 0", lambda torch, x: x < 0, [False, False, True, False, False, False, True, False, True]),
    Row("x >= 0", lambda torch, x: x >= 0, [False, True, False, True, True, True, False, True, False]),
    Row("x <= x", lambda torch, x: x <= x, [False, True, True, True, True, True, True, True, True]),
    Row("isclose", lambda torch, x: torch.isclose(x, x), [False, True, True, True, True, True, True, True, True]),
    Row("isclose, equal_nan", lambda torch, x: torch.isclose(x, x, equal_nan=True), [True, True, True, True, True, True, True, True, True]),
    Row("logical_and", lambda torch, x: torch.logical_and(x, x), [True, True, True, False, False, True, True, True, True]),
    Row("bool", lambda torch, x: x.bool(), [True, True, True, False, False, True, True, True, True]),
    Row("signbit of -x", lambda torch, x: torch.signbit(-x), [True, True, False, False, True, True, False, True, False]),
    Row("lerp", lambda torch, x: torch.lerp(x, x.flip(0), 0.25), [nan, nan, nan, 0.075, 0, 0.225, -inf, inf, nan]),
    Row("addcmul", lambda torch, x: torch.addcmul(x, x, x), [nan, inf, nan, 0, 0, 0.39, -0.21, 8.75, 3.75]),
    Row("nan_to_num, given", lambda torch, x: x.nan_to_num(1.0, 2.0, -2.0), [1, 2, -2, -0.0, 0, 0.3, -0.3, 2.5, -2.5]),
    Row("logit, eps", lambda torch, x: x.logit(0.1),
        [nan, 2.197225, -2.197225, -2.197225, -2.197225, -0.8472979, -2.197225, 2.197225, -2.197225]),
    Row("round, decimals", lambda torch, x: x.round(decimals=1), [nan, inf, -inf, -0.0, 0, 0.3, -0.3, 2.5, -2.5]),
    Row("div, floor", lambda torch, x: torch.div(x, 2, rounding_mode="floor"), [nan, nan, nan, -0.0, 0, 0, -1, 1, -2]),
    Row("div, trunc", lambda torch, x: torch.div(x, 2, rounding_mode="trunc"), [nan, inf, -inf, -0.0, 0, 0, -0.0, 1, -1]),
]  # fmt: skip


def check(got: Any, wanted: Any, name: str) -> None:
    """Fail unless numbers are equal to seven digits, NaN and the signs of zeros included."""
    values, expected = np.asarray(got.numpy(), float), np.array(wanted, float)
    np.testing.assert_allclose(values, expected, 2e-6, 1e-6, err_msg=name)
    zeros = (expected == 0) & (name not in EITHER_ZERO)
    np.testing.assert_array_equal(np.signbit(values[zeros]), np.signbit(expected[zeros]), f"signs of zeros of {name}")


def check_rows(torch: Any, rows: list[Row]) -> None:
    for row in rows:
        out = row.call(torch, torch.tensor(X, dtype=torch.float64))
        several = isinstance(out, tuple)
        for got, wanted in zip(out if several else [out], row.wanted if several else [row.wanted], strict=True):
            check(got, wanted, row.name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_special_numbers_is_known_in_all_its_spellings(name: str) -> None:
    x = ours.tensor(X, dtype=ours.float64)
    calls = [getattr(space, name) for space in (ours.Tensor, ours, ours.nn.functional) if hasattr(space, name)]
    for call in calls:
        check(call(x), FUNCTIONS[name], name)
    if hasattr(ours.Tensor, f"{name}_"):
        check(getattr(x.clone(), f"{name}_")(), FUNCTIONS[name], name)
    assert len(calls) >= 2


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_results_for_special_numbers_are_known(row: Row) -> None:
    check_rows(ours, [row])


def test_the_known_results_are_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for name, wanted in FUNCTIONS.items():
        check(getattr(torch, name)(torch.tensor(X, dtype=torch.float64)), wanted, name)
    check_rows(torch, ROWS)
