"""Stage 3 - FastOps: map, zip, reduce and the matrix product compiled by numba, in parallel on all cores.

The four kernels below are the textbook solutions of Tasks 3.1 and 3.2. Optimized kernels for the same operations are in `kernels/`;
`choose_kernel` prefers them, for the matrix product the backend. `FastOps.optimized = False` computes with the textbook kernels instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import prange

from minitorch.core.backend import DEVICES, TensorBackend, TensorOps
from minitorch.core.dtypes import promote_types
from minitorch.core.kernel import find_kernel
from minitorch.core.recording import call, fill
from minitorch.kernels.jit import FLAGS, cached_on_disk, compiler_is_off, jitable, launch
from minitorch.tensor_data import (
    MAX_DIMS,
    Shape,
    Storage,
    Strides,
    TensorData,
    broadcast_index,
    cached_broadcast,
    index_to_position,
    shape_broadcast,
    strides_from_shape,
    to_index,
)
from minitorch.tensor_ops import ieee

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

MapKernel = Callable[[Storage, Shape, Strides, Storage, Shape, Strides], None]
ZipKernel = Callable[[Storage, Shape, Strides, Storage, Shape, Strides, Storage, Shape, Strides], None]
ReduceKernel = Callable[[Storage, Shape, Strides, Storage, Shape, Strides, int], None]


for _fn in (to_index, index_to_position, broadcast_index):
    jitable(_fn)  # compiled kernels may call them


def njit(fn: Callable[..., Any], **options: Any) -> Any:
    """`numba.njit` with the arithmetic of all kernels here (1 / 0 is infinity, as in NumPy), cached on disk until the source changes."""
    if fn.__code__.co_names == ("NotImplementedError",):  # not written yet: numba would report an error of its own
        return fn
    return cached_on_disk(numba.njit(**{**FLAGS, **options})(fn))


class FastOps(TensorOps):
    """The operations as compiled loops on all cores."""

    name = "fast"
    optimized = not compiler_is_off()  # the optimized kernels are slower than the textbook kernels where they are not compiled

    @staticmethod
    def map(fn: Callable[[float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.map`."""
        kernel = choose_kernel("map", fn, tensor_map)

        def mapped(a: Tensor, out: Tensor | None = None) -> Tensor:
            out = a.zeros() if out is None else out
            kernel(out._tensor, a._tensor)
            return out

        return offer_kernel(mapped, kernel)

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.zip`."""
        kernel = choose_kernel("zip", fn, tensor_zip)

        def zipped(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
            out = a.zeros(shape_broadcast(a.shape, b.shape), promote_types(a.dtype, b.dtype)) if out is None else out
            kernel(out._tensor, a._tensor, b._tensor)
            return out

        return offer_kernel(zipped, kernel)

    @staticmethod
    def reduce(fn: Callable[[float, float], float], start: float = 0.0) -> Callable[..., Tensor]:
        """See `TensorOps.reduce`; if the kernel `reduces_many`, dim may also be a tuple of dimensions."""
        kernel = choose_kernel("reduce", fn, tensor_reduce)

        def reduced(a: Tensor, dim: int | tuple[int, ...], out: Tensor | None = None) -> Tensor:
            if out is None:
                dims = dim if isinstance(dim, tuple) else (dim,)
                out = a.zeros([1 if i in dims else size for i, size in enumerate(a.shape)])
            data = out._tensor
            call(fill, data._storage if len(data._storage) == data.size else data.array(), start)  # the kernel reduces into out
            kernel(data, a._tensor, dim)
            return out

        return offer_kernel(reduced, kernel)

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """See `TensorOps.matrix_multiply`. The backend prefers the optimized kernel."""
        x, y = a._tensor, b._tensor
        batch = cached_broadcast(x.shape[:-2], y.shape[:-2])
        out = TensorData.empty((*batch, x.shape[-2], y.shape[-1]), promote_types(x.dtype, y.dtype))
        shape = (math.prod(batch), *out.shape[-2:])  # the textbook kernel takes one batch dimension
        kernel = TextbookKernel(tensor_matrix_multiply)
        kernel(out.as_view(shape, strides_from_shape(shape), 0), with_one_batch_dim(x, batch), with_one_batch_dim(y, batch))
        return a._like(out)


# Which kernel computes an operation


def choose_kernel(pattern: str, fn: Callable[..., float], textbook: Callable[..., Any]) -> Any:
    """The kernel of a pattern around fn: the optimized one if there is one, else the textbook kernel below.

    Args:
        pattern: "map", "zip" or "reduce".
        fn: The scalar function.
        textbook: What makes the textbook kernel of fn.
    """
    optimized = find_kernel(pattern, FastOps)
    return optimized(callable_from_kernels(fn)) if optimized else TextbookKernel(textbook(callable_from_kernels(fn)))


def offer_kernel(operation: Any, kernel: Any) -> Callable[..., Tensor]:
    """The operation with its kernel as an attribute, which the backend then calls directly; see `TensorBackend.map`."""
    operation.kernel = kernel
    return operation


def callable_from_kernels(fn: Callable[..., float]) -> Callable[..., float]:
    """fn, made known to the compiler. With the compiler off (NUMBA_DISABLE_JIT=1) it returns at a pole what compiled code does."""
    return ieee(fn) if compiler_is_off() else jitable(fn)


class TextbookKernel:
    """A kernel over storages, shapes and strides, called with TensorData: adapts the published signature to `Kernel`.

    Shapes and strides become arrays, because numba would compile again for tuples of each length. The storage of out is contiguous,
    because a textbook kernel loops over all of `out`. Only one kernel runs at a time: see `launch`.

    Args:
        kernel: Called with storage, shape and strides of out and of each input, and with plain values.
    """

    writes_all = False
    reduces_many = False

    def __init__(self, kernel: Callable[..., None]) -> None:
        self.kernel = kernel

    def __call__(self, out: TensorData, *inputs: Any) -> None:
        """Write the result into out."""
        full = out if len(out.tuple()[0]) == out.size else TensorData(out.array().flatten(), out.shape)
        arguments = [part for x in (full, *inputs) for part in (arrays(x) if isinstance(x, TensorData) else (x,))]
        with np.errstate(all="ignore"):  # with the compiler off, NumPy's numbers warn
            launch(self.kernel, *arguments)
        if full is not out:
            out.array()[...] = full.array()


def arrays(x: TensorData) -> tuple[Storage, np.ndarray, np.ndarray]:
    """The storage from the first element on, shape and strides as arrays."""
    storage, shape, strides = x.tuple()
    return storage, np.array(shape, np.int32), np.array(strides, np.int32)


def with_one_batch_dim(a: TensorData, batch: tuple[int, ...]) -> TensorData:
    """A factor of a matrix product with shape (N, rows, columns), N = 1 or the product of batch; copied where it must."""
    rows, columns = a.shape[-2:]
    if math.prod(a.shape[:-2]) == 1:
        return a.as_view((1, rows, columns), (0, *a.strides[-2:]), a.offset)
    if len(batch) == 1:
        return a
    full = np.broadcast_to(a.array(), (*batch, rows, columns))
    return TensorData(np.ascontiguousarray(full).reshape(-1), (math.prod(batch), rows, columns))


# The textbook kernels. A storage begins with the tensor's first element: index (0, 0, …) is at position 0. Shapes and strides are arrays.


def tensor_map(fn: Callable[[float], float]) -> MapKernel:
    """The compiled kernel that writes fn of every element of a tensor into another, in parallel.

    * The loop over the elements is a `prange`.
    * If out and the input are stride-aligned (same shape, same strides), no index is computed.
    * Index buffers are NumPy arrays created inside the loop: iterations that share one would overwrite each other's indices.

    Args:
        fn: Function of one number that compiled functions can call.

    Returns:
        `njit(_map, parallel=True)` of a function _map(out, out_shape, out_strides, in_storage, in_shape, in_strides).
    """

    def _map(out, out_shape, out_strides, in_storage, in_shape, in_strides):
        if np.array_equal(out_shape, in_shape) and np.array_equal(out_strides, in_strides):
            for i in prange(len(out)):
                out[i] = fn(in_storage[i])
        else:
            for i in prange(len(out)):
                out_index = np.empty(MAX_DIMS, np.int32)
                in_index = np.empty(MAX_DIMS, np.int32)
                to_index(i, out_shape, out_index)
                broadcast_index(out_index, out_shape, in_shape, in_index)
                out[index_to_position(out_index, out_strides)] = fn(in_storage[index_to_position(in_index, in_strides)])

    return njit(_map, parallel=True)


def tensor_zip(fn: Callable[[float, float], float]) -> ZipKernel:
    """The compiled kernel that writes fn of two tensors, element by element, into a third, in parallel.

    Like `tensor_map`, with two inputs. If all three are stride-aligned, no index is computed.

    Args:
        fn: Function of two numbers that compiled functions can call.

    Returns:
        `njit(_zip, parallel=True)` of a function _zip(out, out_shape, out_strides, a_storage, a_shape, a_strides, b_storage, b_shape,
        b_strides).
    """

    def _zip(out, out_shape, out_strides, a_storage, a_shape, a_strides, b_storage, b_shape, b_strides):
        a_aligned = np.array_equal(out_shape, a_shape) and np.array_equal(out_strides, a_strides)
        b_aligned = np.array_equal(out_shape, b_shape) and np.array_equal(out_strides, b_strides)
        if a_aligned and b_aligned:
            for i in prange(len(out)):
                out[i] = fn(a_storage[i], b_storage[i])
        else:
            for i in prange(len(out)):
                out_index = np.empty(MAX_DIMS, np.int32)
                a_index = np.empty(MAX_DIMS, np.int32)
                b_index = np.empty(MAX_DIMS, np.int32)
                to_index(i, out_shape, out_index)
                broadcast_index(out_index, out_shape, a_shape, a_index)
                broadcast_index(out_index, out_shape, b_shape, b_index)
                a_value = a_storage[index_to_position(a_index, a_strides)]
                b_value = b_storage[index_to_position(b_index, b_strides)]
                out[index_to_position(out_index, out_strides)] = fn(a_value, b_value)

    return njit(_zip, parallel=True)


def tensor_reduce(fn: Callable[[float, float], float]) -> ReduceKernel:
    """The compiled kernel that reduces one dimension of a tensor into another, in which it has size 1, in parallel.

    * The loop over the results is a `prange`; each starts from the value already in out.
    * The loop over the reduced dimension calls nothing but fn and keeps its result in a local variable.

    Args:
        fn: Function of the result so far and the next element that compiled functions can call.

    Returns:
        `njit(_reduce, parallel=True)` of a function _reduce(out, out_shape, out_strides, a_storage, a_shape, a_strides, reduce_dim).
    """

    def _reduce(out, out_shape, out_strides, a_storage, a_shape, a_strides, reduce_dim):
        for i in prange(len(out)):
            out_index = np.empty(MAX_DIMS, np.int32)
            to_index(i, out_shape, out_index)
            target = index_to_position(out_index, out_strides)
            start = index_to_position(out_index, a_strides)
            step = a_strides[reduce_dim]
            so_far = out[target]
            for k in range(a_shape[reduce_dim]):
                so_far = fn(so_far, a_storage[start + k * step])
            out[target] = so_far

    return njit(_reduce, parallel=True)


def _tensor_matrix_multiply(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    a_storage: Storage,
    a_shape: Shape,
    a_strides: Strides,
    b_storage: Storage,
    b_shape: Shape,
    b_strides: Strides,
) -> None:
    """The matrix product over the last two dimensions, in parallel: out[n, i, j] = Σ_k a[n, i, k] · b[n, k, j].

    All tensors have three dimensions: batch, rows, columns. A batch of size 1 is used for every matrix of the other factor.

    * The outer loop is a `prange`; each element of out is written once, and nothing else is written to memory.
    * No index buffers: positions are computed from strides, with a stride of 0 for a batch of size 1.
    """
    a_batch = a_strides[0] if a_shape[0] > 1 else 0
    b_batch = b_strides[0] if b_shape[0] > 1 else 0
    for i in prange(out_shape[1]):
        for n in range(out_shape[0]):
            for j in range(out_shape[2]):
                total = 0.0
                for k in range(a_shape[2]):
                    a_value = a_storage[n * a_batch + i * a_strides[1] + k * a_strides[2]]
                    total += a_value * b_storage[n * b_batch + k * b_strides[1] + j * b_strides[2]]
                out[n * out_strides[0] + i * out_strides[1] + j * out_strides[2]] = total


tensor_matrix_multiply: Any = njit(_tensor_matrix_multiply, parallel=True)
"""`_tensor_matrix_multiply`, compiled at its first call."""

FastBackend = TensorBackend(FastOps)
"""The compiled backend."""

DEVICES["cpu"] = DEVICES["fast"] = lambda: FastBackend
