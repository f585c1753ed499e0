"""Stage 7 - bfloat16 through DLPack: NumPy does not support it, so it is exchanged as uint16 with another type code.

Source: dlpack.h, the structures that a capsule points to.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

UINT, BFLOAT = 1, 4
"""Type codes of dlpack.h."""


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
    """The structure that a capsule points to, in place."""
    name = _capsule_name(capsule)
    pointer = _capsule_pointer(capsule, name)
    return _Versioned.from_address(pointer).tensor if name == b"dltensor_versioned" else _Tensor.from_address(pointer)


def export_bfloat16(array: np.ndarray, options: dict[str, Any]) -> Any:
    """A capsule that shares the memory of an array of bfloat16.

    Args:
        array: The numbers.
        options: The arguments of `__dlpack__`.
    """
    capsule = array.view(np.uint16).__dlpack__(**options)
    _tensor_of(capsule).dtype.code = BFLOAT
    return capsule


class _As16Bits:
    """Another library's tensor of bfloat16 as one of uint16."""

    def __init__(self, other: Any) -> None:
        self._other = other

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._other.__dlpack__(**options)
        dtype = _tensor_of(capsule).dtype
        if (dtype.code, dtype.bits, dtype.lanes) != (BFLOAT, 16, 1):
            raise BufferError(f"from_dlpack expected bfloat16, got code {dtype.code} of {dtype.bits} bits and {dtype.lanes} lanes")
        dtype.code = UINT
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._other.__dlpack_device__()


def import_bfloat16(other: Any, dtype: np.dtype) -> np.ndarray:
    """An array that shares the memory of another library's tensor of bfloat16."""
    exported: Any = _As16Bits(other)
    return np.from_dlpack(exported).view(dtype)
