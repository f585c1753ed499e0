"""Kernels to inspect: textbook examples, some of which are slow or wrong on purpose. They are read, not compiled."""

from __future__ import annotations

from typing import Any

import numba

from minitorch.kernels.cuda.device import cuda

TILE = 32
THREADS = 128
BINS = 8


def copy(out: Any, a: Any, size: int) -> None:
    """One thread per element: a warp copies 32 consecutive elements."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < size:
        out[i] = a[i]


def strided_copy(out: Any, a: Any, size: int, stride: int) -> None:
    """The elements that a warp reads lie apart, so that most of what the memory delivers is not used."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < size:
        out[i] = a[i * stride]


def copy_without_guard(out: Any, a: Any) -> None:
    """The last block has more threads than there are elements left."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    out[i] = a[i]


def naive_transpose(out: Any, a: Any, side: int) -> None:
    """A warp reads a row of a and writes a column of out."""
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    out[column * side + row] = a[row * side + column]


def tiled_transpose(out: Any, a: Any, side: int) -> None:
    """Global memory is read and written in rows; the column of the tile lies in one bank."""
    tile = cuda.shared.array((TILE, TILE), numba.float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    tile[y, x] = a[(cuda.blockIdx.y * TILE + y) * side + cuda.blockIdx.x * TILE + x]
    cuda.syncthreads()
    out[(cuda.blockIdx.x * TILE + y) * side + cuda.blockIdx.y * TILE + x] = tile[x, y]


def interleaved_sum(out: Any, a: Any) -> None:
    """Every second, then every fourth thread works, and so on: all warps part in every round."""
    sums = cuda.shared.array(THREADS, numba.float32)
    thread = cuda.threadIdx.x
    sums[thread] = a[cuda.blockIdx.x * THREADS + thread]
    step = 1
    while step < THREADS:
        cuda.syncthreads()
        if thread % (2 * step) == 0:
            sums[thread] += sums[thread + step]
        step *= 2
    if thread == 0:
        out[cuda.blockIdx.x] = sums[0]


def sum_without_barriers(out: Any, a: Any) -> None:
    """Threads read what others may not have written yet."""
    sums = cuda.shared.array(THREADS, numba.float32)
    thread = cuda.threadIdx.x
    sums[thread] = a[cuda.blockIdx.x * THREADS + thread]
    half = THREADS // 2
    while half > 0:
        if thread < half:
            sums[thread] += sums[thread + half]
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = sums[0]


def barrier_in_a_branch(out: Any, a: Any, size: int) -> None:
    """The threads past the end never arrive at the barrier at which the others wait."""
    tile = cuda.shared.array(TILE, numba.float32)
    thread = cuda.threadIdx.x
    i = cuda.blockIdx.x * TILE + thread
    if i < size:
        tile[thread] = a[i]
        cuda.syncthreads()
        out[i] = tile[thread]


def racing_histogram(counts: Any, a: Any, size: int) -> None:
    """Several threads add to one counter at the same time, and some additions are lost."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < size:
        counts[int(a[i])] += 1


def atomic_histogram(counts: Any, a: Any, size: int) -> None:
    """An atomic addition reads and writes in one piece."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < size:
        cuda.atomic.add(counts, int(a[i]), 1)
