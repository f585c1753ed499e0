"""Stage 2 - bfloat16 through DLPack: NumPy, which speaks DLPack for us, does not know it, so it is lent as uint16 under another label.

Source: dlpack.h, the structures that a capsule points to.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

UINT, BFLOAT = 1, 4
"""Codes of kinds of numbers, as dlpack.h has them."""


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _DataType))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))


def _tensor_of(capsule: Any) -> _Tensor:
    """What a capsule points to, where it lies."""
    name = _capsule_name(capsule)
    pointer = _capsule_pointer(capsule, name)
    return _Versioned.from_address(pointer).tensor if name == b"dltensor_versioned" else _Tensor.from_address(pointer)


def lend_bfloat16(array: np.ndarray, options: dict[str, Any]) -> Any:
    """The capsule of an array of bfloat16, which shares its memory.

    Args:
        array: The numbers.
        options: What the borrower asks of `__dlpack__`.
    """
    capsule = array.view(np.uint16).__dlpack__(**options)
    _tensor_of(capsule).dtype.code = BFLOAT
    return capsule


class _As16Bits:
    """Another library's tensor of bfloat16, as one of uint16."""

    def __init__(self, other: Any) -> None:
        self._other = other

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._other.__dlpack__(**options)
        label = _tensor_of(capsule).dtype
        if (label.code, label.bits, label.lanes) != (BFLOAT, 16, 1):
            raise BufferError(f"from_dlpack expected bfloat16, got code {label.code} of {label.bits} bits and {label.lanes} lanes")
        label.code = UINT
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._other.__dlpack_device__()


def borrow_bfloat16(other: Any, dtype: np.dtype) -> np.ndarray:
    """An array over the memory of another library's tensor of bfloat16."""
    lent: Any = _As16Bits(other)
    return np.from_dlpack(lent).view(dtype)
