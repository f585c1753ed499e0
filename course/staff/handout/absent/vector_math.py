"""Stage 3 - The names of the vectorizable functions, in a library without optimized kernels: they are the student's own functions."""

from collections.abc import Callable
from typing import Any

from minitorch.core.math_operators import tanh
from minitorch.operators import exp, sigmoid

__all__ = ["exp", "fast_equivalents", "sigmoid", "tanh"]

fast_equivalents: dict[Any, Callable[..., float]] = {}
"""Scalar functions with a faster form: none."""
