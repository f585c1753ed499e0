"""Finite differences that choose their own step."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

STEPS = 9
"""The number of steps that are tried, each a tenth of the previous one."""

TRUST = 1e-4
"""The relative difference up to which the estimates of two steps agree."""


def slope(f: Callable[[float], float], x: float) -> float | None:
    """The derivative of f at x by central differences; None if no two consecutive steps agree, as at a kink or a pole."""
    estimates = []
    step = 0.01 * max(abs(x), 0.1)
    for _ in range(STEPS):
        try:
            estimates.append((f(x + step) - f(x - step)) / ((x + step) - (x - step)))
        except (ArithmeticError, ValueError):
            estimates.append(math.nan)
        step /= 10
    pairs = [(_apart(a, b), b) for a, b in pairwise(estimates) if math.isfinite(a) and math.isfinite(b)]
    apart, best = min(pairs, default=(math.inf, math.nan))
    return best if apart < TRUST else None


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
