"""Stage 4 - Fused pooling kernels: one loop forward, one backward.

Composed of tensor operations, pooling copies its input twice. Here each number is read once: a row of windows is first reduced vertically,
which vectorizes over whole rows, and then horizontally.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import minitorch.operators as operators
from minitorch.autodiff import Context
from minitorch.core.kernel import register_kernel
from minitorch.core.math_operators import maximum
from minitorch.core.windows import check_windows
from minitorch.kernels.jit import jitable
from minitorch.kernels.loop import Loop, accepts, flat, loop
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

# Pooling. A task is a row of windows; sizes are the number of windows in a row, kh and kw.


def pooling_loop(fn: Callable[[Any, Any], Any], mean: bool) -> Loop:
    """Make the loop that reduces each window with a function of two numbers and, for a mean, divides by the size of the window."""
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


def avgpool_backward(out, grad, b, c, sizes, start, stop):
    """Divide the gradient of each window equally among its elements."""
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


def maxpool_backward(out, a, largest, grad, sizes, start, stop):
    """Give the gradient of each window to its largest elements, and 0 to the others."""
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


class AvgPool(Function):
    """Mean over non-overlapping windows."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, kernel: tuple[int, int]) -> Tensor:
        ctx.save_for_backward(a.shape, kernel)
        return run_forward(AVGPOOL, a, kernel)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        shape, kernel = ctx.saved_values
        return run_backward(AVGPOOL_BACKWARD, shape, kernel, grad_output)


class MaxPool(Function):
    """Maximum over non-overlapping windows. If several elements are the largest, each receives the whole gradient."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, kernel: tuple[int, int]) -> Tensor:
        a = a.contiguous()
        largest = run_forward(MAXPOOL, a, kernel)
        ctx.save_for_backward(a, largest, kernel)
        return largest

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        a, largest, kernel = ctx.saved_values
        return run_backward(MAXPOOL_BACKWARD, a.shape, kernel, a, largest, grad_output)


def run_forward(pool: Loop, a: Tensor, kernel: tuple[int, int]) -> Tensor:
    """Pool images of shape (B, C, H, W)."""
    (batch, channels, height, width), (kh, kw) = a.shape, kernel
    out = TensorData.empty((batch, channels, height // kh, width // kw), a.dtype)
    pool.run(out._storage, (flat(a),), (width // kw, kh, kw), batch * channels * (height // kh))
    return a._like(out)


def run_backward(backward: Loop, shape: tuple[int, ...], kernel: tuple[int, int], *operands: Tensor) -> Tensor:
    """Compute the gradient of the images; the last of the operands is the gradient of the windows."""
    batch, channels, rows, columns = operands[-1].shape
    out = TensorData.empty(shape, operands[-1].dtype)
    backward.run(out._storage, tuple([flat(x) for x in operands]), (columns, *kernel), batch * channels * rows)
    return operands[-1]._like(out)


AVGPOOL, MAXPOOL = pooling_loop(operators.add, True), pooling_loop(maximum, False)
AVGPOOL_BACKWARD, MAXPOOL_BACKWARD = loop(avgpool_backward), loop(maxpool_backward)


# Equivalents of the published functions on the fast backend


def fused_avgpool2d(input: Tensor, kernel: tuple[int, int]) -> Any:
    """`nn.functional.avgpool2d` in one pass."""
    return AvgPool.apply(input, check_windows(input, kernel)) if accepts(input) else NotImplemented


def fused_maxpool2d(input: Tensor, kernel: tuple[int, int]) -> Any:
    """`nn.functional.maxpool2d` in one pass."""
    return MaxPool.apply(input, check_windows(input, kernel)) if accepts(input) else NotImplemented


register_kernel("avgpool2d", "fast", fused_avgpool2d)
register_kernel("maxpool2d", "fast", fused_maxpool2d)
