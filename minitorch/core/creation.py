"""Stage 2 - Creation of tensors beyond the course: constants, ranges, random numbers, arrays of other libraries, joined tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, cast_array, convert_array, is_float
from minitorch.core.layout_functions import Cat
from minitorch.core.lazy_imports import later_module
from minitorch.tensor import Tensor, TensorLike, generator, make_tensor, tensor
from minitorch.tensor_data import TensorData, as_shape
from minitorch.tensor_ops import SimpleBackend, TensorBackend


def full(
    shape: Sequence[int], value: float, backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None
) -> Tensor:
    """A tensor filled with one number.

    Raises:
        ValueError: If an integer dtype cannot represent it exactly.
    """
    shape = as_shape(shape, "full")
    number = convert_array(np.asarray(value), as_dtype(dtype), "full")
    return make_tensor(TensorData(np.full(math.prod(shape), number), shape), backend, requires_grad)


def ones(shape: Sequence[int], backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """A tensor of ones."""
    return full(as_shape(shape, "ones"), 1, backend, requires_grad, dtype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    backend: TensorBackend = SimpleBackend,
    requires_grad: bool = False,
    dtype: Any = None,
) -> Tensor:
    """start, start + step, … up to stop, exclusive; arange(n) is 0 … n - 1.

    Raises:
        ValueError: If step is 0, or an integer dtype cannot represent the numbers exactly.
    """
    if step == 0:
        raise ValueError("arange expected a step other than 0")
    low, high = (0, start) if stop is None else (start, stop)
    values = convert_array(np.arange(low, high, step), as_dtype(dtype), "arange")
    return make_tensor(TensorData(values, values.shape), backend, requires_grad)


def linspace(
    start: float, stop: float, steps: int, backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None
) -> Tensor:
    """`steps` evenly spaced numbers from start to stop, inclusive.

    Raises:
        ValueError: If an integer dtype cannot represent the numbers exactly.
    """
    (count,) = as_shape(steps, "linspace")
    values = convert_array(np.linspace(start, stop, count), as_dtype(dtype), "linspace")
    return make_tensor(TensorData(values, values.shape), backend, requires_grad)


def eye(n: int, backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """The identity matrix with n rows.

    Raises:
        TypeError: If n is not an integer.
        ValueError: If it is negative.
    """
    (n,) = as_shape(n, "eye")
    return make_tensor(TensorData(np.eye(n, dtype=as_dtype(dtype)).reshape(-1), (n, n)), backend, requires_grad)


def randn(shape: Sequence[int], backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Random numbers from the standard normal distribution; `manual_seed` makes them reproducible.

    Raises:
        TypeError: If the dtype is not a floating-point dtype.
    """
    shape, dtype = as_shape(shape, "randn"), as_dtype(dtype)
    if not is_float(dtype):
        raise TypeError(f"randn expected a dtype of float64 or float32, got {dtype.name}, which cannot represent fractions")
    return make_tensor(TensorData(cast_array(generator.standard_normal(math.prod(shape)), dtype), shape), backend, requires_grad)


# From other libraries, without a copy


def from_numpy(array: np.ndarray, backend: TensorBackend = SimpleBackend) -> Tensor:
    """A tensor that shares the memory of an array: writing into one changes the other.

    Raises:
        TypeError: If it is not an array, or tensors do not support its dtype.
        ValueError: If a stride is negative, or not a multiple of the element size.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy expected an array, got {type(array).__name__}; use tensor(...)")
    as_dtype(array.dtype)
    if array.size == 0 or array.flags.c_contiguous:
        return make_tensor(TensorData(array.reshape(-1), array.shape), backend, False)
    step = array.itemsize
    if any(stride < 0 or stride % step for stride in array.strides):
        raise ValueError(
            f"from_numpy expected non-negative strides that are multiples of {step} bytes, got {array.strides}; pass array.copy()"
        )
    strides = tuple(stride // step for stride in array.strides)
    extent = 1 + sum((length - 1) * stride for length, stride in zip(array.shape, strides, strict=True))
    storage = np.lib.stride_tricks.as_strided(array, (extent,), (step,), writeable=array.flags.writeable)
    return make_tensor(TensorData(storage, array.shape, strides), backend, False)


def from_dlpack(other: Any, backend: TensorBackend = SimpleBackend) -> Tensor:
    """A tensor that shares the memory of another library's tensor, such as PyTorch's: writing into one changes the other.

    Raises:
        TypeError: If it does not support DLPack, or tensors do not support its dtype.
        BufferError: If NumPy cannot access its memory, or it has negative strides.
    """
    if not hasattr(other, "__dlpack__"):
        raise TypeError(f"from_dlpack expected a tensor of a library that supports DLPack, got {type(other).__name__}")
    if str(getattr(other, "dtype", "")).endswith("bfloat16"):  # which NumPy does not support
        dtype = as_dtype("bfloat16")
        array = later_module("minitorch.core.dlpack", "from_dlpack of bfloat16").import_bfloat16(other, dtype)
    else:
        array = np.from_dlpack(other)
    if any(stride < 0 for stride in array.strides):
        raise BufferError(f"from_dlpack expected non-negative strides, got {array.strides}; copy the tensor first")
    return from_numpy(array, backend)


# From tensors


def where(condition: Tensor, a: TensorLike, b: TensorLike) -> Tensor:
    """a where the condition is true, else b; all three broadcast.

    Raises:
        TypeError: If the condition is not a Tensor.
    """
    like = next((x for x in (a, b, condition) if isinstance(x, Tensor)), tensor(0))
    return like._ensure_tensor(a).where(condition, like._ensure_tensor(b))


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors concatenated along a dimension; their other sizes must be equal.

    Raises:
        ValueError: If there are none, or other sizes differ.
        TypeError: If one is not a Tensor.
    """
    tensors = _require_tensors(tensors, "cat")
    dim = tensors[0]._normalize_dim(dim)
    rest = [(*x.shape[:dim], *x.shape[dim + 1 :]) if x.dims == tensors[0].dims else None for x in tensors]
    if any(shape != rest[0] for shape in rest):
        raise ValueError(f"cat expected tensors of equal sizes except in dimension {dim}, got {', '.join(str(x.shape) for x in tensors)}")
    return Cat.apply(dim, *tensors)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of the same shape joined along a new dimension.

    Raises:
        ValueError: If there are none, or their shapes differ.
        TypeError: If one is not a Tensor.
    """
    tensors = _require_tensors(tensors, "stack")
    if any(x.shape != tensors[0].shape for x in tensors):
        raise ValueError(f"stack expected tensors of equal shapes, got {', '.join(str(x.shape) for x in tensors)}")
    return cat([x.unsqueeze(dim) for x in tensors], dim)


def _require_tensors(tensors: Sequence[Tensor], op: str) -> list[Tensor]:
    """The tensors as a list.

    Raises:
        ValueError: If there are none.
        TypeError: If one is not a Tensor.
    """
    found = list(tensors)
    if not found:
        raise ValueError(f"{op} expected at least one tensor, got none")
    for thing in found:
        if not isinstance(thing, Tensor):
            raise TypeError(f"{op} expected tensors, got {type(thing).__name__}; make one with tensor(...)")
    return found
