"""Stage 3 - Reductions on the fast backend: reduce any dimensions of a tensor in one pass, in memory order.

There are two loops. If the innermost dimension is kept, whole rows are reduced into a row of results, and each result receives its elements
in order. If the innermost dimension is reduced, each result is the reduction of a contiguous run, in which every step depends on the one
before it. If the function is associative and commutative, as a sum is, 64 partial results are computed independently and combined at the
end. That is also more accurate, because rounding errors grow with the length of a dependency chain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import prange

import minitorch.operators as operators
from minitorch.core.kernel import register_kernel
from minitorch.core.math_operators import maximum, minimum
from minitorch.core.recording import call
from minitorch.kernels.elementwise import coalesce_dims, dims_table, print_diagnostics
from minitorch.kernels.jit import FLAGS, IN_ANY_ORDER, code_key, jitable, launch, parallel, serial, threads
from minitorch.tensor_data import Storage, TensorData

REASSOCIABLE: set[Any] = {operators.add, operators.mul}
"""Functions whose reduction the compiler may reassociate and vectorize."""

COMMUTATIVE: set[Any] = REASSOCIABLE | {maximum, minimum}
"""Functions whose reduction does not depend on the order of the elements, except for rounding."""

LANES = 64
"""Independent partial results, for functions that the compiler cannot reassociate by itself."""

PARALLEL_THRESHOLD = 1 << 19
"""Number of elements below which waking the other threads costs more time than they save."""

CHUNK = 1 << 14
"""Elements reduced into the lanes before the lanes are combined."""

ROW_WIDTH = 2048
"""Results computed at once: together with four rows of elements they fit the L1 cache."""


class Pass(NamedTuple):
    """One pass over the elements.

    Attributes:
        by_rows: Whether rows are reduced into rows of results; otherwise runs are reduced into single results.
        tasks: Number of rows of results if by_rows, otherwise of results.
        args: The kernel's arguments after the storages: the kept dimensions (an array with a row of sizes, a row of out's strides and a
            row of a's), the reduced dimensions (sizes and a's strides), and the number of results in a row.
    """

    by_rows: bool
    tasks: int
    args: tuple[Any, ...]


class Plan(NamedTuple):
    """The passes of a reduction.

    Attributes:
        whole: The whole reduction in one pass.
        shares: Number of shares that the elements are divided into if there are fewer results than threads; otherwise 0.
        results: Number of results.
        first: The pass that reduces each share into a buffer.
        second: The pass that reduces the buffer into the results.
        tail: The pass over the elements that remain after dividing into equal shares, and their offset in a.
    """

    whole: Pass
    shares: int = 0
    results: int = 0
    first: Pass | None = None
    second: Pass | None = None
    tail: tuple[Pass, int] | None = None


def plan_pass(kept: Sequence[tuple[int, int, int]], reduced: Sequence[tuple[int, int]], workers: int) -> Pass:
    """Return the pass over kept dimensions (size, out's stride, a's stride) and reduced ones (size, a's stride)."""
    kept_sizes, kept_strides = coalesce_dims([dim[0] for dim in kept], [[dim[2] for dim in kept], [dim[1] for dim in kept]])
    kept_strides.reverse()  # sorted by a's strides, but given with out's first
    reduced_sizes, reduced_strides = coalesce_dims([dim[0] for dim in reduced], [[dim[1] for dim in reduced]], keep_order=True)
    by_rows = bool(kept_sizes) and kept_strides[1][-1] == 1
    results, width = math.prod(kept_sizes), 1
    tasks = results
    if by_rows:
        width = min(ROW_WIDTH, kept_sizes[-1])
        if workers > 1 and results // width < workers:
            width = max(16, -(-kept_sizes[-1] // workers))
        tasks = results // kept_sizes[-1] * -(-kept_sizes[-1] // width)
    if not reduced_sizes:
        reduced_sizes, reduced_strides = [1], [[1]]
    args = (dims_table(kept_sizes, kept_strides), dims_table(reduced_sizes, reduced_strides), width)
    return Pass(by_rows, tasks, args)


@lru_cache(maxsize=4096)
def plan(
    out_strides: tuple[int, ...], a_shape: tuple[int, ...], a_strides: tuple[int, ...], dims: tuple[int, ...], any_order: bool, workers: int
) -> Plan:
    """Return the passes that reduce dimensions of a.

    Args:
        out_strides: Strides of out, which has the dimensions of a.
        a_shape: Shape of a.
        a_strides: Strides of a.
        dims: The dimensions to reduce.
        any_order: Whether the elements may be combined in any order.
        workers: Number of threads.
    """
    kept = [(a_shape[dim], out_strides[dim], a_strides[dim]) for dim in range(len(a_shape)) if dim not in dims]
    order = sorted(dims, key=lambda dim: -a_strides[dim]) if any_order else sorted(dims)
    reduced = [(a_shape[dim], a_strides[dim]) for dim in order]
    whole = plan_pass(kept, reduced, workers)
    if workers == 1 or not any_order or whole.tasks >= workers:
        return Plan(whole)
    sizes, (strides,) = coalesce_dims([dim[0] for dim in reduced], [[dim[1] for dim in reduced]], keep_order=True)
    if max(sizes, default=0) < workers:
        return Plan(whole)
    longest = max(range(len(sizes)), key=sizes.__getitem__)
    others = [(sizes[dim], strides[dim]) for dim in range(len(sizes)) if dim != longest]
    share, stride = sizes[longest] // workers, strides[longest]
    results = math.prod(dim[0] for dim in kept)
    buffer, step = [], results  # the kept dimensions as they are in the contiguous buffer
    for size, _, a_step in kept:
        step //= size
        buffer.append((size, step, a_step))
    one_share = [*others[:longest], (share, stride), *others[longest:]]
    rest = sizes[longest] - share * workers
    return Plan(
        whole,
        workers,
        results,
        plan_pass([(workers, results, share * stride), *buffer], one_share, workers),
        plan_pass([(size, o, p) for (size, o, _), (_, p, _) in zip(kept, buffer, strict=True)], [(workers, results)], 1),
        (plan_pass(kept, [*others[:longest], (rest, stride), *others[longest:]], 1), share * workers * stride) if rest else None,
    )


class ReduceKernels(NamedTuple):
    """The compiled reductions with one function, by rows and by runs, for one thread and for several."""

    rows: Any
    rows_parallel: Any
    runs: Any
    runs_parallel: Any


def reduce_kernels(fn: Callable[[Any, Any], Any]) -> ReduceKernels:
    """Make the reductions with one function.

    The kernels' arguments are out and a (storages), the args of a `Pass`, `overwrite` (1 to start from the first element, 0 to start from
    the value in out), the number of tasks, and the number of shares that the tasks are divided into.
    """
    key = code_key(fn)  # each kernel refers to it, so that numba compiles again after fn changes
    any_order, reassociable = fn in COMMUTATIVE, fn in REASSOCIABLE
    flags = IN_ANY_ORDER if reassociable else FLAGS

    @jitable
    def reduce_rows(out, a, kept, reduced, width, overwrite, start, stop):
        """Compute the rows of results from start to stop. Positions are unsigned, as in `elementwise.zip_kernels`."""
        last = kept.shape[1] - 1
        across = (kept[0, last] + width - 1) // width
        n, step = reduced[0, reduced.shape[1] - 1], np.uint64(reduced[1, reduced.shape[1] - 1])
        two_steps, o_step = step + step, np.uint64(kept[1, last])
        passes = count_rows(reduced)
        results = np.empty(width, out.dtype)
        for task in range(start, stop):
            j = task % across * width
            columns = np.uint64(min(width, kept[0, last] - j))
            o, p = positions(kept, kept.shape[1] - 1, task // across)
            o, p = np.uint64(o + j * kept[1, last]), np.uint64(p + j)
            for i in range(columns):
                results[i] = a[p + i] if overwrite else out[o + i * o_step]
            for index in range(passes):
                q = p + np.uint64(row_position(reduced, index))
                k = 0
                if overwrite and index == 0:
                    k, q = 1, q + step
                while k + 4 <= n:  # read and write the results once for four rows
                    second, third, fourth = q + step, q + two_steps, q + two_steps + step
                    for i in range(columns):
                        results[i] = fn(fn(fn(fn(results[i], a[q + i]), a[second + i]), a[third + i]), a[fourth + i])
                    k, q = k + 4, q + two_steps + two_steps
                while k < n:
                    for i in range(columns):
                        results[i] = fn(results[i], a[q + i])
                    k, q = k + 1, q + step
            for i in range(columns):
                out[o + i * o_step] = results[i]

    @jitable
    def reduce_many(lanes, a, p, n):
        """Reduce n >= LANES contiguous numbers, in any order, into lanes[0]."""
        if reassociable:
            lanes[0] = a[p]
            value, row = lanes[0], a[p + 1 : p + n]
            for i in range(n - 1):
                value = fn(value, row[i])
            lanes[0] = value
            return
        for j in range(LANES):
            lanes[j] = a[p + j]
        i = LANES
        while i + 4 * LANES <= n:
            s = p + i
            row_0, row_1 = a[s : s + LANES], a[s + LANES : s + 2 * LANES]
            row_2, row_3 = a[s + 2 * LANES : s + 3 * LANES], a[s + 3 * LANES : s + 4 * LANES]
            for j in range(LANES):
                lanes[j] = fn(fn(fn(fn(lanes[j], row_0[j]), row_1[j]), row_2[j]), row_3[j])
            i += 4 * LANES
        while i + LANES <= n:
            row_0 = a[p + i : p + i + LANES]
            for j in range(LANES):
                lanes[j] = fn(lanes[j], row_0[j])
            i += LANES
        for j in range(n - i):
            lanes[j] = fn(lanes[j], a[p + i + j])
        half = LANES // 2
        while half:
            for j in range(half):
                lanes[j] = fn(lanes[j], lanes[half + j])
            half //= 2

    @jitable
    def reduce_runs(out, a, kept, reduced, width, overwrite, start, stop):
        """Compute the results from start to stop."""
        n, step = reduced[0, reduced.shape[1] - 1], reduced[1, reduced.shape[1] - 1]
        passes = count_rows(reduced)
        lanes = np.empty(LANES, out.dtype)
        result = np.empty(1, out.dtype)
        for task in range(start, stop):
            o, p = positions(kept, kept.shape[1], task)
            result[0] = a[p] if overwrite else out[o]
            for index in range(passes):
                q = p + row_position(reduced, index)
                k = 1 if overwrite and index == 0 else 0
                if any_order and step == 1:
                    while n - k >= LANES:
                        length = min(n - k, CHUNK)
                        reduce_many(lanes, a, q + k, length)
                        result[0] = fn(result[0], lanes[0])
                        k += length
                if reassociable:  # in a variable: whether an array overlaps a would decide on the order of the sum
                    value = result[0]
                    for i in range(k, n):
                        value = fn(value, a[q + i * step])
                    result[0] = value
                else:
                    for i in range(k, n):
                        result[0] = fn(result[0], a[q + i * step])
            out[o] = result[0]

    def rows(out, a, kept, reduced, width, overwrite, tasks, shares):
        _ = key
        reduce_rows(out, a, kept, reduced, width, overwrite, 0, tasks)

    def rows_parallel(out, a, kept, reduced, width, overwrite, tasks, shares):
        _ = key
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            reduce_rows(out, a, kept, reduced, width, overwrite, share * tasks // shares, (share + 1) * tasks // shares)

    def runs(out, a, kept, reduced, width, overwrite, tasks, shares):
        _ = key
        reduce_runs(out, a, kept, reduced, width, overwrite, 0, tasks)

    def runs_parallel(out, a, kept, reduced, width, overwrite, tasks, shares):
        _ = key
        for share in prange(shares):
            share = np.int64(share)
            reduce_runs(out, a, kept, reduced, width, overwrite, share * tasks // shares, (share + 1) * tasks // shares)

    return ReduceKernels(serial(rows, flags), parallel(rows_parallel, flags), serial(runs, flags), parallel(runs_parallel, flags))


# Positions, computed from tables of dimensions (see dims_table)


@jitable
def count_rows(dims):
    """Return the number of indices over all dimensions except the last."""
    count = 1
    for dim in range(dims.shape[1] - 1):
        count *= dims[0, dim]
    return count


@jitable
def positions(dims, count, n):
    """Return the positions in both operands of the n-th index over the first count dimensions."""
    o = p = 0
    for dim in range(count - 1, -1, -1):
        index, n = n % dims[0, dim], n // dims[0, dim]
        o += index * dims[1, dim]
        p += index * dims[2, dim]
    return o, p


@jitable
def row_position(dims, n):
    """Return the position of the n-th index over all dimensions except the last, for a table of one operand."""
    p = 0
    for dim in range(dims.shape[1] - 2, -1, -1):
        index, n = n % dims[0, dim], n // dims[0, dim]
        p += index * dims[1, dim]
    return p


class Reduce:
    """The optimized kernel that reduces one or several dimensions of a tensor with a function of two numbers.

    Args:
        fn: Combines the result so far with the next element.
    """

    writes_all = False
    reduces_many = True

    def __init__(self, fn: Callable[[Any, Any], Any]) -> None:
        fn = jitable(fn)
        self.any_order = fn in COMMUTATIVE
        self.kernels = reduce_kernels(fn)

    def __call__(self, out: TensorData, a: TensorData, reduce_dim: int | tuple[int, ...]) -> None:
        """Reduce one or several dimensions of a, starting from the values in out."""
        if not a.size:
            return
        dims = reduce_dim if isinstance(reduce_dim, tuple) else (int(reduce_dim),)
        target, source = out.from_first(), a.from_first()
        workers = threads() if a.size >= PARALLEL_THRESHOLD else 1
        passes = plan(out.strides, a.shape, a.strides, dims, self.any_order, workers)
        if passes.first is None or passes.second is None:
            self.run(passes.whole, target, source, 0, workers)
            return
        buffer = np.empty(passes.shares * passes.results, out.dtype)
        self.run(passes.first, buffer, source, 1, workers)
        self.run(passes.second, target, buffer, 0, 1)
        if passes.tail:
            self.run(passes.tail[0], target, source[passes.tail[1] :], 0, 1)

    def run(self, one_pass: Pass, out: Storage, a: Storage, overwrite: int, workers: int) -> None:
        """Run one pass; `overwrite` as in `reduce_kernels`."""
        by_rows, tasks, args = one_pass
        if workers == 1 or tasks == 1:
            kernel = self.kernels.rows if by_rows else self.kernels.runs
            call(kernel, out, a, *args, overwrite, tasks, 1)
        else:
            kernel = self.kernels.rows_parallel if by_rows else self.kernels.runs_parallel
            launch(kernel, out, a, *args, overwrite, tasks, min(tasks, workers))

    def parallel_diagnostics(self, level: int = 1) -> None:
        """Print numba's diagnostics of the parallel loops, for the operand types of an earlier call."""
        for used, kernel in ((self.kernels.rows, self.kernels.rows_parallel), (self.kernels.runs, self.kernels.runs_parallel)):
            print_diagnostics(used, kernel, level)


register_kernel("reduce", "fast", Reduce)
