"""Stage 7 - Number formats: the bits of a number as text, and the limits of a dtype."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minitorch.core.dtypes import as_dtype, is_float
from minitorch.core.recording import refuse
from minitorch.tensor import Tensor

FIELDS = {"float64": (11, 52), "float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)}
"""Bits of the exponent and of the fraction of every float; the sign bit comes first."""


class FloatInfo(NamedTuple):
    """The limits of a floating-point dtype.

    Attributes:
        dtype: Name of the dtype.
        bits: Size of one number.
        eps: Distance from 1 to the next number.
        max: The largest number.
        min: The smallest number, -max.
        tiny: The smallest positive normal number.
        smallest_normal: Same as tiny.
        smallest_subnormal: The smallest positive number.
        resolution: The smallest power of 10 that can be resolved next to 1.
    """

    dtype: str
    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    smallest_subnormal: float
    resolution: float


class IntInfo(NamedTuple):
    """The limits of an integer dtype.

    Attributes:
        dtype: Name of the dtype.
        bits: Size of one number.
        max: The largest number.
        min: The smallest number.
    """

    dtype: str
    bits: int
    max: int
    min: int


def finfo(dtype: Any) -> FloatInfo:
    """The limits of a floating-point dtype.

    Raises:
        TypeError: If it is not a floating-point dtype.
    """
    found = as_dtype(dtype)
    if not is_float(found):
        raise TypeError(f"finfo expected a floating-point dtype, got {found.name}; use iinfo for integers")
    exponent, fraction = FIELDS[found.name]
    bias = 2 ** (exponent - 1) - 1
    largest, tiny = (2 - 2.0**-fraction) * 2.0**bias, 2.0 ** (1 - bias)
    digits = int(fraction * np.log10(2))
    return FloatInfo(
        found.name, 8 * found.itemsize, 2.0**-fraction, largest, -largest, tiny, tiny, 2.0 ** (1 - bias - fraction), float(f"1e-{digits}")
    )


def iinfo(dtype: Any) -> IntInfo:
    """The limits of an integer dtype.

    Raises:
        TypeError: If it is not an integer dtype.
    """
    found = as_dtype(dtype)
    if found.kind not in "iu":
        raise TypeError(f"iinfo expected an integer dtype, got {found.name}; use finfo for floats")
    info = np.iinfo(found)
    return IntInfo(found.name, info.bits, info.max, info.min)


def bits(x: Tensor) -> Any:
    """The bits of every element, from the highest to the lowest.

    A float shows sign, exponent and fraction separately: 1.5 as float16 is "0 01111 1000000000", that is + · 2^(15 - 15) · 1.1 in binary.
    Negative integers are stored as 2^bits + number; a bool is one bit.

    Returns:
        Nested lists of strings in the shape of x; one string for a tensor of no dimensions.

    Raises:
        TypeError: If x is not a Tensor.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"bits expected a Tensor, got {type(x).__name__}; make one with tensor(..., dtype=...)")
    refuse("bits()")
    array = np.ascontiguousarray(x._tensor.array()).reshape(x.shape)
    size = 1 if array.dtype.kind == "b" else 8 * array.itemsize
    patterns = array.view(f"u{array.itemsize}")
    cut = 1 + FIELDS[x.dtype.name][0] if is_float(x.dtype) else 0

    def text(pattern: Any) -> Any:
        if isinstance(pattern, list):
            return [text(part) for part in pattern]
        digits = f"{pattern:0{size}b}"
        return f"{digits[0]} {digits[1:cut]} {digits[cut:]}" if cut else digits

    return text(patterns.tolist())
