"""Stage 7 - Further smooth activations: elu and its relatives, softplus, softsign, mish, logsigmoid, prelu and glu."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from minitorch.ops.activations import ElementwiseActivation, OptionalActivation, Pair
from minitorch.ops.checks import check_float_tensor
from minitorch.ops.pointwise import Log1p

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

SELU_SCALE, SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
"""Constants of SELU: Klambauer et al. 2017, arXiv:1706.02515, section 2."""


# Scalar functions


@cache
def elu_functions(alpha: float, scale: float, input_scale: float) -> Pair:
    """Make scale · x if x > 0, else scale · alpha · (e^(input_scale · x) - 1)."""

    def elu(x: float) -> float:
        return scale * x if x > 0 else scale * alpha * math.expm1(input_scale * x)

    def elu_back(x: float, d: float) -> float:
        return d * scale if x > 0 else d * (scale * alpha * input_scale * math.exp(input_scale * x))

    return elu, elu_back


@cache
def softplus_functions(beta: float, threshold: float) -> Pair:
    """Make ln(1 + e^(beta · x)) / beta, and x where beta · x > threshold."""

    def softplus(x: float) -> float:
        return x if beta * x > threshold else math.log1p(math.exp(beta * x)) / beta

    def softplus_back(x: float, d: float) -> float:
        if beta * x > threshold:
            return d
        z = math.exp(beta * x)
        return d * z / (1.0 + z)

    return softplus, softplus_back


def softsign_number(x: float) -> float:
    """x / (1 + |x|), elementwise."""
    return x / (1.0 + abs(x))


def softsign_back(x: float, d: float) -> float:
    """d times its derivative, 1 / (1 + |x|)²; NaN at ±∞, where the function is NaN."""
    return d / ((1.0 + abs(x)) * (1.0 + abs(x))) + (x - x)


def logsigmoid_number(x: float) -> float:
    """ln sigmoid(x), without overflow."""
    return (x if x < 0 else 0.0) - math.log1p(math.exp(-abs(x)))


def logsigmoid_back(x: float, d: float) -> float:
    """d times its derivative, sigmoid(-x)."""
    z = math.exp(-abs(x))
    return d * ((z if x >= 0 else 1.0) / (1.0 + z))


def mish_number(x: float) -> float:
    """x · tanh(ln(1 + e^x))."""
    z = math.exp(-abs(x))
    t = math.tanh((x if x > 0 else 0.0) + math.log1p(z))
    return x * t


def mish_back(x: float, d: float) -> float:
    """d times its derivative, t + x · (1 - t²) · sigmoid(x) with t = tanh(ln(1 + e^x))."""
    z = math.exp(-abs(x))
    t = math.tanh((x if x > 0 else 0.0) + math.log1p(z))
    return d * (t + x * ((1.0 - t * t) * ((1.0 if x >= 0 else z) / (1.0 + z))))


class ScaledElu(OptionalActivation):
    """scale · x if x > 0, else scale · alpha · (e^(input_scale · x) - 1)."""

    make = staticmethod(elu_functions)

    @staticmethod
    def composed(a: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        positive = a.detach() > 0
        powers = (a.where(~positive, 0.0) * input_scale).exp()  # no power of a large number
        return a.where(positive, (powers - 1.0) * alpha) * scale


class SoftPlus(OptionalActivation):
    """ln(1 + e^(beta · x)) / beta, and x where beta · x > threshold."""

    make = staticmethod(softplus_functions)

    @staticmethod
    def composed(a: Tensor, beta: float, threshold: float) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        large = a.detach() * beta > threshold
        powers = (a.where(~large, 0.0) * beta).exp()  # no power of a large number
        return a.where(large, Log1p.apply(powers) * (1 / beta))


class SoftSign(ElementwiseActivation):
    """x / (1 + |x|)."""

    fn, derivative = softsign_number, softsign_back
    composed = staticmethod(lambda a: a / (a.abs() + 1.0))


class LogOfSigmoid(ElementwiseActivation):
    """ln sigmoid(x)."""

    fn, derivative = logsigmoid_number, logsigmoid_back
    composed = staticmethod(lambda a: -SoftPlus.composed(-a, 1.0, 20.0))


class MishActivation(ElementwiseActivation):
    """x · tanh(ln(1 + e^x))."""

    fn, derivative = mish_number, mish_back
    composed = staticmethod(lambda a: a * SoftPlus.composed(a, 1.0, 20.0).tanh())


# Functions


def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x for positive x, else alpha · (e^x - 1), elementwise; errors as for `relu`.

    Source: Clevert et al. 2016, arXiv:1511.07289, eq. 13.
    """
    return ScaledElu.apply(check_float_tensor("elu", input), float(alpha), 1.0, 1.0)


def selu(input: Tensor) -> Tensor:
    """elu with the constants that keep mean 0 and variance 1 from layer to layer; it is elementwise. Errors as for `relu`.

    Source: Klambauer et al. 2017, arXiv:1706.02515, eq. 2.
    """
    return ScaledElu.apply(check_float_tensor("selu", input), SELU_ALPHA, SELU_SCALE, 1.0)


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x for positive x, else alpha · (e^(x / alpha) - 1): the derivative is continuous for every alpha. It is elementwise.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If alpha is 0.

    Source: Barron 2017, arXiv:1704.07483.
    """
    if alpha == 0:
        raise ValueError("celu expected alpha other than 0, by which it divides; for 0 use relu")
    return ScaledElu.apply(check_float_tensor("celu", input), float(alpha), 1.0, 1 / alpha)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """ln(1 + e^(beta · x)) / beta, elementwise; x itself where beta · x is above threshold. Errors as for `relu`."""
    return SoftPlus.apply(check_float_tensor("softplus", input), float(beta), float(threshold))


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|), elementwise; errors as for `relu`."""
    return SoftSign.apply(check_float_tensor("softsign", input))


def logsigmoid(input: Tensor) -> Tensor:
    """ln sigmoid(x), elementwise; accurate where sigmoid underflows. Errors as for `relu`."""
    return LogOfSigmoid.apply(check_float_tensor("logsigmoid", input))


def mish(input: Tensor) -> Tensor:
    """x · tanh(softplus(x)), elementwise; errors as for `relu`.

    Source: Misra 2019, arXiv:1908.08681, eq. 1.
    """
    return MishActivation.apply(check_float_tensor("mish", input))


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x), elementwise; errors as for `relu`."""
    return check_float_tensor("tanhshrink", input) - input.tanh()
