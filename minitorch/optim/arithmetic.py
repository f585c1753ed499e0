"""Stage 1 - Arithmetic of optimizers: one rule for plain numbers (a Scalar's value) and for tensors.

Each setting's function of two numbers is cached, because a backend may compile it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import minitorch.operators as operators
from minitorch.module import Parameter


def is_tensor(value: Any) -> bool:
    """Whether a value is a Tensor and not a number or Scalar; this stage comes before the class."""
    return hasattr(value, "f")


def value_of(parameter: Any) -> Any:
    """The Scalar or Tensor of a parameter; a Tensor that is optimized as it is, is its own."""
    return parameter.value if isinstance(parameter, Parameter) else parameter


def with_gradients(closure: Callable[[], Any]) -> Any:
    """The result of a closure that computes gradients, which are recorded even if `step` is called within no_grad."""
    context = sys.modules.get("minitorch.core.context")  # of a later stage: Scalars always record
    if context is None:
        return closure()
    mode = context.grad_mode
    before, mode.enabled = mode.enabled, True
    try:
        return closure()
    finally:
        mode.enabled = before


def apply_elementwise(fn: Callable[[float, float], float], a: Any, b: Any, out: Any = None) -> Any:
    """fn of two numbers, or elementwise of a tensor and a tensor or number. Tensors write the result into out, which may be a or b."""
    return a.f.zip(fn)(a, a._ensure_tensor(b), out) if is_tensor(a) else fn(a, b)


def zero_state(value: Any) -> Any:
    """Initial optimizer state for a parameter's value: 0.0, or a tensor of zeros in `state_dtype`."""
    return value.zeros(dtype=state_dtype(value)) if is_tensor(value) else 0.0


def state_dtype(value: Any) -> Any:
    """The dtype of a tensor's optimizer state: its own, but float32 for half precision, in which small squares would underflow."""
    return value.dtype if value.dtype.itemsize >= 4 else "float32"


def apply_weight_decay(gradient: Any, value: Any, weight_decay: float) -> Any:
    """The gradient of the loss with the penalty weight_decay / 2 · value² added."""
    return apply_elementwise(add_scaled(weight_decay), gradient, value) if weight_decay else gradient


def add_step(value: Any, direction: Any, factor: float) -> Any:
    """value + factor · direction, written into value."""
    return apply_elementwise(operators.add, value, apply_elementwise(operators.mul, direction, factor), out=value)


@cache
def add_scaled(factor: float) -> Callable[[float, float], float]:
    """The function x + factor · y."""

    def fn(x: float, y: float) -> float:
        return x + factor * y

    return fn


@cache
def running_mean(beta: float, weight: float | None = None) -> Callable[[float, float], float]:
    """The function beta · mean + weight · x that updates a running mean; weight defaults to 1 - beta."""
    weight = 1.0 - beta if weight is None else weight

    def fn(mean: float, x: float) -> float:
        return beta * mean + weight * x

    return fn


@cache
def running_mean_square(beta: float) -> Callable[[float, float], float]:
    """The function beta · mean + (1 - beta) · x² that updates a running mean of squares."""
    weight = 1.0 - beta

    def fn(mean: float, x: float) -> float:
        return beta * mean + weight * (x * x)

    return fn


def sqrt_plus(x: float, y: float) -> float:
    """√x + y."""
    return math.sqrt(x) + y


def divide(x: float, y: float) -> float:
    """x / y."""
    return x / y
