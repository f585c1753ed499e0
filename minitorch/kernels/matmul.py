"""Stage 3 - The optimized matrix product: tiled for the registers, blocked for the caches, packed where that pays.

A product of N × N matrices performs N³ multiplications on N² numbers, so its speed depends on how often each number is read from memory.
Three techniques reduce that:

* The innermost loop computes a tile of the result in vector registers; see `tiles`. A matrix b whose columns are contiguous and that fits
  the second cache is multiplied so where it is.
* Else, for each block of the inner dimension, the part of b that a tile needs is packed into contiguous rows of fixed width. It stays in
  the first cache for many rows of a, whatever the layout of b. Sums are kept in a small array between two blocks.
* Blocks are as large as the caches of the processor allow.

Each sum is added in the order of the inner dimension, so that results do not depend on these sizes.

A product of a single row with a matrix uses each number of the matrix once, so that copying it would take most of the time. It reads the
matrix in its own order: row by row, each times one number, or, if the columns are contiguous, a dot product for each.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import prange
from numba.extending import register_jitable

from minitorch.core.kernel import register_kernel
from minitorch.core.recording import call
from minitorch.kernels.elementwise import print_diagnostics
from minitorch.kernels.jit import IN_ANY_ORDER, code_key, jitable, launch, parallel, serial, threads
from minitorch.kernels.tiles import ROWS, VECTOR, VECTORS, lanes, multiply_tile
from minitorch.tensor_data import TensorData, broadcast_strides

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
    _, o_j, _, a_k, b_k, b_j = strides
    tiles_across = (columns + width - 1) // width
    o, p, q = batch_origins(t // tiles_across, layout)
    j = t % tiles_across * width
    n = min(width, columns - j)
    target = out[o + j : o + j + n] if o_j == 1 else np.empty(n, out.dtype)
    target[:] = 0
    if b_j == 1:
        add_rows(target, a, p, a_k, b, q + j, b_k, inner)
    elif b_k == 1:
        row = a[p : p + inner]
        if a_k != 1:
            row = np.empty(inner, a.dtype)
            for k in range(inner):
                row[k] = a[p + k * a_k]
        dot_rows(target, row, b, q + j * b_j, b_j)
    else:
        for i in range(n):
            for k in range(inner):
                target[i] += a[p + k * a_k] * b[q + (j + i) * b_j + k * b_k]
    if o_j != 1:
        for i in range(n):
            out[o + (j + i) * o_j] = target[i]


@cache
def row_kernels() -> MatmulKernels:
    """Make the product of a single row; the arguments are those of `matmul_kernels`, with the width of the tiles as their height."""
    key = code_key()

    @serial
    def multiply_row(out, a, b, layout, tiles, width, depth, rows, columns, inner, strides):
        _ = key
        for t in range(tiles):
            multiply_nth_row(t, out, a, b, layout, width, columns, inner, strides)

    @parallel
    def multiply_row_parallel(out, a, b, layout, tiles, width, depth, rows, columns, inner, strides):
        _ = key
        for t in prange(tiles):
            multiply_nth_row(np.int64(t), out, a, b, layout, width, columns, inner, strides)

    return MatmulKernels(multiply_row, multiply_row_parallel)


# Several rows


@cache
def row_adder(width: int, itemsize: int) -> Any:
    """Make the function that adds the product of rows of a with packed rows of b, of a given width, to rows of a tile."""
    lanes_ = lanes(width, itemsize)
    span = next(lanes_ * vectors for vectors in range(VECTORS, 0, -1) if width % (lanes_ * vectors) == 0)

    @jitable
    def add_to_rows(tile, a, start, a_i, a_k, packed, depth, rows):
        """Add the product of rows of a, depth long, with packed to rows of the tile, a multiple of ROWS."""
        for j in range(0, width if depth else 0, span):
            for i in range(0, rows, ROWS):
                multiply_tile(tile, 0, width, 1, a, start, a_i, a_k, packed, 0, width, 1, depth, i, j, ROWS, span, lanes_, 1)

    return add_to_rows


@jitable
def pack(packed, height, width, b, position, b_k, b_j, rows, columns):
    """Copy rows × columns numbers of a matrix into contiguous rows; pad with zeros, up to height × width numbers."""
    for k in range(rows):
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
    for i in range(rows * width, height * width):
        packed[i] = 0


@cache
def matmul_kernels(width: int, itemsize: int) -> MatmulKernels:
    """Make the product in tiles of a given width, for one thread and for several.

    The kernels' arguments are out, a and b (flat storages); the batch layout (see `plan`); the number and the height of tiles, and the
    length of blocks of the inner dimension; the numbers of rows and columns of the result and the length of the inner dimension; and
    the strides of these dimensions.
    """
    key, add_to_rows = code_key(), row_adder(width, itemsize)

    @jitable
    def compute_tile(out, a, b, origins, strides, rows, columns, inner, longest):
        """Compute the tile of the result at the given origins in out, a and b."""
        o, p, q = origins
        o_i, o_j, a_i, a_k, b_k, b_j = strides
        whole = rows // ROWS * ROWS
        padded = whole + ROWS if whole < rows else whole
        tile, packed = aligned(padded * width, out), aligned(min(longest, inner) * width, out)
        edge = np.empty((padded - whole) * longest, a.dtype)
        tile[:] = 0
        for start in range(0, inner, longest):
            depth = min(longest, inner - start)
            first = p + start * a_k
            pack(packed, depth, width, b, q + start * b_k, b_k, b_j, depth, columns)
            add_to_rows(tile, a, first, a_i, a_k, packed, depth, whole)
            if whole < rows:
                pack(edge, ROWS, depth, a, first + whole * a_i, a_i, a_k, rows - whole, depth)
                add_to_rows(tile[whole * width :], edge, 0, depth, 1, packed, depth, ROWS)
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
    def multiply_nth_tile(t, out, a, b, layout, height, depth, rows, columns, inner, strides):
        """Compute the t-th tile, numbered over batches, then rows, then columns."""
        o_i, o_j, a_i, _, _, b_j = strides
        tiles_down, tiles_across = (rows + height - 1) // height, (columns + width - 1) // width
        n, t = t // (tiles_down * tiles_across), t % (tiles_down * tiles_across)
        i, j = t // tiles_across * height, t % tiles_across * width
        o, p, q = batch_origins(n, layout)
        origins = o + i * o_i + j * o_j, p + i * a_i, q + j * b_j
        compute_tile(out, a, b, origins, strides, min(height, rows - i), min(width, columns - j), inner, depth)

    @serial
    def multiply_serial(out, a, b, layout, tiles, height, depth, rows, columns, inner, strides):
        _ = key
        for t in range(tiles):
            multiply_nth_tile(t, out, a, b, layout, height, depth, rows, columns, inner, strides)

    @parallel
    def multiply_parallel(out, a, b, layout, tiles, height, depth, rows, columns, inner, strides):
        _ = key
        for t in prange(tiles):
            multiply_nth_tile(np.int64(t), out, a, b, layout, height, depth, rows, columns, inner, strides)

    return MatmulKernels(multiply_serial, multiply_parallel)


@cache
def unpacked_kernel(width: int, itemsize: int) -> Any:
    """Make the product, for one thread, of matrices that need no packing: the columns of b and out are contiguous.

    The arguments are those of `matmul_kernels`; there are at least ROWS rows and `width` columns. The last tiles overlap others if they
    do not fit.
    """
    key, lanes_ = code_key(), lanes(width, itemsize)

    @serial
    def multiply_unpacked(out, a, b, layout, tiles, height, depth, rows, columns, inner, strides):
        _ = key
        o_i, _, a_i, a_k, b_k, _ = strides
        down = (rows + height - 1) // height
        for t in range(tiles):
            o, p, q = batch_origins(t // down, layout)
            first = t % down * height
            for j in range(0, columns, width):
                column = min(j, columns - width)
                for i in range(first, min(first + height, rows), ROWS):
                    row = min(i, rows - ROWS)
                    multiply_tile(out, o, o_i, 1, a, p, a_i, a_k, b, q, b_k, 1, inner, row, column, ROWS, width, lanes_, 0)

    return multiply_unpacked


@cache
def cache_bytes(level: int, folder: str = "/sys/devices/system/cpu/cpu0/cache") -> int:
    """Return the size of a core's data cache of level 1 or 2, as Linux describes it; elsewhere 32 or 256 KiB, since few have less."""
    for index in sorted(Path(folder).glob("index*")):
        try:
            found, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if found == str(level) and kind != "Instruction" and size.endswith("K"):
            return int(size[:-1]) << 10
    return {1: 32, 2: 256}[level] << 10


def tile_width(columns: int, itemsize: int) -> int:
    """Return the number of columns of a tile: as many vectors as take the least time for all columns; reading a takes that of 0.6."""
    lanes_ = lanes(columns, itemsize)
    return lanes_ * min((VECTORS, 2, 1), key=lambda vectors: -(-columns // (lanes_ * vectors)) * (vectors + 0.6))


@lru_cache(maxsize=4096)
def plan(
    out_shape: tuple[int, ...],
    out_strides: tuple[int, ...],
    a_shape: tuple[int, ...],
    a_strides: tuple[int, ...],
    b_shape: tuple[int, ...],
    b_strides: tuple[int, ...],
    dtype: np.dtype | None,
    workers: int,
) -> tuple[Any, tuple[Any, ...]]:
    """Choose the kernel and the tile size, and describe the batch dimensions.

    The batch layout is an array with a row of sizes and rows of strides for out, a and b. A batch that shares one b is computed as
    additional rows of a single product.

    Args:
        dtype: That of all three, if it is one of floats; else None: then rows are multiplied one by one.

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
    if dtype is None:  # row by row
        sizes.append(rows)
        for step, last in zip(steps, (out_strides[-2], a_strides[-2], 0), strict=True):
            step.append(last)
        rows = 1
    layout = np.array([sizes, *steps], np.int64).reshape(4, len(sizes))
    layout.flags.writeable = False
    batches = int(np.prod(sizes, dtype=np.int64))
    strides = (*out_strides[-2:], *a_strides[-2:], *b_strides[-2:])
    if dtype is None or (rows == 1 and out_strides[-1] == 1 and 1 in b_strides[-2:]):
        kernels, height = row_kernels(), max(1, min(ROW_WIDTH, -(-columns // workers)))
        tiles = batches * -(-columns // height)
        return kernels.serial if workers == 1 else kernels.parallel, (layout, tiles, height, 0, rows, columns, inner, strides)
    width = tile_width(max(1, columns), dtype.itemsize)
    second = cache_bytes(2) // dtype.itemsize
    as_they_are = out_strides[-1] == b_strides[-1] == 1 and rows >= ROWS and columns >= width and 0 < inner * columns <= second
    if as_they_are and workers == 1:
        height = max(1, second // 4 // inner // ROWS) * ROWS  # a quarter of the second cache for rows of a
        tiles = batches * -(-rows // height)
        return unpacked_kernel(width, dtype.itemsize), (layout, tiles, height, inner, rows, columns, inner, strides)
    width = max(width, VECTOR // dtype.itemsize)
    depth = max(16, cache_bytes(1) // 2 // dtype.itemsize // width)  # half of the first cache for packed rows of b
    tallest = max(64, second // 4 // width)  # a quarter of the second for the tile
    for height in (tallest, 64, 32):  # taller tiles pack b less often
        down = max(1, -(-rows // height))
        if batches * down * -(-columns // width) >= workers:
            break
    height = max(1, -(-rows // (down * ROWS))) * ROWS  # equal heights; this may need one tile fewer
    tiles = batches * -(-rows // height) * -(-columns // width)
    kernel = matmul_kernels(width, dtype.itemsize)[workers > 1]
    return kernel, (layout, tiles, height, depth, rows, columns, inner, strides)


class MatrixMultiply:
    """The optimized kernel of out = a @ b for operands of any layout; dimensions before the last two broadcast."""

    writes_all = True
    reduces_many = False

    def __call__(self, out: TensorData, a: TensorData, b: TensorData) -> None:
        """Write the product into out."""
        workers = threads() if out.size * a.shape[-1] >= PARALLEL_THRESHOLD else 1
        dtype = out.dtype if out.dtype == a.dtype == b.dtype and out.dtype.kind == "f" else None
        kernel, args = plan(out.shape, out.strides, a.shape, a.strides, b.shape, b.strides, dtype, workers)
        storages = (  # slicing takes a tenth of a small product's time
            out._storage[out.offset :] if out.offset else out._storage,
            a._storage[a.offset :] if a.offset else a._storage,
            b._storage[b.offset :] if b.offset else b._storage,
        )
        if workers == 1:
            call(kernel, *storages, *args)
        else:
            launch(kernel, *storages, *args)

    def parallel_diagnostics(self, level: int = 1) -> None:
        """Print numba's diagnostics of the parallel loops, for the operand types of an earlier call."""
        products = [matmul_kernels(vectors * VECTOR // itemsize, itemsize) for itemsize in (4, 8) for vectors in range(1, VECTORS + 1)]
        for kernels in (row_kernels(), *products):
            print_diagnostics(kernels.serial, kernels.parallel, level)


register_kernel("matrix_multiply", "fast", MatrixMultiply())
