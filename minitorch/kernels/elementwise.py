"""Stage 3 - Elementwise kernels of the fast backend: map and zip over any layout, with an inner loop that the compiler can vectorize.

A loop that computes the position of every element spends most of its time there. Here Python examines shapes and strides first (once for
each layout; the plan is cached) and reduces the work to a few long loops:

* Dimensions of size 1 are dropped, and adjacent dimensions that are contiguous in every operand are merged. Contiguous tensors become one
  loop.
* The remaining dimensions are divided into blocks of rows. Within a row, each operand is contiguous or one broadcast value.
* If an operand is transposed with respect to the result, a block of it is copied first, so that each cache line is read only once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from minitorch.core.kernel import register_kernel
from minitorch.core.recording import active, call
from minitorch.kernels.jit import code_key, jitable, launch, parallel, serial, threads
from minitorch.kernels.vector_math import fast_equivalents
from minitorch.tensor_data import TensorData, broadcast_strides

PARALLEL_THRESHOLD = 1 << 18
"""Elements below which waking the other threads costs more time than they save; an eighth of it for functions that call `math`."""

BLOCK = 1 << 13
"""Elements in a block of rows."""

TRANSPOSED_BLOCK = (16, 256)
"""Rows and columns of a block that is copied because an operand is transposed."""


class Plan(NamedTuple):
    """The loops over the elements of one combination of layouts.

    Attributes:
        size: Number of elements.
        blocks: Number of blocks; 0 if all operands are contiguous, so that one loop is enough.
        args: The blocked kernel's arguments after the storages: an array with a row of sizes and a row of strides for each operand, the
            height and width of a block, and whether the blocks of a and of b are copied first.
    """

    size: int
    blocks: int
    args: tuple[Any, ...]


def coalesce_dims(sizes: Sequence[int], strides: Sequence[Sequence[int]], keep_order: bool = False) -> tuple[list[int], list[list[int]]]:
    """Describe the same elements with as few dimensions as possible.

    Args:
        sizes: Sizes of the dimensions.
        strides: Strides of every operand.
        keep_order: Whether to visit the elements in the same order; otherwise dimensions may be reordered.

    Returns:
        Sizes and strides of the merged dimensions, the one with the smallest strides last.
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
    """Return sizes and strides as one array for the kernels: a row of sizes, then a row of strides for each operand."""
    rows = np.array([sizes, *strides], np.int64).reshape(1 + len(strides), len(sizes))
    rows.flags.writeable = False
    return rows


@lru_cache(maxsize=4096)
def plan(
    out_shape: tuple[int, ...],
    out_strides: tuple[int, ...],
    a_shape: tuple[int, ...],
    a_strides: tuple[int, ...],
    b_shape: tuple[int, ...],
    b_strides: tuple[int, ...],
) -> Plan:
    """Plan the loops over a result and two operands that broadcast to its shape."""
    size = math.prod(out_shape)
    inputs = [broadcast_strides(a_shape, a_strides, out_shape), broadcast_strides(b_shape, b_strides, out_shape)]
    sizes, strides = coalesce_dims(out_shape, [out_strides, *inputs])
    if size < 2 or (len(sizes) == 1 and all(operand == [1] for operand in strides)):
        return Plan(size, 0, ())

    def smallest_stride_dim(operand: list[int]) -> int:
        """The dimension with the operand's smallest nonzero stride."""
        return min(range(len(sizes)), key=lambda dim: operand[dim] or size)

    transposed = [operand for operand in strides[1:] if operand[-1] > 1 and operand[smallest_stride_dim(operand)] < operand[-1]]
    large = bool(transposed) and size >= BLOCK and min(sizes[-1], sizes[smallest_stride_dim(transposed[0])]) >= 8
    copied = [large and strides[0][-1] == 1 and operand in transposed for operand in strides[1:]]
    if len(sizes) == 1:
        sizes.insert(0, 1)
        for operand in strides:
            operand.insert(0, 0)
    row_dim = smallest_stride_dim(transposed[0]) if any(copied) else max(range(len(sizes) - 1), key=sizes.__getitem__)
    for row in [sizes, *strides]:
        row.insert(-1, row.pop(row_dim))
    if any(copied):
        height, width = TRANSPOSED_BLOCK
    else:
        width = min(sizes[-1], BLOCK)
        height = min(sizes[-2], max(1, BLOCK // width))
    blocks = math.prod(sizes[:-2]) * -(-sizes[-2] // height) * -(-sizes[-1] // width)
    return Plan(size, blocks, (dims_table(sizes, strides), height, width, *copied))


class ZipKernels(NamedTuple):
    """The compiled loops of one function: over contiguous tensors and over blocks of rows, for one thread and for several."""

    flat: Any
    flat_parallel: Any
    blocks: Any
    blocks_parallel: Any


def zip_kernels(fn: Callable[[Any, Any], Any], unary: Callable[..., Any] | None = None) -> ZipKernels:
    """Make the loops that apply a function of two numbers.

    Args:
        fn: The function.
        unary: The function of one number that fn wraps, if fn ignores its second argument.
    """
    key = code_key(fn, unary or fn)
    two_operands = unary is None

    @jitable
    def zip_rows(out, a, b, o, p, q, o_i, a_i, b_i, o_j, a_j, b_j, rows, n):
        """Compute rows of length n, starting at positions o, p and q.

        Positions are unsigned: for signed ones, the compiler must check each time whether to count from the end.
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
        """Compute the blocks from start to stop, numbered over the last two dimensions first, then over the others."""
        last = dims.shape[1] - 1
        blocks_down, blocks_across = (dims[0, last - 1] + height - 1) // height, (dims[0, last] + width - 1) // width
        o_i, a_i, b_i = dims[1, last - 1], dims[2, last - 1], dims[3, last - 1]
        o_j, a_j, b_j = dims[1, last], dims[2, last], dims[3, last]
        a_copy = np.empty(height * width if a_copied else 0, a.dtype)
        b_copy = np.empty(height * width if b_copied else 0, b.dtype)
        for block in range(start, stop):
            n, t = block // (blocks_down * blocks_across), block % (blocks_down * blocks_across)
            i, j = t // blocks_across * height, t % blocks_across * width
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

    return ZipKernels(flat, flat_parallel, blocks, blocks_parallel)


@jitable
def copy_block(copy, a, p, a_i, a_j, rows, columns):
    """Copy a block, reading a in memory order."""
    for j in range(columns):
        for i in range(rows):
            copy[i * columns + j] = a[p + i * a_i + j * a_j]


class Zip:
    """The optimized kernel that applies a function of two numbers to every pair of elements of two tensors.

    Args:
        fn: The function.
        unary: The function of one number that fn wraps, if fn ignores its second argument; see `zip_kernels`.
    """

    writes_all = True
    reduces_many = False

    def __init__(self, fn: Callable[[Any, Any], Any], unary: Callable[..., Any] | None = None) -> None:
        self.kernels = zip_kernels(jitable(fn), unary)
        self.flat, self.blocks = self.kernels.flat, self.kernels.blocks  # saves an attribute lookup in every call
        self.threshold = PARALLEL_THRESHOLD >> 3 if "math" in (unary or fn).__code__.co_names else PARALLEL_THRESHOLD

    def __call__(self, out: TensorData, a: TensorData, b: TensorData | None = None) -> None:
        """Write fn(a, b) into out. Small contiguous tensors of equal shape skip planning."""
        if b is None:  # called as a map
            b = a
        size = out.size
        if out.strides == a.strides == b.strides and out.shape == a.shape == b.shape and size < self.threshold:
            o, p, q = out._storage, a._storage, b._storage
            if len(o) == len(p) == len(q) == size:
                if active.recorder is None:
                    self.flat(o, p, q, size)
                else:
                    call(self.flat, o, p, q, size)
                return
        size, blocks, args = plan(out.shape, out.strides, a.shape, a.strides, b.shape, b.strides)
        o, p, q = out.from_first(), a.from_first(), b.from_first()
        if size < self.threshold or (workers := threads()) == 1:
            if blocks:
                call(self.blocks, o, p, q, *args, blocks, 1)
            else:
                call(self.flat, o, p, q, size)
        elif blocks:
            launch(self.kernels.blocks_parallel, o, p, q, *args, blocks, min(blocks, workers))
        else:
            launch(self.kernels.flat_parallel, o, p, q, size)

    def parallel_diagnostics(self, level: int = 1) -> None:
        """Print numba's diagnostics of the parallel loops, for the operand types of an earlier call."""
        for used, kernel in ((self.kernels.flat, self.kernels.flat_parallel), (self.kernels.blocks, self.kernels.blocks_parallel)):
            print_diagnostics(used, kernel, level)


def print_diagnostics(serial_kernel: Any, parallel_kernel: Any, level: int) -> None:
    """Print numba's diagnostics of a parallel kernel, for the argument types that it or its serial version was last compiled for."""
    signatures = [*serial_kernel.overloads, *parallel_kernel.overloads]
    if signatures:
        parallel_kernel.parallel_diagnostics(signatures[-1], level)


class Map(Zip):
    """The optimized kernel that applies a function of one number to every element of a tensor.

    It is a zip that ignores its second operand; the compiler removes the unused load.

    Args:
        fn: The function.
    """

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        fn = jitable(fn)

        def ignore_second(x, _):
            return fn(x)

        super().__init__(ignore_second, fn)


register_kernel("map", "fast", lambda fn: Map(fast_equivalents.get(fn) or fn))
register_kernel("zip", "fast", lambda fn: Zip(fast_equivalents.get(fn) or fn))
