"""Stage 2 - More ways to make tensors, beyond the course: constants, ranges, random numbers, other libraries' arrays, and other tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.dlpack import borrow_bfloat16
from minitorch.core.dtypes import as_dtype, cast_array, convert_array, is_float
from minitorch.core.layout_functions import Cat
from minitorch.tensor import Tensor, TensorLike, generator, make_tensor, tensor
from minitorch.tensor_data import TensorData, as_shape
from minitorch.tensor_ops import SimpleBackend, TensorBackend


def full(
    shape: Sequence[int], value: float, backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None
) -> Tensor:
    """One number everywhere.

    Raises:
        ValueError: If an integer dtype cannot hold it as it is.
    """
    shape = as_shape(shape, "full")
    number = convert_array(np.asarray(value), as_dtype(dtype), "full")
    return make_tensor(TensorData(np.full(math.prod(shape), number), shape), backend, requires_grad)


def ones(shape: Sequence[int], backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Ones."""
    return full(as_shape(shape, "ones"), 1, backend, requires_grad, dtype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    backend: TensorBackend = SimpleBackend,
    requires_grad: bool = False,
    dtype: Any = None,
) -> Tensor:
    """start, start + step, … up to but without stop; arange(n) is 0 … n - 1.

    Raises:
        ValueError: If step is 0, or an integer dtype cannot hold the numbers as they are.
    """
    if step == 0:
        raise ValueError("arange expected a step other than 0")
    low, high = (0, start) if stop is None else (start, stop)
    values = convert_array(np.arange(low, high, step), as_dtype(dtype), "arange")
    return make_tensor(TensorData(values, values.shape), backend, requires_grad)


def linspace(
    start: float, stop: float, steps: int, backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None
) -> Tensor:
    """`steps` numbers at equal distances from start to stop, both included.

    Raises:
        ValueError: If an integer dtype cannot hold the numbers as they are.
    """
    (count,) = as_shape(steps, "linspace")
    values = convert_array(np.linspace(start, stop, count), as_dtype(dtype), "linspace")
    return make_tensor(TensorData(values, values.shape), backend, requires_grad)


def eye(n: int, backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """The identity matrix of n rows.

    Raises:
        TypeError: If n is no whole number.
        ValueError: If it is negative.
    """
    (n,) = as_shape(n, "eye")
    return make_tensor(TensorData(np.eye(n, dtype=as_dtype(dtype)).reshape(-1), (n, n)), backend, requires_grad)


def randn(shape: Sequence[int], backend: TensorBackend = SimpleBackend, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Numbers drawn from the normal distribution of mean 0 and variance 1; `manual_seed` makes them the same in every run.

    Raises:
        TypeError: If the dtype holds no fractions.
    """
    shape, dtype = as_shape(shape, "randn"), as_dtype(dtype)
    if not is_float(dtype):
        raise TypeError(f"randn expected a dtype of float64 or float32, got {dtype.name}, which cannot hold fractions")
    return make_tensor(TensorData(cast_array(generator.standard_normal(math.prod(shape)), dtype), shape), backend, requires_grad)


# From other libraries, without a copy


def from_numpy(array: np.ndarray, backend: TensorBackend = SimpleBackend) -> Tensor:
    """A tensor over an array's own memory: what is written into one is seen in the other.

    Raises:
        TypeError: If it is no array, or of a dtype that no tensor has.
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
            f"from_numpy expected strides that are multiples of {step} bytes and not negative, got {array.strides}; pass array.copy()"
        )
    strides = tuple(stride // step for stride in array.strides)
    extent = 1 + sum((length - 1) * stride for length, stride in zip(array.shape, strides, strict=True))
    storage = np.lib.stride_tricks.as_strided(array, (extent,), (step,), writeable=array.flags.writeable)
    return make_tensor(TensorData(storage, array.shape, strides), backend, False)


def from_dlpack(other: Any, backend: TensorBackend = SimpleBackend) -> Tensor:
    """A tensor over the memory of another library's tensor, such as PyTorch's: what is written into one is seen in the other.

    Raises:
        TypeError: If it does not offer its memory by DLPack, or has a dtype that no tensor has.
        BufferError: If it lies where NumPy cannot reach it, or has negative strides.
    """
    if not hasattr(other, "__dlpack__"):
        raise TypeError(f"from_dlpack expected a tensor of a library that speaks DLPack, got {type(other).__name__}")
    if str(getattr(other, "dtype", "")).endswith("bfloat16"):  # which NumPy does not know
        dtype = as_dtype("bfloat16")
        array = borrow_bfloat16(other, dtype)
    else:
        array = np.from_dlpack(other)
    if any(stride < 0 for stride in array.strides):
        raise BufferError(f"from_dlpack expected strides that are not negative, got {array.strides}; copy the tensor first")
    return from_numpy(array, backend)


# From tensors


def where(condition: Tensor, a: TensorLike, b: TensorLike) -> Tensor:
    """a where the condition holds, b elsewhere; all three broadcast.

    Raises:
        TypeError: If the condition is no Tensor.
    """
    like = next((x for x in (a, b, condition) if isinstance(x, Tensor)), tensor(0))
    return like._ensure_tensor(a).where(condition, like._ensure_tensor(b))


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors in a row along a dimension; in all others they have the same size.

    Raises:
        ValueError: If there are none, or another size differs.
        TypeError: If one is no Tensor.
    """
    tensors = _tensors(tensors, "cat")
    dim = tensors[0]._dim(dim)
    rest = [(*x.shape[:dim], *x.shape[dim + 1 :]) if x.dims == tensors[0].dims else None for x in tensors]
    if any(shape != rest[0] for shape in rest):
        raise ValueError(f"cat expected tensors of one shape but for dimension {dim}, got {', '.join(str(x.shape) for x in tensors)}")
    return Cat.apply(dim, *tensors)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape in a row along a new dimension.

    Raises:
        ValueError: If there are none, or their shapes differ.
        TypeError: If one is no Tensor.
    """
    tensors = _tensors(tensors, "stack")
    if any(x.shape != tensors[0].shape for x in tensors):
        raise ValueError(f"stack expected tensors of one shape, got {', '.join(str(x.shape) for x in tensors)}")
    return cat([x.unsqueeze(dim) for x in tensors], dim)


def _tensors(tensors: Sequence[Tensor], op: str) -> list[Tensor]:
    """At least one tensor, and nothing else."""
    found = list(tensors)
    if not found:
        raise ValueError(f"{op} expected at least one tensor, got none")
    for thing in found:
        if not isinstance(thing, Tensor):
            raise TypeError(f"{op} expected tensors, got {type(thing).__name__}; make one with tensor(...)")
    return found
