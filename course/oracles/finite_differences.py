"""Finite differences that choose their own step."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import pairwise

STEPS = 9
"""The number of steps that are tried, each a tenth of the previous one."""

TRUST = 1e-4
"""The relative difference up to which the estimates of two steps agree, and the share of an estimate that rounding may make up."""

NOISE = 1e-8
"""The absolute error up to which rounding is negligible."""


def slope(f: Callable[[float], float], x: float) -> float | None:
    """The derivative of f at x by central differences.

    None if no two consecutive steps agree, as at a pole; if small and large steps give different results, as near a kink; or if f is
    so large that its rounding errors hide the derivative.
    """
    estimates = []
    step = 0.01 * max(abs(x), 0.1)
    for _ in range(STEPS):
        estimates.append(_estimate(f, x - step, x + step))
        step /= 10
    pairs = [(_apart(a, b), b) for a, b in pairwise(estimates) if math.isfinite(a) and math.isfinite(b)]
    trusted = [estimate for apart, estimate in sorted(pairs) if apart < TRUST]
    return trusted[0] if trusted and all(_apart(trusted[0], other) < 10 * TRUST for other in trusted) else None


def _estimate(f: Callable[[float], float], low: float, high: float) -> float:
    """The slope of f between two points; NaN if f is not defined there or the difference consists of rounding errors."""
    try:
        below, above = f(low), f(high)
        estimate = (above - below) / (high - low)
        noise = sys.float_info.epsilon * max(abs(below), abs(above)) / (high - low)
    except (ArithmeticError, ValueError):
        return math.nan
    return estimate if noise <= max(TRUST * abs(estimate), NOISE) else math.nan


def _apart(a: float, b: float) -> float:
    """The relative difference of two estimates."""
    return abs(a - b) / max(abs(a), abs(b), 1e-7)


def agrees(expected: float, got: object, scale: float = 1.0) -> bool:
    """Whether a derivative equals that of finite differences, within their precision."""
    try:
        number = float(got)  # type: ignore[arg-type]  # what a student's backward returns may be anything
    except (TypeError, ValueError):
        return False
    return abs(number - expected) <= 1e-3 * max(abs(expected), abs(number)) + 1e-6 * scale
