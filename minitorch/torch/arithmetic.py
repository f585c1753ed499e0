"""Stage 7 - Arithmetic, comparisons and choices with PyTorch's dtypes, on tensors of the engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.core.dtypes import NUMBER, bool_, int64, is_float, uint8
from minitorch.core.errors import ArgumentError, DivisionError, DtypeError
from minitorch.core.math_functions import LE, NE, Div, Pow, Sqrt, clip
from minitorch.core.number_formats import finfo
from minitorch.core.recording import refuse
from minitorch.ops.pairs import Atan2, Between, Choose, CopySign, Fmod, Hypot, Limit, LogAddExp, Maximum, Minimum, NextAfter, Sub, XLogY
from minitorch.ops.pointwise import FloorDivide, Remainder, TruncDivide
from minitorch.tensor import Tensor
from minitorch.tensor_functions import EQ, LT, Add, Function, Inv, Mul, Neg
from minitorch.torch.promotion import (
    cast,
    float_result_type,
    get_default_dtype,
    number_dtype,
    promote,
    require_floats,
    require_number,
    require_numbers,
    require_one_dtype,
    result_type,
)
from minitorch.torch.saved import Kept


def add(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """input + alpha · other.

    Raises:
        ValueError: If alpha has a fraction and the operands do not.

    Example:
        >>> torch.add(torch.tensor([1, 2]), torch.tensor([10, 20]), alpha=2)
        tensor([21, 42])
    """
    a, b = promote(input, other)
    return Add.apply(a, b if alpha == 1 else _times(b, alpha))


def _times(b: Tensor, alpha: float) -> Tensor:
    """alpha · b in the dtype of b."""
    if isinstance(alpha, float) and not is_float(b._tensor.dtype):
        raise ArgumentError(f"alpha expected an integer for tensors of {b.dtype.name}, got {alpha}; convert them first: x.float()")
    return cast(b * alpha, b._tensor.dtype)


def sub(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """input - alpha · other.

    Raises:
        TypeError: If an operand is a bool or a bool tensor.
        ValueError: If alpha has a fraction and the operands do not.
    """
    for x in (input, other):
        if x._tensor.dtype is bool_ if isinstance(x, Tensor) else isinstance(x, bool):
            raise DtypeError("sub expected numbers, got bools; use a ^ b, or ~a for not")
    a, b = promote(input, other)
    return Sub.apply(a, b if alpha == 1 else _times(b, alpha))


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
        TypeError: If bools are divided and rounded.

    Example:
        >>> torch.div(torch.tensor([7, -7]), 2)
        tensor([ 3.5000, -3.5000])
        >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc")
        tensor([ 3, -3])
    """
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode not in (None, "trunc"):
        raise ArgumentError(f'div expected rounding_mode None, "trunc" or "floor", got {rounding_mode!r}')
    is_of_floats = isinstance(input, Tensor) and is_float(input._tensor.dtype)  # then the quotient is, too
    operands = promote(input, other, None if is_of_floats else float_result_type(input, other))
    if rounding_mode is None:
        return Div.apply(*operands)
    return cast(TruncDivide.apply(*operands), require_numbers("div", promote(input, other)[0]).dtype)


def floor_divide(input: Any, other: Any) -> Tensor:
    """input / other rounded down, in the dtype of the operands.

    Raises:
        TypeError: If both hold bools.
        ZeroDivisionError: If integers are divided by 0.

    Example:
        >>> torch.floor_divide(torch.tensor([7, -7]), 2)
        tensor([ 3, -4])
    """
    a, b = promote(input, other)
    return FloorDivide.apply(require_numbers("floor_divide", a), _divisor(b))


def remainder(input: Any, other: Any) -> Tensor:
    """input - floor(input / other) · other: it has the sign of other.

    Raises:
        ZeroDivisionError: If integers are divided by 0.

    Example:
        >>> torch.remainder(torch.tensor([7, -7]), 3)
        tensor([1, 2])
    """
    a, b = promote(input, other)
    return Remainder.apply(require_numbers("remainder", a), _divisor(b))


def _divisor(b: Tensor) -> Tensor:
    """A divisor; integers without 0."""
    if not is_float(b.dtype) and not b._tensor.array().all():
        raise DivisionError("a division of integers expected a divisor other than 0; convert to floating-point numbers for infinity")
    return b


def reverse(fn: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    """A function of two operands with these exchanged, for reflected operators."""
    return lambda input, other: fn(other, input)


def pow(input: Any, exponent: Any) -> Tensor:
    """input to the power of exponent. The numbers 0.5 and -0.5 stand for the square root and its inverse: NaN for -∞."""
    if isinstance(exponent, (int, float)) and isinstance(input, Tensor) and is_float(input.dtype):
        if exponent == 2:
            return Mul.apply(input, input)
        if exponent in (0.5, -0.5):
            root = Sqrt.apply(input)
            out = root if exponent > 0 else Inv.apply(root)
            return Kept.apply(out.clone(), False, input) if out.history is not None else out  # the caller may write into it
    a, b = promote(input, exponent)
    out = Pow.apply(require_numbers("pow", a) if isinstance(exponent, Tensor) else a, b)
    return Kept.apply(out, True) if out.history is not None and isinstance(exponent, Tensor) else out


def neg(input: Tensor) -> Tensor:
    """-input.

    Raises:
        TypeError: If it is a bool tensor.
    """
    if input._tensor.dtype is bool_:
        raise DtypeError("neg expected numbers, got a bool tensor; use ~x for not")
    return Neg.apply(input)


def fmod(input: Any, other: Any) -> Tensor:
    """input - trunc(input / other) · other: it has the sign of input; errors as for `remainder`.

    Example:
        >>> torch.fmod(torch.tensor([7, -7]), 3)
        tensor([ 1, -1])
    """
    a, b = promote(input, other)
    return Fmod.apply(require_numbers("fmod", a), _divisor(b))


def atan2(input: Tensor, other: Tensor) -> Tensor:
    """The angle of the point (other, input) in radians, from -π to π.

    Example:
        >>> torch.rad2deg(torch.atan2(torch.tensor([1.0, 1.0]), torch.tensor([1.0, -1.0])))
        tensor([ 45., 135.])
    """
    return Atan2.apply(*promote(input, other, float_result_type(input, other)))


def copysign(input: Any, other: Any) -> Tensor:
    """|input| with the sign of other, which zeros have, too. No gradient flows to other, and none where input is 0."""
    return CopySign.apply(*promote(input, other, float_result_type(input, other)))


def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number of the dtype from input towards other.

    Raises:
        TypeError: If both hold integers or bools.
        NotImplementedError: In a backward pass through it.
    """
    a, b = promote(input, other)
    return NextAfter.apply(require_floats("nextafter", a), b)


def hypot(input: Tensor, other: Tensor) -> Tensor:
    """√(input² + other²) without overflow.

    Raises:
        TypeError: If both hold integers or bools.
    """
    a, b = promote(input, other)
    return Hypot.apply(require_floats("hypot", a), b)


def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """ln(e^input + e^other) without overflow; errors as for `hypot`."""
    a, b = promote(input, other)
    return LogAddExp.apply(require_floats("logaddexp", a), b)


def xlogy(input: Any, other: Any) -> Tensor:
    """input · ln other, and 0 where input is 0, even if other is 0."""
    return XLogY.apply(*promote(input, other, float_result_type(input, other)))


# Comparisons, which are exact


def comparison(name: str, sign: str, function: type[Function], exchanged: bool = False) -> Callable[[Any, Any], Tensor]:
    """A function that compares and returns a constant. A number beyond the limits of the tensor's dtype is compared in int64."""

    def compare(input: Any, other: Any) -> Tensor:
        try:
            a, b = promote(input, other)
        except OverflowError:
            wider = [cast(x, int64) if isinstance(x, Tensor) else x for x in (input, other)]
            a, b = promote(wider[0], wider[1])
        if a.history is not None or b.history is not None:
            a, b = a.detach(), b.detach()
        return function.apply(b, a) if exchanged else function.apply(a, b)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"Whether input {sign} other."
    return compare


eq, ne = comparison("eq", "==", EQ), comparison("ne", "!=", NE)
lt, le = comparison("lt", "<", LT), comparison("le", "<=", LE)
gt, ge = comparison("gt", ">", LT, exchanged=True), comparison("ge", ">=", LE, exchanged=True)


def as_bool(x: Any) -> Any:
    """Whether each element differs from 0; a number as a bool."""
    return (x if x._tensor.dtype is bool_ else x != 0) if isinstance(x, Tensor) else bool(x)


# Choices


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where the condition is true, other elsewhere; with the condition alone, the indices where it is not 0, one tensor a dimension.

    Raises:
        TypeError: If the condition is not a bool tensor, and not alone.

    Example:
        >>> x = torch.tensor([1, -2, 3])
        >>> torch.where(x > 0, x, 0)
        tensor([1, 0, 3])
        >>> torch.where(x > 0)
        (tensor([0, 2]),)
    """
    if input is None and other is None:
        refuse("where() with a condition alone")
        found = np.nonzero(np.atleast_1d(condition._tensor.array()))
        return tuple(condition._like(type(condition._tensor)(each.copy(), each.shape)) for each in found)
    if condition._tensor.dtype is uint8:
        condition = as_bool(condition)
    if condition._tensor.dtype is not bool_:
        raise DtypeError(f"where expected a condition of bools, got {condition.dtype.name}; compare first, such as x > 0")
    if isinstance(input, NUMBER) and isinstance(other, NUMBER):
        input = condition._like(type(condition._tensor)(np.full(1, input, number_dtype(input)), ()))
    dtype = result_type(input, other)
    for x in (input, other):
        if not isinstance(x, Tensor):
            require_number("where", x, get_default_dtype() if is_float(dtype) else dtype)
    return Choose.apply(condition, *promote(input, other, dtype))


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """input with value where the mask is true.

    Args:
        input: The tensor.
        mask: A tensor of bools.
        value: A number that the dtype of input can represent, or a tensor without dimensions.

    Raises:
        TypeError: If the mask does not hold bools.
        ValueError: If value has dimensions, or is out of range.

    Example:
        >>> scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> torch.masked_fill(scores, torch.tensor([False, True]), float("-inf"))
        tensor([[1., -inf],
                [3., -inf]])
    """
    if mask._tensor.dtype is not bool_:
        raise DtypeError(f"masked_fill expected a mask of bools, got {mask.dtype.name}; compare first, such as x > 0")
    if isinstance(value, Tensor) and value._tensor.shape:
        raise ArgumentError(f"masked_fill expected a value without dimensions, got shape {tuple(value.shape)}; use torch.where")
    return Choose.apply(mask, number_like(input, value, "masked_fill"), input)


def number_like(input: Tensor, value: Any, name: str) -> Tensor:
    """A number, which the dtype of input must be able to represent, or a tensor, in the dtype and on the device of input."""
    if isinstance(value, Tensor):
        return cast(value, input.dtype)
    return cast(input._ensure_tensor(require_number(name, value, input.dtype)), input.dtype)


def nan_to_num(input: Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """input with other numbers for NaN, ∞ and -∞: by default 0, the largest and the smallest number of the dtype.

    Example:
        >>> torch.nan_to_num(torch.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
        tensor([1., 0., 9.])
    """
    if not is_float(input.dtype):
        return input.clone()
    limits = finfo(input.dtype)
    out = masked_fill(input, input != input, nan or 0.0)
    out = masked_fill(out, input == math.inf, limits.max if posinf is None else posinf)
    return masked_fill(out, input == -math.inf, limits.min if neginf is None else neginf)


def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger of both; NaN if one is. Of equal elements, both receive half of the gradient; if one is NaN, both receive all of it.

    Example:
        >>> torch.maximum(torch.tensor([[1, 5], [7, 2]]), torch.tensor([3, 4]))
        tensor([[3, 5],
                [7, 4]])
    """
    return _extreme(Maximum, input, other)


def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of both; NaN if one is. Of equal elements, both receive half of the gradient; if one is NaN, both receive all of it."""
    return _extreme(Minimum, input, other)


def _extreme(function: type[Function], input: Tensor, other: Tensor) -> Tensor:
    if not isinstance(other, Tensor):
        raise TypeError(f"maximum and minimum expected two Tensors, got {type(other).__name__}; for a number, x.clamp(min=...)")
    return function.apply(*promote(input, other))


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """input limited to the range from min to max, numbers or tensors.

    The gradient flows where input lies between numbers, not at one of them. At a tensor, the limit receives half of it; where two
    tensors equal input, input receives it.

    Raises:
        ValueError: If both limits are missing, or a number is out of the range of the dtype.

    Example:
        >>> torch.clamp(torch.tensor([-2, 0, 5]), min=-1, max=3)
        tensor([-1,  0,  3])
    """
    limits = [limit for limit in (min, max) if limit is not None]
    if not limits:
        raise ArgumentError("clamp expected min or max, got neither; name one: x.clamp(min=0)")
    x = cast(input, result_type(input, *limits))
    x = require_numbers("clamp", x) if len(limits) > 1 else x
    low, high = (None if limit is None else number_like(x, limit, "clamp") for limit in (min, max))
    tensors = any(isinstance(limit, Tensor) for limit in limits)
    if low is not None and high is not None:
        return Between.apply(x, low, high) if tensors else clip(x, min, max)
    if tensors:
        return Minimum.apply(x, high) if low is None else Maximum.apply(x, low)
    return Limit.apply(x, high if low is None else low, high is None)


def clamp_min(input: Tensor, min: float | Tensor) -> Tensor:
    """`clamp` with a lower limit only."""
    return clamp(input, min)


def clamp_max(input: Tensor, max: float | Tensor) -> Tensor:
    """`clamp` with an upper limit only."""
    return clamp(input, None, max)


def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """input + weight · (end - input); from a weight of 0.5 on end + (weight - 1) · (end - input).

    Raises:
        TypeError: If the dtypes differ, or are not of floating-point numbers.
    """
    require_one_dtype("lerp", require_floats("lerp", input), end)
    if isinstance(weight, Tensor):
        near = weight.detach() < 0.5
        start, step = Choose.apply(near, *promote(input, end)), Choose.apply(near, weight, sub(weight, 1.0))
    else:
        start, step = (input, weight) if weight < 0.5 else (end, weight - 1.0)
    return add(start, mul(step, sub(end, input)))


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value · tensor1 · tensor2."""
    return require_numbers("addcmul", add(input, mul(tensor1, tensor2), alpha=value))


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value · tensor1 / tensor2.

    Raises:
        TypeError: If tensor1 and tensor2 hold integers.
    """
    if not is_float(result_type(tensor1, tensor2)):
        raise DtypeError(f"addcdiv expected floating-point numbers, got {tensor1.dtype.name}; convert them first: x.float()")
    return add(input, div(tensor1, tensor2), alpha=value)
