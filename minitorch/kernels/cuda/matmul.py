"""Stage 3 - The matrix product with register tiles: every thread computes a small tile of the product, whose sums lie in its registers.

A block brings a tile of a and a tile of b into shared memory, a few columns and rows at a time. The textbook's thread computes one element
and reads two numbers from shared memory for every multiplication; with 8 × 8 elements a thread it is one for every four.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from minitorch.core.kernel import register_kernel
from minitorch.kernels.cuda.device import SIMULATED, blocks_for, cuda, jit


@dataclass(frozen=True)
class Tiles:
    """Sizes of the tiles.

    Attributes:
        rows: Of a block's tile of the product.
        columns: Of a block's tile of the product.
        depth: Columns of a, and rows of b, that are in shared memory at a time.
        thread_rows: Of a thread's tile.
        thread_columns: Of a thread's tile.

    Raises:
        ValueError: If the threads of a block cannot bring its tiles in equal shares.
    """

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int

    def __post_init__(self) -> None:
        n = self.threads
        for side in (self.rows, self.columns):
            if n % side or n % self.depth or side * self.depth % n:
                raise ValueError(
                    f"Tiles expected a number of threads that rows, columns and depth divide, and that divides rows · depth and "
                    f"columns · depth, got {n} threads for {self}"
                )

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.rows // self.thread_rows * (self.columns // self.thread_columns)


LARGE = {np.dtype(np.float32): Tiles(128, 128, 8, 8, 8), np.dtype(np.float64): Tiles(64, 64, 8, 4, 4)}
SMALL = {np.dtype(np.float32): Tiles(32, 32, 16, 2, 2), np.dtype(np.float64): Tiles(32, 32, 16, 2, 2)}
SIMULATOR = Tiles(8, 8, 4, 2, 2)
ENOUGH_BLOCKS = 128
"""With fewer large tiles than this most of a GPU would stand idle: then small ones."""


class Product:
    """The compiled kernel for tiles of some sizes.

    Args:
        tiles: The sizes.
    """

    def __init__(self, tiles: Tiles) -> None:
        self.tiles, self.threads = tiles, tiles.threads
        self.kernel = jit(product_kernel(tiles))

    def grid(self, rows: int, columns: int, batch: int) -> tuple[int, int, int]:
        """The blocks for products of so many rows and columns; all tiles in the first dimension, for the second takes 65,535 only."""
        return blocks_for(columns, self.tiles.columns) * blocks_for(rows, self.tiles.rows), 1, batch

    def __getitem__(self, grid: Any) -> Any:
        return self.kernel[grid]


@cache
def _product(tiles: Tiles) -> Product:
    return Product(tiles)


def tiled_kernel(rows: int, columns: int, batch: int, dtype: np.dtype) -> Product | None:
    """The kernel for a product of this size; None for integers, which the textbook's kernel does."""
    if dtype not in LARGE:
        return None
    if SIMULATED:
        return _product(SIMULATOR)
    large = LARGE[dtype]
    blocks = blocks_for(rows, large.rows) * blocks_for(columns, large.columns) * batch
    return _product(large if blocks >= ENOUGH_BLOCKS else SMALL[dtype])


def product_kernel(tiles: Tiles) -> Any:
    """The kernel, which is given what `_tensor_matrix_multiply` of cuda_ops is given.

    blockIdx.x is the number of a tile of the product, counted row by row, blockIdx.z its place in the batch.
    """
    ROWS, COLUMNS, DEPTH = tiles.rows, tiles.columns, tiles.depth
    THREAD_ROWS, THREAD_COLUMNS, THREADS = tiles.thread_rows, tiles.thread_columns, tiles.threads
    ACROSS, DOWN = COLUMNS // THREAD_COLUMNS, ROWS // THREAD_ROWS  # threads of a block along the columns and along the rows
    A_ITEMS, B_ITEMS = ROWS * DEPTH // THREADS, COLUMNS * DEPTH // THREADS  # what each thread brings
    A_WIDTH, B_WIDTH = ROWS + 4, COLUMNS + 4  # 4 more: else a tile read by columns is written to few of the 32 memory banks

    def _product(out, out_shape, out_strides, out_size, a, a_shape, a_strides, b, b_shape, b_strides):  # type: ignore[no-untyped-def]
        a_tile = cuda.shared.array((DEPTH, A_WIDTH), out.dtype)
        b_tile = cuda.shared.array((DEPTH, B_WIDTH), out.dtype)
        a_next = cuda.local.array(A_ITEMS, out.dtype)
        b_next = cuda.local.array(B_ITEMS, out.dtype)
        x = cuda.local.array(THREAD_ROWS, out.dtype)
        y = cuda.local.array(THREAD_COLUMNS, out.dtype)
        sums = cuda.local.array((THREAD_ROWS, THREAD_COLUMNS), out.dtype)
        for i in range(THREAD_ROWS):
            for j in range(THREAD_COLUMNS):
                sums[i, j] = 0

        thread, batch = cuda.threadIdx.x, cuda.blockIdx.z
        rows, columns, inner = out_shape[1], out_shape[2], a_shape[2]
        tiles_across = (columns + COLUMNS - 1) // COLUMNS
        top, left = cuda.blockIdx.x // tiles_across * ROWS, cuda.blockIdx.x % tiles_across * COLUMNS

        # Which elements this thread loads: adjacent threads load adjacent elements.
        a_flat, b_flat = a_strides[2] <= a_strides[1], b_strides[2] < b_strides[1]
        a_i, a_k = (thread // DEPTH, thread % DEPTH) if a_flat else (thread % ROWS, thread // ROWS)
        b_j, b_k = (thread % COLUMNS, thread // COLUMNS) if b_flat else (thread // DEPTH, thread % DEPTH)
        a_di, a_dk = (THREADS // DEPTH, 0) if a_flat else (0, THREADS // ROWS)
        b_dj, b_dk = (0, THREADS // COLUMNS) if b_flat else (THREADS // DEPTH, 0)
        a_at = batch * a_strides[0] + (top + a_i) * a_strides[1] + a_k * a_strides[2]
        b_at = batch * b_strides[0] + b_k * b_strides[1] + (left + b_j) * b_strides[2]
        a_step, b_step = a_di * a_strides[1] + a_dk * a_strides[2], b_dk * b_strides[1] + b_dj * b_strides[2]

        for start in range(0, inner + DEPTH, DEPTH):
            if start > 0:  # the tiles brought last time go to shared memory
                cuda.syncthreads()
                for item in range(A_ITEMS):
                    a_tile[a_k + item * a_dk, a_i + item * a_di] = a_next[item]
                for item in range(B_ITEMS):
                    b_tile[b_k + item * b_dk, b_j + item * b_dj] = b_next[item]
                cuda.syncthreads()
            for item in range(A_ITEMS):  # the next ones are asked for before the product, so that they travel during it
                a_next[item] = 0
                if top + a_i + item * a_di < rows and start + a_k + item * a_dk < inner:
                    a_next[item] = a[a_at + start * a_strides[2] + item * a_step]
            for item in range(B_ITEMS):
                b_next[item] = 0
                if left + b_j + item * b_dj < columns and start + b_k + item * b_dk < inner:
                    b_next[item] = b[b_at + start * b_strides[1] + item * b_step]
            if start > 0:
                for k in range(DEPTH):
                    for i in range(THREAD_ROWS):
                        x[i] = a_tile[k, thread // ACROSS + i * DOWN]
                    for j in range(THREAD_COLUMNS):
                        y[j] = b_tile[k, thread % ACROSS + j * ACROSS]
                    for i in range(THREAD_ROWS):
                        for j in range(THREAD_COLUMNS):
                            sums[i, j] += x[i] * y[j]

        for i in range(THREAD_ROWS):
            for j in range(THREAD_COLUMNS):
                row, column = top + thread // ACROSS + i * DOWN, left + thread % ACROSS + j * ACROSS
                if row < rows and column < columns:
                    out[batch * out_strides[0] + row * out_strides[1] + column * out_strides[2]] = sums[i, j]

    return _product


register_kernel("matrix_multiply", "cuda", tiled_kernel)
