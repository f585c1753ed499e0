"""Stage 2 - Layout functions beyond the course: indexing, expanding, reshaping, joining, and changes of dtype and backend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.backend import resolve_backend
from minitorch.core.context import grad_mode
from minitorch.core.dtypes import as_dtype, cast_array, compute_dtype, float32, is_float, is_half, promote_types
from minitorch.core.indexing import as_index, basic_view, is_basic, is_element, selected_elements, write
from minitorch.core.recording import call, constant, refuse
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import IndexingError, TensorData, as_shape, broadcast_strides, cached_broadcast
from minitorch.tensor_functions import Function, Permute, View

if TYPE_CHECKING:
    from minitorch.tensor_ops import TensorBackend


class Select(Function):
    """The elements at an index: a view for a basic index, else a copy. The gradient flows back to the selected elements."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, index: tuple[Any, ...]) -> Tensor:
        if is_basic(index):
            ctx.save_for_backward(a.shape, index)
            return a._like(basic_view(a._tensor, index))
        numbers = selected_elements(a.shape, index)
        ctx.save_for_backward(a.shape, numbers)  # not the index: a mask in it may be modified before the backward pass
        values = np.empty(numbers.size, a._tensor.dtype)
        call(take, values, a._tensor.array(), constant(numbers.reshape(-1)))
        return a._like(TensorData(values, numbers.shape))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        shape, selected = ctx.saved_values
        grad = grad_output.zeros(shape, compute_dtype(grad_output.dtype))
        if isinstance(selected, tuple):
            grad.f.id_map(grad_output, grad._like(basic_view(grad._tensor, selected)))
        else:  # an element that was selected twice receives both gradients
            call(np.add.at, grad._tensor._storage, constant(selected), grad_output._tensor.array())
        return grad


def take(values: np.ndarray, array: np.ndarray, numbers: np.ndarray) -> None:
    """Write the elements with these numbers, counted in row-major order, into an array."""
    values[:] = array.reshape(-1)[numbers]


class Expand(Function):
    """Dimensions of size 1 repeated, and new ones added in front: a view with stride 0."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, shape: tuple[int, ...]) -> Tensor:
        data = a._tensor
        if len(shape) < len(data.shape) or cached_broadcast(data.shape, shape) != shape:
            raise IndexingError(
                f"a tensor of shape {a.shape} cannot be expanded to {shape}: only sizes of 1 can be expanded, and dimensions added in front"
            )
        return a._like(data.as_view(shape, broadcast_strides(data.shape, data.strides, shape), data.offset))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        return grad_output  # unbroadcast sums it over the repeated dimensions


class Cat(Function):
    """Tensors concatenated along one dimension."""

    @staticmethod
    def forward(ctx: Context, dim: int, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(dim, [tensor.shape[dim] for tensor in tensors])
        return concatenate(list(tensors), dim)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, ...]:
        dim, lengths = ctx.saved_values
        return tuple(grad_output.split(lengths, dim))


class Cast(Function):
    """The same numbers in another dtype. No gradient flows through integers and bools."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dtype: np.dtype) -> Tensor:
        ctx.save_for_backward(dtype)
        if dtype.kind in "iu":
            values = a._tensor.array()
            _check_range(values, dtype) if a.backend.cuda else call(_check_range, values, dtype)  # a copy, of a GPU's numbers
        return a.f.id_map(a, a.zeros(dtype=dtype))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor | None:
        (dtype,) = ctx.saved_values
        return grad_output if is_float(dtype) else None  # unbroadcast casts it to the dtype of the input


def _check_range(values: np.ndarray, dtype: np.dtype) -> None:
    """Check that an integer dtype can represent every number, its fraction truncated."""
    info = np.iinfo(dtype)
    if is_half(values.dtype):
        values = cast_array(values, float32)
    if is_float(values.dtype):
        valid = (np.trunc(values) >= info.min) & (values < float(info.max + 1))  # exact: both limits are powers of 2; false for NaN
    else:
        valid = (values >= info.min) & (values <= info.max)
    bad = values[~valid]
    if bad.size:
        raise ValueError(f"{dtype.name} represents numbers from {info.min} to {info.max}, got {bad[0].item()}; clip or replace it first")


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


# Pieces of a tensor


def unbind(a: Tensor, dim: int) -> list[Tensor]:
    """The tensor split along one dimension into views of size 1."""
    return [narrow(a, dim, i, 1) for i in range(a.shape[dim])]


def narrow(a: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A part of the tensor along one dimension: a view, without history."""
    data = a._tensor
    shape = (*data.shape[:dim], length, *data.shape[dim + 1 :])
    return a._like(data.as_view(shape, data.strides, data.offset + start * data.strides[dim]))


def concatenate(pieces: list[Tensor], dim: int) -> Tensor:
    """Tensors concatenated along one dimension in a new storage; at least one."""
    first = pieces[0]
    length = sum(piece.shape[dim] for piece in pieces)
    out = first.zeros((*first.shape[:dim], length, *first.shape[dim + 1 :]), dtype=promote_types(*{piece.dtype for piece in pieces}))
    data, start = out._tensor, 0
    for piece in pieces:
        part = out._like(data.as_view(piece.shape, data.strides, data.offset + start * data.strides[dim]))
        if piece.numel():
            piece.f.id_map(piece, part)
        start += piece.shape[dim]
    return out


# Methods of Tensor


def transpose(a: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions swapped: a view."""
    order = list(range(a.dims))
    dim0, dim1 = a._normalize_dim(dim0), a._normalize_dim(dim1)
    order[dim0], order[dim1] = dim1, dim0
    return Permute.apply(a, tuple(order))


def t(a: Tensor) -> Tensor:
    """The transpose of a tensor of at most two dimensions: a view.

    Raises:
        ValueError: If it has more than two dimensions.
    """
    if a.dims > 2:
        raise ValueError(f"t expected at most 2 dimensions, got shape {a.shape}; use transpose or permute")
    return a.permute(*reversed(range(a.dims)))


def flip(a: Tensor, *dims: Any) -> Tensor:
    """The elements in reverse order along these dimensions, or along all: a copy, because strides are never negative."""
    flipped = a._normalize_dims(dims[0] if len(dims) == 1 else dims) if dims else range(a.dims)
    return Select.apply(a, tuple(slice(None, None, -1 if d in flipped else 1) for d in range(a.dims))) if flipped else a.clone()


def flatten(a: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from start_dim to end_dim merged into one.

    Raises:
        ValueError: If start_dim comes after end_dim.
    """
    if not a.dims:
        return a.reshape(1)
    start, end = a._normalize_dim(start_dim), a._normalize_dim(end_dim)
    if start > end:
        raise ValueError(f"flatten expected start_dim before end_dim, got {start_dim} and {end_dim} for shape {a.shape}")
    return a.reshape(*a.shape[:start], math.prod(a.shape[start : end + 1]), *a.shape[end + 1 :])


def squeeze(a: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Without its dimensions of size 1, or without those among dim that have size 1: a view."""
    shape = a._tensor.shape
    dims = range(len(shape)) if dim is None else a._normalize_dims(dim)
    removed = [size == 1 and d in dims for d, size in enumerate(shape)]
    if a.is_contiguous():  # then the gradient is a view, too
        return View.apply(a, tuple([size for size, gone in zip(shape, removed, strict=True) if not gone]))
    return Select.apply(a, tuple([0 if gone else slice(None) for gone in removed]))


def unsqueeze(a: Tensor, dim: int) -> Tensor:
    """With a new dimension of size 1 at position dim: a view.

    Raises:
        IndexingError: If dim is out of range.
    """
    if not -a.dims - 1 <= dim <= a.dims:
        raise IndexingError(f"unsqueeze expected dim from {-a.dims - 1} to {a.dims} for shape {a.shape}, got {dim}")
    shape, dim = a._tensor.shape, dim % (a.dims + 1)
    if a.is_contiguous():
        return View.apply(a, (*shape[:dim], 1, *shape[dim:]))
    return Select.apply(a, (*[slice(None)] * dim, None, ...))


def expand(a: Tensor, *shape: Any) -> Tensor:
    """Dimensions of size 1 repeated, and new ones added in front, without a copy: a view. A size of -1 leaves a dimension as it is."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list, Sequence)) else shape
    if -1 in sizes:
        own = (-1,) * (len(sizes) - a.dims) + a.shape
        sizes = [own[i] if size == -1 else size for i, size in enumerate(sizes)]
    return Expand.apply(a, as_shape(sizes, "expand"))


def split(a: Tensor, size: int | Sequence[int], dim: int = 0) -> list[Tensor]:
    """Pieces along dim, of one size (the last may be smaller) or of several given sizes: views.

    Raises:
        ValueError: If the size is less than 1, or the sizes do not sum to that of dim.
    """
    dim = a._normalize_dim(dim)
    length = a.shape[dim]
    if not isinstance(size, Sequence):
        if size < 1:
            raise ValueError(f"split expected a size of at least 1, got {size}")
        size = [min(size, length - start) for start in range(0, max(length, 1), size)]
    if sum(size) != length or min(size, default=0) < 0:
        raise ValueError(f"split expected sizes that sum to {length}, dimension {dim} of shape {a.shape}, got {list(size)}")
    ends = list(accumulate(size))
    before = (slice(None),) * dim
    return [Select.apply(a, (*before, slice(end - n, end))) for n, end in zip(size, ends, strict=True)]


def to(a: Tensor, *targets: Any) -> Tensor:
    """A tensor in other dtypes or on other devices, each target applied in turn; None changes nothing."""
    out = a
    for target in targets:
        if (backend := resolve_backend(target)) is not None:
            out = out if backend.ops is out.backend.ops else Move.apply(out, backend)
        elif target is not None and as_dtype(target) != out.dtype:
            out = Cast.apply(out, as_dtype(target))
    return out


def get_item(a: Tensor, index: Any) -> Any:
    """The elements at an index; an integer for every dimension gives a Python number, which takes no gradient."""
    index = as_index(index)
    if is_element(index, a.dims):
        refuse("a number that Python reads from a tensor, as by x[0, 1],")
        return basic_view(a._tensor, index).array().item()
    return Select.apply(a, index)


def set_item(a: Tensor, index: Any, value: Any) -> None:
    """Write into the storage, and so into every view that shares it.

    Raises:
        RuntimeError: If the tensor or the value records gradients, which would be lost.
        TypeError: If the dtype cannot represent the value.
    """
    if grad_mode.enabled and (a.history is not None or getattr(value, "history", None) is not None):
        which = "this tensor" if a.history is not None else "the value"
        raise RuntimeError(f"assignment would lose the gradients that {which} records; use where or cat, or write inside no_grad()")
    write(a._tensor, as_index(index), value)
