"""Stage 7 - Activations that consist of straight pieces: hardtanh, relu6, hardsigmoid, hardswish, threshold and the shrinking functions."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from minitorch.core.math_functions import MaskedSelect
from minitorch.ops.activations import ElementwiseActivation, OptionalActivation, Pair
from minitorch.ops.checks import check_float_tensor

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

# Scalar functions


@cache
def clamp_functions(low: float, high: float) -> Pair:
    """Make the limitation to the range from low to high; the derivative at the limits and at NaN is 0."""

    def clamp(x: float) -> float:
        return low if x < low else high if x > high else x

    def clamp_back(x: float, d: float) -> float:
        return d if low < x < high else 0.0

    return clamp, clamp_back


@cache
def threshold_functions(limit: float, value: float) -> Pair:
    """Make x if x > limit, else value."""

    def above(x: float) -> float:
        return value if x <= limit else x

    def above_back(x: float, d: float) -> float:
        return 0.0 if x <= limit else d

    return above, above_back


@cache
def hardshrink_functions(lambd: float) -> Pair:
    """Make x if |x| > lambd, else 0; the derivative at NaN is 0."""

    def shrink(x: float) -> float:
        return 0.0 if -lambd <= x <= lambd else x

    def shrink_back(x: float, d: float) -> float:
        return d if x < -lambd or x > lambd else 0.0

    return shrink, shrink_back


@cache
def softshrink_functions(lambd: float) -> Pair:
    """Make x moved towards 0 by lambd, 0 if it is closer than that; the derivative at NaN is 0."""

    def shrink(x: float) -> float:
        return 0.0 if -lambd <= x <= lambd else x - lambd if x > 0 else x + lambd

    def shrink_back(x: float, d: float) -> float:
        return d if x < -lambd or x > lambd else 0.0

    return shrink, shrink_back


def hardsigmoid_number(x: float) -> float:
    """x / 6 + 1/2, limited to the range from 0 to 1."""
    return 0.0 if x <= -3 else 1.0 if x >= 3 else x / 6 + 0.5


def hardsigmoid_back(x: float, d: float) -> float:
    """d times its derivative, which is 0 at NaN."""
    return d / 6 if -3 < x < 3 else 0.0


def hardswish_number(x: float) -> float:
    """x · hardsigmoid(x)."""
    return x * (0.0 if x <= -3 else 6.0 if x >= 3 else x + 3) / 6


def hardswish_back(x: float, d: float) -> float:
    """d times its derivative."""
    return 0.0 if x <= -3 else d if x >= 3 else d * (x / 3 + 0.5)


class Clamp(OptionalActivation):
    """x limited to the range from low to high."""

    make = staticmethod(clamp_functions)
    composed = staticmethod(lambda a, low, high: a.clip(low, high))


class Above(OptionalActivation):
    """x if x > limit, else value."""

    make = staticmethod(threshold_functions)
    composed = staticmethod(lambda a, limit, value: a.where(~(a.detach() <= limit), value))


class HardShrink(OptionalActivation):
    """x if |x| > lambd, else 0."""

    make = staticmethod(hardshrink_functions)
    composed = staticmethod(lambda a, lambd: MaskedSelect.apply(a, a.detach().abs() > lambd))


class SoftShrink(OptionalActivation):
    """x moved towards 0 by lambd."""

    make = staticmethod(softshrink_functions)

    @staticmethod
    def composed(a: Tensor, lambd: float) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        x = a.detach()
        return MaskedSelect.apply(a - x.clip(-lambd, lambd), x.abs() > lambd)


class HardSigmoid(ElementwiseActivation):
    """x / 6 + 1/2, limited to the range from 0 to 1."""

    fn, derivative = hardsigmoid_number, hardsigmoid_back
    composed = staticmethod(lambda a: (a + 3.0).clip(0.0, 6.0) * (1 / 6))


class HardSwish(ElementwiseActivation):
    """x · hardsigmoid(x)."""

    fn, derivative = hardswish_number, hardswish_back
    composed = staticmethod(lambda a: a * HardSigmoid.composed(a))


# Functions


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Every element limited to the range from min_val to max_val; the derivative at the limits is 0.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If max_val is not above min_val.
    """
    if not min_val < max_val:
        raise ValueError(f"hardtanh expected max_val above min_val, got {min_val} and {max_val}; swap them")
    return Clamp.apply(check_float_tensor("hardtanh", input), float(min_val), float(max_val))


def relu6(input: Tensor) -> Tensor:
    """Every element limited to the range from 0 to 6; errors as for `relu`."""
    return Clamp.apply(check_float_tensor("relu6", input), 0.0, 6.0)


def hardsigmoid(input: Tensor) -> Tensor:
    """x / 6 + 1/2, limited to the range from 0 to 1, elementwise; errors as for `relu`."""
    return HardSigmoid.apply(check_float_tensor("hardsigmoid", input))


def hardswish(input: Tensor) -> Tensor:
    """x · hardsigmoid(x), elementwise; errors as for `relu`.

    Source: Howard et al. 2019, arXiv:1905.02244, section 5.2.
    """
    return HardSwish.apply(check_float_tensor("hardswish", input))


def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """x where x > threshold, else value, elementwise; errors as for `relu`."""
    return Above.apply(check_float_tensor("threshold", input), float(threshold), float(value))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x where |x| > lambd, else 0, elementwise; errors as for `relu`."""
    return HardShrink.apply(check_float_tensor("hardshrink", input), float(lambd))


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, elementwise; 0 where it is closer to 0 than that.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If lambd is negative.
    """
    if not lambd >= 0:
        raise ValueError(f"softshrink expected lambd of at least 0, got {lambd}; pass a distance such as 0.5")
    return SoftShrink.apply(check_float_tensor("softshrink", input), float(lambd))
