"""Stage 3 - The optimized matrix product: packed, blocked for the caches, tiled for the registers.

A product of N × N matrices performs N³ multiplications on N² numbers, so its speed depends on how often each number is read from memory.
Three techniques reduce that:

* A tile of the result is accumulated in a small array that stays in the cache.
* For each block of the inner dimension, the part of b that the tile needs is packed into contiguous rows of fixed width. It stays in the
  cache for all rows of the tile, whatever the layout of b.
* The innermost loop adds four products to two rows at once: eight multiplications for six loads and two stores. Its length is a constant,
  so the compiler vectorizes it without a remainder loop.

A product of a single row with a matrix uses each number of the matrix once, so that copying it would take most of the time. It reads the
matrix in its own order: row by row, each times one number, or, if the columns are contiguous, a dot product for each.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import prange
from numba.extending import register_jitable

from minitorch.core.kernel import register_kernel
from minitorch.core.recording import call
from minitorch.kernels.elementwise import print_diagnostics
from minitorch.kernels.jit import IN_ANY_ORDER, code_key, jitable, launch, parallel, serial, threads
from minitorch.tensor_data import TensorData, broadcast_strides

DEPTH = 64
"""Length of a block of the inner dimension; a multiple of 4."""

WIDTHS = (32, 64, 128)
"""Possible numbers of columns of a tile."""

ROW_WIDTH = 1 << 11
"""Largest number of columns of a tile of a single row, which stays in the cache while the rows of b are added."""

PARALLEL_THRESHOLD = 1 << 19
"""Number of multiplications below which waking the other threads costs more time than they save."""


class MatmulKernels(NamedTuple):
    """The compiled products for one tile width; see `matmul_kernels` for the arguments."""

    serial: Any
    parallel: Any


@jitable
def aligned(size, like):
    """Return an uninitialized array aligned to a cache line (64 bytes), so that no vector crosses two lines."""
    raw = np.empty(size + 64 // like.itemsize, like.dtype)
    start = (-raw.ctypes.data % 64) // like.itemsize
    return raw[start : start + size]


@jitable
def batch_origins(n, layout):
    """Return where the n-th product of a batch begins in out, a and b; see `plan` for the layout."""
    o, p, q = 0, 0, 0
    for dim in range(layout.shape[1] - 1, -1, -1):
        index, n = n % layout[0, dim], n // layout[0, dim]
        o += index * layout[1, dim]
        p += index * layout[2, dim]
        q += index * layout[3, dim]
    return o, p, q


# A single row


@jitable
def add_rows(out, a, p, a_k, b, q, b_k, inner):
    """Add the rows of b, each times a number of a, to out; four at once, so that out is read and written less often."""
    n, whole = len(out), inner // 4 * 4
    for _ in range(0, whole, 4):
        a0, a1, a2, a3 = a[p], a[p + a_k], a[p + 2 * a_k], a[p + 3 * a_k]
        b0, b1, b2, b3 = b[q : q + n], b[q + b_k : q + b_k + n], b[q + 2 * b_k : q + 2 * b_k + n], b[q + 3 * b_k : q + 3 * b_k + n]
        for j in range(n):
            out[j] = out[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j]
        p += 4 * a_k
        q += 4 * b_k
    for _ in range(whole, inner):
        a0, b0 = a[p], b[q : q + n]
        for j in range(n):
            out[j] = out[j] + a0 * b0[j]
        p += a_k
        q += b_k


@register_jitable(**IN_ANY_ORDER)
def dot_rows(out, row, b, q, b_j):
    """Write the dot products of a row with contiguous columns of b."""
    n = len(row)
    for j in range(len(out)):
        column, total = b[q + j * b_j : q + j * b_j + n], out.dtype.type(0)
        for k in range(n):
            total += row[k] * column[k]
        out[j] = total


@jitable
def multiply_nth_row(t, out, a, b, layout, width, columns, inner, strides):
    """Compute the t-th tile of single rows, numbered over batches, then columns."""
    _, _, _, a_k, b_k, b_j = strides
    tiles_across = (columns + width - 1) // width
    o, p, q = batch_origins(t // tiles_across, layout)
    j = t % tiles_across * width
    target = out[o + j : o + min(j + width, columns)]
    if b_j == 1:
        target[:] = 0
        add_rows(target, a, p, a_k, b, q + j, b_k, inner)
    else:
        row = a[p : p + inner]
        if a_k != 1:
            row = np.empty(inner, a.dtype)
            for k in range(inner):
                row[k] = a[p + k * a_k]
        dot_rows(target, row, b, q + j * b_j, b_j)


@cache
def row_kernels() -> MatmulKernels:
    """Make the product of a single row; the arguments are those of `matmul_kernels`, with the width of the tiles as their height."""
    key = code_key()

    @serial
    def multiply_row(out, a, b, layout, tiles, width, rows, columns, inner, strides):
        _ = key
        for t in range(tiles):
            multiply_nth_row(t, out, a, b, layout, width, columns, inner, strides)

    @parallel
    def multiply_row_parallel(out, a, b, layout, tiles, width, rows, columns, inner, strides):
        _ = key
        for t in prange(tiles):
            multiply_nth_row(np.int64(t), out, a, b, layout, width, columns, inner, strides)

    return MatmulKernels(multiply_row, multiply_row_parallel)


# Several rows


@cache
def row_adder(width: int) -> Any:
    """Make the innermost loop for rows of a given width: it adds the product of two rows of a with rows of packed to two rows of a tile."""

    @jitable
    def add_two_rows(tile, a, first, second, a_k, packed, quarters):
        """Add the product of two rows of a, 4 · quarters long, with packed to two rows of the tile."""
        q = 0
        for _ in range(quarters):
            a00, a01, a02, a03 = a[first], a[first + a_k], a[first + 2 * a_k], a[first + 3 * a_k]
            a10, a11, a12, a13 = a[second], a[second + a_k], a[second + 2 * a_k], a[second + 3 * a_k]
            for j in range(width):
                b0, b1, b2, b3 = packed[q + j], packed[q + width + j], packed[q + 2 * width + j], packed[q + 3 * width + j]
                tile[j] = tile[j] + a00 * b0 + a01 * b1 + a02 * b2 + a03 * b3
                tile[width + j] = tile[width + j] + a10 * b0 + a11 * b1 + a12 * b2 + a13 * b3
            first += 4 * a_k
            second += 4 * a_k
            q += 4 * width

    return add_two_rows


@cache
def matmul_kernels(width: int) -> MatmulKernels:
    """Make the product in tiles of a given width, for one thread and for several.

    The kernels' arguments are out, a and b (flat storages); the batch layout (see `plan`); the number and the height of tiles; the numbers
    of rows and columns of the result and the length of the inner dimension; and the strides of these dimensions.
    """
    key, add_two_rows = code_key(), row_adder(width)

    @jitable
    def pack(packed, b, position, b_k, b_j, depth, columns):
        """Copy depth × columns numbers of b into rows of full width; pad with zeros, up to a multiple of 4 rows."""
        for k in range(depth):
            start = position + k * b_k
            row = packed[k * width : (k + 1) * width]
            if b_j == 1:
                source = b[start : start + columns]
                for j in range(columns):
                    row[j] = source[j]
            else:
                for j in range(columns):
                    row[j] = b[start + j * b_j]
            for j in range(columns, width):
                row[j] = 0
        for i in range(depth * width, (depth + 3) // 4 * 4 * width):
            packed[i] = 0

    @jitable
    def multiply_tile(out, a, b, origins, strides, rows, columns, inner):
        """Compute the tile of the result at the given origins in out, a and b."""
        o, p, q = origins
        o_i, o_j, a_i, a_k, b_k, b_j = strides
        tile = aligned((rows + 1) * width, out)
        packed = aligned(min(DEPTH, (inner + 3) // 4 * 4) * width, out)
        tile[:] = 0
        tail = np.zeros(8, a.dtype)
        for start in range(0, inner, DEPTH):
            depth = min(DEPTH, inner - start)
            quarters, rest = depth // 4, depth % 4
            pack(packed, b, q + start * b_k, b_k, b_j, depth, columns)
            for i in range(0, rows, 2):
                first = p + i * a_i + start * a_k
                second = first + a_i if i + 1 < rows else first
                two = tile[i * width : (i + 2) * width]
                add_two_rows(two, a, first, second, a_k, packed, quarters)
                if rest:
                    for k in range(rest):
                        tail[k] = a[first + (quarters * 4 + k) * a_k]
                        tail[4 + k] = a[second + (quarters * 4 + k) * a_k]
                    add_two_rows(two, tail, 0, 4, 1, packed[quarters * 4 * width :], 1)
        for i in range(rows):
            row = tile[i * width : i * width + columns]
            start = o + i * o_i
            if o_j == 1:
                target = out[start : start + columns]
                for j in range(columns):
                    target[j] = row[j]
            else:
                for j in range(columns):
                    out[start + j * o_j] = row[j]

    @jitable
    def multiply_nth_tile(t, out, a, b, layout, height, rows, columns, inner, strides):
        """Compute the t-th tile, numbered over batches, then rows, then columns."""
        o_i, o_j, a_i, _, _, b_j = strides
        tiles_down, tiles_across = (rows + height - 1) // height, (columns + width - 1) // width
        n, t = t // (tiles_down * tiles_across), t % (tiles_down * tiles_across)
        i, j = t // tiles_across * height, t % tiles_across * width
        o, p, q = batch_origins(n, layout)
        origins = o + i * o_i + j * o_j, p + i * a_i, q + j * b_j
        multiply_tile(out, a, b, origins, strides, min(height, rows - i), min(width, columns - j), inner)

    @serial
    def multiply_serial(out, a, b, layout, tiles, height, rows, columns, inner, strides):
        _ = key
        for t in range(tiles):
            multiply_nth_tile(t, out, a, b, layout, height, rows, columns, inner, strides)

    @parallel
    def multiply_parallel(out, a, b, layout, tiles, height, rows, columns, inner, strides):
        _ = key
        for t in prange(tiles):
            multiply_nth_tile(np.int64(t), out, a, b, layout, height, rows, columns, inner, strides)

    return MatmulKernels(multiply_serial, multiply_parallel)


@lru_cache(maxsize=4096)
def plan(
    out_shape: tuple[int, ...],
    out_strides: tuple[int, ...],
    a_shape: tuple[int, ...],
    a_strides: tuple[int, ...],
    b_shape: tuple[int, ...],
    b_strides: tuple[int, ...],
    dtype: np.dtype,
    workers: int,
) -> tuple[Any, tuple[Any, ...]]:
    """Choose the kernel and the tile size, and describe the batch dimensions.

    The batch layout is an array with a row of sizes and rows of strides for out, a and b. A batch that shares one b is computed as
    additional rows of a single product.

    Returns:
        The kernel and its arguments after the storages.
    """
    rows, inner, columns = out_shape[-2], a_shape[-1], out_shape[-1]
    sizes = list(out_shape[:-2])
    steps = [
        list(out_strides[:-2]),
        list(broadcast_strides(a_shape[:-2], a_strides[:-2], sizes)),
        list(broadcast_strides(b_shape[:-2], b_strides[:-2], sizes)),
    ]
    while sizes and (
        sizes[-1] == 1 or (not steps[2][-1] and steps[0][-1] == rows * out_strides[-2] and steps[1][-1] == rows * a_strides[-2])
    ):
        rows *= sizes.pop()
        for step in steps:
            step.pop()
    layout = np.array([sizes, *steps], np.int64).reshape(4, len(sizes))
    layout.flags.writeable = False
    batches = int(np.prod(sizes, dtype=np.int64))
    strides = (*out_strides[-2:], *a_strides[-2:], *b_strides[-2:])
    if rows == 1 and dtype.kind == "f" and out_strides[-1] == 1 and 1 in b_strides[-2:]:
        kernels, height = row_kernels(), max(1, min(ROW_WIDTH, -(-columns // workers)))
        tiles = batches * -(-columns // height)
        return kernels.serial if workers == 1 else kernels.parallel, (layout, tiles, height, rows, columns, inner, strides)
    widest = 128 if dtype.itemsize < 8 else 64  # rows of 512 bytes were the fastest on Zen 3 and Zen 5
    width = next(width for width in WIDTHS if columns <= width or width == widest)
    for height in (max(2 * width, 128), 64, 32):  # taller tiles pack b less often
        tiles = batches * -(-rows // height) * -(-columns // width)
        if tiles >= workers:
            break
    kernels = matmul_kernels(width)
    return kernels.serial if workers == 1 else kernels.parallel, (layout, tiles, height, rows, columns, inner, strides)


class MatrixMultiply:
    """The optimized kernel of out = a @ b for operands of any layout; dimensions before the last two broadcast."""

    writes_all = True
    reduces_many = False

    def __call__(self, out: TensorData, a: TensorData, b: TensorData) -> None:
        """Write the product into out."""
        workers = threads() if out.size * a.shape[-1] >= PARALLEL_THRESHOLD else 1
        kernel, args = plan(out.shape, out.strides, a.shape, a.strides, b.shape, b.strides, out.dtype, workers)
        storages = out._storage[out.offset :], a._storage[a.offset :], b._storage[b.offset :]
        if workers == 1:
            call(kernel, *storages, *args)
        else:
            launch(kernel, *storages, *args)

    def parallel_diagnostics(self, level: int = 1) -> None:
        """Print numba's diagnostics of the parallel loops, for the operand types of an earlier call."""
        for kernels in (row_kernels(), *map(matmul_kernels, WIDTHS)):
            print_diagnostics(kernels.serial, kernels.parallel, level)


register_kernel("matrix_multiply", "fast", MatrixMultiply())
