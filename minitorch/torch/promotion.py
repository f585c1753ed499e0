"""Stage 7 - PyTorch's rules for the dtype of a result, where they differ from NumPy's, and the default dtype of `minitorch.torch`."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from minitorch.core.dtypes import NUMBER, as_dtype, bool_, float32, int64, is_float, promote_types
from minitorch.core.errors import DtypeError, RangeError
from minitorch.core.number_formats import finfo, iinfo
from minitorch.tensor import Tensor

_default = float32


def get_default_dtype() -> np.dtype:
    """The dtype of floating-point numbers for which none is given: float32 unless `set_default_dtype` has changed it."""
    return _default


def set_default_dtype(d: Any) -> None:
    """Set the dtype of floating-point numbers for which none is given.

    Raises:
        TypeError: If it is not a floating-point dtype.
    """
    global _default
    dtype = as_dtype(d)
    if not is_float(dtype):
        raise TypeError(f"set_default_dtype expected a floating-point dtype, got {dtype.name}; pass torch.float32 or torch.float64")
    _default = dtype


def kind_of(dtype: np.dtype) -> int:
    """The category of a dtype: 0 for bool, 1 for integers, 2 for floating-point numbers."""
    return 2 if is_float(dtype) else 0 if dtype.kind == "b" else 1


def number_dtype(number: Any) -> np.dtype:
    """The dtype of a Python number: bool, int64, or the default dtype."""
    if isinstance(number, (bool, np.bool_)):
        return bool_
    return int64 if isinstance(number, (int, np.integer)) else _default


def result_type(*operands: Any) -> np.dtype:
    """The dtype of the result of an operation on tensors and numbers.

    The highest category decides: bool, integers, floating-point numbers. Within it, tensors with dimensions count before those without,
    and these before Python numbers.
    """
    ranked: list[list[np.dtype]] = [[], [], []]  # with dimensions, without, numbers
    for x in operands:
        if isinstance(x, Tensor):
            ranked[0 if x._tensor.shape else 1].append(x._tensor.dtype)
        else:
            ranked[2].append(_default if isinstance(x, np.bool_) else number_dtype(x))  # PyTorch takes np.True_ for 1.0
    highest = max(kind_of(dtype) for dtypes in ranked for dtype in dtypes)
    for dtypes in ranked:
        if dtypes and max(map(kind_of, dtypes)) == highest:
            return promote_types(*(dtype for dtype in dtypes if kind_of(dtype) == highest))
    raise AssertionError("one operand has the highest category")


def float_result_type(*operands: Any) -> np.dtype:
    """`result_type`, with the default dtype in place of bool and integers: for functions such as exp and for division."""
    found = result_type(*operands)
    return found if is_float(found) else _default


def require_floats(name: str, x: Tensor) -> Tensor:
    """A tensor itself. Raises DtypeError if it does not hold floating-point numbers."""
    if not is_float(x._tensor.dtype):
        raise DtypeError(f"{name} expected floating-point numbers, got {x.dtype.name}; convert them first: x.float()")
    return x


def require_numbers(name: str, x: Tensor) -> Tensor:
    """A tensor itself. Raises DtypeError if it holds bools."""
    if x._tensor.dtype is bool_:
        raise DtypeError(f"{name} expected numbers, got a bool tensor; convert it first: x.long()")
    return x


def require_one_dtype(name: str, input: Tensor, *others: Tensor | None) -> None:
    """Do nothing if tensors have the same dtype; None is a tensor that is left out.

    Raises:
        TypeError: If one is not a tensor.
        DtypeError: If two have different dtypes.
    """
    dtype = input._tensor.dtype
    for x in others:
        if x is None:
            continue
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} expected Tensors, got {type(x).__name__}; convert it with torch.tensor(...)")
        if x._tensor.dtype is not dtype:
            names = f"{dtype.name} and {x.dtype.name}"
            raise DtypeError(f"{name} expected tensors of one dtype, got {names}; convert one of them: x.to(y.dtype)")


@cache
def limits_of(dtype: np.dtype) -> Any:
    """The limits of a dtype."""
    return finfo(dtype) if is_float(dtype) else iinfo(dtype)


def require_number(name: str, number: Any, dtype: np.dtype) -> Any:
    """A number that a dtype can represent; infinity and NaN are numbers of every floating-point dtype.

    Raises:
        TypeError: If it is not a number.
        RangeError: If it is beyond the limits of the dtype.
    """
    if not isinstance(number, NUMBER):
        raise TypeError(f"{name} expected a number, got {type(number).__name__}; pass a number such as 0.0")
    if math.isfinite(number) and dtype is not bool_:
        limits = limits_of(dtype)
        if not limits.min <= number <= limits.max:
            raise RangeError(f"{name} expected a number from {limits.min} to {limits.max} for {dtype.name}, got {number}")
    return number


def cast(x: Tensor, dtype: np.dtype) -> Tensor:
    """A tensor in a dtype; the tensor itself if it has it."""
    return x if x._tensor.dtype is dtype else x.to(dtype)


def promote(a: Any, b: Any, dtype: np.dtype | None = None) -> tuple[Tensor, Tensor]:
    """Two tensors, or a tensor and a number, in one dtype, by default that of `result_type`. Raises TypeError for anything else."""
    if dtype is None and isinstance(a, Tensor):
        if isinstance(b, Tensor):
            if a._tensor.dtype is b._tensor.dtype:
                return a, b
        elif type(b) in (int, float) and is_float(a._tensor.dtype):
            return a, a._ensure_tensor(b)
    for x in (a, b):
        if not isinstance(x, (Tensor, *NUMBER)):
            raise TypeError(f"expected a Tensor or a number, got {type(x).__name__}; convert it with torch.tensor(...)")
    dtype = dtype or result_type(a, b)
    if isinstance(a, Tensor):
        first = cast(a, dtype)
        return first, cast(b, dtype) if isinstance(b, Tensor) else first._ensure_tensor(b)
    second = cast(b, dtype)
    return second._ensure_tensor(a), second


def truths(mask: Tensor, name: str) -> Tensor:
    """A mask. Raises TypeError if it is not a bool tensor."""
    if mask.dtype is not bool_:
        raise TypeError(f"{name} expected a mask of bools, got {mask.dtype.name}; compare first, such as x > 0")
    return mask
