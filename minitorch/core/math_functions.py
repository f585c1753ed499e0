"""Stage 2 - More differentiable functions, beyond the course: what a calculator has, selections, comparisons, products and running sums.

Each with the functions on numbers that it is made of, its forward and its backward.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

import minitorch.operators as operators
from minitorch.autodiff import Context
from minitorch.core.dtypes import accumulator_dtype, comparison_dtype, is_float, promote_to_float, promote_to_number, promote_types
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


# Element by element


class Sin(Function):
    """Sine, in radians."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(operators.sin, promote_to_float)(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output * a.cos()


class Cos(Function):
    """Cosine, in radians."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(operators.cos, promote_to_float)(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return -grad_output * a.sin()


class Tanh(Function):
    """Hyperbolic tangent."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        y = a.f.map(operators.tanh, promote_to_float)(a)
        ctx.save_for_backward(y)  # d tanh = 1 - y²
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return grad_output * (1.0 - y * y)


class Sqrt(Function):
    """Square root; its derivative at 0 is infinite."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        y = a.f.map(operators.sqrt, promote_to_float)(a)
        ctx.save_for_backward(y)  # d sqrt = 1 / 2y
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        return grad_output / (2.0 * y)


class Abs(Function):
    """|a|; its derivative at 0 is taken as 0."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(absolute)(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output.f.zip(abs_back)(a, grad_output)


def absolute(x: float) -> float:
    """|x|, a whole number if x is one."""
    return x if x >= 0 else -x


def abs_back(x: float, d: float) -> float:
    """d · d/dx |x|."""
    return d if x > 0 else -d if x < 0 else 0.0 * d


class Pow(Function):
    """a to the power b, element by element. By b it has none where a < 0, nor at 0 to the power 0: there NaN flows to b."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        whole = not (is_float(a.dtype) or is_float(b.dtype))
        if whole and (b < 0).any().item():
            raise ValueError(f"a whole number has no whole power below 0, got {a.dtype.name} ** {b.dtype.name}; make one of them float64")
        y = a.f.zip(whole_power if whole else operators.power, promote_to_number)(a, b)
        ctx.save_for_backward(a, b, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, b, y = ctx.saved_values
        by_a, by_b = None, None
        if ctx.needs_input_grad[0]:
            by_a = mask_select(b != 0, grad_output * b * a ** (b - 1.0))
        if ctx.needs_input_grad[1]:
            by_b = grad_output * y.f.zip(log_base)(a, b) * y
        return by_a, by_b


def whole_power(x: float, y: float) -> float:
    """x to the power y, of Python's integers: exact where a float has too few digits.

    Raises:
        OverflowError: If no integer dtype can hold it.
    """
    if abs(x) > 1 and y > 63:  # without this Python would work out all its digits
        raise OverflowError(f"{x} ** {y} has more than 63 bits")
    return x**y


def log_base(a: float, b: float) -> float:
    """ln a, what a to the power b grows by with b; 0 for a = 0, where the power stays 0 for every b > 0."""
    return math.log(a) if a > 0 else 0.0 if a == 0 and b > 0 else math.nan


class Comparison(Function):
    """A comparison: flat wherever it has a derivative. forward saves the shapes of its inputs."""

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, ...]:
        return tuple(grad_output.zeros(shape) for shape in ctx.saved_values)


class LE(Comparison):
    """Whether a <= b, as bool."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.shape, b.shape)
        return a.f.zip(le, comparison_dtype)(a, b)


class NE(Comparison):
    """Whether a != b, as bool; NaN differs from everything."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.shape, b.shape)
        return a.f.zip(ne, comparison_dtype)(a, b)


def le(x: float, y: float) -> float:
    """1.0 if x <= y, else 0.0."""
    return 1.0 if x <= y else 0.0


def ne(x: float, y: float) -> float:
    """1.0 if x != y, else 0.0."""
    return 1.0 if x != y else 0.0


# Selections


class Where(Function):
    """a where the condition holds, b elsewhere; the gradient goes where the element came from."""

    @staticmethod
    def forward(ctx: Context, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(condition)
        return mask_select(condition != 0, a) + mask_select(condition == 0, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[None, Tensor, Tensor]:
        (condition,) = ctx.saved_values
        return None, mask_select(condition != 0, grad_output), mask_select(condition == 0, grad_output)


class Clip(Function):
    """a, but no less than low and no more than high; the gradient flows where a lies between them, both included."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, low: Tensor, high: Tensor) -> Tensor:
        ctx.save_for_backward((low <= a) * (a <= high))
        return a.f.zip(minimum)(a.f.zip(maximum)(a, low), high)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None, None]:
        (inside,) = ctx.saved_values
        return mask_select(inside, grad_output), None, None


def mask_select(condition: Tensor, a: Tensor) -> Tensor:
    """a where the condition holds, 0 elsewhere, be a infinite or NaN there."""
    return a.f.zip(select_if, _second)(condition, a)


def select_if(condition: float, x: float) -> float:
    """x if the condition is true, else 0."""
    return x if condition else 0 * condition


def _second(first: Any, second: Any) -> Any:
    """The dtype of what is picked."""
    return second


def maximum(x: float, y: float) -> float:
    """The larger of two numbers; NaN if one is NaN."""
    return x if x >= y or x != x else y


def minimum(x: float, y: float) -> float:
    """The smaller of two numbers; NaN if one is NaN."""
    return x if x <= y or x != x else y


class MaxMin(Function):
    """The largest or smallest element along one dimension, which keeps size 1. The gradient flows to the first of several."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int, largest: bool) -> Tensor:
        ctx.save_for_backward(a, dim, largest)
        return reduce_extreme(a, dim, largest)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        a, dim, largest = ctx.saved_values
        return mask_select(extreme(a, dim, largest)[1], grad_output)


def reduce_extreme(a: Tensor, dim: int, largest: bool) -> Tensor:
    """The largest or smallest element along one dimension, which keeps size 1; NaN if there is one.

    Raises:
        ValueError: If dim has size 0.
    """
    if a.shape[dim] == 0:
        raise ValueError(f"max and min expected at least one element along dimension {dim}, got shape {a.shape}")
    info = np.iinfo(a.dtype) if a.dtype.kind in "iu" else None
    if largest:
        return a.f.reduce(maximum, info.min if info else -math.inf if is_float(a.dtype) else 0.0)(a, dim)
    return a.f.reduce(minimum, info.max if info else math.inf if is_float(a.dtype) else 1.0)(a, dim)


def extreme(a: Tensor, dim: int, largest: bool) -> tuple[Tensor, Tensor]:
    """Where along one dimension the largest or smallest element stands, the first of several; NaN wins over numbers.

    Returns:
        The element's number along dim, which keeps size 1, as int64; and a mask of a's shape that is true there alone.

    Raises:
        ValueError: If dim has size 0.
    """
    length, best = a.shape[dim], reduce_extreme(a, dim, largest)
    numbers = a._like(TensorData(np.arange(length), [length if i == dim else 1 for i in range(a.dims)]))
    hits = (a == best) + (a != a)
    first = a.f.reduce(minimum, length)(
        mask_select(hits, numbers) + mask_select(hits == 0, numbers._like(TensorData(np.array([length]), (1,)))), dim
    )
    return first, first == numbers


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
        behind = cumulative(operators.mul, [one, *elements[:0:-1]])[::-1]
        others = concatenate([left * right for left, right in zip(before, behind, strict=True)], dim)  # right where an element is 0, too
        return grad_output * others


class CumSum(Function):
    """Running sum along one dimension: element i is the sum of the elements 0 to i."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int) -> Tensor:
        ctx.save_for_backward(dim)
        if not a.shape[dim]:
            return a.zeros(dtype=accumulator_dtype(a.dtype))
        elements = unbind(a, dim)
        elements[0] = elements[0].to(accumulator_dtype(a.dtype))
        return concatenate(cumulative(operators.add, elements), dim)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (dim,) = ctx.saved_values
        sums = cumulative(operators.add, unbind(grad_output, dim)[::-1])
        return concatenate(sums[::-1], dim) if sums else grad_output


def unbind(a: Tensor, dim: int) -> list[Tensor]:
    """The tensor cut along one dimension into pieces of size 1, which are views."""
    data = a._tensor
    shape = (*data.shape[:dim], 1, *data.shape[dim + 1 :])
    return [a._like(data.as_view(shape, data.strides, data.offset + i * data.strides[dim])) for i in range(data.shape[dim])]


def cumulative(fn: Callable[[float, float], float], pieces: list[Tensor]) -> list[Tensor]:
    """What a fold of the pieces has come to after each of them."""
    return list(accumulate(pieces, pieces[0].f.zip(fn))) if pieces else []


def concatenate(pieces: list[Tensor], dim: int) -> Tensor:
    """Tensors in a row along one dimension, in a new storage; at least one."""
    first = pieces[0]
    length = sum(piece.shape[dim] for piece in pieces)
    out = first.zeros((*first.shape[:dim], length, *first.shape[dim + 1 :]), dtype=promote_types(*{piece.dtype for piece in pieces}))
    data, start = out._tensor, 0
    for piece in pieces:
        part = out._like(data.as_view(piece.shape, data.strides, data.offset + start * data.strides[dim]))
        if piece.size:
            piece.f.id_map(piece, part)
        start += piece.shape[dim]
    return out
