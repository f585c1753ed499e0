"""Finite differences with an automatic step size."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

STEPS = 9
"""The number of steps that are tried, each a tenth of the previous one."""

TRUST = 1e-4
"""The relative difference up to which the estimates of two steps agree, and the share of an estimate that rounding may make up."""

NOISE = 1e-8
"""The absolute error up to which rounding is negligible."""


def numerical_derivative(f: Callable[[float], float], x: float, size: float = 0.0) -> float | None:
    """The derivative of f at x by central differences.

    None if no two consecutive steps agree, as at a pole; if the curvature does not shrink with the step, as at a kink; or if f is
    so large that its rounding errors hide the derivative. If f is computed from larger numbers, which may cancel, size is theirs.
    """
    estimates = []
    step = 0.01 * max(abs(x), 0.1)
    for _ in range(STEPS):
        estimates.append(_estimate(f, x, step, size))
        step /= 10
    pairs = [(_relative_difference(a.derivative, b.derivative), a, b) for a, b in pairwise(estimates) if a is not None and b is not None]
    apart, wide, narrow = min(pairs, key=lambda pair: pair[0], default=(math.inf, None, None))
    if wide is None or narrow is None or apart >= TRUST:
        return None
    is_kink = narrow.curvature > wide.curvature / 2 and narrow.curvature > 10 * narrow.noise
    return None if is_kink else narrow.derivative


@dataclass(frozen=True)
class Estimate:
    """Differences with one step.

    Attributes:
        derivative: The central difference.
        curvature: Half the difference of the forward and the backward difference, as an absolute value.
        noise: The rounding error of both.
    """

    derivative: float
    curvature: float
    noise: float


def _estimate(f: Callable[[float], float], x: float, step: float, size: float) -> Estimate | None:
    """The estimate with one step; None if f is not defined there or its rounding errors are too large."""
    low, high = x - step, x + step
    try:
        below, here, above = f(low), f(x), f(high)
        derivative, curvature = (above - below) / (high - low), abs(above - 2 * here + below) / (high - low)
        noise = sys.float_info.epsilon * max(size, abs(below), abs(here), abs(above)) / (high - low)
    except (ArithmeticError, ValueError):
        return None
    is_precise = math.isfinite(derivative) and noise <= max(TRUST * abs(derivative), NOISE)
    return Estimate(derivative, curvature, noise) if is_precise else None


def _relative_difference(a: float, b: float) -> float:
    """The relative difference of two estimates."""
    return abs(a - b) / max(abs(a), abs(b), 1e-7)


def agrees(expected: float, got: object, scale: float = 1.0) -> bool:
    """Whether a derivative equals that of finite differences, within their precision."""
    try:
        number = float(got)  # type: ignore[arg-type]  # what a student's backward returns may be anything
    except (TypeError, ValueError):
        return False
    return abs(number - expected) <= 1e-3 * max(abs(expected), abs(number)) + 1e-6 * scale
