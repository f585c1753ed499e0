"""Stage 2 - Elementwise functions beyond the course: elementary functions, comparisons and selections.

Each Function stands with its forward and backward pass; the scalar functions are in math_operators.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.core import math_operators
from minitorch.core.dtypes import (
    bool_,
    comparison_dtype,
    compute_dtype,
    is_float,
    is_half,
    promote_to_float,
    promote_to_number,
)
from minitorch.core.tensor_base import Tensor, TensorBase
from minitorch.tensor_functions import Function, Inv, Mul

# Element by element


class Sin(Function):
    """Sine, in radians."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(math_operators.sin, promote_to_float)(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output * a.cos()


class Cos(Function):
    """Cosine, in radians."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(math_operators.cos, promote_to_float)(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return -grad_output * a.sin()


class Tanh(Function):
    """Hyperbolic tangent."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        y = a.f.map(math_operators.tanh, promote_to_float)(a)
        ctx.save_for_backward(y)  # d tanh = 1 - y²
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return grad_output * (1.0 - y * y)


class Sqrt(Function):
    """Square root; its derivative at 0 is infinite."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        y = a.f.map(math_operators.sqrt, promote_to_float)(a)
        ctx.save_for_backward(y)  # d sqrt = 1 / 2y
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return grad_output / (2.0 * y)


class Abs(Function):
    """|a|; its derivative at 0 is taken as 0."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(math_operators.magnitude)(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output.f.zip(math_operators.abs_back)(a, grad_output)


def divide(a: Tensor, b: Tensor) -> Tensor:
    """a · (1 / b), as in the course: it may differ from the quotient in the last digit. In half precision the quotient itself."""
    return Div.apply(a, b) if is_half(a.dtype) or is_half(b.dtype) else Mul.apply(a, Inv.apply(b))


class Div(Function):
    """a / b, in one division: the course's division computes 1 / b, which often leaves the range of float16, or its precision."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a if ctx.needs_input_grad[1] else None, b)
        return a.f.zip(math_operators.div, promote_to_float)(a, b)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b = ctx.saved_values  # in float32: g / b and -(g / b) · (a / b), without the square of b
        differentiated = grad_output.requires_grad  # the gradient in turn
        divisor = b if differentiated else b.detach()
        quotient = grad_output.to(compute_dtype(grad_output.dtype)) / divisor.to(compute_dtype(b.dtype))
        grad_a = quotient if ctx.needs_input_grad[0] else None
        if not ctx.needs_input_grad[1]:
            return grad_a, None
        return grad_a, -quotient * ((a if differentiated else a.detach()) / divisor).to(quotient.dtype)


def require_mask(x: Tensor, operator: str) -> Tensor:
    """The tensor itself if it holds truth values.

    Raises:
        TypeError: If its dtype is not bool.
    """
    if x.dtype != bool_:
        raise TypeError(f"{operator} expected a tensor of bools, got {x.dtype.name}; compare first, such as x > 0")
    return x


class Pow(Function):
    """a to the power b, element by element.

    Where a < 0, the derivative with respect to b does not exist: it is NaN. At 0 to the power 0, it is taken as 0.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        whole = not (is_float(a.dtype) or is_float(b.dtype))
        if whole and (b < 0).any().item():
            raise ValueError(
                f"integers cannot be raised to negative integer powers, got {a.dtype.name} ** {b.dtype.name}; make one of them float64"
            )
        y = a.f.zip(math_operators.integer_power if whole else math_operators.power, promote_to_number)(a, b)
        ctx.save_for_backward(a, b, y if ctx.needs_input_grad[1] else None)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b, y = ctx.saved_values
        grad_a, grad_b = None, None
        if ctx.needs_input_grad[0]:
            grad_a = mask_select(b != 0, grad_output * b * a ** (b - 1.0))
        if ctx.needs_input_grad[1]:
            grad_b = grad_output * y.f.zip(math_operators.log_base)(a, b) * y
        return grad_a, grad_b


class Comparison(Function):
    """A comparison: its derivative is 0 wherever it exists. forward saves the shapes of its inputs."""

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, ...]:
        return tuple(grad_output.zeros(shape) for shape in ctx.saved_values)


class LE(Comparison):
    """Whether a <= b, as bool."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.shape, b.shape)
        return a.f.zip(math_operators.le, comparison_dtype)(a, b)


class NE(Comparison):
    """Whether a != b, as bool; NaN differs from everything."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.shape, b.shape)
        return a.f.zip(math_operators.ne, comparison_dtype)(a, b)


# Selections


class Where(Function):
    """a where the condition is true, else b; the gradient flows to the input that the element came from."""

    @staticmethod
    def forward(ctx: Context, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(condition)
        return mask_select(condition != 0, a) + mask_select(condition == 0, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[None, Tensor, Tensor]:
        (condition,) = ctx.saved_values
        return None, mask_select(condition != 0, grad_output), mask_select(condition == 0, grad_output)


class Clip(Function):
    """a limited to the range from low to high; the gradient flows where low < a < high, not at a limit."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, low: Tensor, high: Tensor) -> Tensor:
        ctx.save_for_backward((low < a) * (a < high))
        return a.f.zip(math_operators.minimum)(a.f.zip(math_operators.maximum)(a, low), high)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None, None]:
        (inside,) = ctx.saved_values
        return mask_select(inside, grad_output), None, None


def where(condition: Tensor, a: Tensor, other: Any) -> Tensor:
    """a where the condition is true, else other; all three broadcast.

    Raises:
        TypeError: If the condition is not a Tensor.
    """
    if not isinstance(condition, TensorBase):
        raise TypeError(f"where expected a Tensor as condition, got {type(condition).__name__}; compare tensors, such as x > 0")
    return Where.apply(condition, a, a._ensure_tensor(other))


def clip(a: Tensor, low: float | None, high: float | None) -> Tensor:
    """Every element limited to the range from low to high; None for no limit."""
    return Clip.apply(a, _limit(a, low, -1), _limit(a, high, 1))


def _limit(a: Tensor, limit: Any, sign: int) -> Tensor:
    """The lower (sign -1) or upper (1) limit of clip as a tensor; for None one that no element of a exceeds."""
    if isinstance(limit, TensorBase):
        raise TypeError("clip expected numbers for low and high, got a Tensor; use where(x < low, low, x)")
    if limit is None and a.dtype.kind in "iu":
        limit = np.iinfo(a.dtype).max if sign > 0 else np.iinfo(a.dtype).min
    elif limit is None:
        limit = sign * math.inf if is_float(a.dtype) else sign > 0
    return a._ensure_tensor(limit)


def mask_select(condition: Tensor, a: Tensor) -> Tensor:
    """a where the condition is true, else 0, even if a is infinite or NaN there."""
    return a.f.zip(math_operators.select_if, _second)(condition, a)


def _second(first: Any, second: Any) -> Any:
    """The dtype of the selected elements."""
    return second


class ExactLog(Function):
    """ln a, without the shift by EPS of `Tensor.log`."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(math_operators.exact_log, promote_to_float)(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output / a


class MaskedSelect(Function):
    """a where a mask is true, 0 elsewhere, even if a is infinite or NaN there."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(mask)
        return mask_select(mask, a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_values
        return mask_select(mask, grad_output), None
