"""Stage 4 - Fused kernels of the maximum along a dimension, softmax and logsoftmax: one loop forward, one backward.

Composed of tensor operations, softmax writes four tensors of its size. Here each row is read while it is in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import minitorch.operators as operators
from minitorch.autodiff import Context
from minitorch.core.kernel import register_kernel
from minitorch.core.reductions import reduce_extreme
from minitorch.kernels.jit import jitable
from minitorch.kernels.pool import Loop, accepts, flat, loop
from minitorch.kernels.vector_math import exp
from minitorch.operators import maximum
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


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


class FastMax(Function):
    """The largest element along one dimension, which keeps size 1. Of equal ones each gets the whole gradient."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int) -> Tensor:
        largest = largest_along(a, dim)
        ctx.save_for_backward(a, largest, dim)
        return largest

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        a, largest, dim = ctx.saved_values
        return to_largest(a, largest, dim, grad_output)


KEEP_LARGEST, ROW_MAXIMA = loop(keep_largest), loop(row_maxima)
SOFTMAX, SOFTMAX_BACK = loop(softmax_rows, 3), loop(softmax_back)
LOGSOFTMAX, LOGSOFTMAX_BACK = loop(logsoftmax_rows, 3), loop(logsoftmax_back, 3)


# The published functions on the compiled backend


def fused_max(input: Tensor, dim: Any = None) -> Any:
    """`nn.functional.max` with both passes compiled."""
    return input._reduce(FastMax.apply, dim, keepdim=True) if accepts(input) else NotImplemented


def fused_softmax(input: Tensor, dim: int) -> Any:
    """`nn.functional.softmax` along the last dimension, in one pass."""
    return Softmax.apply(input) if accepts(input) and input._normalize_dim(dim) == input.dims - 1 else NotImplemented


def fused_logsoftmax(input: Tensor, dim: int) -> Any:
    """`nn.functional.logsoftmax` along the last dimension, in one pass."""
    return LogSoftmax.apply(input) if accepts(input) and input._normalize_dim(dim) == input.dims - 1 else NotImplemented


register_kernel("max", "fast", fused_max)
register_kernel("softmax", "fast", fused_softmax)
register_kernel("logsoftmax", "fast", fused_logsoftmax)
