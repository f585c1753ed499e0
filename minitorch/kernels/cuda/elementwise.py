"""Stage 3 - Optimized map, zip and reduce for CudaOps: several elements for each thread.

They are launched like the textbook kernels, with one thread for each element, and start fewer threads themselves. Shapes and strides are
tuples, whose lengths are compile-time constants, so that index arithmetic stays in registers and needs no index array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from minitorch.core.dtypes import int64
from minitorch.core.kernel import register_kernel
from minitorch.kernels.cuda.device import SIMULATED, blocks_for, cuda, device_jit, jit, number_function

ITEMS = 2 if SIMULATED else 4
"""Elements for each thread of map and zip: loads overlap, because the next one is issued before the previous one completes."""


@dataclass(frozen=True)
class ReduceLayout:
    """How the threads of a block are assigned to a reduction.

    Attributes:
        outputs: Results per block.
        lanes: Threads per result; a power of 2.
        along: Whether neighboring threads read along the reduced dimension (otherwise along the results), which is fast if these elements
            are contiguous.
    """

    outputs: int
    lanes: int
    along: bool


ROW, SHORT_ROW = (
    (ReduceLayout(1, 8, True), ReduceLayout(2, 4, True)) if SIMULATED else (ReduceLayout(1, 256, True), ReduceLayout(8, 32, True))
)
COLUMN, SHORT_COLUMN = (
    (ReduceLayout(4, 2, False), ReduceLayout(8, 1, False)) if SIMULATED else (ReduceLayout(32, 8, False), ReduceLayout(256, 1, False))
)
ENOUGH_BLOCKS = 4 if SIMULATED else 1024
"""Number of blocks that keep every multiprocessor busy; with fewer results, each result is divided into several cells."""


def positions(ordinal: int, shape: Any, first: Any, second: Any, third: Any) -> tuple[int, int, int]:
    """Return the positions of the ordinal-th element, in row-major order, in three storages with different strides.

    One dimension may have any number of elements, several dimensions fewer than 2^32: GPUs divide 64-bit integers many times slower.
    """
    if len(shape) == 1:
        return ordinal * first[0], ordinal * second[0], ordinal * third[0]
    x = y = z = np.int64(0)
    rest = np.uint32(ordinal)
    for dim in range(len(shape) - 1, 0, -1):
        length = np.uint32(shape[dim])
        quotient = np.uint32(rest // length)
        index = np.int64(rest - quotient * length)
        x += index * first[dim]
        y += index * second[dim]
        z += index * third[dim]
        rest = quotient
    index = np.int64(rest)
    return x + index * first[0], y + index * second[0], z + index * third[0]


@cache
def _positions() -> Any:
    return device_jit(positions)


def _uses_float32(*arrays: Any) -> bool:
    """Whether a kernel over these arrays computes in float32."""
    kinds = {np.dtype(array.dtype) for array in arrays}
    return np.dtype(np.float32) in kinds and np.dtype(np.float64) not in kinds


class Elementwise:
    """A map or zip, launched as kernel[blocks, threads](…) with one thread for each element.

    Args:
        kernel: Makes the kernel from a function compiled for the GPU.
        fn: Scalar function.
        storages: Positions of the storages among the arguments.
    """

    def __init__(self, kernel: Callable[[Any], Any], fn: Callable[..., float], storages: tuple[int, ...]) -> None:
        self.fn, self.storages = fn, storages
        self.compiled = {single: jit(kernel(number_function(fn, single))) for single in (False, True)}

    def __getitem__(self, grid: tuple[int, int]) -> Callable[..., None]:
        return partial(self._launch, *grid)

    def _launch(self, blocks: int, threads: int, *args: Any) -> None:
        kernel = self.compiled[_uses_float32(*(args[i] for i in self.storages))]
        kernel[blocks_for(blocks, ITEMS), threads](*args)


def map_kernel(fn: Any) -> Any:
    """Make the kernel that applies fn to every element."""
    where = _positions()

    def _map(out, out_shape, out_strides, out_size, a, a_shape, a_strides):  # type: ignore[no-untyped-def]  # numba infers them
        first = cuda.blockIdx.x * cuda.blockDim.x * ITEMS + cuda.threadIdx.x
        at = cuda.local.array(ITEMS, int64)
        x = cuda.local.array(ITEMS, a.dtype)
        for item in range(ITEMS):  # all loads before the first use
            i = first + item * cuda.blockDim.x
            if i < out_size:
                at[item], p, _ = where(i, out_shape, out_strides, a_strides, a_strides)
                x[item] = a[p]
        for item in range(ITEMS):
            if first + item * cuda.blockDim.x < out_size:
                out[at[item]] = fn(x[item])

    return _map


def zip_kernel(fn: Any) -> Any:
    """Make the kernel that applies fn to every pair of elements."""
    where = _positions()

    def _zip(out, out_shape, out_strides, out_size, a, a_shape, a_strides, b, b_shape, b_strides):  # type: ignore[no-untyped-def]
        first = cuda.blockIdx.x * cuda.blockDim.x * ITEMS + cuda.threadIdx.x
        at = cuda.local.array(ITEMS, int64)
        x = cuda.local.array(ITEMS, a.dtype)
        y = cuda.local.array(ITEMS, b.dtype)
        for item in range(ITEMS):
            i = first + item * cuda.blockDim.x
            if i < out_size:
                at[item], p, q = where(i, out_shape, out_strides, a_strides, b_strides)
                x[item], y[item] = a[p], b[q]
        for item in range(ITEMS):
            if first + item * cuda.blockDim.x < out_size:
                out[at[item]] = fn(x[item], y[item])

    return _zip


class Reduce:
    """A reduction along the last dimension, launched as kernel[blocks, threads](…); it chooses its blocks and threads itself.

    The size of out's last dimension is the number of cells that each reduction is divided into. Only a reduction to one cell uses start.

    Args:
        fn: Associative and commutative function of two numbers.
    """

    def __init__(self, fn: Callable[[float, float], float]) -> None:
        self.fn = fn
        self.compiled: dict[Any, Any] = {}

    def cells(self, outputs: int, length: int, along: bool) -> int:
        """Return the number of cells to divide each result into.

        Args:
            outputs: Number of results.
            length: Elements per result.
            along: Whether these elements are contiguous in memory.
        """
        layout = _reduce_layout(length, along)
        missing = blocks_for(ENOUGH_BLOCKS, max(1, blocks_for(outputs, layout.outputs)))
        wanted = min(missing, blocks_for(length, layout.lanes * 16))
        return blocks_for(length, blocks_for(length, wanted)) if wanted > 1 else 1  # no empty cells

    def __getitem__(self, grid: tuple[int, int]) -> Callable[..., None]:
        return self._launch

    def _launch(self, out, out_shape, out_strides, out_size, a, a_shape, a_strides, reduce_dim, start) -> None:  # type: ignore[no-untyped-def]
        along = a_strides[-1] <= min(a_strides[:-1], default=a_strides[-1])
        layout = _reduce_layout(a_shape[-1], along)
        key = layout, _uses_float32(out, a)
        if key not in self.compiled:
            self.compiled[key] = jit(reduce_kernel(number_function(self.fn, key[1]), layout))
        cells = out_shape[-1]
        grid = blocks_for(out_size // cells, layout.outputs), cells
        self.compiled[key][grid, layout.outputs * layout.lanes](
            out, out_shape, out_strides, out_size, a, a_shape, a_strides, reduce_dim, start
        )


def _reduce_layout(length: int, along: bool) -> ReduceLayout:
    """Choose the assignment of threads for a number of elements per result."""
    if length <= 2 * COLUMN.lanes:
        return SHORT_COLUMN
    if not along:
        return COLUMN
    return ROW if length > 2 * SHORT_ROW.lanes else SHORT_ROW


def reduce_kernel(fn: Any, layout: ReduceLayout) -> Any:
    """Make the kernel that reduces the last dimension of a, in one or several cells."""
    OUTPUTS, LANES, ALONG = layout.outputs, layout.lanes, layout.along
    THREADS = OUTPUTS * LANES  # numba takes the size of a shared array from a name, not from a product
    where = _positions()

    def _reduce(out, out_shape, out_strides, out_size, a, a_shape, a_strides, reduce_dim, start):  # type: ignore[no-untyped-def]
        partial_results = cuda.shared.array(THREADS, out.dtype)
        value = cuda.local.array(1, out.dtype)  # an array, so that every result is stored in out's dtype
        thread = cuda.threadIdx.x
        lane = thread % LANES if ALONG else thread // OUTPUTS
        column = thread // LANES if ALONG else thread % OUTPUTS
        mine = lane * OUTPUTS + column

        cells, length, step = out_shape[-1], a_shape[-1], a_strides[-1]
        output, cell = cuda.blockIdx.x * OUTPUTS + column, cuda.blockIdx.y
        inside = output * cells < out_size
        chunk = (length + cells - 1) // cells
        target, source, _ = where(output, out_shape[:-1], out_strides[:-1], a_strides[:-1], a_strides[:-1])
        count = min(chunk, length - cell * chunk)

        if inside and lane < count:  # each thread reduces every LANES-th element
            p = source + (cell * chunk + lane) * step
            value[0] = a[p]
            i = lane + LANES
            while i + 3 * LANES < count:  # four loads at a time
                p += LANES * step
                w, x = a[p], a[p + LANES * step]
                y, z = a[p + 2 * LANES * step], a[p + 3 * LANES * step]
                value[0] = fn(value[0], fn(fn(w, x), fn(y, z)))
                p += 3 * LANES * step
                i += 4 * LANES
            while i < count:
                p += LANES * step
                value[0] = fn(value[0], a[p])
                i += LANES
            partial_results[mine] = value[0]

        half = LANES // 2  # tree reduction of the threads' results
        while half > 0:
            cuda.syncthreads()
            if inside and lane < half and lane + half < count:
                partial_results[mine] = fn(partial_results[mine], partial_results[mine + half * OUTPUTS])
            half //= 2

        if inside and lane == 0:
            target += cell * out_strides[-1]
            if cells > 1:
                out[target] = partial_results[mine]
            else:
                value[0] = start
                out[target] = fn(value[0], partial_results[mine]) if count > 0 else value[0]

    return _reduce


register_kernel("map", "cuda", lambda fn: Elementwise(map_kernel, fn, storages=(0, 4)))
register_kernel("zip", "cuda", lambda fn: Elementwise(zip_kernel, fn, storages=(0, 4, 7)))
register_kernel("reduce", "cuda", Reduce)
