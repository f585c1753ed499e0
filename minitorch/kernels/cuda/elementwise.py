"""Stage 3 - The kernels that CudaOps runs on: map, zip and reduce, several elements for every thread.

They are launched like the textbook's, one thread for every element, and take fewer threads by themselves. Shapes and strides come as
tuples, whose lengths are known when a kernel is compiled: index arithmetic then lies in registers, without an array for the index.
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
"""Elements for every thread of map and zip: while one is on its way from memory, the next is asked for."""


@dataclass(frozen=True)
class ReduceLayout:
    """How the threads of a block share a reduction.

    Attributes:
        outputs: Results for every block.
        lanes: Threads for every result; a power of 2.
        along: Whether neighbouring threads read neighbours along the reduced dimension (else neighbouring results), which is
            quick where these lie side by side in memory.
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
"""So many blocks keep every multiprocessor busy; a reduction to fewer results is cut into several cells for each."""


def positions(ordinal: int, shape: Any, first: Any, second: Any, third: Any) -> tuple[int, int, int]:
    """Where the ordinal-th element, the last dimension running fastest, stands in three storages with different strides.

    Of one dimension there may be any number of elements, of several fewer than 2^32: a GPU divides 64 bits many times slower than 32.
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
    """A map or zip, launched as kernel[blocks, threads](…) with a thread for every element.

    Args:
        kernel: Makes the kernel of a function that is compiled for the GPU.
        fn: On numbers.
        inputs: Where in the arguments the storages are.
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
    """The kernel that writes fn of every element."""
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
    """The kernel that writes fn of two tensors, element by element."""
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

    out has as many cells along that dimension as the reduction is cut into. Only a reduction to one cell begins with start.

    Args:
        fn: From two numbers to one; associative and commutative.
    """

    def __init__(self, fn: Callable[[float, float], float]) -> None:
        self.fn = fn
        self.compiled: dict[Any, Any] = {}

    def cells(self, outputs: int, length: int, along: bool) -> int:
        """How many cells every result should be cut into.

        Args:
            outputs: Number of results.
            length: Elements for each.
            along: Whether these lie side by side in memory.
        """
        fold = _reduce_layout(length, along)
        missing = blocks_for(ENOUGH_BLOCKS, max(1, blocks_for(outputs, fold.outputs)))
        wanted = min(missing, blocks_for(length, fold.lanes * 16))
        return blocks_for(length, blocks_for(length, wanted)) if wanted > 1 else 1  # no cell without elements

    def __getitem__(self, grid: tuple[int, int]) -> Callable[..., None]:
        return self._launch

    def _launch(self, out, out_shape, out_strides, out_size, a, a_shape, a_strides, reduce_dim, start) -> None:  # type: ignore[no-untyped-def]
        along = a_strides[-1] <= min(a_strides[:-1], default=a_strides[-1])
        fold = _reduce_layout(a_shape[-1], along)
        key = fold, _uses_float32(out, a)
        if key not in self.compiled:
            self.compiled[key] = jit(reduce_kernel(number_function(self.fn, key[1]), fold))
        cells = out_shape[-1]
        grid = blocks_for(out_size // cells, fold.outputs), cells
        self.compiled[key][grid, fold.outputs * fold.lanes](out, out_shape, out_strides, out_size, a, a_shape, a_strides, reduce_dim, start)


def _reduce_layout(length: int, along: bool) -> ReduceLayout:
    """The sharing that suits so many elements for a result."""
    if length <= 2 * COLUMN.lanes:
        return SHORT_COLUMN
    if not along:
        return COLUMN
    return ROW if length > 2 * SHORT_ROW.lanes else SHORT_ROW


def reduce_kernel(fn: Any, fold: ReduceLayout) -> Any:
    """The kernel that folds the last dimension of a, or of each of its cells."""
    OUTPUTS, LANES, ALONG = fold.outputs, fold.lanes, fold.along
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

        if inside and lane < count:  # every thread folds each LANES-th element
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

        half = LANES // 2  # then the threads fold what they have, half of them at a time
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
