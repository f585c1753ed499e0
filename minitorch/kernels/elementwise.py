"""Stage 3 - The loops of the fast backend: map and zip over any layout, with the innermost loop plain enough to become vector instructions.

A loop that works out the position of every element spends its time on that. Here Python looks at shapes and strides first (once for every
layout: the answer is kept) and leaves as few and as long loops as it can:

* Dimensions of size 1 go, and dimensions that run on in every operand become one. Tensors without gaps become one loop.
* What remains is cut into blocks of rows. A row is a loop over numbers that lie side by side, or one number for all of them.
* Where an operand runs down while the result runs across, a square block of it is first copied, so that each cache line is read once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from minitorch.core.kernel import register_kernel
from minitorch.kernels.jit import FLAGS, code_key, jitable, launch, parallel, serial, threads
from minitorch.kernels.vector_math import fast_equivalents
from minitorch.tensor_data import Storage, TensorData, broadcast_strides

PARALLEL = 1 << 18
"""Elements below which waking the other threads costs more than they save; an eighth, if a function of `math` is called for each."""

BLOCK = 1 << 13
"""Elements of a block of rows."""

COPIED = (16, 256)
"""Rows and columns of a block that is copied first."""


class Layout(NamedTuple):
    """How the elements are gone through.

    Attributes:
        size: Number of elements.
        blocks: Number of blocks; 0 if all operands are without gaps, and one loop does.
        args: What the kernel for blocks is called with behind the storages: an array with a row for the sizes of the dimensions and one
            for the strides of each operand, height and width of a block, and whether a's part and b's part are copied first.
    """

    size: int
    blocks: int
    args: tuple[Any, ...]


def coalesce_dims(sizes: Sequence[int], strides: Sequence[Sequence[int]], keep_order: bool = False) -> tuple[list[int], list[list[int]]]:
    """The same elements in as few dimensions as possible.

    Args:
        sizes: Of the dimensions.
        strides: Of every operand.
        keep_order: Whether the elements must be met in the same order; otherwise dimensions may change places.

    Returns:
        Sizes and strides; the dimension with the smallest strides is the last.
    """
    dims = [dim for dim, size in enumerate(sizes) if size != 1]
    if not keep_order:
        dims.sort(key=lambda dim: [-operand[dim] for operand in strides])
    new_sizes: list[int] = []
    new_strides: list[list[int]] = [[] for _ in strides]
    for dim in dims:
        if new_sizes and all(new[-1] == operand[dim] * sizes[dim] for new, operand in zip(new_strides, strides, strict=True)):
            new_sizes[-1] *= sizes[dim]
            for new, operand in zip(new_strides, strides, strict=True):
                new[-1] = operand[dim]
        else:
            new_sizes.append(sizes[dim])
            for new, operand in zip(new_strides, strides, strict=True):
                new.append(operand[dim])
    return new_sizes, new_strides


def dims_table(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> np.ndarray:
    """Sizes and strides as the kernels take them: an array with one row for each."""
    rows = np.array([sizes, *strides], np.int64).reshape(1 + len(strides), len(sizes))
    rows.flags.writeable = False
    return rows


@lru_cache(maxsize=4096)
def layout(
    out_shape: tuple[int, ...],
    out_strides: tuple[int, ...],
    a_shape: tuple[int, ...],
    a_strides: tuple[int, ...],
    b_shape: tuple[int, ...],
    b_strides: tuple[int, ...],
) -> Layout:
    """How to go through a result and two operands that broadcast to it."""
    size = math.prod(out_shape)
    inputs = [broadcast_strides(a_shape, a_strides, out_shape), broadcast_strides(b_shape, b_strides, out_shape)]
    sizes, strides = coalesce_dims(out_shape, [out_strides, *inputs])
    if size < 2 or (len(sizes) == 1 and all(operand == [1] for operand in strides)):
        return Layout(size, 0, ())

    def down(operand: list[int]) -> int:
        """The dimension that an operand runs along, if that is not the last."""
        return min(range(len(sizes)), key=lambda dim: operand[dim] or size)

    crossing = [operand for operand in strides[1:] if operand[-1] > 1 and operand[down(operand)] < operand[-1]]
    large = bool(crossing) and size >= BLOCK and min(sizes[-1], sizes[down(crossing[0])]) >= 8
    copied = [large and strides[0][-1] == 1 and operand in crossing for operand in strides[1:]]
    if len(sizes) == 1:
        sizes.insert(0, 1)
        for operand in strides:
            operand.insert(0, 0)
    row_dim = down(crossing[0]) if any(copied) else max(range(len(sizes) - 1), key=sizes.__getitem__)
    for row in [sizes, *strides]:
        row.insert(-1, row.pop(row_dim))
    if any(copied):
        height, width = COPIED
    else:
        width = min(sizes[-1], BLOCK)
        height = min(sizes[-2], max(1, BLOCK // width))
    blocks = math.prod(sizes[:-2]) * -(-sizes[-2] // height) * -(-sizes[-1] // width)
    return Layout(size, blocks, (dims_table(sizes, strides), height, width, *copied))


class Kernels(NamedTuple):
    """The loops for one function: through tensors without gaps, and through blocks of rows; for one thread and for several."""

    flat: Any
    flat_parallel: Any
    blocks: Any
    blocks_parallel: Any


def zip_kernels(fn: Callable[[Any, Any], Any], unary: Callable[..., Any] | None = None) -> Kernels:
    """The loops for a function of two numbers.

    Args:
        fn: The function.
        unary: The function of one number that it consists of, if it ignores the second.
    """
    key = code_key(fn, unary or fn)
    two_operands = unary is None

    @jitable
    def zip_rows(out, a, b, o, p, q, o_i, a_i, b_i, o_j, a_j, b_j, rows, n):
        """Rows of length n, from the positions o, p, q on.

        Positions are unsigned: of others the compiler must ask each time whether they are negative, and count from the end.
        """
        o_i, a_i, b_i, o, p, q, n = np.uint64(o_i), np.uint64(a_i), np.uint64(b_i), np.uint64(o), np.uint64(p), np.uint64(q), np.uint64(n)
        for _ in range(rows):
            if o_j == 1 and a_j == 1 and b_j == 1:
                for j in range(n):
                    out[o + j] = fn(a[p + j], b[q + j])
            elif o_j == 1 and a_j == 1 and b_j == 0:
                y = b[q]
                for j in range(n):
                    out[o + j] = fn(a[p + j], y)
            elif o_j == 1 and a_j == 0 and b_j == 1:
                x = a[p]
                for j in range(n):
                    out[o + j] = fn(x, b[q + j])
            else:
                for j in range(n):
                    out[o + j * np.uint64(o_j)] = fn(a[p + j * np.uint64(a_j)], b[q + j * np.uint64(b_j)])
            o, p, q = o + o_i, p + a_i, q + b_i

    @jitable
    def zip_blocks(out, a, b, dims, height, width, a_copied, b_copied, start, stop):
        """The blocks from start to stop, counted over the last two dimensions, then over the others."""
        last = dims.shape[1] - 1
        down, across = (dims[0, last - 1] + height - 1) // height, (dims[0, last] + width - 1) // width
        o_i, a_i, b_i = dims[1, last - 1], dims[2, last - 1], dims[3, last - 1]
        o_j, a_j, b_j = dims[1, last], dims[2, last], dims[3, last]
        a_copy = np.empty(height * width if a_copied else 0, a.dtype)
        b_copy = np.empty(height * width if b_copied else 0, b.dtype)
        for block in range(start, stop):
            n, t = block // (down * across), block % (down * across)
            i, j = t // across * height, t % across * width
            o, p, q = i * o_i + j * o_j, i * a_i + j * a_j, i * b_i + j * b_j
            for dim in range(last - 2, -1, -1):
                index, n = n % dims[0, dim], n // dims[0, dim]
                o += index * dims[1, dim]
                p += index * dims[2, dim]
                q += index * dims[3, dim]
            rows, columns = min(height, dims[0, last - 1] - i), min(width, dims[0, last] - j)
            if a_copied:
                copy_block(a_copy, a, p, a_i, a_j, rows, columns)
            if b_copied and two_operands:
                copy_block(b_copy, b, q, b_i, b_j, rows, columns)
            if a_copied and b_copied:
                zip_rows(out, a_copy, b_copy, o, 0, 0, o_i, columns, columns, o_j, 1, 1, rows, columns)
            elif a_copied:
                zip_rows(out, a_copy, b, o, 0, q, o_i, columns, b_i, o_j, 1, b_j, rows, columns)
            elif b_copied:
                zip_rows(out, a, b_copy, o, p, 0, o_i, a_i, columns, o_j, a_j, 1, rows, columns)
            else:
                zip_rows(out, a, b, o, p, q, o_i, a_i, b_i, o_j, a_j, b_j, rows, columns)

    @serial
    def flat(out, a, b, n):
        _ = key
        for i in range(n):
            out[i] = fn(a[i], b[i])

    @parallel
    def flat_parallel(out, a, b, n):
        _ = key
        for i in prange(n):
            out[i] = fn(a[i], b[i])

    @serial
    def blocks(out, a, b, dims, height, width, a_copied, b_copied, count, shares):
        _ = key
        zip_blocks(out, a, b, dims, height, width, a_copied, b_copied, 0, count)

    @parallel
    def blocks_parallel(out, a, b, dims, height, width, a_copied, b_copied, count, shares):
        _ = key
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            zip_blocks(out, a, b, dims, height, width, a_copied, b_copied, share * count // shares, (share + 1) * count // shares)

    return Kernels(flat, flat_parallel, blocks, blocks_parallel)


@jitable
def copy_block(copy, a, p, a_i, a_j, rows, columns):
    """Copy a block, in the order in which it lies in a."""
    for j in range(columns):
        for i in range(rows):
            copy[i * columns + j] = a[p + i * a_i + j * a_j]


class Zip:
    """The optimized kernel that applies a function of two numbers to every pair of elements of two tensors.

    Args:
        fn: The function.
        unary: The function of one number that it consists of, if it ignores the second; see `zip_kernels`.
    """

    writes_all = True
    reduces_many = False

    def __init__(self, fn: Callable[[Any, Any], Any], unary: Callable[..., Any] | None = None) -> None:
        self.kernels = zip_kernels(jitable(fn), unary)
        self.flat, self.blocks = self.kernels.flat, self.kernels.blocks  # one attribute lookup less in each call
        self.threshold = PARALLEL >> 3 if "math" in (unary or fn).__code__.co_names else PARALLEL

    def __call__(self, out: TensorData, a: TensorData, b: TensorData | None = None) -> None:
        """Write fn of a and b into out; small contiguous tensors of one shape without looking further."""
        if b is None:  # a map
            b = a
        size = out.size
        if out.strides == a.strides == b.strides and out.shape == a.shape == b.shape and size < self.threshold:
            o, p, q = out._storage, a._storage, b._storage
            if len(o) == len(p) == len(q) == size:
                self.flat(o, p, q, size)
                return
        self.run(*out.tuple(), *a.tuple(), *b.tuple())

    def run(
        self,
        out: Storage,
        out_shape: tuple[int, ...],
        out_strides: tuple[int, ...],
        a: Storage,
        a_shape: tuple[int, ...],
        a_strides: tuple[int, ...],
        b: Storage,
        b_shape: tuple[int, ...],
        b_strides: tuple[int, ...],
    ) -> None:
        """Compute on storages of any layout."""
        size, blocks, args = layout(out_shape, out_strides, a_shape, a_strides, b_shape, b_strides)
        if size < self.threshold or (workers := threads()) == 1:
            if blocks:
                self.blocks(out, a, b, *args, blocks, 1)
            else:
                self.flat(out, a, b, size)
        elif blocks:
            launch(self.kernels.blocks_parallel, out, a, b, *args, blocks, min(blocks, workers))
        else:
            launch(self.kernels.flat_parallel, out, a, b, size)

    def parallel_diagnostics(self, level: int = 1) -> None:
        """Print what numba made of the parallel loop, for the operands of an earlier call."""
        for used, kernel in ((self.kernels.flat, self.kernels.flat_parallel), (self.kernels.blocks, self.kernels.blocks_parallel)):
            print_diagnostics(used, kernel, level)


def print_diagnostics(used: Any, kernel: Any, level: int) -> None:
    """Print numba's diagnostics of a parallel kernel, for the kind of arguments that it, or else its serial twin, was last compiled for."""
    signatures = [*used.overloads, *kernel.overloads]
    if signatures:
        fresh = njit(parallel=True, **FLAGS)(kernel.py_func)  # what comes from disk has no diagnostics
        fresh.compile(signatures[-1])
        fresh.parallel_diagnostics(level=level)


class Map(Zip):
    """The optimized kernel that applies a function of one number to every element of a tensor.

    It is a zip that ignores its second operand: the compiler removes the unused load.

    Args:
        fn: The function.
    """

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        fn = jitable(fn)

        def of_first(x, _):
            return fn(x)

        super().__init__(of_first, fn)


register_kernel("map", "fast", lambda fn: Map(fast_equivalents.get(fn) or fn))
register_kernel("zip", "fast", lambda fn: Zip(fast_equivalents.get(fn) or fn))
