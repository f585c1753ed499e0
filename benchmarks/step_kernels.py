"""The kernels of `benchmarks.steps`: from the textbook kernels to the library's, one idea at a time.

Every kernel does the same work as the one before it, except for the idea in its docstring. They are short because they require
contiguous storages and sizes that are multiples of the tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, prange

from minitorch.tensor_data import MAX_DIMS, broadcast_index, index_to_position, to_index

to_index = njit(to_index)
index_to_position = njit(index_to_position)
broadcast_index = njit(broadcast_index)

compiled = njit(error_model="numpy")
"""1 / 0 is inf in all kernels, as in the library's."""


# Elementwise: one operation on every element of a float32 matrix


def with_new_buffers(fn: Callable[[float, float], float]) -> Any:
    """The textbook kernel: compute the index of every element, and from the index the position in each operand."""
    fn = njit(fn)

    @compiled
    def kernel(out, out_shape, out_strides, a, a_shape, a_strides, b, b_shape, b_strides):
        for i in range(out.size):
            out_index, a_index, b_index = np.empty(MAX_DIMS, np.int32), np.empty(MAX_DIMS, np.int32), np.empty(MAX_DIMS, np.int32)
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, a_shape, a_index)
            broadcast_index(out_index, out_shape, b_shape, b_index)
            x, y = a[index_to_position(a_index, a_strides)], b[index_to_position(b_index, b_strides)]
            out[index_to_position(out_index, out_strides)] = fn(x, y)

    return kernel


def with_old_buffers(fn: Callable[[float, float], float]) -> Any:
    """The index buffers are allocated once; with several threads, once per thread."""
    fn = njit(fn)

    @compiled
    def kernel(out, out_shape, out_strides, a, a_shape, a_strides, b, b_shape, b_strides):
        out_index, a_index, b_index = np.empty(MAX_DIMS, np.int32), np.empty(MAX_DIMS, np.int32), np.empty(MAX_DIMS, np.int32)
        for i in range(out.size):
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, a_shape, a_index)
            broadcast_index(out_index, out_shape, b_shape, b_index)
            x, y = a[index_to_position(a_index, a_strides)], b[index_to_position(b_index, b_strides)]
            out[index_to_position(out_index, out_strides)] = fn(x, y)

    return kernel


def flat(fn: Callable[[float, float], float]) -> Any:
    """Stride-aligned: position i of every storage holds the same element. The remaining loop is vectorized."""
    fn = njit(fn)

    @compiled
    def kernel(out, out_shape, out_strides, a, a_shape, a_strides, b, b_shape, b_strides):
        for i in range(out.size):
            out[i] = fn(a[i], b[i])

    return kernel


def by_rows(fn: Callable[[float, float], float]) -> Any:
    """Merged: all dimensions are merged except those in which an operand is broadcast; each row is a loop over contiguous numbers."""
    fn = njit(fn)

    @compiled
    def kernel(out, out_shape, out_strides, a, a_shape, a_strides, b, b_shape, b_strides):
        n = out_shape[1]
        for i in range(out_shape[0]):
            out_row = out[i * out_strides[0] : i * out_strides[0] + n]
            a_row = a[i * a_strides[0] : i * a_strides[0] + n]
            b_row = b[i * b_strides[0] : i * b_strides[0] + n]
            for j in range(n):
                out_row[j] = fn(a_row[j], b_row[j])

    return kernel


def by_rows_on_all_cores(fn: Callable[[float, float], float]) -> Any:
    """The rows are divided among threads."""
    fn = njit(fn)

    @njit(error_model="numpy", parallel=True)
    def kernel(out, out_shape, out_strides, a, a_shape, a_strides, b, b_shape, b_strides):
        n = out_shape[1]
        for row in prange(out_shape[0]):
            i = np.int64(row)
            out_row = out[i * out_strides[0] : i * out_strides[0] + n]
            a_row = a[i * a_strides[0] : i * a_strides[0] + n]
            b_row = b[i * b_strides[0] : i * b_strides[0] + n]
            for j in range(n):
                out_row[j] = fn(a_row[j], b_row[j])

    return kernel


# The matrix product: out = a @ b of contiguous n × n matrices, n a multiple of WIDTH

WIDTH = 128
DEPTH = 64


@compiled
def one_result_after_the_other(out, a, b, n):
    """The textbook kernel: a row of a times a column of b. Adjacent elements of a column are n positions apart."""
    for i in range(n):
        for j in range(n):
            value = 0.0
            for k in range(n):
                value += a[i * n + k] * b[k * n + j]
            out[i * n + j] = value


@compiled
def row_by_row(out, a, b, n):
    """Loop order: the innermost loop runs along rows of out and of b, and is vectorized."""
    for i in range(n):
        out_row = out[i * n : (i + 1) * n]
        out_row[:] = 0
        for k in range(n):
            x = a[i * n + k]
            b_row = b[k * n : (k + 1) * n]
            for j in range(n):
                out_row[j] += x * b_row[j]


@compiled
def multiply_tile(out, a, b, n, width, add_two_rows, i_0, j_0):
    """Compute WIDTH rows and `width` columns of out, starting at (i_0, j_0), in a separate array, with b packed into another one."""
    tile = np.zeros(WIDTH * width, out.dtype)
    packed = np.empty(DEPTH * width, out.dtype)
    for k_0 in range(0, n, DEPTH):
        for k in range(DEPTH):
            start = (k_0 + k) * n + j_0
            packed[k * width : (k + 1) * width] = b[start : start + width]
        for i in range(0, WIDTH, 2):
            two = tile[i * width : (i + 2) * width]
            add_two_rows(two, a, (i_0 + i) * n + k_0, (i_0 + i + 1) * n + k_0, packed, width)
    for i in range(WIDTH):
        start = (i_0 + i) * n + j_0
        out[start : start + width] = tile[i * width : (i + 1) * width]


def in_tiles(add_two_rows: Any) -> Any:
    """The product tile by tile; `add_two_rows` adds DEPTH products to each element of two rows of a tile."""

    @compiled
    def product(out, a, b, n, width):
        for i in range(0, n, WIDTH):
            for j in range(0, n, width):
                multiply_tile(out, a, b, n, width, add_two_rows, i, j)

    return product


@compiled
def add_one_by_one(two, a, first, second, packed, width):
    """Packed: each product is added to its element of the tile, which is read and written every time."""
    for row, start in ((0, first), (width, second)):
        tile_row = two[row : row + width]
        for k in range(DEPTH):
            x = a[start + k]
            b_row = packed[k * width : (k + 1) * width]
            for j in range(width):
                tile_row[j] += x * b_row[j]


@compiled
def add_eight(two, a, first, second, packed, width):
    """Register tile: eight products for six reads and two writes."""
    for k in range(0, DEPTH, 4):
        a00, a01, a02, a03 = a[first + k], a[first + k + 1], a[first + k + 2], a[first + k + 3]
        a10, a11, a12, a13 = a[second + k], a[second + k + 1], a[second + k + 2], a[second + k + 3]
        four = packed[k * width : (k + 4) * width]
        for j in range(width):
            b0, b1, b2, b3 = four[j], four[width + j], four[2 * width + j], four[3 * width + j]
            two[j] = two[j] + a00 * b0 + a01 * b1 + a02 * b2 + a03 * b3
            two[width + j] = two[width + j] + a10 * b0 + a11 * b1 + a12 * b2 + a13 * b3


def add_eight_in_rows_of_constant_length(two, a, first, second, packed, width):
    """The same with a loop length that the compiler knows: no remainder loop, and no check whether rows overlap."""
    for k in range(0, DEPTH, 4):
        a00, a01, a02, a03 = a[first + k], a[first + k + 1], a[first + k + 2], a[first + k + 3]
        a10, a11, a12, a13 = a[second + k], a[second + k + 1], a[second + k + 2], a[second + k + 3]
        four = packed[k * WIDTH : (k + 4) * WIDTH]
        for j in range(WIDTH):
            b0, b1, b2, b3 = four[j], four[WIDTH + j], four[2 * WIDTH + j], four[3 * WIDTH + j]
            two[j] = two[j] + a00 * b0 + a01 * b1 + a02 * b2 + a03 * b3
            two[WIDTH + j] = two[WIDTH + j] + a10 * b0 + a11 * b1 + a12 * b2 + a13 * b3


add_eight_of_constant_length = compiled(add_eight_in_rows_of_constant_length)
add_eight_fused = njit(error_model="numpy", fastmath={"contract"})(add_eight_in_rows_of_constant_length)


@njit(error_model="numpy", parallel=True)
def in_tiles_on_all_cores(out, a, b, n, width):
    """Tiles are independent of each other, and are divided among threads."""
    across = n // width
    for t in prange(n // WIDTH * across):
        i, j = np.int64(t) // across * WIDTH, np.int64(t) % across * width
        multiply_tile(out, a, b, n, width, add_eight_fused, i, j)
