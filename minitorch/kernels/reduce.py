"""Stage 3 - Reductions of the fast backend: fold any dimensions of a tensor in one pass, along the order in which its elements lie.

Two loops do it. Where the innermost dimension stays, whole rows are folded into a row of results; every result gets its elements in their
order. Where the innermost dimension is folded, each result is the fold of runs. In order that is a chain in which each step waits for the
last. If the function lets its elements change places (a sum does), 64 folds go side by side and are put together in the end, which is
also more exact: rounding errors grow with the length of a chain.
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
from minitorch.kernels.elementwise import coalesce_dims, dims_table, print_diagnostics
from minitorch.kernels.jit import FLAGS, IN_ANY_ORDER, code_key, jitable, launch, parallel, serial, threads
from minitorch.operators import maximum, minimum
from minitorch.tensor_data import Storage, TensorData

ARITHMETIC: set[Any] = {operators.add, operators.mul}
"""Functions whose fold the compiler may turn into several that go side by side."""

ANY_ORDER: set[Any] = ARITHMETIC | {maximum, minimum}
"""Functions whose fold does not depend on the order of the elements, but for rounding."""

LANES = 64
"""Folds that go side by side where the compiler cannot see that they may."""

PARALLEL = 1 << 19
"""Elements below which waking the other threads costs more than they save."""

CHAIN = 1 << 14
"""Elements that they take before they are put together."""

ROW = 2048
"""Results that are folded into at once: with four rows of elements they fit the first cache."""


class Part(NamedTuple):
    """One pass over the elements.

    Attributes:
        by_rows: Whether rows are folded into rows of results; otherwise runs into single results.
        tasks: Number of rows of results, or of results.
        args: What the kernel is called with behind the storages: kept dimensions and folded dimensions (arrays with one row for the sizes
            and one for each operand's strides: out's and a's, a's alone) and the length of a row of results.
    """

    by_rows: bool
    tasks: int
    args: tuple[Any, ...]


class Layout(NamedTuple):
    """How a reduction goes.

    Attributes:
        whole: All in one pass.
        shares: 0, or the number of shares that the elements are cut into because there are too few results to give each thread some.
        results: Number of results.
        first: The pass from the elements to a result for each share, in a storage of its own.
        second: From there to the results.
        tail: The pass over what is left where the number of shares does not divide that of the elements, and where in a it begins.
    """

    whole: Part
    shares: int = 0
    results: int = 0
    first: Part | None = None
    second: Part | None = None
    tail: tuple[Part, int] | None = None


def part(kept: Sequence[tuple[int, int, int]], folded: Sequence[tuple[int, int]], workers: int) -> Part:
    """The pass over kept dimensions (size, out's stride, a's stride) and folded ones (size, a's stride)."""
    kept_sizes, kept_strides = coalesce_dims([dim[0] for dim in kept], [[dim[2] for dim in kept], [dim[1] for dim in kept]])
    kept_strides.reverse()  # sorted by a's strides, but given with out's first
    folded_sizes, folded_strides = coalesce_dims([dim[0] for dim in folded], [[dim[1] for dim in folded]], keep_order=True)
    by_rows = bool(kept_sizes) and kept_strides[1][-1] == 1
    results, width = math.prod(kept_sizes), 1
    tasks = results
    if by_rows:
        width = min(ROW, kept_sizes[-1])
        if workers > 1 and results // width < workers:
            width = max(16, -(-kept_sizes[-1] // workers))
        tasks = results // kept_sizes[-1] * -(-kept_sizes[-1] // width)
    if not folded_sizes:
        folded_sizes, folded_strides = [1], [[1]]
    args = (dims_table(kept_sizes, kept_strides), dims_table(folded_sizes, folded_strides), width)
    return Part(by_rows, tasks, args)


@lru_cache(maxsize=4096)
def layout(
    out_strides: tuple[int, ...],
    a_shape: tuple[int, ...],
    a_strides: tuple[int, ...],
    dims: tuple[int, ...],
    any_order: bool,
    workers: int,
) -> Layout:
    """How to fold some dimensions of a."""
    kept = [(a_shape[dim], out_strides[dim], a_strides[dim]) for dim in range(len(a_shape)) if dim not in dims]
    order = sorted(dims, key=lambda dim: -a_strides[dim]) if any_order else sorted(dims)
    folded = [(a_shape[dim], a_strides[dim]) for dim in order]
    whole = part(kept, folded, workers)
    if workers == 1 or not any_order or whole.tasks >= workers:
        return Layout(whole)
    sizes, (strides,) = coalesce_dims([dim[0] for dim in folded], [[dim[1] for dim in folded]], keep_order=True)
    if max(sizes, default=0) < workers:
        return Layout(whole)
    longest = max(range(len(sizes)), key=sizes.__getitem__)
    others = [(sizes[dim], strides[dim]) for dim in range(len(sizes)) if dim != longest]
    share, stride = sizes[longest] // workers, strides[longest]
    results = math.prod(dim[0] for dim in kept)
    packed, step = [], results
    for size, _, a_step in kept:
        step //= size
        packed.append((size, step, a_step))
    inside = [*others[:longest], (share, stride), *others[longest:]]
    rest = sizes[longest] - share * workers
    return Layout(
        whole,
        workers,
        results,
        part([(workers, results, share * stride), *packed], inside, workers),
        part([(size, o, p) for (size, o, _), (_, p, _) in zip(kept, packed, strict=True)], [(workers, results)], 1),
        (part(kept, [*others[:longest], (rest, stride), *others[longest:]], 1), share * workers * stride) if rest else None,
    )


class Kernels(NamedTuple):
    """The folds of one function, by rows and by runs, for one thread and for several."""

    rows: Any
    rows_parallel: Any
    runs: Any
    runs_parallel: Any


def reduce_kernels(fn: Callable[[Any, Any], Any]) -> Kernels:
    """The folds of one function.

    The kernels are called with out and a (storages), the arguments of a `Part`, `fresh` (1 if a fold begins with its first element instead
    of what stands in out), the number of tasks and that of the shares they are dealt in.
    """
    key = code_key(fn)
    any_order, arithmetic = fn in ANY_ORDER, fn in ARITHMETIC
    flags = IN_ANY_ORDER if arithmetic else FLAGS

    @jitable
    def reduce_rows(out, a, kept, folded, width, fresh, start, stop):
        """Fold the rows of results from start to stop. Positions are unsigned, as in `loops.zip_kernels`."""
        last = kept.shape[1] - 1
        across = (kept[0, last] + width - 1) // width
        n, step = folded[0, folded.shape[1] - 1], np.uint64(folded[1, folded.shape[1] - 1])
        two_steps, o_step = step + step, np.uint64(kept[1, last])
        passes = count_all_but_last(folded)
        results = np.empty(width, out.dtype)
        for task in range(start, stop):
            j = task % across * width
            columns = np.uint64(min(width, kept[0, last] - j))
            o, p = find(kept, task // across)
            o, p = np.uint64(o + j * kept[1, last]), np.uint64(p + j)
            for i in range(columns):
                results[i] = a[p + i] if fresh else out[o + i * o_step]
            for index in range(passes):
                q = p + np.uint64(find_one(folded, index))
                k = 0
                if fresh and index == 0:
                    k, q = 1, q + step
                while k + 4 <= n:  # four rows for every time that the results are read and written
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
        """Fold n >= LANES numbers in any order; the result is lanes[0]."""
        if arithmetic:
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
    def reduce_runs(out, a, kept, folded, width, fresh, start, stop):
        """Compute the results from start to stop."""
        n, step = folded[0, folded.shape[1] - 1], folded[1, folded.shape[1] - 1]
        passes = count_all_but_last(folded)
        lanes = np.empty(LANES, out.dtype)
        result = np.empty(1, out.dtype)
        for task in range(start, stop):
            o, p = find_both(kept, task)
            result[0] = a[p] if fresh else out[o]
            for index in range(passes):
                q = p + find_one(folded, index)
                k = 1 if fresh and index == 0 else 0
                if any_order and step == 1:
                    while n - k >= LANES:
                        length = min(n - k, CHAIN)
                        reduce_many(lanes, a, q + k, length)
                        result[0] = fn(result[0], lanes[0])
                        k += length
                for i in range(k, n):
                    result[0] = fn(result[0], a[q + i * step])
            out[o] = result[0]

    def rows(out, a, kept, folded, width, fresh, tasks, shares):
        _ = key
        reduce_rows(out, a, kept, folded, width, fresh, 0, tasks)

    def rows_parallel(out, a, kept, folded, width, fresh, tasks, shares):
        _ = key
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            reduce_rows(out, a, kept, folded, width, fresh, share * tasks // shares, (share + 1) * tasks // shares)

    def runs(out, a, kept, folded, width, fresh, tasks, shares):
        _ = key
        reduce_runs(out, a, kept, folded, width, fresh, 0, tasks)

    def runs_parallel(out, a, kept, folded, width, fresh, tasks, shares):
        _ = key
        for share in prange(shares):
            share = np.int64(share)
            reduce_runs(out, a, kept, folded, width, fresh, share * tasks // shares, (share + 1) * tasks // shares)

    return Kernels(serial(rows, flags), parallel(rows_parallel, flags), serial(runs, flags), parallel(runs_parallel, flags))


# Positions from tables of dimensions


@jitable
def count_all_but_last(dims):
    """How many indices all dimensions but the last have."""
    count = 1
    for dim in range(dims.shape[1] - 1):
        count *= dims[0, dim]
    return count


@jitable
def find(dims, n):
    """Where the n-th index of all dimensions but the last leads, in both operands."""
    o = p = 0
    for dim in range(dims.shape[1] - 2, -1, -1):
        index, n = n % dims[0, dim], n // dims[0, dim]
        o += index * dims[1, dim]
        p += index * dims[2, dim]
    return o, p


@jitable
def find_both(dims, n):
    """Where the n-th index of all dimensions leads, in both operands."""
    o = p = 0
    for dim in range(dims.shape[1] - 1, -1, -1):
        index, n = n % dims[0, dim], n // dims[0, dim]
        o += index * dims[1, dim]
        p += index * dims[2, dim]
    return o, p


@jitable
def find_one(dims, n):
    """Where the n-th index of all dimensions but the last leads, in the one operand of the table."""
    p = 0
    for dim in range(dims.shape[1] - 2, -1, -1):
        index, n = n % dims[0, dim], n // dims[0, dim]
        p += index * dims[1, dim]
    return p


class Reduce:
    """The optimized kernel that reduces one or several dimensions of a tensor with a function of two numbers.

    Args:
        fn: From the result so far and the next element to a number.
    """

    writes_all = False
    reduces_many = True

    def __init__(self, fn: Callable[[Any, Any], Any]) -> None:
        fn = jitable(fn)
        self.any_order = fn in ANY_ORDER
        self.kernels = reduce_kernels(fn)

    def __call__(self, out: TensorData, a: TensorData, reduce_dim: int | tuple[int, ...]) -> None:
        """Reduce into the values already in out; reduce_dim may be several dimensions."""
        if not a.size:
            return
        dims = reduce_dim if isinstance(reduce_dim, tuple) else (int(reduce_dim),)
        (target, _, out_strides), (source, a_shape, a_strides) = out.tuple(), a.tuple()
        workers = threads() if a.size >= PARALLEL else 1
        plan = layout(out_strides, a_shape, a_strides, dims, self.any_order, workers)
        if plan.first is None or plan.second is None:
            self.run(plan.whole, target, source, 0, workers)
            return
        shares = np.empty(plan.shares * plan.results, out.dtype)
        self.run(plan.first, shares, source, 1, workers)
        self.run(plan.second, target, shares, 0, 1)
        if plan.tail:
            self.run(plan.tail[0], target, source[plan.tail[1] :], 0, 1)

    def run(self, part: Part, out: Storage, a: Storage, fresh: int, workers: int) -> None:
        """One pass."""
        by_rows, tasks, args = part
        if workers == 1 or tasks == 1:
            kernel = self.kernels.rows if by_rows else self.kernels.runs
            kernel(out, a, *args, fresh, tasks, 1)
        else:
            kernel = self.kernels.rows_parallel if by_rows else self.kernels.runs_parallel
            launch(kernel, out, a, *args, fresh, tasks, min(tasks, workers))

    def parallel_diagnostics(self, level: int = 1) -> None:
        """Print what numba made of the parallel loop, for the operands of an earlier call."""
        for used, kernel in ((self.kernels.rows, self.kernels.rows_parallel), (self.kernels.runs, self.kernels.runs_parallel)):
            print_diagnostics(used, kernel, level)


register_kernel("reduce", "fast", Reduce)
