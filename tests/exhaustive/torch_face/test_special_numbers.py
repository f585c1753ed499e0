"""Results of minitorch.torch for NaN, infinities, signed zeros and huge numbers, and their gradients: the same as PyTorch's."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitorch.torch as ours
from tests.torch_face.table import is_before_2_14

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
    "exp2": [nan, inf, 0, 1, 1, 1.231144, 0.8122524, 5.656854, 0.1767767],
    "sinc": [nan, nan, nan, 1, 1, 0.8583937, 0.8583937, 0.127324, 0.127324],
    "erfinv": [nan, nan, nan, -0.0, 0, 0.2724627, -0.2724627, nan, nan],
    "lgamma": [nan, inf, inf, inf, inf, 1.095798, 1.46484, 0.2846829, -0.05624372],
    "digamma": [nan, inf, nan, inf, -inf, -3.502524, 2.11331, 0.7031566, 1.103157],
    "deg2rad": [nan, inf, -inf, -0.0, 0, 0.005235988, -0.005235988, 0.04363323, -0.04363323],
    "logical_not": [False, False, False, True, True, False, False, False, False],
}  # fmt: skip
"""Functions of one tensor and their results for X, which are PyTorch's."""


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


EXTREMES = [nan, inf, -inf, -0.0, 0.0, 0.5, -0.5, 3.0, -3.0, 50.0, -50.0, 1e30, -1e30, 1e-30]

CURVES = {
    "F.relu(x)": (
        [nan, inf, 0, -0.0, 0, 0.5, 0, 3, 0, 50, 0, 1e+30, 0, 1e-30],
        [1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]),
    "F.relu6(x)": (
        [nan, 6, 0, -0.0, 0, 0.5, 0, 3, 0, 6, 0, 6, 0, 1e-30],
        [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1]),
    "F.leaky_relu(x)": (
        [nan, inf, -inf, -0.0, 0, 0.5, -0.005, 3, -0.03, 50, -0.5, 1e+30, -1e+28, 1e-30],
        [0.01, 1, 0.01, 0.01, 0.01, 1, 0.01, 1, 0.01, 1, 0.01, 1, 0.01, 1]),
    "F.rrelu(x, 0.25, 0.25)": (
        [nan, inf, -inf, -0.0, 0, 0.5, -0.125, 3, -0.75, 50, -12.5, 1e+30, -2.5e+29, 1e-30],
        [0.25, 1, 0.25, 0.25, 0.25, 1, 0.25, 1, 0.25, 1, 0.25, 1, 0.25, 1]),
    "F.prelu(x, w)": (
        [nan, inf, -inf, -0.0, 0, 0.5, -0.125, 3, -0.75, 50, -12.5, 1e+30, -2.5e+29, 1e-30],
        [0.25, 1, 0.25, 0.25, 0.25, 1, 0.25, 1, 0.25, 1, 0.25, 1, 0.25, 1]),
    "F.hardtanh(x)": (
        [nan, 1, -1, -0.0, 0, 0.5, -0.5, 1, -1, 1, -1, 1, -1, 1e-30],
        [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1]),
    "F.hardsigmoid(x)": (
        [nan, 1, 0, 0.5, 0.5, 0.5833333, 0.4166667, 1, 0, 1, 0, 1, 0, 0.5],
        [0, 0, 0, 0.1666667, 0.1666667, 0.1666667, 0.1666667, 0, 0, 0, 0, 0, 0, 0.1666667]),
    "F.hardswish(x)": (
        [nan, inf, nan, -0.0, 0, 0.2916667, -0.2083333, 3, -0.0, 50, -0.0, 1e+30, -0.0, 5e-31],
        [nan, 1, 0, 0.5, 0.5, 0.6666667, 0.3333333, 1, 0, 1, 0, 1, 0, 0.5]),
    "F.hardshrink(x)": (
        [nan, inf, -inf, 0, 0, 0, 0, 3, -3, 50, -50, 1e+30, -1e+30, 0],
        [0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0]),
    "F.softshrink(x)": (
        [nan, inf, -inf, 0, 0, 0, 0, 2.5, -2.5, 49.5, -49.5, 1e+30, -1e+30, 0],
        [0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0]),
    "F.threshold(x, 0.5, 2.0)": (
        [nan, inf, 2, 2, 2, 2, 2, 3, 2, 50, 2, 1e+30, 2, 2],
        [1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0]),
    "F.gelu(x)": (
        [nan, inf, nan, -0.0, 0, 0.3457312, -0.1542688, 2.99595, -0.004049694, 50, -0.0, 1e+30, -0.0, 5e-31],
        [nan, nan, nan, 0.5, 0.5, 0.8674951, 0.1325049, 1.011946, -0.01194565, 1, 0, 1, 0, 0.5]),
    "F.gelu(x, approximate='tanh')": (
        [nan, inf, nan, -0.0, 0, 0.345714, -0.154286, 2.996363, -0.003637392, 50, -0.0, 1e+30, -0.0, 5e-31],
        [nan, nan, nan, 0.5, 0.5, 0.8673699, 0.1326301, 1.011584, -0.01158417, 1, 0, 1, 0, 0.5]),
    "F.silu(x)": (
        [nan, inf, nan, -0.0, 0, 0.3112297, -0.1887703, 2.857722, -0.1422776, 50, -9.643749e-21, 1e+30, -0.0, 5e-31],
        [nan, nan, nan, 0.5, 0.5, 0.7399612, 0.2600388, 1.088104, -0.08810411, 1, -9.450874e-21, 1, -0.0, 0.5]),
    "F.mish(x)": (
        [nan, inf, nan, -0.0, 0, 0.3752452, -0.2207438, 2.986535, -0.1456475, 50, -9.643749e-21, 1e+30, -0.0, 6e-31],
        [nan, nan, nan, 0.6, 0.6, 0.8864244, 0.2895107, 1.021107, -0.09339311, 1, -9.450874e-21, 1, 0, 0.6]),
    "F.softplus(x)": (
        [nan, inf, 0, 0.6931472, 0.6931472, 0.974077, 0.474077, 3.048587, 0.04858735, 50, 1.92875e-22, 1e+30, 0, 0.6931472],
        [nan, 1, 0, 0.5, 0.5, 0.6224593, 0.3775407, 0.9525741, 0.04742587, 1, 1.92875e-22, 1, 0, 0.5]),
    "F.elu(x)": (
        [nan, inf, -1, -0.0, 0, 0.5, -0.3934693, 3, -0.9502129, 50, -1, 1e+30, -1, 1e-30],
        [nan, 1, 0, 1, 1, 1, 0.6065307, 1, 0.04978707, 1, 1.92875e-22, 1, 0, 1]),
    "F.celu(x, 2.0)": (
        [nan, inf, -2, -0.0, 0, 0.5, -0.4423984, 3, -1.55374, 50, -2, 1e+30, -2, 1e-30],
        [nan, 1, 0, 1, 1, 1, 0.7788008, 1, 0.2231302, 1, 1.388794e-11, 1, 0, 1]),
    "F.selu(x)": (
        [nan, inf, -1.758099, -0.0, 0, 0.5253505, -0.6917582, 3.152103, -1.670569,
         52.53505, -1.758099, 1.050701e+30, -1.758099, 1.050701e-30],
        [nan, 1.050701, 0, 1.758099, 1.758099, 1.050701, 1.066341, 1.050701, 0.08753061, 1.050701, 3.390934e-22, 1.050701, 0, 1.050701]),
    "F.logsigmoid(x)": (
        [nan, 0, -inf, -0.6931472, -0.6931472, -0.474077, -0.974077, -0.04858735, -3.048587, -1.92875e-22, -50, 0, -1e+30, -0.6931472],
        [nan, 0, 1, 0.5, 0.5, 0.3775407, 0.6224593, 0.04742587, 0.9525741, 1.92875e-22, 1, 0, 1, 0.5]),
    "F.softsign(x)": (
        [nan, nan, nan, -0.0, 0, 0.3333333, -0.3333333, 0.75, -0.75, 0.9803922, -0.9803922, 1, -1, 1e-30],
        [nan, nan, nan, 1, 1, 0.4444444, 0.4444444, 0.0625, 0.0625, 0.0003844675, 0.0003844675, 0, 0, 1]),
    "F.tanhshrink(x)": (
        [nan, inf, -inf, 0, 0, 0.03788284, -0.03788284, 2.004945, -2.004945, 49, -49, 1e+30, -1e+30, 0],
        [nan, 1, 1, 0, 0, 0.2135523, 0.2135523, 0.990134, 0.990134, 1, 1, 1, 1, 0]),
    "F.sigmoid(x)": (
        [nan, 1, 0, 0.5, 0.5, 0.6224593, 0.3775407, 0.9525741, 0.04742587, 1, 1.92875e-22, 1, 0, 0.5],
        [nan, 0, 0, 0.25, 0.25, 0.2350037, 0.2350037, 0.04517666, 0.04517666, 0, 1.92875e-22, 0, 0, 0.25]),
    "F.tanh(x)": (
        [nan, 1, -1, -0.0, 0, 0.4621172, -0.4621172, 0.9950548, -0.9950548, 1, -1, 1, -1, 1e-30],
        [nan, 0, 0, 1, 1, 0.7864477, 0.7864477, 0.009866037, 0.009866037, 0, 0, 0, 0, 1]),
    "F.glu(torch.cat([x, x]), 0)": (
        [nan, inf, nan, -0.0, 0, 0.3112297, -0.1887703, 2.857722, -0.1422776, 50, -9.643749e-21, 1e+30, -0.0, 5e-31],
        [nan, nan, nan, 0.5, 0.5, 0.7399612, 0.2600388, 1.088104, -0.08810411, 1, -9.450874e-21, 1, 0, 0.5]),
    "torch.logit(x)": (
        [nan, nan, nan, -inf, -inf, 0, nan, nan, nan, nan, nan, nan, nan, -69.07755],
        [nan, nan, nan, -inf, inf, 4, nan, nan, nan, nan, nan, nan, nan, 1e+30]),
    "torch.logit(x, 0.1)": (
        [nan, 2.197225, -2.197225, -2.197225, -2.197225, 0, -2.197225, 2.197225,
         -2.197225, 2.197225, -2.197225, 2.197225, -2.197225, -2.197225],
        [0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0]),
    'F.binary_cross_entropy_with_logits(x, t, reduction="none")': (
        [nan, inf, nan, 0.6931472, 0.6931472, 0.849077, 0.599077, 2.298587, 0.7985874, 37.5, 12.5, 7.5e+29, 2.5e+29, 0.6931472],
        [nan, 0.75, -0.25, 0.25, 0.25, 0.3724593, 0.1275407, 0.7025741, -0.2025741, 0.75, -0.25, 0.75, -0.25, 0.25]),
    "x.clamp(min=0.5)": (
        [nan, inf, 0.5, 0.5, 0.5, 0.5, 0.5, 3, 0.5, 50, 0.5, 1e+30, 0.5, 0.5],
        [0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0]),
    "x.clamp_max(0.5)": (
        [nan, 0.5, -inf, -0.0, 0, 0.5, -0.5, 0.5, -3, 0.5, -50, 0.5, -1e+30, 1e-30],
        [0, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1]),
    "x.clamp(r, one)": (
        [nan, 1, 1, -0.0, 1, 0.5, 1, 1, 0.5, 1, -0.0, 1, 1, nan],
        [1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]),
    "x.lerp(r, 0.75)": (
        [nan, inf, -inf, -37.5, 37.5, -2.125, 2.125, 0.375, -0.375, 12.5, -12.5, nan, nan, nan],
        [0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25]),
    "torch.lerp(r, x, one)": (
        [nan, nan, nan, 0, 0, 0.5, -0.5, 3, -3, 50, -50, nan, nan, nan],
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
    "torch.fmod(one, x)": (
        [nan, 1, 1, nan, nan, 0, 0, 1, 1, 1, 1, 1, 1, 2.159403e-32],
        [nan, 0, 0, inf, -inf, -2, 2, 0, 0, 0, 0, 0, 0, -1e+30]),
    'torch.div(x, 2, rounding_mode="trunc")': (
        [nan, inf, -inf, -0.0, 0, 0, -0.0, 1, -1, 25, -25, 5e+29, -5e+29, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    "torch.nextafter(x, one).sign()": (
        [0, 1, -1, 1, 1, 1, -1, 1, -1, 1, -1, 1, -1, 1],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    'F.l1_loss(x, t, reduction="none")': (
        [nan, inf, inf, 0.25, 0.25, 0.25, 0.75, 2.75, 3.25, 49.75, 50.25, 1e+30, 1e+30, 0.25],
        [0, 1, -1, -1, -1, 1, -1, 1, -1, 1, -1, 1, -1, -1]),
    'F.smooth_l1_loss(x, t, reduction="none", beta=0.0)': (
        [nan, inf, inf, 0.25, 0.25, 0.25, 0.75, 2.75, 3.25, 49.75, 50.25, 1e+30, 1e+30, 0.25],
        [0, 1, -1, -1, -1, 1, -1, 1, -1, 1, -1, 1, -1, -1]),
    'F.huber_loss(x, t, reduction="none", delta=2.5)': (
        [nan, inf, inf, 0.03125, 0.03125, 0.03125, 0.28125, 3.75, 5, 121.25, 122.5, 2.5e+30, 2.5e+30, 0.03125],
        [nan, 2.5, -2.5, -0.25, -0.25, 0.25, -0.75, 2.5, -2.5, 2.5, -2.5, 2.5, -2.5, -0.25]),
    'F.hinge_embedding_loss(x, one, reduction="none")': (
        [nan, inf, -inf, 0, 0, 0.5, -0.5, 3, -3, 50, -50, 1e+30, -1e+30, 1e-30],
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
    'F.hinge_embedding_loss(x, -one, reduction="none")': (
        [nan, 0, inf, 1, 1, 0.5, 1.5, 0, 4, 0, 51, 0, 1e+30, 1],
        [0, 0, -1, -1, -1, -1, -1, 0, -1, 0, -1, 0, -1, -1]),
    'F.margin_ranking_loss(x, t, one, 0.5, reduction="none")': (
        [nan, 0, inf, 0.75, 0.75, 0.25, 1.25, 0, 3.75, 0, 50.75, 0, 1e+30, 0.75],
        [0, 0, -1, -1, -1, -1, -1, 0, -1, 0, -1, 0, -1, -1]),
    'F.kl_div(x, t, reduction="none")': (
        [nan, -inf, inf, -0.3465736, -0.3465736, -0.4715736, -0.2215736, -1.096574, 0.4034264, -12.84657, 12.15343, -2.5e+29, 2.5e+29,
         -0.3465736],
        [-0.25, -0.25, -0.25, -0.25, -0.25, -0.25, -0.25, -0.25, -0.25, -0.25, -0.25, -0.25, -0.25, -0.25]),
    'F.kl_div(t, x, reduction="none")': (
        [nan, nan, nan, 0, 0, -0.4715736, nan, 2.545837, nan, 183.1012, nan, 6.882755e+31, nan, -6.932755e-29],
        [nan, nan, nan, nan, nan, 0.05685282, nan, 1.848612, nan, 4.662023, nan, 69.82755, nan, -68.32755]),
    'F.poisson_nll_loss(x, t, reduction="none")': (
        [nan, nan, inf, 1, 1, 1.523721, 0.7315307, 19.33554, 0.7997871, 5.184706e+21, 12.5, inf, 2.5e+29, 1],
        [nan, inf, -0.25, 0.75, 0.75, 1.398721, 0.3565307, 19.83554, -0.2002129, 5.184706e+21, -0.25, inf, -0.25, 0.75]),
    'F.gaussian_nll_loss(x, t, one, reduction="none")': (
        [nan, inf, inf, 0.03125, 0.03125, 0.03125, 0.28125, 3.78125, 5.28125, 1237.531, 1262.531, 5e+59, 5e+59, 0.03125],
        [nan, inf, -inf, -0.25, -0.25, 0.25, -0.75, 2.75, -3.25, 49.75, -50.25, 1e+30, -1e+30, -0.25]),
    'F.gaussian_nll_loss(t, one, x.abs(), reduction="none")': (
        [nan, inf, inf, 281243.1, 281243.1, 0.2159264, 0.2159264, 0.6430561, 0.6430561, 1.961637, 1.961637, 34.53878, 34.53878, 281243.1],
        [nan, 0, 0, 0, 0, -0.125, 0.125, 0.1354167, -0.1354167, 0.0098875, -0.0098875, 5e-31, -5e-31, -281249500000]),
    'F.binary_cross_entropy_with_logits(x, t, pos_weight=3 * one, reduction="none")': (
        [nan, inf, nan, 1.039721, 1.039721, 1.086115, 1.086115, 2.322881, 2.322881, 37.5, 37.5, 7.5e+29, 7.5e+29, 1.039721],
        [nan, 0.75, -0.75, 0, 0, 0.183689, -0.183689, 0.6788612, -0.6788612, 0.75, -0.75, 0.75, -0.75, 0]),
    'F.multi_margin_loss(x.view(-1, 2), i, reduction="none")': (
        [0, 0, 0.75, 0, 27, 0, 5e+29],
        [0, 0, 0, 0, -0.5, 0.5, 0, 0, -0.5, 0.5, 0, 0, -0.5, 0.5]),
    'F.cosine_embedding_loss(x.view(-1, 2), r.view(-1, 2), one[:112], reduction="none")': (
        [nan, nan, 1.059892, 1.324324, 1.059892, nan, nan],
        [nan, nan, nan, nan, -1.99641, 4.791306e-13, -0.3067933, -0.05113221, -0.01989248, -0.001193549, nan, nan, nan, nan]),
    "F.cosine_similarity(x.view(-1, 2), t.view(-1, 2))": (
        [nan, nan, 0.7071068, 0.5812382, 0.6634872, 0.7071068, -0.7071068],
        [nan, nan, nan, nan, 1.414214, 0, 0.2639136, 0.04398559, 0.01491008, 0.0008946046, 7.071068e-31, 0, 0, 7.071068e-31]),
    "F.normalize(x.view(-1, 2))": (
        [nan, nan, nan, -0.0, 0, 1, -0.164399, 0.9863939, -0.05989229, 0.9982048, -5e-29, 1, -1, 1e-60],
        [nan, nan, nan, nan, 2, 0, 0.3732301, 0.06220502, 0.02108603, 0.001265162, 1e-30, 0, 0, 1e-30]),
    "F.pairwise_distance(x.view(-1, 2), t.view(-1, 2))": (
        [nan, inf, 0.3535534, 2.850439, 49.85604, 1e+30, 1e+30],
        [nan, nan, nan, 0, -0.707104, 0.7071096, -0.263117, 0.9647639, -0.06518766, 0.997873, -5.025e-29, 1, -1, -2.49999e-31]),
    "F.pairwise_distance(x.view(-1, 2), 0 * t.view(-1, 2), inf, 0.0)": (
        [nan, inf, 0.5, 3, 50, 1e+30, 1e+30],
        [0, 0, -1, 0, 0, 1, 0, 1, 0, 1, 0, 1, -1, 0]),
    'F.triplet_margin_loss(x.view(-1, 2), t.view(-1, 2), -t.view(-1, 2), reduction="none")': (
        [nan, nan, 0.5629827, 0.5908371, 0.5308503, 0, 0],
        [nan, nan, nan, 0, -1.023332, -0.2415734, -0.1864208, -0.03229058, -0.01054308, -0.0006328465, 0, 0, 0, 0]),
}  # fmt: skip
"""Calls of EXTREMES as x, activations, losses and others, each with its results and the gradients of their sum, which are PyTorch's.

At NaN, PyTorch's vectorized kernels and those for the last few elements differ in the gradients of relu6, hardtanh, hardswish, hardshrink,
softshrink, elu, celu and selu, and at -0.0 in softshrink; these are the vectorized ones, which all elements of a long tensor have.
"""


def check(got: Any, wanted: Any, name: str) -> None:
    """Fail unless numbers are equal to seven digits, NaN and the signs of zeros included."""
    values, expected = np.asarray(got.detach().numpy(), float), np.array(wanted, float)
    np.testing.assert_allclose(values, expected, 2e-6, 1e-6, err_msg=name)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(values[zeros]), np.signbit(expected[zeros]), f"signs of zeros of {name}")


def check_rows(torch: Any, rows: list[Row]) -> None:
    for row in rows:
        out = row.call(torch, torch.tensor(X, dtype=torch.float64))
        several = isinstance(out, tuple)
        for got, wanted in zip(out if several else [out], row.wanted if several else [row.wanted], strict=True):
            check(got, wanted, row.name)


def check_curve(torch: Any, call: str, create_graph: bool = False) -> None:
    """Compare a call and its gradient with CURVES; the tensor is long enough for vectorized kernels."""
    x = torch.tensor(EXTREMES * 16, dtype=torch.float64, requires_grad=True)
    t, i = torch.full(x.shape, 0.25, dtype=torch.float64), torch.tensor([0, 1] * (len(x) // 4))
    names = {"torch": torch, "F": torch.nn.functional, "x": x, "w": t[:1], "t": t, "i": i, "one": 4 * t, "r": x.detach().flip(0)}
    out = eval(call, names | {"inf": inf})
    (grad,) = torch.autograd.grad(out.sum(), x, create_graph=create_graph)
    count, (values, gradients) = len(EXTREMES), CURVES[call]
    check(out.flatten()[: len(values)], values, call)
    np.testing.assert_allclose(grad[:count].detach().numpy(), gradients, 2e-6, 1e-25, err_msg=f"gradient of {call}")


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


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("call", CURVES)
def test_values_and_gradients_at_extreme_numbers_are_known(call: str, create_graph: bool) -> None:
    check_curve(ours, call, create_graph)


def test_the_known_results_are_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for name, wanted in FUNCTIONS.items():
        check(getattr(torch, name)(torch.tensor(X, dtype=torch.float64)), wanted, name)
    check_rows(torch, ROWS)
    for call in CURVES:
        if not (".clamp" in call and is_before_2_14(torch)):
            check_curve(torch, call)
