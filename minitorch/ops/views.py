"""Stage 7 - Views that the course does not need: in another shape, of a diagonal, of overlapping windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.autograd.engine import RULES
from minitorch.core import creation
from minitorch.core.layout_functions import Select
from minitorch.core.recording import call
from minitorch.core.tensor_base import Tensor, TensorBase
from minitorch.ops.indexing import ScatterAdd
from minitorch.tensor_data import TensorData, strides_from_shape
from minitorch.tensor_functions import Function


class Join(Function):
    """Tensors of one shape and dtype, concatenated along a dimension or stacked along a new one, in one call of NumPy."""

    @staticmethod
    def forward(ctx: Any, stacks: bool, dim: int, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(stacks, dim, len(tensors))
        first = tensors[0]._tensor
        sizes = (len(tensors), *first.shape[dim:]) if stacks else (len(tensors) * first.shape[dim], *first.shape[dim + 1 :])
        out = TensorData.empty((*first.shape[:dim], *sizes), first.dtype)
        call(join, out.array(), stacks, dim, *[x._tensor.array() for x in tensors])
        return tensors[0]._like(out)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, ...]:
        stacks, dim, count = ctx.saved_values
        if not stacks:
            return tuple(grad_output.split([grad_output.shape[dim] // count] * count, dim))  # sizes may be 0
        return tuple(Select.apply(grad_output, (*(slice(None),) * dim, i)) for i in range(count))


RULES[Join] = lambda ctx, out, grad: Join._backward(ctx, grad)


def join(out: np.ndarray, stacks: bool, dim: int, *arrays: np.ndarray) -> None:
    """Write arrays, concatenated or stacked, into another one."""
    (np.stack if stacks else np.concatenate)(arrays, dim, out=out)


def joined(tensors: Sequence[Tensor], dim: int, stacks: bool) -> Tensor:
    """`creation.stack` or `creation.cat`, which check their arguments, and take tensors of different sizes."""
    found = {(x._tensor.shape, x._tensor.dtype, x.backend) if isinstance(x, TensorBase) else None for x in tensors}
    if len(found) == 1 and (one := found.pop()) is not None:
        dims = len(one[0]) + stacks
        if not one[2].cuda and -dims <= dim < dims:
            return Join.apply(stacks, dim % dims, *tensors)
    return (creation.stack if stacks else creation.cat)(tensors, dim)


class StridedView(Function):
    """The same memory in another shape, if strides can express it.

    Raises:
        RuntimeError: If they cannot.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, shape: tuple[int, ...]) -> Tensor:
        ctx.save_for_backward(a.shape)
        data = a._tensor
        array = data.array().view()
        try:
            array.shape = shape
        except AttributeError:
            raise RuntimeError(
                f"view expected a shape that fits the strides {data.strides} of shape {a.shape}, got {shape}; use reshape, which copies"
            ) from None
        strides = tuple(stride // array.itemsize for stride in array.strides)
        return a._like(data.as_view(shape, strides, data.offset))

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (shape,) = ctx.saved_values
        return grad_output.reshape(*shape)


Layout = tuple[tuple[int, ...], tuple[int, ...], int]
"""The shape, strides and offset of a tensor."""


class AsStrided(Function):
    """The same memory with another layout, whose elements may occur several times.

    The layout is made of that of the tensor, so that a contiguous one tells which elements the view has: by their place in memory, those of
    an expanded tensor could not be told apart.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, relayout: Callable[..., Layout]) -> Tensor:
        data = a._tensor
        if not ctx.no_grad:
            ctx.save_for_backward(data.shape, positions(*relayout(data.shape, strides_from_shape(data.shape), 0)))
        return a._like(data.as_view(*relayout(data.shape, data.strides, data.offset)))

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        shape, numbers = ctx.saved_values
        return ScatterAdd.apply(grad_output.zeros((math.prod(shape),)), (numbers,), grad_output).reshape(*shape)


RULES[AsStrided] = lambda ctx, out, grad: AsStrided.backward(ctx, grad)


def diagonal(a: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """The elements on a diagonal of two dimensions, as the last dimension of a view."""

    def relayout(shape: tuple[int, ...], strides: tuple[int, ...], start: int) -> Layout:
        kept = [dim for dim in range(len(shape)) if dim not in (dim1, dim2)]
        count = max(0, min(shape[dim1] + min(offset, 0), shape[dim2] - max(offset, 0)))
        start += max(-offset, 0) * strides[dim1] + max(offset, 0) * strides[dim2] if count else 0
        return (*[shape[dim] for dim in kept], count), (*[strides[dim] for dim in kept], strides[dim1] + strides[dim2]), start

    return AsStrided.apply(a, relayout)


def unfold(a: Tensor, dim: int, size: int, step: int) -> Tensor:
    """Windows of a size along a dimension, each a step after the one before, as the last dimension of a view."""

    def relayout(shape: tuple[int, ...], strides: tuple[int, ...], start: int) -> Layout:
        sizes, steps = list(shape), list(strides)
        sizes[dim], steps[dim] = (shape[dim] - size) // step + 1, strides[dim] * step
        return (*sizes, size), (*steps, strides[dim]), start

    return AsStrided.apply(a, relayout)


def elements(base: TensorData, view: TensorData) -> np.ndarray:
    """The elements of a view, as their ordinals in its base."""
    found = positions(view.shape, view.strides, view.offset)
    if base.is_contiguous():
        return found - base.offset
    own = positions(base.shape, base.strides, base.offset).reshape(-1)
    order = np.argsort(own)
    return order[np.searchsorted(own[order], found)]


def positions(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> np.ndarray:
    """The position in storage of every element of a layout."""
    found = np.array(offset)
    for size, stride in zip(shape, strides, strict=True):
        found = found[..., None] + np.arange(size) * stride
    return found
