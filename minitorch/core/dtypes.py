"""Stage 2 - dtypes: what kinds of numbers a storage holds, and which kind an operation answers with.

A dtype is NumPy's. float64 is the default, because derivatives are checked by differences of 1e-6; float32 is for training speed, the
integers for positions, bool for comparisons and masks. The narrow dtypes (float16, int8, …) save memory.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

float64 = np.dtype(np.float64)
float32 = np.dtype(np.float32)
int64 = np.dtype(np.int64)
int32 = np.dtype(np.int32)
bool_ = np.dtype(np.bool_)

DTYPES = (float64, float32, int64, int32, bool_)
"""Every dtype of the course."""

float16 = np.dtype(np.float16)
int16 = np.dtype(np.int16)
int8 = np.dtype(np.int8)
uint8 = np.dtype(np.uint8)

NARROW_DTYPES = (float16, int16, int8, uint8)
"""Dtypes beyond the course; bfloat16 is one more, which `load_bfloat16` imports when it is first used."""

HALF_DTYPES = {float16}
"""The half-precision dtypes in use: float16, and bfloat16 once it is loaded."""

_KNOWN = {dtype: dtype for dtype in (*DTYPES, *NARROW_DTYPES)}  # maps equal dtypes, as from a pickle, to one: they are compared by identity

_default = float64


@cache
def load_bfloat16() -> np.dtype:
    """The bfloat16 of the package ml_dtypes, which is imported when it is first used.

    Raises:
        ImportError: If that package is not installed.
    """
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        raise ImportError("bfloat16 expected the package ml_dtypes, which is not installed; pip install ml_dtypes") from None
    dtype = np.dtype(bfloat16)
    HALF_DTYPES.add(dtype)
    return _KNOWN.setdefault(dtype, dtype)


if TYPE_CHECKING:
    bfloat16: np.dtype
else:

    def __getattr__(name: str) -> Any:
        if name != "bfloat16":
            raise AttributeError(f"minitorch has no {name}")
        return load_bfloat16()


def as_dtype(dtype: Any) -> np.dtype:
    """A dtype given as itself, as NumPy's class or as its name.

    Raises:
        TypeError: If it is none that a tensor can have.
    """
    if isinstance(dtype, np.dtype) and dtype in _KNOWN:
        return _KNOWN[dtype]
    try:
        found = _default if dtype is None else np.dtype(dtype)
    except (TypeError, ValueError):
        found = dtype
    if isinstance(found, np.dtype) and found in _KNOWN:
        return _KNOWN[found]
    name = str(found) if isinstance(found, np.dtype) else found
    if isinstance(name, str) and name == "bfloat16":
        return load_bfloat16()
    names = ", ".join([known.name for known in (*DTYPES, float16)] + ["bfloat16"] + [known.name for known in NARROW_DTYPES[1:]])
    raise TypeError(f"expected a dtype of {names}, got {name!r}; convert the values to one of these first")


def is_float(dtype: np.dtype) -> bool:
    """Whether it holds fractions."""
    return dtype.kind in "fV"  # V: bfloat16, which NumPy does not know as a float


def is_half(dtype: np.dtype) -> bool:
    """Whether it is float16 or bfloat16: kept in 16 bits, computed with in float32."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def compute_dtype(dtype: np.dtype) -> np.dtype:
    """What is computed in: float32 for halves, all others themselves."""
    return float32 if is_half(dtype) else dtype


def get_default_dtype() -> np.dtype:
    """The dtype of tensors made from Python's numbers."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Choose the dtype of tensors made from Python's numbers, float64 or float32.

    Raises:
        TypeError: If it is another.
    """
    global _default
    found = as_dtype(dtype)
    if found not in (float64, float32):
        raise TypeError(f"set_default_dtype expected float64 or float32, got {found.name}")
    _default = found


# The dtype of a result, from the dtypes of the operands


def promote_types(*dtypes: np.dtype) -> np.dtype:
    """That of the operand; of several, the one that NumPy promotes them all to; of several with halves, that of PyTorch."""
    return dtypes[0] if dtypes.count(dtypes[0]) == len(dtypes) else _promoted(*dtypes)


def _promoted(*dtypes: np.dtype) -> np.dtype:
    """Beside halves whole numbers and truth values count for nothing, and two different floats need a wider one."""
    if not any(map(is_half, dtypes)):
        return np.result_type(*dtypes)
    floats = {dtype for dtype in dtypes if is_float(dtype)}
    return floats.pop() if len(floats) == 1 else float64 if float64 in floats else float32


def promote_to_float(*dtypes: np.dtype) -> np.dtype:
    """A float as it is, all others to the default: for functions such as exp, whose values are no whole numbers."""
    found = promote_types(*dtypes)
    return found if is_float(found) else _default


def promote_to_number(*dtypes: np.dtype) -> np.dtype:
    """As `promote_types`, but bool to int64: a truth value has no negative."""
    found = promote_types(*dtypes)
    return int64 if found.kind == "b" else found


def accumulator_dtype(dtype: np.dtype) -> np.dtype:
    """A float as it is, all others to int64: for sums and products of many."""
    return dtype if is_float(dtype) else int64


def comparison_dtype(*dtypes: np.dtype) -> np.dtype:
    """bool, whatever comes: for comparisons."""
    return bool_


def promote_mask(dtype: np.dtype, other: np.dtype) -> np.dtype:
    """The dtype that truth values and unsigned numbers take beside another: one that holds what is negative, if that does."""
    return dtype if other.kind == "b" else promote_types(dtype, other)


def promote_scalar(dtype: np.dtype, value: float) -> np.dtype:
    """The dtype that a Python number takes beside a tensor: the tensor's own where that can hold it (numbers are weak)."""
    if is_float(dtype) or isinstance(value, (bool, np.bool_)):
        return dtype
    if isinstance(value, (int, np.integer)):
        return int64 if dtype.kind == "b" else dtype
    return _default


# Numbers from elsewhere


def to_array(values: Any, op: str) -> np.ndarray:
    """Nested lists of numbers, an array or one number as an array.

    Args:
        values: The numbers.
        op: Who asks, for the message.

    Raises:
        ValueError: If the lists are ragged.
        TypeError: If there is anything but numbers.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{op} expected lists of equal lengths at every depth, got {_shortened(values)}; fill up the short ones") from None
    if array.dtype.kind not in "fiub" and array.dtype not in _KNOWN and array.dtype.name != "bfloat16":
        raise TypeError(f"{op} expected numbers, got {_shortened(values)}")
    return array


def convert_array(array: np.ndarray, dtype: np.dtype, op: str) -> np.ndarray:
    """A copy of an array as another dtype. A number too large for a float becomes infinite.

    Raises:
        ValueError: If an integer dtype cannot hold a number as it is.
    """
    array = cast_array(array, float32) if is_half(array.dtype) else array
    out = cast_array(array, dtype)
    if dtype.kind in "iu" and not np.array_equal(out, array):
        info = np.iinfo(dtype)
        raise ValueError(f"{op} expected whole numbers from {info.min} to {info.max} for {dtype.name}, got {_shortened(array.tolist())}")
    return out


def cast_array(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A copy of an array as another dtype: rounded once, to the nearest number, of two equally near to the even one."""
    with np.errstate(all="ignore"):
        if dtype.kind == "V" and array.dtype.itemsize > 4:
            array = _rounded_to_odd(array.astype(float64))
        return array.astype(dtype)


def _rounded_to_odd(array: np.ndarray) -> np.ndarray:
    """float64 as float32: what is not exact takes the neighbour whose last bit is 1, so that a further rounding sees on which side it lay.

    Source: Boldo, Melquiond 2008, "Emulation of a FMA and correctly rounded sums".
    """
    near = array.astype(float32)
    bits = near.view(np.int32)
    inner = bits - (np.abs(near.astype(float64)) > np.abs(array))  # the neighbour nearer to 0
    odd = np.where((near == array) | (array != array), bits, inner | 1)
    return odd.astype(np.int32).view(float32)


FLOAT32_OVERFLOW = 2.0**128 - 2.0**103
"""From here on a number is rounded to infinity in float32; NumPy would warn."""


def cast_scalar(number: float, dtype: np.dtype) -> Any:
    """A Python number as a storage of this dtype takes it: too large for a float, it becomes infinite.

    Raises:
        OverflowError: If it is a whole number beyond all floats.
    """
    return cast_array(np.asarray(float(number)), dtype) if is_float(dtype) else number


def uniform(generator: np.random.Generator, count: int, dtype: np.dtype) -> np.ndarray:
    """So many numbers from [0, 1). Those of halves are multiples of one step: rounded ones could be 1.

    Raises:
        TypeError: If the dtype holds no fractions.
    """
    if not is_float(dtype):
        raise TypeError(f"rand expected a dtype of float64 or float32, got {dtype.name}, which cannot hold numbers between 0 and 1")
    if not is_half(dtype):
        return generator.random(count, dtype)
    steps = 2.0 ** (11 if dtype.kind == "f" else 8)
    return cast_array(np.floor(generator.random(count, float32) * steps) / steps, dtype)


def printable(array: np.ndarray) -> np.ndarray:
    """An array as NumPy can print it: of bfloat16 the shortest decimals that stand for the same numbers."""
    if array.dtype.kind != "V":
        return array
    exact = cast_array(array, float64)
    size = np.abs(exact)
    plain = (size > 0) & (size < np.inf)
    exponents = np.floor(np.log10(size, where=plain, out=np.zeros(size.shape)))
    out = exact.copy()
    for digits in (4, 3, 2, 1):  # 4 always suffice
        step = 10.0 ** (exponents + 1 - digits)
        decimal = np.where(plain, np.round(exact / np.where(plain, step, 1)) * step, exact)
        out = np.where(cast_array(decimal, array.dtype).astype(float64) == exact, decimal, out)
    return out


def _shortened(thing: Any) -> str:
    """Its repr, at most a line long."""
    text = repr(thing)
    return text if len(text) <= 80 else f"{text[:76]} ..."
