"""Stage 2 - Reductions beyond the course: extrema, products, statistics and cumulative sums.

Each Function stands with its forward and backward pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

import minitorch.operators as operators
from minitorch.autodiff import Context
from minitorch.core import math_operators
from minitorch.core.dtypes import accumulator_dtype, is_float
from minitorch.core.errors import DimensionError
from minitorch.core.half_precision import compute_in_float32
from minitorch.core.layout_functions import concatenate, narrow, unbind
from minitorch.core.math_functions import mask_select
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function, Sum


class MaxMin(Function):
    """The largest or smallest element along one dimension, which keeps size 1. The gradient flows to the first of equal elements."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int, largest: bool) -> Tensor:
        if not ctx.no_grad:
            ctx.save_for_backward(extreme(a, dim, largest)[1])
        return reduce_extreme(a, dim, largest)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (chosen,) = ctx.saved_values
        return mask_select(chosen, grad_output)


def reduce_extreme(a: Tensor, dim: int, largest: bool) -> Tensor:
    """The largest or smallest element along one dimension, which keeps size 1; NaN if any is NaN.

    Raises:
        DimensionError: If dim has size 0.
    """
    if a.shape[dim] == 0:
        raise DimensionError(f"max and min expected at least one element along dimension {dim}, got shape {a.shape}")
    info = np.iinfo(a.dtype) if a.dtype.kind in "iu" else None
    if largest:
        return a.f.reduce(math_operators.maximum, info.min if info else -math.inf if is_float(a.dtype) else 0.0)(a, dim)
    return a.f.reduce(math_operators.minimum, info.max if info else math.inf if is_float(a.dtype) else 1.0)(a, dim)


def extreme(a: Tensor, dim: int, largest: bool) -> tuple[Tensor, Tensor]:
    """Position of the largest or smallest element along one dimension, the first of equal elements; NaN takes precedence.

    Returns:
        The index along dim, which keeps size 1, as int64; and a mask of a's shape that is true only there.

    Raises:
        ValueError: If dim has size 0.
    """
    length, best = a.shape[dim], reduce_extreme(a, dim, largest)
    numbers = a._like(TensorData(np.arange(length), [length if i == dim else 1 for i in range(a.dims)]))
    hits = (a == best) + (a != a)
    first = a.f.reduce(math_operators.minimum, length)(
        mask_select(hits, numbers) + mask_select(hits == 0, numbers._like(TensorData(np.array([length]), (1,)))), dim
    )
    return first, first == numbers


def arg_extreme(a: Tensor, dim: int | None, keepdim: bool, largest: bool) -> Tensor:
    """Index of the largest or smallest element along dim, or in the flattened tensor, as int64; the first of equal elements.

    Raises:
        TypeError: If dim names several dimensions.
    """
    if isinstance(dim, Sequence):
        raise TypeError(f"argmax and argmin expected one dimension or None, got {dim!r}")
    return a.detach()._reduce(lambda x, d: extreme(x, d, largest)[0], dim, keepdim)


# Statistics


@compute_in_float32
def var(a: Tensor, dim: int | Sequence[int] | None, keepdim: bool, correction: float) -> Tensor:
    """Variance of the elements: squared deviations from the mean, summed and divided by n - correction."""
    n = a._count(dim)
    centered = a - a._reduce(Sum.apply, dim, keepdim=dim is not None) / n
    return (centered * centered)._reduce(Sum.apply, dim, keepdim) / max(0.0, n - correction)


@compute_in_float32
def std(a: Tensor, dim: int | Sequence[int] | None, keepdim: bool, correction: float) -> Tensor:
    """Standard deviation of the elements, the square root of `var`."""
    return var(a, dim, keepdim, correction).sqrt()


@compute_in_float32
def cumsum(a: Tensor, dim: int) -> Tensor:
    """Cumulative sum of the elements along dim."""
    return CumSum.apply(a, a._normalize_dim(dim))


# Along a dimension


class Prod(Function):
    """Product along one dimension, which keeps size 1."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int) -> Tensor:
        ctx.save_for_backward(a, dim)
        return a.f.mul_reduce(a, dim)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        a, dim = ctx.saved_values
        elements = unbind(a, dim)
        if not elements:
            return a.zeros()
        one = elements[0].zeros() + 1
        before = cumulative(operators.mul, [one, *elements[:-1]])
        after = cumulative(operators.mul, [one, *elements[:0:-1]])[::-1]
        others = concatenate([left * right for left, right in zip(before, after, strict=True)], dim)  # correct if an element is 0
        return grad_output * others


class CumSum(Function):
    """Cumulative sum along one dimension: element i is the sum of the elements 0 to i."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int) -> Tensor:
        ctx.save_for_backward(dim)
        return scan(a.to(accumulator_dtype(a.dtype)), dim)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (dim,) = ctx.saved_values
        return scan(grad_output, dim, backwards=True)


def scan(x: Tensor, dim: int, backwards: bool = False) -> Tensor:
    """The sum of each element and all before it along dim, or all after it, in a new storage.

    log₂ n passes: each adds to every element the one that lies 1, 2, 4, … before it (Hillis and Steele 1986, doi:10.1145/7902.7903).
    """
    n, distance, add = x.shape[dim], 1, x.f.add_zip
    x = concatenate([x], dim)
    while distance < n:
        first, last = (narrow(x, dim, start, n - distance) for start in (0, distance))
        kept = narrow(x, dim, n - distance if backwards else 0, distance)
        sums = add(first, last)
        x = concatenate([sums, kept] if backwards else [kept, sums], dim)
        distance *= 2
    return x


def cumulative(fn: Callable[[float, float], float], pieces: list[Tensor]) -> list[Tensor]:
    """The cumulative reduction of the pieces."""
    return list(accumulate(pieces, pieces[0].f.zip(fn))) if pieces else []
