"""Stage 6 - Views that the course does not need: in another shape, of a diagonal, of overlapping windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch.autograd.engine import RULES
from minitorch.core.tensor_base import Tensor
from minitorch.ops.indexing import ScatterAdd
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function


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


class AsStrided(Function):
    """The same memory with another layout, whose elements may occur several times."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Tensor:
        data = a._tensor.as_view(shape, strides, offset)
        if not ctx.no_grad:
            ctx.save_for_backward(a._tensor.shape, elements(a._tensor, data))
        return a._like(data)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        shape, numbers = ctx.saved_values
        return ScatterAdd.apply(grad_output.zeros((math.prod(shape),)), (numbers,), grad_output).reshape(*shape)


RULES[AsStrided] = lambda ctx, out, grad: AsStrided.backward(ctx, grad)


def diagonal(a: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """The elements on a diagonal of two dimensions, as the last dimension of a view."""
    data = a._tensor
    kept = [dim for dim in range(len(data.shape)) if dim not in (dim1, dim2)]
    count = max(0, min(data.shape[dim1] + min(offset, 0), data.shape[dim2] - max(offset, 0)))
    start = max(-offset, 0) * data.strides[dim1] + max(offset, 0) * data.strides[dim2] if count else 0
    strides = (*[data.strides[dim] for dim in kept], data.strides[dim1] + data.strides[dim2])
    return AsStrided.apply(a, (*[data.shape[dim] for dim in kept], count), strides, data.offset + start)


def unfold(a: Tensor, dim: int, size: int, step: int) -> Tensor:
    """Windows of a size along a dimension, each a step after the one before, as the last dimension of a view."""
    data = a._tensor
    shape, strides = list(data.shape), list(data.strides)
    shape[dim], strides[dim] = (shape[dim] - size) // step + 1, strides[dim] * step
    return AsStrided.apply(a, (*shape, size), (*strides, data.strides[dim]), data.offset)


def elements(base: TensorData, view: TensorData) -> np.ndarray:
    """The elements of a view, as their ordinals in its base."""
    found = positions(view)
    if base.is_contiguous():
        return found - base.offset
    own = positions(base).reshape(-1)
    order = np.argsort(own)
    return order[np.searchsorted(own[order], found)]


def positions(data: TensorData) -> np.ndarray:
    """The position in storage of every element."""
    found = np.array(data.offset)
    for size, stride in zip(data.shape, data.strides, strict=True):
        found = found[..., None] + np.arange(size) * stride
    return found
