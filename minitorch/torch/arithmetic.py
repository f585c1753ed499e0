"""Stage 6 - Arithmetic and comparisons with PyTorch's dtypes, on tensors of the engine."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtypes import bool_
from minitorch.core.math_functions import Div
from minitorch.tensor import Tensor
from minitorch.torch.promotion import float_result_type, promote


def add(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """input + alpha · other."""
    a, b = promote(input, other)
    return a + (b if alpha == 1 else b * alpha)


def sub(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """input - alpha · other.

    Raises:
        TypeError: If an operand is a bool tensor.
    """
    a, b = promote(input, other)
    if a.dtype == bool_:
        raise TypeError("sub expected numbers, got bool tensors; use a ^ b, or ~a for not")
    return a - (b if alpha == 1 else b * alpha)


def mul(input: Any, other: Any) -> Tensor:
    """input · other."""
    a, b = promote(input, other)
    return a * b


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other.

    Args:
        input: A tensor or a number.
        other: The same.
        rounding_mode: None for the quotient, "trunc" towards 0, "floor" towards -∞; the dtype of the operands is kept.

    Raises:
        ValueError: If the rounding mode is unknown.
    """
    if rounding_mode is None:
        return Div.apply(*promote(input, other, float_result_type(input, other)))
    if rounding_mode not in ("trunc", "floor"):
        raise ValueError(f'div expected rounding_mode None, "trunc" or "floor", got {rounding_mode!r}')
    raise NotImplementedError


def eq(input: Any, other: Any) -> Tensor:
    """Whether input == other, element by element, exactly; as bool."""
    a, b = promote(input, other)
    return a == b
