"""Stage 4 - What pooling, the maximum and softmax stand on in the fast backend: one loop forward, one backward, and nothing in between.

Composed of tensor operations, a pool copies its input twice and softmax writes four tensors of its size. Here every number is read while
it lies in the cache: a row of windows is folded downwards, where rows are vectors, and then across.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import prange

import minitorch.operators as operators
from minitorch.autodiff import Context
from minitorch.core.kernel import register_kernel
from minitorch.core.windows import check_windows
from minitorch.fast_ops import FastOps
from minitorch.kernels.jit import code_key, compiler_is_off, jitable, launch, parallel, serial, threads
from minitorch.operators import maximum
from minitorch.tensor_data import Storage, TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

PARALLEL = 1 << 18
"""Elements below which waking the other threads costs more than they save, if little is done with each."""


def accepts(a: Tensor) -> bool:
    """Whether the kernel can compute on a tensor: float64 or float32, not empty, on the compiled backend."""
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


MEANS, MAXIMA = pooled_by(operators.add, True), pooled_by(maximum, False)
SPREAD_MEAN, SPREAD_LARGEST = loop(spread_mean), loop(spread_largest)


# The published functions on the compiled backend


def fused_avgpool2d(input: Tensor, kernel: tuple[int, int]) -> Any:
    """`nn.functional.avgpool2d` in one pass."""
    return MeanPool.apply(input, check_windows(input, kernel)) if accepts(input) else NotImplemented


def fused_maxpool2d(input: Tensor, kernel: tuple[int, int]) -> Any:
    """`nn.functional.maxpool2d` in one pass."""
    return MaxPool.apply(input, check_windows(input, kernel)) if accepts(input) else NotImplemented


register_kernel("avgpool2d", "fast", fused_avgpool2d)
register_kernel("maxpool2d", "fast", fused_maxpool2d)
