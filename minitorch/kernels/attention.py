"""Stage 6 - Fused attention: softmax(q · kᵀ) · v in tiles, forward and backward, without a matrix of all scores.

A tile of scores stays in the cache until it is done. Forward keeps, for each query, the largest score m so far, the sum l of e^(score - m)
and the weighted sum o of the values; where a tile has a larger score, l and o are multiplied by e^(m - m'). Backward computes each tile of
weights again, from m + ln l of its rows: e^(score - m - ln l).

Source: Dao et al. 2022, arXiv:2205.14135, algorithms 1 and 4.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from minitorch.core.recording import call
from minitorch.kernels.jit import code_key, jitable, launch, parallel, serial, threads
from minitorch.kernels.matmul import PARALLEL_THRESHOLD, aligned, row_adder
from minitorch.kernels.softmax import _row_sum, _row_unordered_max
from minitorch.kernels.vector_math import exp
from minitorch.tensor_data import Storage

TILE = 64
"""Number of queries and of keys of a tile; a multiple of `tiles.ROWS`."""

WIDTHS = (16, 32, 64, 128)
"""Sizes of a head that kernels are compiled for; others are padded with zeros."""


class AttentionSizes(NamedTuple):
    """The sizes of one call; the heads of all samples count as heads.

    Attributes:
        heads: Number of heads.
        queries: Number of queries of a head, L.
        keys: Number of keys of a head, S.
        inner: Size of a query and of a key, E.
        columns: Size of a value, V.
        causal: 1 if query i attends only to keys up to i, else 0.
        masks: Number of masks: 0; 1 for all heads; or the number of heads.
    """

    heads: int
    queries: int
    keys: int
    inner: int
    columns: int
    causal: int
    masks: int


class AttentionKernels(NamedTuple):
    """The compiled kernels for one width, each for one thread and for several; see `attention_kernels`."""

    forward: tuple[Any, Any]
    backward: tuple[Any, Any]


@jitable
def pack_rows(packed, width, a, start, rows, columns, factor):
    """Copy rows of a, times a factor, into TILE rows of full width; pad with zeros."""
    for i in range(rows):
        source, row = a[start + i * columns : start + (i + 1) * columns], packed[i * width : (i + 1) * width]
        for j in range(columns):
            row[j] = source[j] * factor
        for j in range(columns, width):
            row[j] = 0
    for j in range(rows * width, TILE * width):
        packed[j] = 0


@jitable
def pack_columns(packed, a, start, rows, columns, height):
    """Copy rows of a into columns of an array of height rows, TILE wide; pad with zeros."""
    for j in range(columns):
        row = packed[j * TILE : (j + 1) * TILE]
        for i in range(rows):
            row[i] = a[start + i * columns + j]
        for i in range(rows, TILE):
            row[i] = 0
    for j in range(columns * TILE, height * TILE):
        packed[j] = 0


@jitable
def add_mask(row, mask, start, visible):
    """Add numbers of a mask to the first elements of a row of scores."""
    source = mask[start : start + visible]
    for j in range(visible):
        row[j] += source[j]


@jitable
def hides_all(mask, start, keys, rows, columns):
    """Whether a mask is -∞ for a whole tile, whose scores then need not be computed."""
    for i in range(rows):
        row = mask[start + i * keys : start + i * keys + columns]
        for j in range(columns):
            if row[j] != -np.inf:
                return False
    return True


@cache
def attention_kernels(width: int, itemsize: int) -> AttentionKernels:
    """Make the kernels for heads of at most this size.

    Forward computes out and, for each query, logsumexp, m + ln l, which is infinite where all keys are masked. A task is a tile of queries.
    Backward computes the three gradients; a task is a head. Arrays are flat and contiguous: heads, then rows, then columns.
    """
    key = code_key()
    add_to_scores, add_to_rows = row_adder(TILE, itemsize), row_adder(width, itemsize)

    @jitable
    def attend(out, logsumexp, q, k, v, mask, sizes, scale, start, stop):
        _, queries, keys, inner, columns, causal, masks = sizes
        query, keys_down = aligned(TILE * width, q), aligned(TILE * width, q)
        values, total = aligned(TILE * width, q), aligned(TILE * width, q)
        scores, largest, sums = aligned(TILE * TILE, q), np.empty(TILE, q.dtype), np.empty(TILE, q.dtype)
        tiles = (queries + TILE - 1) // TILE
        for task in range(start, stop):
            head, first = task // tiles, task % tiles * TILE
            rows = min(TILE, queries - first)
            pack_rows(query, width, q, (head * queries + first) * inner, rows, inner, scale)
            total[:], sums[:], largest[:] = 0, 0, -np.inf
            for begin in range(0, min(keys, first + rows) if causal else keys, TILE):
                here = min(TILE, keys - begin)
                if masks and hides_all(mask, (head % masks * queries + first) * keys + begin, keys, rows, here):
                    continue
                pack_columns(keys_down, k, (head * keys + begin) * inner, here, inner, width)
                pack_rows(values, width, v, (head * keys + begin) * columns, here, columns, 1)
                scores[:] = 0
                add_to_scores(scores, query, 0, width, 1, keys_down, inner, TILE)
                for i in range(rows):
                    row = scores[i * TILE : (i + 1) * TILE]
                    visible = max(min(here, first + i + 1 - begin), 0) if causal else here
                    if masks:
                        add_mask(row, mask, (head % masks * queries + first + i) * keys + begin, visible)
                    if visible:
                        seen, m = row[:visible], largest[i]
                        new = max(m, _row_unordered_max(seen))
                        if new > -np.inf:
                            for j in range(visible):
                                seen[j] = exp(seen[j] - new)
                            factor = exp(m - new)
                            sums[i], largest[i] = sums[i] * factor + _row_sum(seen), new
                            if factor != 1:
                                kept = total[i * width : (i + 1) * width]
                                for j in range(width):
                                    kept[j] *= factor
                        else:  # all keys so far are masked; NaN stays
                            for j in range(visible):
                                seen[j] = 0 if seen[j] == -np.inf else seen[j]
                            sums[i] += _row_sum(seen)
                    for j in range(visible, TILE):
                        row[j] = 0
                add_to_rows(total, scores, 0, TILE, 1, values, TILE, TILE)
            for i in range(rows):
                at = head * queries + first + i
                target, row, weight = out[at * columns : (at + 1) * columns], total[i * width : (i + 1) * width], sums[i]
                logsumexp[at] = largest[i] + math.log(weight) if weight != 0 else np.inf
                for j in range(columns):
                    target[j] = row[j] / weight if weight != 0 else 0

    @jitable
    def differentiate(grad_q, grad_k, grad_v, grad, out, logsumexp, q, k, v, mask, sizes, scale, start, stop):
        _, queries, keys, inner, columns, causal, masks = sizes
        query, given, keys_across = aligned(TILE * width, q), aligned(TILE * width, q), aligned(TILE * width, q)
        keys_down, values_down = aligned(TILE * width, q), aligned(TILE * width, q)
        sum_k, sum_v = aligned(TILE * width, q), aligned(TILE * width, q)
        weights, changes = aligned(TILE * TILE, q), aligned(TILE * TILE, q)
        tiles = (queries + TILE - 1) // TILE
        sum_q, products = aligned(tiles * TILE * width, q), np.empty(tiles * TILE, q.dtype)
        for head in range(start, stop):
            sum_q[:] = 0
            for i in range(queries):
                at = (head * queries + i) * columns
                one, other, value = grad[at : at + columns], out[at : at + columns], products[i : i + 1]
                value[0] = 0
                for j in range(columns):
                    value[0] += one[j] * other[j]
            for begin in range(0, keys, TILE):
                here = min(TILE, keys - begin)
                pack_columns(keys_down, k, (head * keys + begin) * inner, here, inner, width)
                pack_rows(keys_across, width, k, (head * keys + begin) * inner, here, inner, scale)
                pack_columns(values_down, v, (head * keys + begin) * columns, here, columns, width)
                sum_k[:], sum_v[:] = 0, 0
                for first in range(begin // TILE * TILE if causal else 0, queries, TILE):
                    rows = min(TILE, queries - first)
                    if masks and hides_all(mask, (head % masks * queries + first) * keys + begin, keys, rows, here):
                        continue
                    pack_rows(query, width, q, (head * queries + first) * inner, rows, inner, scale)
                    pack_rows(given, width, grad, (head * queries + first) * columns, rows, columns, 1)
                    weights[:], changes[:] = 0, 0
                    add_to_scores(weights, query, 0, width, 1, keys_down, inner, TILE)
                    add_to_scores(changes, given, 0, width, 1, values_down, columns, TILE)
                    for i in range(TILE):
                        row, change = weights[i * TILE : (i + 1) * TILE], changes[i * TILE : (i + 1) * TILE]
                        visible = 0 if i >= rows else max(min(here, first + i + 1 - begin), 0) if causal else here
                        if visible:
                            at = head * queries + first + i
                            if masks:
                                add_mask(row, mask, (head % masks * queries + first + i) * keys + begin, visible)
                            shift, product = logsumexp[at], products[first + i]
                            seen, part = row[:visible], change[:visible]
                            for j in range(visible):
                                seen[j] = exp(seen[j] - shift)
                                part[j] = seen[j] * (part[j] - product)
                        for j in range(visible, TILE):
                            row[j] = 0
                            change[j] = 0
                    add_to_rows(sum_v, weights, 0, 1, TILE, given, TILE, TILE)
                    add_to_rows(sum_k, changes, 0, 1, TILE, query, TILE, TILE)
                    add_to_rows(sum_q[first * width :], changes, 0, TILE, 1, keys_across, TILE, TILE)
                for i in range(here):
                    at = head * keys + begin + i
                    grad_k[at * inner : (at + 1) * inner] = sum_k[i * width : i * width + inner]
                    grad_v[at * columns : (at + 1) * columns] = sum_v[i * width : i * width + columns]
            for i in range(queries):
                at = head * queries + i
                grad_q[at * inner : (at + 1) * inner] = sum_q[i * width : i * width + inner]

    @serial
    def attend_serial(out, logsumexp, q, k, v, mask, sizes, scale, tasks, shares):
        _ = key
        attend(out, logsumexp, q, k, v, mask, sizes, scale, 0, tasks)

    @parallel
    def attend_parallel(out, logsumexp, q, k, v, mask, sizes, scale, tasks, shares):
        _ = key
        for share in prange(shares):
            share = np.int64(share)
            attend(out, logsumexp, q, k, v, mask, sizes, scale, share * tasks // shares, (share + 1) * tasks // shares)

    @serial
    def differentiate_serial(grad_q, grad_k, grad_v, grad, out, logsumexp, q, k, v, mask, sizes, scale, tasks, shares):
        _ = key
        differentiate(grad_q, grad_k, grad_v, grad, out, logsumexp, q, k, v, mask, sizes, scale, 0, tasks)

    @parallel
    def differentiate_parallel(grad_q, grad_k, grad_v, grad, out, logsumexp, q, k, v, mask, sizes, scale, tasks, shares):
        _ = key
        for share in prange(shares):
            share = np.int64(share)
            begin, end = share * tasks // shares, (share + 1) * tasks // shares
            differentiate(grad_q, grad_k, grad_v, grad, out, logsumexp, q, k, v, mask, sizes, scale, begin, end)

    return AttentionKernels((attend_serial, attend_parallel), (differentiate_serial, differentiate_parallel))


def run(kernels: tuple[Any, Any], arrays: tuple[Storage, ...], sizes: AttentionSizes, scale: float, tasks: int) -> None:
    """Run a kernel on the current number of threads."""
    work = sizes.heads * sizes.queries * sizes.keys * (sizes.inner + sizes.columns)
    shares = min(threads(), tasks) if work >= PARALLEL_THRESHOLD else 1
    args = (*arrays, tuple(sizes), arrays[0].dtype.type(scale), tasks, shares)
    if shares == 1:
        call(kernels[0], *args)
    else:
        launch(kernels[1], *args)


def kernels_for(sizes: AttentionSizes, itemsize: int) -> AttentionKernels:
    """The kernels for heads of these sizes, at most the largest of WIDTHS, of numbers of so many bytes."""
    return attention_kernels(next(width for width in WIDTHS if max(sizes.inner, sizes.columns) <= width), itemsize)
