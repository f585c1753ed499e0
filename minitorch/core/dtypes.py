"""Stage 2 - dtypes: the data types of a storage, and the data type of a result.

A dtype is NumPy's. float64 is the default, because derivatives are checked with differences of 1e-6; float32 is for training speed, the
integers for positions, bool for comparisons and masks. The narrow dtypes (float16, int8, …) save memory.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.core.errors import ArgumentError
from minitorch.core.recording import call, refuse

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
"""Dtypes beyond the course. `load_bfloat16` adds bfloat16 when it is first used."""

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
    dtype: Any = np.dtype(bfloat16)
    HALF_DTYPES.add(dtype)
    return _KNOWN.setdefault(dtype, dtype)


if TYPE_CHECKING:
    bfloat16: np.dtype
else:

    def __getattr__(name: str) -> Any:
        if name != "bfloat16":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return load_bfloat16()


def as_dtype(dtype: Any) -> np.dtype:
    """A dtype given as itself, as NumPy's class or as its name.

    Raises:
        TypeError: If tensors do not support it.
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
    """Whether it is a floating-point dtype."""
    return dtype.kind in "fV"  # V: bfloat16, which NumPy does not classify as a float


def is_half(dtype: np.dtype) -> bool:
    """Whether it is float16 or bfloat16: stored in 16 bits, computed in float32."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def compute_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of computation: float32 for float16 and bfloat16, any other dtype itself."""
    return float32 if is_half(dtype) else dtype


def get_default_dtype() -> np.dtype:
    """The dtype of tensors made from Python numbers."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Set the dtype of tensors made from Python numbers, float64 or float32.

    Raises:
        TypeError: If it is another.
    """
    global _default
    found = as_dtype(dtype)
    if found not in (float64, float32):
        raise TypeError(f"set_default_dtype expected float64 or float32, got {found.name}")
    _default = found


# The dtype of a result, from the dtypes of the operands


@cache
def promote_types(*dtypes: np.dtype) -> np.dtype:
    """The dtype that NumPy promotes several dtypes to; with float16 or bfloat16 among them, that of PyTorch."""
    return dtypes[0] if dtypes.count(dtypes[0]) == len(dtypes) else _promote(*dtypes)


def _promote(*dtypes: np.dtype) -> np.dtype:
    """With half precision, integers and bools do not count, and two different floats need a wider one."""
    if not any(map(is_half, dtypes)):
        return np.result_type(*dtypes)
    floats = {dtype for dtype in dtypes if is_float(dtype)}
    return floats.pop() if len(floats) == 1 else float64 if float64 in floats else float32


def promote_to_float(*dtypes: np.dtype) -> np.dtype:
    """As `promote_types`, but integers and bool to the default dtype: for functions such as exp."""
    found = promote_types(*dtypes)
    return found if is_float(found) else _default


@cache
def promote_to_number(*dtypes: np.dtype) -> np.dtype:
    """As `promote_types`, but bool to int64: a bool has no negative."""
    found = promote_types(*dtypes)
    return int64 if found.kind == "b" else found


@cache
def accumulator_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of sums and products: int64 for integers and bool, a float itself."""
    return dtype if is_float(dtype) else int64


def comparison_dtype(*dtypes: np.dtype) -> np.dtype:
    """The dtype of comparisons: bool for all operands."""
    return bool_


def promote_mask(dtype: np.dtype, other: np.dtype) -> np.dtype:
    """The dtype of bools and unsigned integers combined with another dtype, signed if that is signed."""
    return dtype if other.kind == "b" else promote_types(dtype, other)


def promote_scalar(dtype: np.dtype, value: float) -> np.dtype:
    """The dtype of a Python number combined with a tensor: the tensor's own if that can represent it (numbers are weak)."""
    if is_float(dtype) or isinstance(value, (bool, np.bool_)):
        return dtype
    if isinstance(value, (int, np.integer)):
        return int64 if dtype.kind == "b" else dtype
    return _default


# Converting numbers


NUMBER = (float, int, np.bool_, np.integer, np.floating)
"""The types that count as a number."""


def to_array(values: Any, op: str) -> np.ndarray:
    """Nested lists of numbers, an array or one number as an array.

    Args:
        values: The numbers.
        op: The calling function, for the message.

    Raises:
        ValueError: If the lists are ragged.
        TypeError: If there is anything but numbers.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{op} expected lists of equal lengths at every depth, got {_shorten(values)}; pad the short ones") from None
    if array.dtype.kind not in "fiub" and array.dtype not in _KNOWN and array.dtype.name != "bfloat16":
        raise TypeError(f"{op} expected numbers, got {_shorten(values)}")
    return array


def convert_array(array: np.ndarray, dtype: np.dtype, op: str) -> np.ndarray:
    """A copy of an array in another dtype. A number too large for a float becomes infinite.

    Raises:
        ArgumentError: If an integer dtype cannot represent a number exactly.
    """
    array = cast_array(array, float32) if is_half(array.dtype) else array
    out = cast_array(array, dtype)
    if dtype.kind in "iu" and not np.array_equal(out, array):
        info = np.iinfo(dtype)
        raise ArgumentError(f"{op} expected whole numbers from {info.min} to {info.max} for {dtype.name}, got {_shorten(array.tolist())}")
    return out


def cast_array(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A copy of an array in another dtype, rounded once to the nearest number (ties to even)."""
    with np.errstate(all="ignore"):
        if dtype.kind == "V" and array.dtype.itemsize > 4:
            array = _round_to_odd(array.astype(float64))
        return array.astype(dtype)


def cast_into(target: np.ndarray, array: np.ndarray) -> None:
    """Write the numbers of an array, in row-major order, into another of another dtype; see `cast_array`."""
    target[...] = cast_array(array, target.dtype).reshape(target.shape)


def _round_to_odd(array: np.ndarray) -> np.ndarray:
    """float64 as float32: an inexact number becomes the neighbor whose last bit is 1, so that a second rounding is correct.

    Source: Boldo, Melquiond 2008, "Emulation of a FMA and correctly rounded sums".
    """
    near = array.astype(float32)
    bits = near.view(np.int32)
    inner = bits - (np.abs(near.astype(float64)) > np.abs(array))  # the neighbor closer to 0
    odd = np.where((near == array) | (array != array), bits, inner | 1)
    return odd.astype(np.int32).view(float32)


FLOAT32_OVERFLOW = 2.0**128 - 2.0**103
"""Numbers from here on round to infinity in float32, with a warning from NumPy."""


def cast_scalar(number: float, dtype: np.dtype) -> Any:
    """A Python number in a dtype; if too large for a float, it becomes infinite.

    Raises:
        OverflowError: If it is an integer beyond the range of float64.
    """
    return cast_array(np.asarray(float(number)), dtype) if is_float(dtype) else number


def uniform(generator: np.random.Generator, count: int, dtype: np.dtype) -> np.ndarray:
    """Uniform random numbers from [0, 1). In half precision they are multiples of one step, because rounding could give 1.

    Raises:
        TypeError: If the dtype is not a floating-point dtype.
    """
    if not is_float(dtype):
        raise TypeError(f"rand expected a dtype of float64 or float32, got {dtype.name}, which cannot represent numbers between 0 and 1")
    if not is_half(dtype):
        numbers = np.empty(count, dtype)
        call(draw_uniform, numbers, generator)
        return numbers
    refuse("random numbers in half precision")
    steps = 2.0 ** (11 if dtype.kind == "f" else 8)
    return cast_array(np.floor(generator.random(count, float32) * steps) / steps, dtype)


def draw_uniform(numbers: np.ndarray, generator: np.random.Generator) -> None:
    """Write uniform random numbers from [0, 1) into an array of float64 or float32."""
    generator.random(out=numbers, dtype=numbers.dtype)


def printable(array: np.ndarray) -> np.ndarray:
    """An array that NumPy can print: bfloat16 becomes the shortest decimals that round to the same numbers."""
    refuse("the text of a tensor, as by print,")
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


def _shorten(thing: Any) -> str:
    """The repr of an object, abbreviated to one line."""
    text = repr(thing)
    return text if len(text) <= 80 else f"{text[:76]} ..."
