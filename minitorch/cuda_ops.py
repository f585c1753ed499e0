"""Stage 3 - CudaOps: map, zip, reduce and the matrix product as CUDA kernels, and the backend made of them.

The kernels below are the textbook solutions of Tasks 3.3 and 3.4. Optimized kernels are in `kernels/cuda/`; `_kernel` and `_multiply` prefer them.

A kernel is launched on a grid of blocks of threads and runs once in every thread. It is given each storage as an array of the GPU that
begins with the tensor's first element, and shapes and strides as tuples; an input has stride 0 where it is broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numba

from minitorch import tensor_data
from minitorch.core.backend import DEVICES, TensorBackend, TensorOps
from minitorch.core.dtypes import promote_types
from minitorch.core.kernel import find_kernel
from minitorch.kernels.cuda.device import (
    SIMULATED,
    blocks_for,
    cuda,
    device_jit,
    jit,
    launch,
    number_function,
    require_cuda,
)
from minitorch.kernels.cuda.storage import DeviceData, DeviceStorage, coalesce_dims
from minitorch.tensor_data import MAX_DIMS as MAX_DIMS
from minitorch.tensor_data import broadcast_strides, shape_broadcast, strides_from_shape

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

# For kernels written index by index: the functions of Module 2, compiled for the GPU
to_index = device_jit(tensor_data.to_index)
broadcast_index = device_jit(tensor_data.broadcast_index)
index_to_position = device_jit(tensor_data.index_to_position)

THREADS_PER_BLOCK = 8 if SIMULATED else 256
"""Threads of a block of map and zip."""

REDUCE_BLOCK = 16 if SIMULATED else 1024
"""Threads of a block of a textbook reduction, and the elements that it folds into one."""

BLOCK_DIM = 4 if SIMULATED else 32
"""Rows and columns of a tile of the textbook's matrix product, computed by as many threads."""

PRACTICE_BLOCK = 32
"""Threads of a block in `sum_practice`, rows and columns of `mm_practice`."""

MAX_BATCH = 65535
"""More blocks no GPU takes in the third dimension of a grid."""


class CudaOps(TensorOps):
    """The operations on an NVIDIA GPU, or in numba's simulator. Every thread computes in float32 if no operand is float64."""

    name = "cuda"
    cuda = True

    @staticmethod
    def require() -> None:
        """See `TensorOps.require`."""
        require_cuda()

    @staticmethod
    def zeros(shape: tuple[int, ...], dtype: Any = None) -> DeviceData:
        """See `TensorOps.zeros`."""
        return DeviceData.zeros(shape, dtype)

    @staticmethod
    def place(data: Any) -> DeviceData:
        """See `TensorOps.place`."""
        return DeviceData.of(data)

    @staticmethod
    def map(fn: Callable[[float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.map`."""

        def mapped(a: Tensor, out: Tensor | None = None) -> Tensor:
            out = a.zeros() if out is None else out
            data: Any = out._tensor
            if data.size:
                shape, strides, a_strides = coalesce_dims(out.shape, data.strides, broadcast_strides(a.shape, a._tensor.strides, out.shape))
                source = _read_array(a)
                launch(
                    _kernel("map", tensor_map, fn), blocks_for(data.size, THREADS_PER_BLOCK), THREADS_PER_BLOCK,
                    data.target(), shape, strides, data.size, source, shape, a_strides,
                )  # fmt: skip
            return out

        return mapped

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.zip`."""

        def zipped(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
            if out is None:
                out = a.zeros(shape_broadcast(a.shape, b.shape), promote_types(a.dtype, b.dtype))
            data: Any = out._tensor
            if data.size:
                shape, strides, a_strides, b_strides = coalesce_dims(
                    out.shape,
                    data.strides,
                    broadcast_strides(a.shape, a._tensor.strides, out.shape),
                    broadcast_strides(b.shape, b._tensor.strides, out.shape),
                )
                sources = _read_array(a), shape, a_strides, _read_array(b), shape, b_strides
                launch(
                    _kernel("zip", tensor_zip, fn), blocks_for(data.size, THREADS_PER_BLOCK), THREADS_PER_BLOCK,
                    data.target(), shape, strides, data.size, *sources,
                )  # fmt: skip
            return out

        return zipped

    @staticmethod
    def reduce(fn: Callable[[float, float], float], start: float = 0.0) -> Callable[..., Tensor]:
        """See `TensorOps.reduce`. fn must be associative and commutative: many threads fold, and none in order.

        A long dimension is folded in several passes: first into cells, then these.
        """

        def reduced(a: Tensor, dim: int, out: Tensor | None = None) -> Tensor:
            dim = a._normalize_dim(dim)
            out = a.zeros((*a.shape[:dim], 1, *a.shape[dim + 1 :])) if out is None else out
            if out.size:
                _reduce_in_passes(_kernel("reduce", tensor_reduce, fn), a, dim, out, start)
            return out

        return reduced

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """See `TensorOps.matrix_multiply`."""
        batch = shape_broadcast(a.shape[:-2], b.shape[:-2])
        out = a.zeros((*batch, a.shape[-2], b.shape[-1]), dtype=promote_types(a.dtype, b.dtype))
        if out.size and a.shape[-1]:
            _multiply(out, a, b, batch)
        return out


def _kernel(pattern: str, textbook: Callable[..., Any], fn: Callable[..., float]) -> Any:
    """The kernel of a pattern around fn: the optimized one if there is one, else the textbook kernel below."""
    optimized = find_kernel(pattern, CudaOps)
    return _build_kernel(optimized, fn) if optimized else _build_kernel(textbook, number_function(fn))


@cache
def _build_kernel(make: Callable[..., Any], fn: Any) -> Any:
    """What `make` returns for fn, made once at its first use."""
    return make(fn)


def _read_array(a: Tensor) -> Any:
    """The array of the GPU that a tensor is read from."""
    data: Any = a._tensor
    return data.source()


def _reduce_in_passes(kernel: Any, a: Tensor, dim: int, out: Tensor, start: float) -> None:
    """Fold dimension dim of a into out, each pass into fewer cells for every element of out; the last has one."""
    data: Any = out._tensor
    rest = [d for d in range(a.dims) if d != dim]
    outer, out_strides, strides = coalesce_dims(
        tuple(a.shape[d] for d in rest), tuple(data.strides[d] for d in rest), tuple(a._tensor.strides[d] for d in rest)
    )
    source, length, step = _read_array(a), a.shape[dim], a._tensor.strides[dim]
    while True:
        cells = _count_cells(kernel, data.size, length, step <= min(strides))
        if cells == 1:
            target, target_strides = data.target(), out_strides
        else:
            target = DeviceStorage(data.size * cells, data.dtype).to_write(all_of_it=True)
            target_strides = tuple(stride * cells for stride in strides_from_shape(outer))
        launch(
            kernel, data.size * cells, REDUCE_BLOCK,
            target, (*outer, cells), (*target_strides, 1), data.size * cells,
            source, (*outer, length), (*strides, step), len(outer), start,
        )  # fmt: skip
        if cells == 1:
            return
        source, strides, length, step = target, target_strides, cells, 1


def _count_cells(kernel: Any, outputs: int, length: int, along: bool) -> int:
    """Into how many cells a pass folds every result; a textbook kernel folds REDUCE_BLOCK elements into one."""
    if hasattr(kernel, "cells"):
        return kernel.cells(outputs, length, along)
    return max(1, blocks_for(length, REDUCE_BLOCK))


def _multiply(out: Tensor, a: Tensor, b: Tensor, batch: tuple[int, ...]) -> None:
    """Launch the matrix product on tensors of three dimensions; a batch of several becomes one, by a copy if strides cannot."""
    count = out.size // (out.shape[-2] * out.shape[-1])
    operands: list[Any] = []
    for x in (a, b):
        batch_strides = broadcast_strides(x.shape[:-2], x._tensor.strides[:-2], batch)
        shape, strides = coalesce_dims(batch, batch_strides)
        if len(shape) > 1:
            x = x.expand(*batch, *x.shape[-2:]).contiguous()
            strides = (x.shape[-2] * x.shape[-1],)
        operands.append((_read_array(x), (count, *x.shape[-2:]), (strides[0], *x._tensor.strides[-2:])))
    data: Any = out._tensor
    target, rows, columns = data.target(), out.shape[-2], out.shape[-1]
    for first in range(0, count, MAX_BATCH):
        n = min(MAX_BATCH, count - first)
        args = [((array[first * strides[0] :] if first else array), (n, *shape[1:]), strides) for array, shape, strides in operands]
        here = target[first * rows * columns :] if first else target
        sizes = here, (n, rows, columns), (rows * columns, columns, 1), n * rows * columns
        optimized = find_kernel("matrix_multiply", CudaOps)
        kernel = optimized(rows, columns, n, out.dtype) if optimized else None
        if kernel is not None:
            launch(kernel, kernel.grid(rows, columns, n), kernel.threads, *sizes, *args[0], *args[1])
        else:
            grid = blocks_for(rows, BLOCK_DIM), blocks_for(columns, BLOCK_DIM), n
            launch(_build_kernel(jit, _tensor_matrix_multiply), grid, (BLOCK_DIM, BLOCK_DIM), *sizes, *args[0], *args[1])


# The kernels


def tensor_map(fn: Callable[[float], float]) -> Any:
    """The kernel that writes fn of every element of a tensor into another.

    It is launched with a thread for every element of out, or some more, and given storage, shape, strides and size of out, then
    storage, shape and strides of the input. The input's shape is out's: where it was broadcast, its stride is 0.

    Args:
        fn: From a number to a number. It comes compiled for the GPU: a kernel calls it as it is.

    Returns:
        `jit(_map)` of a function `_map(out, out_shape, out_strides, out_size, in_storage, in_shape, in_strides)`.
    """

    def _map(out, out_shape, out_strides, out_size, in_storage, in_shape, in_strides):
        out_index = cuda.local.array(MAX_DIMS, numba.int32)
        in_index = cuda.local.array(MAX_DIMS, numba.int32)
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        if i < out_size:
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, in_shape, in_index)
            out[index_to_position(out_index, out_strides)] = fn(in_storage[index_to_position(in_index, in_strides)])

    return jit(_map)


def tensor_zip(fn: Callable[[float, float], float]) -> Any:
    """The kernel that writes fn of two tensors, element by element, into a third. As `tensor_map`, with two inputs.

    Args:
        fn: From two numbers to a number. It comes compiled for the GPU.

    Returns:
        `jit(_zip)` of a function
        `_zip(out, out_shape, out_strides, out_size, a_storage, a_shape, a_strides, b_storage, b_shape, b_strides)`.
    """

    def _zip(out, out_shape, out_strides, out_size, a_storage, a_shape, a_strides, b_storage, b_shape, b_strides):
        out_index = cuda.local.array(MAX_DIMS, numba.int32)
        a_index = cuda.local.array(MAX_DIMS, numba.int32)
        b_index = cuda.local.array(MAX_DIMS, numba.int32)
        i = cuda.grid(1)
        if i < out_size:
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, a_shape, a_index)
            broadcast_index(out_index, out_shape, b_shape, b_index)
            x = a_storage[index_to_position(a_index, a_strides)]
            y = b_storage[index_to_position(b_index, b_strides)]
            out[index_to_position(out_index, out_strides)] = fn(x, y)

    return jit(_zip)


def tensor_reduce(fn: Callable[[float, float], float]) -> Any:
    """The kernel that folds the last dimension of a tensor into that of another.

    It is launched with a block of REDUCE_BLOCK threads for every element of out, and given storage, shape, strides and size of out,
    storage, shape and strides of the input, the dimension, and the number to begin with. Along the dimension out has a cell for every
    REDUCE_BLOCK elements of the input, or for what is left of them: cell c is folded from the elements from c · REDUCE_BLOCK on.

    Args:
        fn: From two numbers to a number. It comes compiled for the GPU. It is associative and commutative, and the number to begin
            with changes nothing that it is folded with.

    Returns:
        `jit(_reduce)` of a function `_reduce(out, out_shape, out_strides, out_size, a_storage, a_shape, a_strides, reduce_dim, start)`.
    """

    def _reduce(out, out_shape, out_strides, out_size, a_storage, a_shape, a_strides, reduce_dim, reduce_value):
        cache = cuda.shared.array(REDUCE_BLOCK, out.dtype)
        index = cuda.local.array(MAX_DIMS, numba.int32)
        pos = cuda.threadIdx.x
        to_index(cuda.blockIdx.x, out_shape, index)
        target = index_to_position(index, out_strides)
        index[reduce_dim] = index[reduce_dim] * REDUCE_BLOCK + pos
        cache[pos] = reduce_value
        if index[reduce_dim] < a_shape[reduce_dim]:
            cache[pos] = a_storage[index_to_position(index, a_strides)]
        half = REDUCE_BLOCK // 2
        while half > 0:
            cuda.syncthreads()
            if pos < half:
                cache[pos] = fn(cache[pos], cache[pos + half])
            half //= 2
        if pos == 0:
            out[target] = cache[0]

    return jit(_reduce)


def _tensor_matrix_multiply(
    out: Any,
    out_shape: Any,
    out_strides: Any,
    out_size: int,
    a_storage: Any,
    a_shape: Any,
    a_strides: Any,
    b_storage: Any,
    b_shape: Any,
    b_strides: Any,
) -> None:
    """The kernel of the matrix product of tensors of three dimensions: out[n, i, j] = sum over k of a[n, i, k] · b[n, k, j].

    It is launched with a block of BLOCK_DIM × BLOCK_DIM threads for every tile of so many rows and columns of out: blockIdx.x is the
    tile's place among the rows, blockIdx.y among the columns, blockIdx.z is n. Within its tile a thread may take any element; by custom
    it takes row threadIdx.y and column threadIdx.x. Each element of a and b goes through shared memory, so that a block reads it from
    global memory once; each element of out is written once.
    """
    a_shared = cuda.shared.array((BLOCK_DIM, BLOCK_DIM), out.dtype)
    b_shared = cuda.shared.array((BLOCK_DIM, BLOCK_DIM), out.dtype)
    batch = cuda.blockIdx.z
    a_start = batch * (a_strides[0] if a_shape[0] > 1 else 0)
    b_start = batch * (b_strides[0] if b_shape[0] > 1 else 0)
    pi = cuda.threadIdx.x
    pj = cuda.threadIdx.y
    i = cuda.blockIdx.x * BLOCK_DIM + pi
    j = cuda.blockIdx.y * BLOCK_DIM + pj
    total = numba.float64(0.0)
    for start in range(0, a_shape[2], BLOCK_DIM):
        a_shared[pi, pj] = 0.0
        if i < a_shape[1] and start + pj < a_shape[2]:
            a_shared[pi, pj] = a_storage[a_start + i * a_strides[1] + (start + pj) * a_strides[2]]
        b_shared[pi, pj] = 0.0
        if start + pi < b_shape[1] and j < b_shape[2]:
            b_shared[pi, pj] = b_storage[b_start + (start + pi) * b_strides[1] + j * b_strides[2]]
        cuda.syncthreads()  # the tiles are there
        for k in range(BLOCK_DIM):
            total += a_shared[pi, k] * b_shared[k, pj]
        cuda.syncthreads()  # nobody needs them any more
    if i < out_shape[1] and j < out_shape[2]:
        out[batch * out_strides[0] + i * out_strides[1] + j * out_strides[2]] = total


# Practice


def _sum_practice(out: Any, a: Any, size: int) -> None:
    """The kernel that sums each block of PRACTICE_BLOCK elements of a into one element of out, through shared memory.

    Args:
        out: One element for every block that has elements.
        a: The numbers.
        size: How many.
    """
    cache = cuda.shared.array(PRACTICE_BLOCK, out.dtype)
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    pos = cuda.threadIdx.x
    if i < size:
        cache[pos] = a[i]
    else:
        cache[pos] = 0.0
    step = 1
    while step < PRACTICE_BLOCK:
        cuda.syncthreads()
        if pos % (2 * step) == 0:
            cache[pos] += cache[pos + step]
        step *= 2
    if pos == 0 and i < size:
        out[cuda.blockIdx.x] = cache[0]


def sum_practice(a: Tensor) -> DeviceData:
    """The sums of each 32 elements of a tensor of one dimension, by `_sum_practice`; at least two, the last ones 0 where none are left."""
    cells = max(2, blocks_for(a.size, PRACTICE_BLOCK))
    data: Any = DeviceData.of(a.contiguous()._tensor)
    out = DeviceData.zeros((cells,), a.dtype)
    out.cell.on_device()  # zeros where the kernel writes nothing
    launch(_build_kernel(jit, _sum_practice), a.size // PRACTICE_BLOCK + 1, PRACTICE_BLOCK, out.target(), data.source(), a.size)
    return out


def _mm_practice(out: Any, a: Any, b: Any, size: int) -> None:
    """The kernel of the product of two square matrices that one block of PRACTICE_BLOCK × PRACTICE_BLOCK threads holds.

    Each thread brings one element of a and one of b into shared memory and computes one of out.

    Args:
        out: size · size elements, row by row.
        a: The first matrix, row by row.
        b: The second.
        size: Rows and columns of each, at most PRACTICE_BLOCK.
    """
    a_shared = cuda.shared.array((PRACTICE_BLOCK, PRACTICE_BLOCK), out.dtype)
    b_shared = cuda.shared.array((PRACTICE_BLOCK, PRACTICE_BLOCK), out.dtype)
    i = cuda.threadIdx.x
    j = cuda.threadIdx.y
    if i < size and j < size:
        a_shared[i, j] = a[i * size + j]
        b_shared[i, j] = b[i * size + j]
    cuda.syncthreads()
    if i < size and j < size:
        total = numba.float64(0.0)
        for k in range(size):
            total += a_shared[i, k] * b_shared[k, j]
        out[i * size + j] = total


def mm_practice(a: Tensor, b: Tensor) -> DeviceData:
    """The product of two square matrices of at most 32 rows, by `_mm_practice`.

    Raises:
        ValueError: If they are not square, of one size, and at most 32.
    """
    size = a.shape[0]
    if a.shape != b.shape or a.shape != (size, size) or size > PRACTICE_BLOCK:
        raise ValueError(
            f"mm_practice expected two square matrices of one size of at most {PRACTICE_BLOCK}, got {a.shape} and {b.shape}; use a @ b"
        )
    first: Any = DeviceData.of(a.contiguous()._tensor)
    second: Any = DeviceData.of(b.contiguous()._tensor)
    out = DeviceData.zeros((size, size), promote_types(a.dtype, b.dtype))
    launch(_build_kernel(jit, _mm_practice), 1, (PRACTICE_BLOCK, PRACTICE_BLOCK), out.target(), first.source(), second.source(), size)
    return out


@cache
def cuda_backend() -> TensorBackend:
    """The backend of the GPU.

    Raises:
        RuntimeError: If there is neither a GPU nor the simulator.
    """
    return TensorBackend(CudaOps)


DEVICES["cuda"] = cuda_backend
