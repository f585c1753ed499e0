"""Kernels to inspect: textbook examples, some of which are slow or wrong on purpose. They are read, not compiled."""

from __future__ import annotations

from typing import Any

import numba

from minitorch.kernels.cuda.device import cuda

WARP = 32
TWO_WARPS = 2 * WARP
PADDED = WARP + 1
BINS = 8


def copy(out: Any, a: Any, size: int) -> None:
    """One thread per element: a warp copies 32 consecutive elements."""
    at = cuda.grid(1)
    if at < size:
        out[at] = a[at]


def strided_copy(out: Any, a: Any, stride: int) -> None:
    """The elements that a warp reads lie apart, so that most of what the memory delivers is not used."""
    at = cuda.grid(1)
    out[at] = a[stride * at]


def copy_without_guard(out: Any, a: Any) -> None:
    """The last block has more threads than there are elements left."""
    at = cuda.grid(1)
    out[at] = a[at]


def naive_transpose(out: Any, a: Any) -> None:
    """A warp reads a row of a and writes a column of out."""
    x, y = cuda.grid(2)
    out[x, y] = a[y, x]


def tiled_transpose(out: Any, a: Any) -> None:
    """A warp reads a row of a into shared memory, and writes a row of out; the additional column keeps the columns in different banks."""
    tile = cuda.shared.array((WARP, PADDED), numba.float32)
    x, y = cuda.grid(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[y, x]
    cuda.syncthreads()
    column, row = cuda.blockIdx.y * WARP + cuda.threadIdx.x, cuda.blockIdx.x * WARP + cuda.threadIdx.y
    out[row, column] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


def row_sums(out: Any, a: Any) -> None:
    """Each thread sums a row of a matrix with 32 columns, whose first elements are all in one bank."""
    matrix = cuda.shared.array((WARP, WARP), numba.float32)
    lane = cuda.threadIdx.x
    for k in range(WARP):
        matrix[k, lane] = a[k, lane]
    cuda.syncthreads()
    out[lane] = 0.0
    for k in range(WARP):
        out[lane] += matrix[lane, k]


def padded_row_sums(out: Any, a: Any) -> None:
    """With an additional column, the first elements of the rows are in different banks."""
    matrix = cuda.shared.array((WARP, PADDED), numba.float32)
    lane = cuda.threadIdx.x
    for k in range(WARP):
        matrix[k, lane] = a[k, lane]
    cuda.syncthreads()
    out[lane] = 0.0
    for k in range(WARP):
        out[lane] += matrix[lane, k]


def signs(out: Any) -> None:
    """Even and odd threads of a warp take different branches, one after the other."""
    at = cuda.grid(1)
    if at % 2:
        out[at] = -1.0
    else:
        out[at] = 1.0


def computed_signs(out: Any) -> None:
    """All threads of a warp compute the sign in the same way."""
    at = cuda.grid(1)
    out[at] = 1.0 - 2.0 * (at % 2)


def reverse_without_barrier(out: Any, a: Any) -> None:
    """Threads read what others may not have written yet."""
    numbers = cuda.shared.array(TWO_WARPS, numba.float32)
    thread = cuda.threadIdx.x
    numbers[thread] = a[thread]
    out[thread] = numbers[2 * WARP - 1 - thread]


def reverse(out: Any, a: Any) -> None:
    """All threads have written before any of them reads."""
    numbers = cuda.shared.array(TWO_WARPS, numba.float32)
    thread = cuda.threadIdx.x
    numbers[thread] = a[thread]
    cuda.syncthreads()
    out[thread] = numbers[2 * WARP - 1 - thread]


def barrier_in_a_branch(out: Any, a: Any, size: int) -> None:
    """The threads past the end never arrive at the barrier at which the others wait."""
    numbers = cuda.shared.array(WARP, numba.float32)
    lane, at = cuda.threadIdx.x, cuda.grid(1)
    if at < size:
        numbers[lane] = a[at]
        cuda.syncthreads()
        out[at] = numbers[lane]


def barrier_for_all(out: Any, a: Any, size: int) -> None:
    """All threads arrive at the barrier; only reading and writing are in a branch."""
    numbers = cuda.shared.array(WARP, numba.float32)
    lane, at = cuda.threadIdx.x, cuda.grid(1)
    if at < size:
        numbers[lane] = a[at]
    cuda.syncthreads()
    if at < size:
        out[at] = numbers[lane]


def racing_histogram(counts: Any, a: Any) -> None:
    """Several threads add to one counter at the same time, and some additions are lost."""
    counts[int(a[cuda.grid(1)])] += 1


def atomic_histogram(counts: Any, a: Any) -> None:
    """An atomic addition reads and writes in one piece."""
    cuda.atomic.add(counts, int(a[cuda.grid(1)]), 1)
