"""Stage 2 - More functions that move elements about, beyond the course: indexing, expanding, joining, and changes of dtype and backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.dtypes import cast_array, compute_dtype, float32, is_float, is_half
from minitorch.core.indexing import basic_view, is_basic, selected_elements
from minitorch.core.math_functions import concatenate
from minitorch.tensor_data import IndexingError, TensorData, broadcast_strides, cached_broadcast
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor
    from minitorch.tensor_ops import TensorBackend


class Select(Function):
    """What an index picks: a view for a basic index, else a copy. The gradient goes back to where the elements came from."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, index: tuple[Any, ...]) -> Tensor:
        if is_basic(index):
            ctx.save_for_backward(a.shape, index)
            return a._like(basic_view(a._tensor, index))
        numbers = selected_elements(a.shape, index)
        ctx.save_for_backward(a.shape, numbers)  # not the index: a mask in it may be written into before backward
        values = a._tensor.array().reshape(-1)[numbers.reshape(-1)]
        return a._like(TensorData(values, numbers.shape))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        shape, picked = ctx.saved_values
        grad = grad_output.zeros(shape, compute_dtype(grad_output.dtype))
        if isinstance(picked, tuple):
            grad.f.id_map(grad_output, grad._like(basic_view(grad._tensor, picked)))
        else:  # an element that was picked twice gets both
            np.add.at(grad._tensor._storage, picked, grad_output._tensor.array())
        return grad


class Expand(Function):
    """Dimensions of size 1 repeated, and new ones in front: a view with stride 0, so that nothing is stored twice."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, shape: tuple[int, ...]) -> Tensor:
        if len(shape) < a.dims or cached_broadcast(a.shape, shape) != shape:
            raise IndexingError(
                f"a tensor of shape {a.shape} cannot be expanded to {shape}: only sizes of 1 can grow, and dimensions in front"
            )
        data = a._tensor
        return a._like(data.as_view(shape, broadcast_strides(data.shape, data.strides, shape), data.offset))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        return grad_output  # who asks for it sums it over what was repeated


class Cat(Function):
    """Tensors in a row along one dimension."""

    @staticmethod
    def forward(ctx: Context, dim: int, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(dim, [tensor.shape[dim] for tensor in tensors])
        return concatenate(list(tensors), dim)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, ...]:
        dim, lengths = ctx.saved_values
        return tuple(grad_output.split(lengths, dim))


class Cast(Function):
    """The same numbers as another dtype. Through whole numbers and truth values, which change in steps, no gradient flows."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dtype: np.dtype) -> Tensor:
        ctx.save_for_backward(dtype)
        if dtype.kind in "iu":
            _check_range(a, dtype)
        return a.f.id_map(a, a.zeros(dtype=dtype))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor | None:
        (dtype,) = ctx.saved_values
        return grad_output if is_float(dtype) else None  # it takes the dtype of what it flows into there


def _check_range(a: Tensor, dtype: np.dtype) -> None:
    """That an integer dtype can hold every number, its fraction cut off."""
    values, info = a._tensor.array(), np.iinfo(dtype)
    if is_half(a.dtype):
        values = cast_array(values, float32)
    if is_float(a.dtype):
        held = (np.trunc(values) >= info.min) & (values < float(info.max + 1))  # both powers of 2, which floats hold exactly; false of NaN
    else:
        held = (values >= info.min) & (values <= info.max)
    bad = values[~held]
    if bad.size:
        raise ValueError(f"{dtype.name} holds numbers from {info.min} to {info.max}, got {bad[0].item()}; clip or replace it first")


class Move(Function):
    """The same tensor on another backend."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, backend: TensorBackend) -> Tensor:
        ctx.save_for_backward(a.backend)
        return a._like(backend.ops.place(a._tensor), backend=backend)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (backend,) = ctx.saved_values
        return grad_output.to(backend)
