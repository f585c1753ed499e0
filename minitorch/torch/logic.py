"""Stage 7 - Closeness and equality of tensors, and functions of bools and bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.core.dtypes import bool_, int64, is_float
from minitorch.core.errors import ArgumentError, DtypeError
from minitorch.core.math_functions import NE
from minitorch.ops.pointwise import apply_ufunc
from minitorch.tensor import Tensor
from minitorch.tensor_functions import Add, Mul
from minitorch.torch.arithmetic import as_bool
from minitorch.torch.promotion import cast, promote, require_one_dtype


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether |input - other| <= atol + rtol · |other|, computed in their dtype; infinities are close to themselves, NaN with equal_nan.

    Raises:
        TypeError: If the dtypes differ.
        ValueError: If a tolerance is negative.

    Example:
        >>> torch.isclose(torch.tensor([1.0, 1.0]), torch.tensor([1.000001, 1.1]))
        tensor([ True, False])
    """
    require_one_dtype("isclose", input, other)
    if rtol < 0 or atol < 0:
        raise ArgumentError(f"isclose expected tolerances from 0 on, got rtol={rtol} and atol={atol}")

    def close(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        with np.errstate(all="ignore"):
            if not is_float(input.dtype):
                a, b = a.astype(np.float64), b.astype(np.float64)
            error = np.abs(a - b)
            out[...] = (a == b) | (np.isfinite(error) & (error <= (atol + np.abs(rtol * b)).astype(a.dtype)))
            if equal_nan:
                out |= (a != a) & (b != b)

    return apply_ufunc(close, bool_, input, other)


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close; see `isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan)._tensor.array().all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and the same elements.

    Example:
        >>> torch.equal(torch.tensor([1, 2]), torch.tensor([[1, 2]]))
        False
    """
    return input.shape == other.shape and bool((input._tensor.array() == other._tensor.array()).all())


# Bools and bits


def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Whether both differ from 0."""
    return Mul.apply(*promote(as_bool(input), as_bool(other)))


def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Whether one differs from 0."""
    return as_bool(Add.apply(*promote(cast(as_bool(input), int64), cast(as_bool(other), int64))))


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
            raise DtypeError(f"{name} expected integers or bools, got {a.dtype.name}; compare first, such as x > 0")
        return apply_ufunc(ufunc, a.dtype, a, b)

    apply.__name__, apply.__doc__ = name, f"{name.removeprefix('bitwise_')} of the bits of integers, or of bools."
    return apply


bitwise_and = bitwise(np.bitwise_and, "bitwise_and")
bitwise_or = bitwise(np.bitwise_or, "bitwise_or")
bitwise_xor = bitwise(np.bitwise_xor, "bitwise_xor")


def bitwise_not(input: Tensor) -> Tensor:
    """The opposite of every bit of integers; not, of bools.

    Example:
        >>> torch.bitwise_not(torch.tensor([0, 5]))
        tensor([-1, -6])
    """
    if is_float(input.dtype):
        raise DtypeError(f"bitwise_not expected integers or bools, got {input.dtype.name}; compare first, such as x > 0")
    return apply_ufunc(np.invert, input.dtype, input)


def bitwise_left_shift(input: Any, other: Any) -> Tensor:
    """The bits of input moved up by other places: input · 2^other, without the bits that leave the dtype.

    Raises:
        TypeError: If the operands are not integers.

    Example:
        >>> torch.bitwise_left_shift(torch.tensor([1, 3]), 2)
        tensor([ 4, 12])
    """
    return _shift(np.left_shift, "bitwise_left_shift", input, other)


def bitwise_right_shift(input: Any, other: Any) -> Tensor:
    """The bits of input moved down by other places: input / 2^other rounded down; errors as for `bitwise_left_shift`.

    Example:
        >>> torch.bitwise_right_shift(torch.tensor([12, -5]), 1)
        tensor([ 6, -3])
    """
    return _shift(np.right_shift, "bitwise_right_shift", input, other)


def _shift(ufunc: np.ufunc, name: str, input: Any, other: Any) -> Tensor:
    """The bits of input moved; by fewer than 0 places, or by more than there are, they all leave the dtype."""
    a, b = promote(input, other)
    if a.dtype is bool_ or is_float(a.dtype):
        raise DtypeError(f"{name} expected integers, got {a.dtype.name}; convert them first: x.long()")
    return apply_ufunc(ufunc, a.dtype, a, b)
