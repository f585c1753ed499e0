"""Stage 7 - Elementwise functions of two tensors that the course does not need: forward in a kernel, backward from other functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.autograd.engine import RULES
from minitorch.core import math_operators
from minitorch.core.dtypes import is_float
from minitorch.core.math_functions import LE, NE, Div, MaskedSelect
from minitorch.core.tensor_base import Tensor
from minitorch.ops.pointwise import Trunc, apply_ufunc
from minitorch.tensor_functions import EQ, LT, Function


def atan2(a: float, b: float) -> float:
    """The angle of the point (b, a), from -π to π."""
    return math.atan2(a, b)


def hypot(a: float, b: float) -> float:
    """√(a² + b²) without overflow."""
    return math.hypot(a, b)


def fmod(a: float, b: float) -> float:
    """a - trunc(a / b) · b: the remainder with the sign of a; NaN for b = 0 or infinite a."""
    return math.copysign(abs(a) % abs(b), a) if b != 0.0 and -math.inf < a < math.inf else math.nan


def whole_fmod(a: int, b: int) -> int:
    """a - trunc(a / b) · b of integers."""
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def logaddexp(a: float, b: float) -> float:
    """ln(eᵃ + eᵇ) without overflow."""
    if a == b:
        return a + math.log(2.0)
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def xlogy(a: float, b: float) -> float:
    """a · ln b; 0 if a is 0, unless b is NaN."""
    if b != b or a == 0.0:
        return b if b != b else 0.0
    return a * (math.log(b) if b > 0.0 else -math.inf if b == 0.0 else math.nan)


def copysign(a: float, b: float) -> float:
    """|a| with the sign of b, which zeros and NaN have, too."""
    return math.copysign(a, b)


def subtract(a: float, b: float) -> float:
    """a - b."""
    return a - b


def select_or_negative_zero(condition: float, x: float) -> float:
    """x if the condition is true, else -0.0, which added to any number leaves it, and the sign of a zero, as it is."""
    return x if condition else -0.0


def second_dtype(first: Any, second: Any) -> Any:
    """The dtype of the second argument."""
    return second


class Sub(Function):
    """a - b; the course adds -b, in two steps."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        return a.f.zip(subtract)(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        return grad_output, -grad_output


RULES[Sub] = lambda ctx, out, grad: (grad, -grad)


class Choose(Function):
    """a where the condition is true, else b; the gradient flows to the input that the element came from."""

    @staticmethod
    def forward(ctx: Context, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(condition)
        select = a.f.zip(select_or_negative_zero if is_float(a.dtype) else math_operators.select_if, second_dtype)
        return select(condition, a) + select(condition == 0, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[None, Tensor, Tensor]:
        (condition,) = ctx.saved_values
        return None, MaskedSelect.apply(grad_output, condition), MaskedSelect.apply(grad_output, condition == 0)


class Maximum(Function):
    """The larger of two numbers; NaN if one is. Of equal ones, both receive half of the gradient; if one is NaN, both receive all of it."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a.f.zip(math_operators.maximum)(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_values
        return shared_gradients(grad_output, a, b)


class Minimum(Function):
    """The smaller of two numbers; NaN if one is. Gradients flow as in `Maximum`."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a.f.zip(math_operators.minimum)(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_values
        return shared_gradients(grad_output, b, a)


def shared_gradients(grad_output: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Two gradients: no first one where a < b, no second one where b < a, half of both where a and b are equal, all where one is NaN."""
    if not grad_output.requires_grad:  # otherwise the gradients are differentiated in turn
        a, b = a.detach(), b.detach()
    shares = Choose.apply(EQ.apply(a, b), grad_output * 0.5, grad_output)
    a_smaller, b_smaller = LT.apply(a, b), LT.apply(b, a)
    return MaskedSelect.apply(shares, negate(a_smaller)), MaskedSelect.apply(shares, negate(b_smaller))


class Limit(Function):
    """The larger of a and a number, or the smaller one; the gradient flows where it is a alone, also if a is infinite."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, limit: Tensor, lower: bool) -> Tensor:
        ctx.save_for_backward(LT.apply(limit, a) if lower else LT.apply(a, limit))
        return a.f.zip(math_operators.maximum if lower else math_operators.minimum)(a, limit)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None, None]:
        return MaskedSelect.apply(grad_output, ctx.saved_values[0]), None, None


class Between(Function):
    """a limited to the range from low to high, tensors; high where low is above it.

    At one of two different limits, a and the limit receive half of the gradient; where all three are equal, a receives it.
    """

    @staticmethod
    def forward(ctx: Context, a: Tensor, low: Tensor, high: Tensor) -> Tensor:
        below, above, apart = LT.apply(a, low), LT.apply(high, a), LT.apply(low, high)
        at_low, at_high, ordered = EQ.apply(a, low) * apart, EQ.apply(a, high) * apart, LE.apply(low, high)
        to_high = at_high + above * ordered + LT.apply(high, low)
        ctx.save_for_backward(at_low + at_high, negate(below + above), at_low + below * ordered, to_high)
        return a.f.zip(math_operators.minimum)(a.f.zip(math_operators.maximum)(a, low), high)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, ...]:
        shared, *receivers = ctx.saved_values
        grad = Choose.apply(shared, grad_output * 0.5, grad_output)
        return tuple([MaskedSelect.apply(grad, receives) for receives in receivers])


def negate(mask: Tensor) -> Tensor:
    """Where a mask is false."""
    return EQ.apply(mask, mask.zeros(()))


class Atan2(Function):
    """The angle of the point (b, a)."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a.f.zip(atan2)(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_values
        squares = a * a + b * b
        squares = squares + (squares == 0.0)  # at (0, 0) the gradient is 0
        return grad_output * b / squares, -grad_output * a / squares


class Hypot(Function):
    """√(a² + b²)."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        out = a.f.zip(hypot)(a, b)
        needs_a, needs_b = ctx.needs_input_grad
        ctx.save_for_backward(a if needs_a else None, b if needs_b else None, out)
        return out

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, out = ctx.saved_values
        return tuple(None if x is None else grad_output * x / out for x in inputs)


class Fmod(Function):
    """a - trunc(a / b) · b."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(*(a, b) if ctx.needs_input_grad[1] else ())
        return a.f.zip(fmod if is_float(a.dtype) else whole_fmod)(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor | None]:
        if not ctx.saved_values:
            return grad_output, None
        a, b = ctx.saved_values
        return grad_output, -grad_output * Trunc.apply(Div.apply(a, b))


class LogAddExp(Function):
    """ln(eᵃ + eᵇ)."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a.f.zip(logaddexp)(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_values
        return grad_output * (a - b).sigmoid(), grad_output * (b - a).sigmoid()


class XLogY(Function):
    """a · ln b, and 0 where a is 0, unless b is NaN."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a.f.zip(xlogy)(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor, recorded: bool = False) -> tuple[Tensor, Tensor]:
        """0 for an a of 0 whose b has no logarithm; NaN for the b of 0 / 0."""
        a, b = ctx.saved_values if recorded else (x.detach() for x in ctx.saved_values)
        defined = (a.detach() != 0) + (b.detach() > 0) + (b.detach() != b.detach()) > 0
        return XLogY.apply(grad_output, b.where(defined, 1.0)), grad_output * a / b


RULES[XLogY] = lambda ctx, out, grad: XLogY.backward(ctx, grad, True)


class CopySign(Function):
    """|a| with the sign of b; its derivative at a = 0 is 0."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        out = a.f.zip(copysign)(a, b)
        ctx.save_for_backward(a if ctx.needs_input_grad[0] else None, out)
        return out

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, None]:
        a, out = ctx.saved_values
        if a is None:
            return None, None
        a, out = a.detach(), out.detach()  # the derivative is constant in parts
        return grad_output * (out / a.where(a != 0, math.inf)), None


RULES[CopySign] = lambda ctx, out, grad: CopySign.backward(ctx, grad)


class NextAfter(Function):
    """The next number of the dtype from a towards b; the gradient flows to a, unless both are equal."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(NE.apply(a, b))
        return apply_ufunc(np.nextafter, a.dtype, a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        return MaskedSelect.apply(grad_output, ctx.saved_values[0]), grad_output.zeros()
