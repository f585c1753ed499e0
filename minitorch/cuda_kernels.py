"""Stage 3 - Two kernels that suit the hardware: a transpose without bank conflicts, and a sum whose warps do not diverge.

They are the extra Tasks 3.6 and 3.7. `minitorch.cuda.inspect_kernel` shows without a GPU what their threads do to memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba

from minitorch.kernels.cuda.device import blocks_for, cuda, jit, launch
from minitorch.kernels.cuda.storage import DeviceData

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

TILE = 32
"""Rows and columns of a tile of the transpose; a block has TILE × TILE threads."""

SUM_THREADS = 128
"""Threads per block of the sum: four warps."""

SUM_ELEMENTS = 1024
"""Elements that a block of the sum adds up: SUM_ELEMENTS / SUM_THREADS per thread."""


def transpose_kernel(out: Any, a: Any, rows: int, columns: int) -> None:
    """The kernel of the transpose of a matrix: out[j, i] = a[i, j].

    It is launched on a grid of tiles: blockIdx.x is the tile's column in a, blockIdx.y its row, and a block has TILE × TILE threads.
    A warp is 32 threads with the same threadIdx.y. Each warp reads and writes 32 consecutive elements of global memory, and the
    elements that it accesses in shared memory lie in 32 different banks.

    Args:
        out: rows · columns elements, row by row: the transpose has `columns` rows.
        a: The matrix, row by row.
        rows: Rows of a.
        columns: Columns of a.
    """
    tile = cuda.shared.array((TILE, 33), out.dtype)  # the spare column shifts each row by one bank; the compiler takes no TILE + 1
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + y
    column = cuda.blockIdx.x * TILE + x
    if row < rows and column < columns:
        tile[y, x] = a[row * columns + column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + y
    column = cuda.blockIdx.y * TILE + x
    if row < columns and column < rows:
        out[row * rows + column] = tile[x, y]


def transpose_practice(a: Tensor) -> DeviceData:
    """The transpose of a matrix, by `transpose_kernel`.

    Raises:
        ValueError: If a is not a matrix.
    """
    if len(a.shape) != 2:
        raise ValueError(f"transpose_practice expected a matrix, got shape {a.shape}; view it as (rows, columns)")
    rows, columns = a.shape
    data: Any = DeviceData.of(a.contiguous()._tensor)
    out = DeviceData.zeros((columns, rows), a.dtype)
    if a.size:
        grid = blocks_for(columns, TILE), blocks_for(rows, TILE)
        launch(jit(transpose_kernel), grid, (TILE, TILE), out.target(), data.source(), rows, columns)
    return out


def sum_kernel(out: Any, a: Any, size: int) -> None:
    """The kernel that sums each SUM_ELEMENTS consecutive elements of a into one element of out.

    It is launched with one block of SUM_THREADS threads per element of out. First each thread adds up its share of the block's
    elements; each time, the threads of a warp read consecutive elements. Then the block adds the sums of its threads in shared memory,
    in rounds in which the threads that still work are the first ones, so that a warp works or rests as a whole as long as it can.

    Args:
        out: One element per block.
        a: The input.
        size: Number of elements of a.
    """
    sums = cuda.shared.array(SUM_THREADS, out.dtype)
    thread = cuda.threadIdx.x
    start = cuda.blockIdx.x * SUM_ELEMENTS
    total = numba.float64(0.0)
    for i in range(start + thread, min(start + SUM_ELEMENTS, size), SUM_THREADS):
        total += a[i]
    sums[thread] = total
    half = SUM_THREADS // 2
    while half > 0:
        cuda.syncthreads()
        if thread < half:
            sums[thread] += sums[thread + half]
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = sums[0]


def sum_blocks_practice(a: Tensor) -> DeviceData:
    """The sums of each SUM_ELEMENTS consecutive elements of a tensor, by `sum_kernel`; a single 0 if it is empty."""
    data: Any = DeviceData.of(a.contiguous()._tensor)
    out = DeviceData.zeros((max(1, blocks_for(a.size, SUM_ELEMENTS)),), a.dtype)
    if a.size:
        launch(jit(sum_kernel), out.size, SUM_THREADS, out.target(), data.source(), a.size)
    return out
