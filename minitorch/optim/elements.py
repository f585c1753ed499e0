"""Stage 1 - Arithmetic of optimizers, one rule for numbers and for tensors.

The functions of two numbers are made once for every setting: a backend may compile them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any


def each(fn: Callable[[float, float], float], a: Any, b: Any, out: Any = None) -> Any:
    """fn of two numbers, or of a tensor and another or a number, element by element; tensors write it into out, perhaps one of them."""
    return a.f.zip(fn)(a, a._ensure_tensor(b), out) if hasattr(a, "f") else fn(a, b)


def nothing_like(value: Any) -> Any:
    """Zero, or zeros in a tensor like value, to remember something in."""
    return value.zeros(dtype=kept_as(value)) if hasattr(value, "f") else 0.0


def kept_as(value: Any) -> Any:
    """The dtype of what is remembered for a tensor: its own; float32 for a narrower one, in which small squares would become 0."""
    return value.dtype if value.dtype.itemsize >= 4 else "float32"


def decayed(derivative: Any, value: Any, weight_decay: float) -> Any:
    """The derivative of what is minimised with weight_decay / 2 · value² added to it."""
    return each(plus_scaled(weight_decay), derivative, value) if weight_decay else derivative


@cache
def plus_scaled(factor: float) -> Callable[[float, float], float]:
    """The function x + factor · y."""

    def fn(x: float, y: float) -> float:
        return x + factor * y

    return fn


@cache
def running_mean(beta: float, rest: float | None = None) -> Callable[[float, float], float]:
    """The function that makes of a running mean and the next number the running mean that follows; rest, unless given, is 1 - beta."""
    rest = 1.0 - beta if rest is None else rest

    def fn(mean: float, x: float) -> float:
        return beta * mean + rest * x

    return fn


@cache
def running_square(beta: float) -> Callable[[float, float], float]:
    """As `running_mean`, of squares."""
    rest = 1.0 - beta

    def fn(mean: float, x: float) -> float:
        return beta * mean + rest * (x * x)

    return fn


def root_plus(x: float, y: float) -> float:
    """√x + y."""
    return math.sqrt(x) + y


def quotient(x: float, y: float) -> float:
    """x / y."""
    return x / y
