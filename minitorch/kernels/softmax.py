"""Stage 4 - Fused kernels for the maximum along a dimension, softmax and logsoftmax: one loop forward, one backward.

Composed of tensor operations, softmax writes four tensors of the size of its input. Here each row stays in the cache until it is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import minitorch.operators as operators
from minitorch.autodiff import Context
from minitorch.core.kernel import register_kernel
from minitorch.core.math_operators import maximum
from minitorch.core.reductions import reduce_extreme
from minitorch.kernels.jit import jitable
from minitorch.kernels.loop import Loop, accepts, flat, loop
from minitorch.kernels.vector_math import exp
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


# Rows


def row_reduction(fn: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Make the reduction of a row with an associative, commutative function, as eight independent partial results."""
    fn = jitable(fn)

    @jitable
    def reduce_row(row):
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

    return reduce_row


def unordered_max(x: float, y: float) -> float:
    """The larger of two numbers, in one instruction; if one of them is NaN, either."""
    return x if x > y else y


_row_sum, _row_max, _row_unordered_max = row_reduction(operators.add), row_reduction(maximum), row_reduction(unordered_max)


# The maximum along a dimension. A task is one index of the dimensions before it; sizes are the size of the dimension and the product of the
# sizes after it.


def max_backward(out, a, largest, grad, sizes, start, stop):
    """Give the gradient to the largest elements, and 0 to the others."""
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


def run_max_backward(a: Tensor, largest: Tensor, dim: int, grad_output: Tensor) -> Tensor:
    """Compute the gradient of a from the gradient of its maximum along a dimension."""
    out = TensorData.empty(a.shape, grad_output.dtype)
    sizes = a.shape[dim], math.prod(a.shape[dim + 1 :])
    MAX_BACKWARD.run(out._storage, (flat(a), flat(largest), flat(grad_output)), sizes, math.prod(a.shape[:dim]))
    return a._like(out)


def max_rows(out, a, b, c, sizes, start, stop):
    """Compute the maximum of every row; NaN if the row contains NaN."""
    n = sizes[0]
    for task in range(start, stop):
        out[task] = _row_max(a[task * n : (task + 1) * n])


def run_max(a: Tensor, dim: int) -> Tensor:
    """Compute the maximum along a dimension, which keeps size 1; NaN takes precedence."""
    if math.prod(a.shape[dim + 1 :]) > 1:
        return reduce_extreme(a, dim, largest=True)  # reduces whole rows at once
    out = TensorData.empty((*a.shape[:dim], 1, *a.shape[dim + 1 :]), a.dtype)
    MAX_ROWS.run(out._storage, (flat(a),), (a.shape[dim],), out.size)
    return a._like(out)


# Softmax along the last dimension. A task is a row; sizes is its length.


@jitable
def exp_row(target, row):
    """Write exp(row - max) into target. Returns the maximum and the sum; the sum is NaN if the row contains NaN."""
    largest = _row_unordered_max(row)
    for j in range(len(row)):
        target[j] = exp(row[j] - largest)
    return largest, _row_sum(target)


def softmax_rows(out, a, b, c, sizes, start, stop):
    """Compute softmax of every row."""
    n = sizes[0]
    for task in range(start, stop):
        row, target = a[task * n : (task + 1) * n], out[task * n : (task + 1) * n]
        _, total = exp_row(target, row)
        for j in range(n):
            target[j] = target[j] / total


def softmax_backward(out, y, grad, c, sizes, start, stop):
    """Compute the gradient of every row: y · (g - Σ g·y)."""
    n = sizes[0]
    for task in range(start, stop):
        row, given, target = y[task * n : (task + 1) * n], grad[task * n : (task + 1) * n], out[task * n : (task + 1) * n]
        for j in range(n):
            target[j] = given[j] * row[j]
        total = _row_sum(target)
        for j in range(n):
            target[j] = row[j] * (given[j] - total)


def logsoftmax_rows(out, a, b, c, sizes, start, stop):
    """Compute log-softmax of every row. Subtracts the maximum first: added to the logarithm in one sum, it would cancel digits."""
    n = sizes[0]
    for task in range(start, stop):
        row, target = a[task * n : (task + 1) * n], out[task * n : (task + 1) * n]
        largest, total = exp_row(target, row)
        logarithm = math.log(total)
        for j in range(n):
            target[j] = (row[j] - largest) - logarithm


def logsoftmax_backward(out, y, grad, c, sizes, start, stop):
    """Compute the gradient of every row: g - e^y · Σ g."""
    n = sizes[0]
    for task in range(start, stop):
        row, given, target = y[task * n : (task + 1) * n], grad[task * n : (task + 1) * n], out[task * n : (task + 1) * n]
        total = _row_sum(given)
        for j in range(n):
            target[j] = given[j] - exp(row[j]) * total


SOFTMAX, SOFTMAX_BACKWARD = loop(softmax_rows, 3), loop(softmax_backward)


class RowFunction(Function):
    """Base class of functions along the last dimension, whose gradient is computed from the result, by two loops."""

    loops: ClassVar[tuple[Loop, Loop]]

    @classmethod
    def forward(cls, ctx: Context, a: Tensor) -> Tensor:
        y = run_rows(cls.loops[0], a)
        ctx.save_for_backward(y)
        return y

    @classmethod
    def backward(cls, ctx: Context, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return run_rows(cls.loops[1], y, grad_output)


class Softmax(RowFunction):
    """Softmax along the last dimension."""

    loops = SOFTMAX, SOFTMAX_BACKWARD


class LogSoftmax(RowFunction):
    """Log-softmax along the last dimension."""

    loops = loop(logsoftmax_rows, 3), loop(logsoftmax_backward, 3)


def run_rows(rows: Loop, *operands: Tensor) -> Tensor:
    """Run a loop over the rows of operands of equal shape."""
    first = operands[0]
    out = TensorData.empty(first.shape, first.dtype)
    n = out.shape[-1]
    rows.run(out._storage, tuple([flat(x) for x in operands]), (n,), out.size // n)
    return first._like(out)


class FastMax(Function):
    """Maximum along one dimension, which keeps size 1. If several elements are the largest, each receives the whole gradient."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int) -> Tensor:
        largest = run_max(a, dim)
        ctx.save_for_backward(a, largest, dim)
        return largest

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        a, largest, dim = ctx.saved_values
        return run_max_backward(a, largest, dim, grad_output)


MAX_BACKWARD, MAX_ROWS = loop(max_backward), loop(max_rows)


# Equivalents of the published functions on the fast backend


def fused_max(input: Tensor, dim: Any = None) -> Any:
    """`nn.functional.max`, with both passes compiled."""
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
