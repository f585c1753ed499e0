"""Textbook kernels whose numbers are known, correct and wrong ones."""

from __future__ import annotations

from typing import Any

from numba import cuda, float32

TILE = 32
PADDED = 33


def copy(out: Any, a: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i]


def copy_without_guard(out: Any, a: Any) -> None:
    i = cuda.grid(1)
    out[i] = a[i]


def strided_copy(out: Any, a: Any, stride: int) -> None:
    i = cuda.grid(1)
    out[i] = a[i * stride]


def naive_transpose(out: Any, a: Any) -> None:
    x, y = cuda.grid(2)
    out[x, y] = a[y, x]


def tiled_transpose(out: Any, a: Any) -> None:
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = a[top + ty, left + tx]
    cuda.syncthreads()
    out[left + ty, top + tx] = tile[tx, ty]


def padded_transpose(out: Any, a: Any) -> None:
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    tile[ty, tx] = a[top + ty, left + tx]
    cuda.syncthreads()
    out[left + ty, top + tx] = tile[tx, ty]


def sum_interleaved(out: Any, a: Any) -> None:
    cache = cuda.shared.array(256, float32)
    pos = cuda.threadIdx.x
    cache[pos] = a[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < 256:
        if pos % (2 * step) == 0:
            cache[pos] += cache[pos + step]
        cuda.syncthreads()
        step *= 2
    if pos == 0:
        out[cuda.blockIdx.x] = cache[0]


def sum_strided(out: Any, a: Any) -> None:
    cache = cuda.shared.array(256, float32)
    pos = cuda.threadIdx.x
    cache[pos] = a[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < 256:
        target = 2 * step * pos
        if target < 256:
            cache[target] += cache[target + step]
        cuda.syncthreads()
        step *= 2
    if pos == 0:
        out[cuda.blockIdx.x] = cache[0]


def sum_sequential(out: Any, a: Any) -> None:
    cache = cuda.shared.array(256, float32)
    pos = cuda.threadIdx.x
    cache[pos] = a[cuda.grid(1)]
    cuda.syncthreads()
    half = 128
    while half > 0:
        if pos < half:
            cache[pos] += cache[pos + half]
        cuda.syncthreads()
        half //= 2
    if pos == 0:
        out[cuda.blockIdx.x] = cache[0]


def naive_product(out: Any, a: Any, b: Any) -> None:
    column, row = cuda.grid(2)
    total = float32(0.0)
    for k in range(a.shape[1]):
        total += a[row, k] * b[k, column]
    out[row, column] = total


def tiled_product(out: Any, a: Any, b: Any) -> None:
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0.0)
    for start in range(0, a.shape[1], TILE):
        a_tile[ty, tx] = a[row, start + tx]
        b_tile[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    out[row, column] = total


def product_without_second_barrier(out: Any, a: Any, b: Any) -> None:
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0.0)
    for start in range(0, a.shape[1], TILE):
        a_tile[ty, tx] = a[row, start + tx]
        b_tile[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[ty, k] * b_tile[k, tx]
    out[row, column] = total


def histogram(counts: Any, values: Any) -> None:
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i], 1)


def racy_histogram(counts: Any, values: Any) -> None:
    i = cuda.grid(1)
    if i < values.size:
        counts[values[i]] += 1


def reverse_without_barrier(out: Any, a: Any) -> None:
    cache = cuda.shared.array(64, float32)
    pos = cuda.threadIdx.x
    cache[pos] = a[pos]
    out[pos] = cache[63 - pos]


def barrier_in_a_branch(out: Any, a: Any) -> None:
    cache = cuda.shared.array(64, float32)
    pos = cuda.threadIdx.x
    cache[pos] = a[pos]
    if pos < 40:
        cuda.syncthreads()
        out[pos] = cache[39 - pos]


def barrier_after_return(out: Any, a: Any, size: int) -> None:
    pos = cuda.threadIdx.x
    if pos >= size:
        return
    cuda.syncthreads()
    out[pos] = a[pos]


def reads_unwritten(out: Any) -> None:
    cache = cuda.shared.array(32, float32)
    pos = cuda.threadIdx.x
    if pos > 0:
        cache[pos] = 1.0
    cuda.syncthreads()
    out[pos] = cache[pos]


def endless(out: Any) -> None:
    i = 0
    while i < 10:
        out[cuda.threadIdx.x] = i


def raises_what_does_not_hold(out, n):
    """Stops at numbers that are not positive or too large; a GPU does so with debug=True only."""
    assert n > 0, "no elements"
    if n > 100:
        raise ValueError("too many")
