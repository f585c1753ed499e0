"""Stage 6 - Arithmetic, comparisons and choices with PyTorch's dtypes, on tensors of the engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.core.dtypes import bool_, is_float
from minitorch.core.math_functions import LE, NE, Div, ExactLog, MaskedSelect, Pow
from minitorch.core.number_formats import finfo
from minitorch.ops.pairs import Atan2, CopySign, Fmod, Hypot, LogAddExp, NextAfter
from minitorch.ops.pointwise import FloorDivide, Remainder, Trunc, apply_ufunc
from minitorch.tensor import Tensor
from minitorch.tensor_functions import EQ, LT, Add, Function, Mul, Neg
from minitorch.torch.promotion import cast, float_result_type, number_dtype, promote, result_type


def add(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """input + alpha · other."""
    a, b = promote(input, other)
    return Add.apply(a, b if alpha == 1 else b * alpha)


def sub(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """input - alpha · other.

    Raises:
        TypeError: If an operand is a bool tensor.
    """
    a, b = promote(input, other)
    if a._tensor.dtype is bool_:
        raise TypeError("sub expected numbers, got bool tensors; use a ^ b, or ~a for not")
    return Add.apply(a, Neg.apply(b if alpha == 1 else b * alpha))


def mul(input: Any, other: Any) -> Tensor:
    """input · other."""
    return Mul.apply(*promote(input, other))


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other.

    Args:
        input: A tensor or a number.
        other: The same.
        rounding_mode: None for the quotient; "floor" or "trunc" for whole numbers, rounded down or towards 0.

    Raises:
        ValueError: If the rounding mode is unknown.
    """
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode not in (None, "trunc"):
        raise ValueError(f'div expected rounding_mode None, "trunc" or "floor", got {rounding_mode!r}')
    quotient = Div.apply(*promote(input, other, float_result_type(input, other)))
    return quotient if rounding_mode is None else cast(Trunc.apply(quotient), result_type(input, other))


def floor_divide(input: Any, other: Any) -> Tensor:
    """input / other rounded down, in the dtype of the operands.

    Raises:
        ZeroDivisionError: If integers are divided by 0.
    """
    a, b = promote(input, other)
    return FloorDivide.apply(a, _divisor(b))


def remainder(input: Any, other: Any) -> Tensor:
    """input - floor(input / other) · other: it has the sign of other.

    Raises:
        ZeroDivisionError: If integers are divided by 0.
    """
    a, b = promote(input, other)
    return Remainder.apply(a, _divisor(b))


def _divisor(b: Tensor) -> Tensor:
    """A divisor; integers without 0."""
    if not is_float(b.dtype) and not b._tensor.array().all():
        raise ZeroDivisionError("a division of integers expected a divisor other than 0; convert to floating-point numbers for infinity")
    return b


def reverse(fn: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    """A function of two operands with these exchanged, for reflected operators."""
    return lambda input, other: fn(other, input)


def pow(input: Any, exponent: Any) -> Tensor:
    """input to the power of exponent."""
    if isinstance(exponent, (int, float)) and exponent == 2 and isinstance(input, Tensor) and is_float(input.dtype):
        return Mul.apply(input, input)
    return Pow.apply(*promote(input, exponent))


def neg(input: Tensor) -> Tensor:
    """-input.

    Raises:
        TypeError: If it is a bool tensor.
    """
    if input._tensor.dtype is bool_:
        raise TypeError("neg expected numbers, got a bool tensor; use ~x for not")
    return Neg.apply(input)


def fmod(input: Any, other: Any) -> Tensor:
    """input - trunc(input / other) · other: it has the sign of input.

    Raises:
        ZeroDivisionError: If integers are divided by 0.
    """
    a, b = promote(input, other)
    return Fmod.apply(a, _divisor(b))


def atan2(input: Any, other: Any) -> Tensor:
    """The angle of the point (other, input) in radians, from -π to π."""
    return Atan2.apply(*promote(input, other, float_result_type(input, other)))


def copysign(input: Any, other: Any) -> Tensor:
    """|input| with the sign of other, which zeros have, too. No gradient flows to other, and none where input is 0."""
    return CopySign.apply(*promote(input, other, float_result_type(input, other)))


def nextafter(input: Any, other: Any) -> Tensor:
    """The next number of the dtype from input towards other.

    Raises:
        TypeError: If both hold integers or bools.
        NotImplementedError: In a backward pass through it.
    """
    a, b = promote(input, other)
    if not is_float(a.dtype):
        raise TypeError(f"nextafter expected floating-point numbers, got {a.dtype.name}; convert them first: x.float()")
    return NextAfter.apply(a, b)


def hypot(input: Any, other: Any) -> Tensor:
    """√(input² + other²) without overflow."""
    return Hypot.apply(*promote(input, other, float_result_type(input, other)))


def logaddexp(input: Any, other: Any) -> Tensor:
    """ln(e^input + e^other) without overflow."""
    return LogAddExp.apply(*promote(input, other, float_result_type(input, other)))


def xlogy(input: Any, other: Any) -> Tensor:
    """input · ln other, and 0 where input is 0, even if other is 0."""
    a, b = promote(input, other, float_result_type(input, other))
    zero = logical_and(a == 0, b == b)
    return masked_fill(mul(a, ExactLog.apply(masked_fill(b, zero, 1.0))), zero, 0.0)


# Comparisons, which are exact


def _compared(comparison: type[Function], input: Any, other: Any) -> Tensor:
    """The result of a comparison, a constant."""
    a, b = promote(input, other)
    constant = a.history is None and b.history is None
    return comparison.apply(a, b) if constant else comparison.apply(a.detach(), b.detach())


def eq(input: Any, other: Any) -> Tensor:
    """Whether input == other."""
    return _compared(EQ, input, other)


def ne(input: Any, other: Any) -> Tensor:
    """Whether input != other."""
    return _compared(NE, input, other)


def lt(input: Any, other: Any) -> Tensor:
    """Whether input < other."""
    return _compared(LT, input, other)


def le(input: Any, other: Any) -> Tensor:
    """Whether input <= other."""
    return _compared(LE, input, other)


def gt(input: Any, other: Any) -> Tensor:
    """Whether input > other."""
    return lt(other, input)


def ge(input: Any, other: Any) -> Tensor:
    """Whether input >= other."""
    return le(other, input)


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether |input - other| <= atol + rtol · |other|; infinities are close to themselves, NaN with equal_nan."""
    a, b = (x._tensor.array() for x in promote(input, other))
    close = np.isclose(a, b, rtol, atol, equal_nan)
    return input._like(type(input._tensor)(close.reshape(-1), close.shape))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close; see `isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan)._tensor.array().all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and the same elements."""
    return input.shape == other.shape and bool((input._tensor.array() == other._tensor.array()).all())


# Bools and bits


def as_bool(x: Any) -> Any:
    """Whether each element differs from 0; a number as a bool."""
    return (x if x._tensor.dtype is bool_ else x != 0) if isinstance(x, Tensor) else bool(x)


def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Whether both differ from 0."""
    return Mul.apply(*promote(as_bool(input), as_bool(other)))


def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Whether one differs from 0."""
    return as_bool(Add.apply(*promote(cast(as_bool(input), np.dtype("int64")), cast(as_bool(other), np.dtype("int64")))))


def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Whether exactly one differs from 0."""
    return NE.apply(*promote(as_bool(input), as_bool(other)))


def logical_not(input: Tensor) -> Tensor:
    """Whether it is 0."""
    return as_bool(input) == 0


def bitwise(ufunc: np.ufunc, name: str) -> Callable[[Any, Any], Tensor]:
    """A function on the bits of integers, or on bools."""

    def apply(input: Any, other: Any) -> Tensor:
        a, b = promote(input, other)
        if is_float(a.dtype):
            raise TypeError(f"{name} expected integers or bools, got {a.dtype.name}; compare first, such as x > 0")
        return apply_ufunc(ufunc, a.dtype, a, b)

    apply.__name__, apply.__doc__ = name, f"{name.removeprefix('bitwise_')} of the bits of integers, or of bools."
    return apply


bitwise_and = bitwise(np.bitwise_and, "bitwise_and")
bitwise_or = bitwise(np.bitwise_or, "bitwise_or")
bitwise_xor = bitwise(np.bitwise_xor, "bitwise_xor")


def bitwise_not(input: Tensor) -> Tensor:
    """The opposite of every bit of integers; not, of bools."""
    return logical_not(input) if input._tensor.dtype is bool_ else bitwise_xor(input, -1)


def bitwise_left_shift(input: Any, other: Any) -> Tensor:
    """The bits of input moved up by other places: input · 2^other, without the bits that leave the dtype.

    Raises:
        TypeError: If the operands are not integers.
    """
    return _shift(np.left_shift, "bitwise_left_shift", input, other)


def bitwise_right_shift(input: Any, other: Any) -> Tensor:
    """The bits of input moved down by other places: input / 2^other rounded down.

    Raises:
        TypeError: If the operands are not integers.
    """
    return _shift(np.right_shift, "bitwise_right_shift", input, other)


def _shift(ufunc: np.ufunc, name: str, input: Any, other: Any) -> Tensor:
    """The bits of input moved; by fewer than 0 places, or by more than there are, they all leave the dtype."""
    a, b = promote(input, other)
    if a.dtype is bool_ or is_float(a.dtype):
        raise TypeError(f"{name} expected integers, got {a.dtype.name}; convert them first: x.long()")
    return apply_ufunc(ufunc, a.dtype, a, b)


# Choices


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where the condition is true, other elsewhere; with the condition alone, the indices where it is true, one tensor a dimension.

    Raises:
        TypeError: If the condition is not a bool tensor.
    """
    if condition._tensor.dtype is not bool_:
        raise TypeError(f"where expected a condition of bools, got {condition.dtype.name}; compare first, such as x > 0")
    if input is None and other is None:
        found = np.nonzero(condition._tensor.array())
        return tuple(condition._like(type(condition._tensor)(each, each.shape)) for each in found)
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = condition._like(type(condition._tensor)(np.full(1, input, number_dtype(input)), ()))
    a, b = promote(input, other)
    return _where(condition, a, b)


def _where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """a where the condition is true, else b, all broadcast."""
    shape = np.broadcast_shapes(condition.shape, a.shape, b.shape)
    condition, a, b = (x if x.shape == shape else x.expand(*shape) for x in (condition, a, b))
    return MaskedSelect.apply(a, condition) + MaskedSelect.apply(b, condition == 0)


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """input with value where the mask is true."""
    filled = cast(value, input.dtype) if isinstance(value, Tensor) else input._ensure_tensor(value)
    return cast(_where(as_bool(mask), filled, input), input.dtype)


def nan_to_num(input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """input with other numbers for NaN, ∞ and -∞: by default 0, the largest and the smallest number of the dtype."""
    if not is_float(input.dtype):
        return input.clone()
    limits = finfo(input.dtype)
    out = masked_fill(input, input != input, nan)
    out = masked_fill(out, input == math.inf, limits.max if posinf is None else posinf)
    return masked_fill(out, input == -math.inf, limits.min if neginf is None else neginf)


def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger of both; NaN if one is. Of equal elements, both receive half of the gradient."""
    return _extreme(input, other, True)


def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of both; NaN if one is. Of equal elements, both receive half of the gradient."""
    return _extreme(input, other, False)


def _extreme(input: Tensor, other: Tensor, largest: bool) -> Tensor:
    a, b = promote(input, other)
    first = logical_or((a > b) if largest else (a < b), a != a)
    out = _where(first, a, b)
    if a.history is None and b.history is None:
        return out
    tie = a == b
    return _where(tie, (a + b) * 0.5, out)


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """input limited to the range from min to max, numbers or tensors. The gradient flows where input is within both limits, not at one.

    Raises:
        ValueError: If both limits are missing.
    """
    if min is None and max is None:
        raise ValueError("clamp expected min or max, got neither; name one: x.clamp(min=0)")
    out = input
    for limit, largest in ((min, True), (max, False)):
        if limit is not None:
            a, b = promote(out, limit)
            out = _where(logical_or((a > b) if largest else (a < b), a != a), a, b)
    return out


def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """input + weight · (end - input)."""
    return add(input, mul(weight, sub(end, input)))


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value · tensor1 · tensor2."""
    return add(input, mul(tensor1, tensor2), alpha=value)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value · tensor1 / tensor2."""
    return add(input, div(tensor1, tensor2), alpha=value)
