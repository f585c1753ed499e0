"""Stage 3 - CudaOps: map, zip, reduce and the matrix product as CUDA kernels, and the backend made of them.

The kernels below are the textbook solutions of Tasks 3.3 and 3.4. Optimized kernels are in `kernels/cuda/`;
`_kernel` and `_multiply` prefer them unless `CudaOps.optimized` is False.

A kernel is launched on a grid of thread blocks and runs once per thread. Each storage is passed as a device array
that starts at the tensor's first element; shapes and strides are tuples. A broadcast input has stride 0.
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

# The index functions of Module 2, compiled for the GPU
to_index = device_jit(tensor_data.to_index)
broadcast_index = device_jit(tensor_data.broadcast_index)
index_to_position = device_jit(tensor_data.index_to_position)

THREADS_PER_BLOCK = 8 if SIMULATED else 256
"""Threads per block of map and zip."""

REDUCE_BLOCK = 16 if SIMULATED else 1024
"""Threads per block of the textbook reduction, and the number of elements that a block reduces."""

BLOCK_DIM = 4 if SIMULATED else 32
"""Rows and columns of a tile of the textbook matrix product; a block has one thread per element of its tile."""

PRACTICE_BLOCK = 32
"""Threads per block of `sum_practice`; threads per row and column of `mm_practice`."""

MAX_BATCH = 65535
"""Largest size of the third dimension of a grid."""


class CudaOps(TensorOps):
    """Tensor operations on an NVIDIA GPU, or in numba's simulator."""

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

        def map_tensor(a: Tensor, out: Tensor | None = None) -> Tensor:
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

        return map_tensor

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[..., Tensor]:
        """See `TensorOps.zip`."""

        def zip_tensors(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
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

        return zip_tensors

    @staticmethod
    def reduce(fn: Callable[[float, float], float], start: float = 0.0) -> Callable[..., Tensor]:
        """See `TensorOps.reduce`. fn must be associative and commutative, because threads reduce in no fixed order.

        A long dimension is reduced in several passes, each of which leaves fewer partial results.
        """

        def reduce_tensor(a: Tensor, dim: int, out: Tensor | None = None) -> Tensor:
            dim = a._normalize_dim(dim)
            out = a.zeros((*a.shape[:dim], 1, *a.shape[dim + 1 :])) if out is None else out
            if out.numel():
                _reduce_in_passes(_kernel("reduce", tensor_reduce, fn), a, dim, out, start)
            return out

        return reduce_tensor

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """See `TensorOps.matrix_multiply`."""
        batch = shape_broadcast(a.shape[:-2], b.shape[:-2])
        out = a.zeros((*batch, a.shape[-2], b.shape[-1]), dtype=promote_types(a.dtype, b.dtype))
        if out.numel() and a.shape[-1]:
            _multiply(out, a, b, batch)
        return out


def _kernel(pattern: str, textbook: Callable[..., Any], fn: Callable[..., float]) -> Any:
    """The kernel of a pattern ("map", "zip" or "reduce") for fn: the optimized kernel if there is one, else the textbook kernel."""
    optimized = find_kernel(pattern, CudaOps)
    return _build_kernel(optimized, fn) if optimized else _build_kernel(textbook, number_function(fn))


@cache
def _build_kernel(make: Callable[..., Any], fn: Any) -> Any:
    """make(fn), built at the first use and cached."""
    return make(fn)


def _read_array(a: Tensor) -> Any:
    """The device array of a tensor that a kernel reads."""
    data: Any = a._tensor
    return data.source()


def _reduce_in_passes(kernel: Any, a: Tensor, dim: int, out: Tensor, start: float) -> None:
    """Reduce dimension dim of a into out. A pass leaves several partial results (cells) per element of out, the last pass one."""
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
    """Number of cells per result that a pass leaves; the textbook kernel reduces REDUCE_BLOCK elements to one cell."""
    if hasattr(kernel, "cells"):
        return kernel.cells(outputs, length, along)
    return max(1, blocks_for(length, REDUCE_BLOCK))


def _multiply(out: Tensor, a: Tensor, b: Tensor, batch: tuple[int, ...]) -> None:
    """Launch the matrix product of 3-D tensors. Several batch dimensions become one; the operand is copied where no stride can do it."""
    count = out.numel() // (out.shape[-2] * out.shape[-1])
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
    """Make the kernel that applies fn to every element of a tensor.

    It is launched with at least one thread per element of out. It receives storage, shape, strides and size of out, then storage,
    shape and strides of the input. The input already has the shape of out; its stride is 0 where it was broadcast.

    Args:
        fn: Function from number to number, already compiled for the GPU; the kernel can call it directly.

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
    """Make the kernel that applies fn to two tensors elementwise. Like `tensor_map`, with two inputs.

    Args:
        fn: Function of two numbers, already compiled for the GPU.

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
    """Make the kernel that reduces the last dimension of a tensor.

    It is launched with one block of REDUCE_BLOCK threads per element of out. It receives storage, shape, strides and size of out,
    storage, shape and strides of the input, the dimension, and the start value. Along that dimension out has one cell for every
    REDUCE_BLOCK elements of the input: cell c is the reduction of the elements from c · REDUCE_BLOCK to (c + 1) · REDUCE_BLOCK - 1,
    or to the last element.

    Args:
        fn: Function of two numbers, already compiled for the GPU. It is associative and commutative, and the start value is its
            identity: fn(start, x) = x.

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
    """The kernel of the matrix product of 3-D tensors: out[n, i, j] = Σ_k a[n, i, k] · b[n, k, j].

    It is launched with one block of BLOCK_DIM × BLOCK_DIM threads per tile of out with as many rows and columns. blockIdx.x is the row
    of the tile, blockIdx.y its column, and blockIdx.z is n. A thread may compute any element of its tile. Each element of a and b is
    copied to shared memory, so that a block reads it from global memory once. Each element of out is written once.
    """
    a_shared = cuda.shared.array((BLOCK_DIM, BLOCK_DIM), out.dtype)
    b_shared = cuda.shared.array((BLOCK_DIM, BLOCK_DIM), out.dtype)
    batch = cuda.blockIdx.z
    a_start = batch * (a_strides[0] if a_shape[0] > 1 else 0)
    b_start = batch * (b_strides[0] if b_shape[0] > 1 else 0)
    pi = cuda.threadIdx.y
    pj = cuda.threadIdx.x  # a warp has consecutive x: it reads and writes along the rows
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
        cuda.syncthreads()  # both tiles are loaded
        for k in range(BLOCK_DIM):
            total += a_shared[pi, k] * b_shared[k, pj]
        cuda.syncthreads()  # all threads are done with the tiles
    if i < out_shape[1] and j < out_shape[2]:
        out[batch * out_strides[0] + i * out_strides[1] + j * out_strides[2]] = total


# Practice


def _sum_practice(out: Any, a: Any, size: int) -> None:
    """The kernel that sums each PRACTICE_BLOCK consecutive elements of a into one element of out, through shared memory.

    Args:
        out: One element for every block that has elements.
        a: The input.
        size: Number of elements of a.
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
    """The sums of every 32 consecutive elements of a 1-D tensor, by `_sum_practice`; at least two, padded with 0."""
    cells = max(2, blocks_for(a.size, PRACTICE_BLOCK))
    data: Any = DeviceData.of(a.contiguous()._tensor)
    out = DeviceData.zeros((cells,), a.dtype)
    out.cell.on_device()  # zeros where the kernel writes nothing
    launch(_build_kernel(jit, _sum_practice), a.size // PRACTICE_BLOCK + 1, PRACTICE_BLOCK, out.target(), data.source(), a.size)
    return out


def _mm_practice(out: Any, a: Any, b: Any, size: int) -> None:
    """The kernel of the product of two square matrices that fit in one block of PRACTICE_BLOCK × PRACTICE_BLOCK threads.

    Each thread copies one element of a and one of b to shared memory and computes one element of out.

    Args:
        out: size · size elements, row by row.
        a: The first matrix, row by row.
        b: The second.
        size: Rows and columns of each, at most PRACTICE_BLOCK.
    """
    a_shared = cuda.shared.array((PRACTICE_BLOCK, PRACTICE_BLOCK), out.dtype)
    b_shared = cuda.shared.array((PRACTICE_BLOCK, PRACTICE_BLOCK), out.dtype)
    i = cuda.threadIdx.y
    j = cuda.threadIdx.x
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
