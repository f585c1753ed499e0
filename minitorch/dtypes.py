"""Stage 2 - dtypes: what kinds of numbers a storage holds, and which kind an operation answers with.

A dtype is NumPy's. float64 is the default, because derivatives are checked by differences of 1e-6; float32 is for training speed, the
integers for positions, bool for comparisons and masks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

float64 = np.dtype(np.float64)
float32 = np.dtype(np.float32)
int64 = np.dtype(np.int64)
int32 = np.dtype(np.int32)
bool_ = np.dtype(np.bool_)

DTYPES = (float64, float32, int64, int32, bool_)
"""Every dtype that a tensor can have."""

_KNOWN = {dtype: dtype for dtype in DTYPES}  # an equal one, as out of a pickle, becomes this one: dtypes are compared by identity

_default = float64


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
    if not isinstance(found, np.dtype) or found not in DTYPES:
        names = ", ".join(known.name for known in DTYPES)
        shown = str(found) if isinstance(found, np.dtype) else found
        raise TypeError(f"expected a dtype of {names}, got {shown!r}; convert the values to one of these first")
    return DTYPES[DTYPES.index(found)]


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
    if found.kind != "f":
        raise TypeError(f"set_default_dtype expected float64 or float32, got {found.name}")
    _default = found


# The dtype of a result, from the dtypes of the operands


def same(*dtypes: np.dtype) -> np.dtype:
    """That of the operand; of several, the one that NumPy promotes them all to."""
    return dtypes[0] if dtypes.count(dtypes[0]) == len(dtypes) else np.result_type(*dtypes)


def floating(*dtypes: np.dtype) -> np.dtype:
    """A float as it is, all others to the default: for functions such as exp, whose values are no whole numbers."""
    found = same(*dtypes)
    return found if found.kind == "f" else _default


def number(*dtypes: np.dtype) -> np.dtype:
    """As `same`, but bool to int64: a truth value has no negative."""
    found = same(*dtypes)
    return int64 if found.kind == "b" else found


def total(dtype: np.dtype) -> np.dtype:
    """A float as it is, all others to int64: for sums and products of many."""
    return dtype if dtype.kind == "f" else int64


def boolean(*dtypes: np.dtype) -> np.dtype:
    """bool, whatever comes: for comparisons."""
    return bool_


def with_number(dtype: np.dtype, value: float) -> np.dtype:
    """The dtype that a Python number takes beside a tensor: the tensor's own where that can hold it (numbers are weak)."""
    if dtype.kind == "f" or isinstance(value, (bool, np.bool_)):
        return dtype
    if isinstance(value, (int, np.integer)):
        return int64 if dtype.kind == "b" else dtype
    return _default


# Numbers from elsewhere


def as_array(values: Any, op: str) -> np.ndarray:
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
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{op} expected numbers, got {_shortened(values)}")
    return array


def converted(array: np.ndarray, dtype: np.dtype, op: str) -> np.ndarray:
    """A copy of an array as another dtype. A number too large for a float becomes infinite.

    Raises:
        ValueError: If an integer dtype cannot hold a number as it is.
    """
    with np.errstate(all="ignore"):
        out = array.astype(dtype)
    if dtype.kind == "i" and not np.array_equal(out, array):
        info = np.iinfo(dtype)
        raise ValueError(f"{op} expected whole numbers from {info.min} to {info.max} for {dtype.name}, got {_shortened(array.tolist())}")
    return out


def _shortened(thing: Any) -> str:
    """Its repr, at most a line long."""
    text = repr(thing)
    return text if len(text) <= 80 else f"{text[:76]} ..."
