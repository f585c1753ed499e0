"""Stage 4 - What pooling, the maximum and softmax stand on in the fast backend: one loop forward, one backward, and nothing in between.

Composed of tensor operations, a pool copies its input twice and softmax writes four tensors of its size. Here every number is read while
it lies in the cache: a row of windows is folded downwards, where rows are vectors, and then across.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import prange

import minitorch.operators as operators
from minitorch.autodiff import Context
from minitorch.core.reductions import reduce_extreme
from minitorch.fast_ops import FastOps
from minitorch.kernels.jit import code_key, compiler_is_off, jitable, launch, parallel, serial, threads
from minitorch.kernels.vector_math import exp
from minitorch.operators import maximum
from minitorch.tensor_data import Storage, TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

PARALLEL = 1 << 18
"""Elements below which waking the other threads costs more than they save, if little is done with each."""


def takes(a: Tensor) -> bool:
    """Whether these loops can take a tensor: one of float64 or float32, with elements, on the compiled backend."""
    return a.backend.ops is FastOps and a.dtype.kind == "f" and a.dtype.itemsize > 2 and a.size > 0 and not compiler_is_off()


def flat(x: Tensor) -> Storage:
    """The elements of a tensor one after the other: its storage if that is all it holds, else a copy."""
    data = x._tensor
    return data.tuple()[0] if data.is_contiguous() else data.array().reshape(-1)


class Loop(NamedTuple):
    """A loop over tasks, for one thread and for several.

    Attributes:
        alone: Called with out and three operands (flat, without gaps; one that is not needed is out again), a tuple of sizes, the number of
            tasks and that of the shares that they are dealt in.
        shared: The same.
        halvings: How often PARALLEL is halved for it: 3 times if a power of e is computed for each element.
    """

    alone: Any
    shared: Any
    halvings: int

    def run(self, out: Storage, operands: tuple[Storage, ...], sizes: tuple[int, ...], tasks: int) -> None:
        """Compute, on as many threads as the work is worth."""
        a, b, c, *_ = *operands, out, out
        workers = threads() if max(out.size, a.size) >= PARALLEL >> self.halvings else 1
        if workers == 1 or tasks <= 1:
            self.alone(out, a, b, c, sizes, tasks, 1)
        else:
            launch(self.shared, out, a, b, c, sizes, tasks, min(tasks, workers))


def loop(body: Callable[..., None], halvings: int = 0, calls: tuple[Callable[..., Any], ...] = ()) -> Loop:
    """The loop whose tasks from start to stop are done by body(out, a, b, c, sizes, start, stop).

    Args:
        body: What it does.
        halvings: See `Loop`.
        calls: Functions made at run time that body calls.
    """
    body = jitable(body)
    key = code_key(body, *calls)

    @serial
    def alone(out, a, b, c, sizes, tasks, shares):
        _ = key
        body(out, a, b, c, sizes, 0, tasks)

    @parallel
    def shared(out, a, b, c, sizes, tasks, shares):
        _ = key
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            body(out, a, b, c, sizes, share * tasks // shares, (share + 1) * tasks // shares)

    return Loop(alone, shared, halvings)


# Pooling. A task is a row of windows; sizes are the windows of a row, kh and kw.


def pooled_by(fn: Callable[[Any, Any], Any], mean: bool) -> Loop:
    """Windows folded by a function of two numbers, and divided by their number if it is their mean that one wants."""
    fn = jitable(fn)

    def pool(out, a, b, c, sizes, start, stop):
        columns, kh, kw = sizes
        width = columns * kw
        line, share = np.empty(width, out.dtype), np.empty(1, out.dtype)
        share[0] = 1 / (kh * kw)
        for task in range(start, stop):
            p = task * kh * width
            line[:] = a[p : p + width]
            for _ in range(1, kh):
                p += width
                row = a[p : p + width]
                for j in range(width):
                    line[j] = fn(line[j], row[j])
            target = out[task * columns : (task + 1) * columns]
            for j in range(columns):
                value = line[j * kw]
                for k in range(1, kw):
                    value = fn(value, line[j * kw + k])
                target[j] = value * share[0] if mean else value

    return loop(pool)


def spread_mean(out, grad, b, c, sizes, start, stop):
    """To each number of a window its part of the window's gradient."""
    columns, kh, kw = sizes
    width = columns * kw
    line, share = np.empty(width, out.dtype), np.empty(1, out.dtype)
    share[0] = 1 / (kh * kw)
    for task in range(start, stop):
        for j in range(columns):
            value = grad[task * columns + j] * share[0]
            for k in range(kw):
                line[j * kw + k] = value
        for k in range(kh):
            p = (task * kh + k) * width
            out[p : p + width] = line


def spread_largest(out, a, largest, grad, sizes, start, stop):
    """To each number of a window that is its largest the window's gradient, and 0 to the others."""
    columns, kh, kw = sizes
    width = columns * kw
    line, best = np.empty(width, out.dtype), np.empty(width, a.dtype)
    for task in range(start, stop):
        for j in range(columns):
            for k in range(kw):
                line[j * kw + k] = grad[task * columns + j]
                best[j * kw + k] = largest[task * columns + j]
        for k in range(kh):
            p = (task * kh + k) * width
            row, target = a[p : p + width], out[p : p + width]
            for j in range(width):
                target[j] = line[j] if row[j] == best[j] else 0


class MeanPool(Function):
    """The mean over windows that do not overlap."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, kernel: tuple[int, int]) -> Tensor:
        ctx.save_for_backward(a.shape, kernel)
        return pooled(MEANS, a, kernel)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        shape, kernel = ctx.saved_values
        return unpooled(SPREAD_MEAN, shape, kernel, grad_output)


class MaxPool(Function):
    """The maximum over windows that do not overlap. Of equal elements each gets the whole gradient."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, kernel: tuple[int, int]) -> Tensor:
        a = a.contiguous()
        largest = pooled(MAXIMA, a, kernel)
        ctx.save_for_backward(a, largest, kernel)
        return largest

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        a, largest, kernel = ctx.saved_values
        return unpooled(SPREAD_LARGEST, a.shape, kernel, a, largest, grad_output)


def pooled(pool: Loop, a: Tensor, kernel: tuple[int, int]) -> Tensor:
    """Images of shape (B, C, H, W), window by window."""
    (batch, channels, height, width), (kh, kw) = a.shape, kernel
    out = TensorData.empty((batch, channels, height // kh, width // kw), a.dtype)
    pool.run(out._storage, (flat(a),), (width // kw, kh, kw), batch * channels * (height // kh))
    return a._like(out)


def unpooled(spread: Loop, shape: tuple[int, ...], kernel: tuple[int, int], *operands: Tensor) -> Tensor:
    """The gradient of the images, from that of the windows, which is the last of the operands."""
    batch, channels, rows, columns = operands[-1].shape
    out = TensorData.empty(shape, operands[-1].dtype)
    spread.run(out._storage, tuple([flat(x) for x in operands]), (columns, *kernel), batch * channels * rows)
    return operands[-1]._like(out)


# Rows


def by_eights(fn: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The fold of a row by a function whose arguments may change places: eight at once, that need not wait for each other."""
    fn = jitable(fn)

    @jitable
    def fold(row):
        n = len(row)
        if n < 8:
            value = row[0]
            for j in range(1, n):
                value = fn(value, row[j])
            return value
        v0, v1, v2, v3, v4, v5, v6, v7 = row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
        whole = n // 8 * 8
        for first in range(8, whole, 8):
            part = row[first : first + 8]
            v0, v1, v2, v3 = fn(v0, part[0]), fn(v1, part[1]), fn(v2, part[2]), fn(v3, part[3])
            v4, v5, v6, v7 = fn(v4, part[4]), fn(v5, part[5]), fn(v6, part[6]), fn(v7, part[7])
        value = fn(fn(fn(v0, v4), fn(v2, v6)), fn(fn(v1, v5), fn(v3, v7)))
        for j in range(whole, n):
            value = fn(value, row[j])
        return value

    return fold


def above(x: float, y: float) -> float:
    """The larger of two numbers, which is one instruction; of NaN and a number either."""
    return x if x > y else y


_row_sum, _row_larger, _row_above = by_eights(operators.add), by_eights(maximum), by_eights(above)


# The maximum along a dimension. A task is what one index of the dimensions before it leads to; sizes are the dimension's own and that of
# all behind it.


def keep_largest(out, a, largest, grad, sizes, start, stop):
    """The gradient where an element is the largest, 0 elsewhere."""
    length, inner = sizes
    for task in range(start, stop):
        if inner == 1:
            row, target = a[task * length : (task + 1) * length], out[task * length : (task + 1) * length]
            best, value = largest[task], grad[task]
            for k in range(length):
                target[k] = value if row[k] == best else 0
        else:
            bests, values = largest[task * inner : (task + 1) * inner], grad[task * inner : (task + 1) * inner]
            for k in range(task * length, (task + 1) * length):
                row, target = a[k * inner : (k + 1) * inner], out[k * inner : (k + 1) * inner]
                for i in range(inner):
                    target[i] = values[i] if row[i] == bests[i] else 0


def to_largest(a: Tensor, largest: Tensor, dim: int, grad_output: Tensor) -> Tensor:
    """The gradient of a tensor, from that of its maximum along a dimension."""
    out = TensorData.empty(a.shape, grad_output.dtype)
    sizes = a.shape[dim], math.prod(a.shape[dim + 1 :])
    KEEP_LARGEST.run(out._storage, (flat(a), flat(largest), flat(grad_output)), sizes, math.prod(a.shape[:dim]))
    return a._like(out)


def row_maxima(out, a, b, c, sizes, start, stop):
    """The largest of every row; NaN if there is one."""
    n = sizes[0]
    for task in range(start, stop):
        out[task] = _row_larger(a[task * n : (task + 1) * n])


def largest_along(a: Tensor, dim: int) -> Tensor:
    """The largest element along a dimension, which keeps size 1; NaN if there is one."""
    if math.prod(a.shape[dim + 1 :]) > 1:
        return reduce_extreme(a, dim, largest=True)  # whole rows are folded into a row
    out = TensorData.empty((*a.shape[:dim], 1, *a.shape[dim + 1 :]), a.dtype)
    ROW_MAXIMA.run(out._storage, (flat(a),), (a.shape[dim],), out.size)
    return a._like(out)


# Softmax along the last dimension. A task is a row; sizes is its length.


@jitable
def row_powers(target, row):
    """e to the power of every number less the largest; returns that one and the sum, which NaN reaches in any case."""
    largest = _row_above(row)
    for j in range(len(row)):
        target[j] = exp(row[j] - largest)
    return largest, _row_sum(target)


def softmax_rows(out, a, b, c, sizes, start, stop):
    """Softmax of rows."""
    n = sizes[0]
    for task in range(start, stop):
        row, target = a[task * n : (task + 1) * n], out[task * n : (task + 1) * n]
        _, total = row_powers(target, row)
        for j in range(n):
            target[j] = target[j] / total


def softmax_back(out, y, grad, c, sizes, start, stop):
    """y · (g - Σ g·y)."""
    n = sizes[0]
    for task in range(start, stop):
        row, given, target = y[task * n : (task + 1) * n], grad[task * n : (task + 1) * n], out[task * n : (task + 1) * n]
        for j in range(n):
            target[j] = given[j] * row[j]
        total = _row_sum(target)
        for j in range(n):
            target[j] = row[j] * (given[j] - total)


def logsoftmax_rows(out, a, b, c, sizes, start, stop):
    """The logarithm of softmax of rows: the largest is taken away first, for in one sum with the logarithm digits of that would be lost."""
    n = sizes[0]
    for task in range(start, stop):
        row, target = a[task * n : (task + 1) * n], out[task * n : (task + 1) * n]
        largest, total = row_powers(target, row)
        logarithm = math.log(total)
        for j in range(n):
            target[j] = (row[j] - largest) - logarithm


def logsoftmax_back(out, y, grad, c, sizes, start, stop):
    """g - e^y · Σ g."""
    n = sizes[0]
    for task in range(start, stop):
        row, given, target = y[task * n : (task + 1) * n], grad[task * n : (task + 1) * n], out[task * n : (task + 1) * n]
        total = _row_sum(given)
        for j in range(n):
            target[j] = given[j] - exp(row[j]) * total


class Softmax(Function):
    """e^x, divided by the sum of these along the last dimension."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        y = by_rows(SOFTMAX, a)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return by_rows(SOFTMAX_BACK, y, grad_output)


class LogSoftmax(Function):
    """The logarithm of softmax along the last dimension."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        y = by_rows(LOGSOFTMAX, a)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return by_rows(LOGSOFTMAX_BACK, y, grad_output)


def by_rows(rows: Loop, *operands: Tensor) -> Tensor:
    """What a loop over rows makes of tensors of one shape."""
    first = operands[0]
    out = TensorData.empty(first.shape, first.dtype)
    n = out.shape[-1]
    rows.run(out._storage, tuple([flat(x) for x in operands]), (n,), out.size // n)
    return first._like(out)


MEANS, MAXIMA = pooled_by(operators.add, True), pooled_by(maximum, False)
SPREAD_MEAN, SPREAD_LARGEST, KEEP_LARGEST = loop(spread_mean), loop(spread_largest), loop(keep_largest)
ROW_MAXIMA = loop(row_maxima)
SOFTMAX, SOFTMAX_BACK = loop(softmax_rows, 3), loop(softmax_back)
LOGSOFTMAX, LOGSOFTMAX_BACK = loop(logsoftmax_rows, 3), loop(logsoftmax_back, 3)
