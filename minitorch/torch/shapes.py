"""Stage 7 - Shapes, pieces and joins with PyTorch's arguments, on tensors of the engine."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import int32, int64
from minitorch.core.errors import DimensionError, DtypeError
from minitorch.core.layout_functions import Select
from minitorch.core.math_functions import MaskedSelect
from minitorch.core.recording import constant
from minitorch.ops import views
from minitorch.ops.indexing import Put
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import View
from minitorch.torch.promotion import cast, result_type
from minitorch.torch.views import several


def sizes(values: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one, or as one sequence, as Python ints."""
    if len(values) == 1 and not isinstance(values[0], (int, np.integer, Tensor)):
        values = tuple(values[0])
    return tuple(operator.index(value) for value in values)


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape; one size may be -1.

    Example:
        >>> torch.reshape(torch.arange(6), (2, -1))
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    return Tensor.reshape(input, *sizes(shape))


def view(input: Tensor, *shape: Any) -> Tensor:
    """The same elements and memory in another shape.

    Raises:
        TypeError: If a dtype is given.
        RuntimeError: If the layout does not allow it.

    Example:
        >>> x = torch.arange(4)
        >>> x.view(2, 2)[0, 1] = 9
        >>> x
        tensor([0, 9, 2, 3])
    """
    if len(shape) == 1 and isinstance(shape[0], np.dtype):
        raise TypeError("view expected sizes, got a dtype; the bits of numbers cannot be read as another dtype here")
    return (View if input.is_contiguous() else views.StridedView).apply(input, input._resolve_shape(shape))


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions start_dim to end_dim as one.

    Example:
        >>> torch.flatten(torch.zeros(2, 3, 4), start_dim=1).shape
        torch.Size([2, 12])
    """
    return Tensor.flatten(input if input.dims else input.view(1), start_dim, end_dim)


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension as several.

    Raises:
        ValueError: If their sizes do not multiply to its own.

    Example:
        >>> torch.unflatten(torch.zeros(2, 12), 1, (3, -1)).shape
        torch.Size([2, 3, 4])
    """
    dim = input._normalize_dim(dim)
    own = list(input.zeros((input.shape[dim],))._resolve_shape(tuple(sizes))) if len(sizes) else []
    if math.prod(own) != input.shape[dim] or not own:
        raise ValueError(f"unflatten expected sizes that multiply to {input.shape[dim]}, the size of dimension {dim}, got {tuple(sizes)}")
    return input.reshape(*input.shape[:dim], *own, *input.shape[dim + 1 :])


def permute(input: Tensor, *dims: Any) -> Tensor:
    """Dimensions in another order, as a view.

    Example:
        >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """
    return Tensor.permute(input, *[input._normalize_dim(dim) for dim in sizes(dims)])


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other places; the others keep their order.

    Example:
        >>> torch.movedim(torch.zeros(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
    """
    before, after = input._normalize_dims(source), input._normalize_dims(destination)
    order = [dim for dim in range(input.dims) if dim not in before]
    for place, dim in sorted(zip(after, before, strict=True)):
        order.insert(place, dim)
    return input.permute(*order)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged, as a view.

    Example:
        >>> torch.transpose(torch.zeros(2, 3, 4), 0, 2).shape
        torch.Size([4, 3, 2])
    """
    if not input.dims:
        for dim in (dim0, dim1):
            input.view(1)._normalize_dim(dim)
        return input.view()
    return Tensor.transpose(input, dim0, dim1)


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; fewer dimensions stay.

    Raises:
        ValueError: If it has more than two dimensions.
    """
    if input.dims > 2:
        raise ValueError(f"t expected at most two dimensions, got shape {input.shape}; use transpose(dim0, dim1) or mT")
    return input.transpose(0, 1) if input.dims == 2 else input


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Dimensions of size 1 removed: all, or those named; others stay.

    Example:
        >>> torch.squeeze(torch.zeros(1, 3, 1)).shape
        torch.Size([3])
        >>> torch.squeeze(torch.zeros(1, 3, 1), 0).shape
        torch.Size([3, 1])
    """
    if dim is None:
        return Tensor.squeeze(input)
    dims = (input if input.dims else input.view(1))._normalize_dims(dim)
    if not input.dims:
        return input.view()
    shape = [size for i, size in enumerate(input.shape) if i not in dims or size != 1]
    return Tensor.squeeze(input, [i for i in dims if input.shape[i] == 1]) if len(shape) < input.dims else input


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A dimension of size 1 inserted, as a view.

    Example:
        >>> torch.unsqueeze(torch.tensor([1, 2]), 1)
        tensor([[1],
                [2]])
    """
    return Tensor.unsqueeze(input, int(dim))


def expand(input: Tensor, *shape: Any) -> Tensor:
    """Dimensions of size 1 repeated, as a view; -1 keeps a size.

    Example:
        >>> torch.tensor([[1], [2]]).expand(-1, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    return Tensor.expand(input, *sizes(shape))


def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """The tensor repeated along each dimension; further dimensions are added in front.

    Example:
        >>> torch.tensor([1, 2]).repeat(2, 3)
        tensor([[1, 2, 1, 2, 1, 2],
                [1, 2, 1, 2, 1, 2]])
    """
    times = sizes(repeats)
    own = (1,) * (len(times) - input.dims) + input.shape
    spread = input.reshape(*[size for pair in zip([1] * len(own), own, strict=True) for size in pair])
    spread = spread.expand(*[size for pair in zip(times, own, strict=True) for size in pair])
    out = spread.reshape(*[time * size for time, size in zip(times, own, strict=True)])
    return out.clone() if out._tensor._version is input._tensor._version else out


def tile(input: Tensor, *dims: Any) -> Tensor:
    """`repeat`, with ones in front of too few numbers.

    Example:
        >>> torch.tile(torch.tensor([[1], [2]]), (3,))
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    times = sizes(dims)
    return repeat(input, *(1,) * (input.dims - len(times)), *times)


def repeat_interleave(input: Tensor, repeats: int | Tensor, dim: int | None = None) -> Tensor:
    """Each element, or each slice along dim, repeated.

    Raises:
        DtypeError: If repeats is a tensor of another dtype than int32 and int64.

    Example:
        >>> torch.repeat_interleave(torch.tensor([1, 2]), 3)
        tensor([1, 1, 1, 2, 2, 2])
        >>> torch.repeat_interleave(torch.tensor([1, 2, 3]), torch.tensor([0, 1, 2]))
        tensor([2, 3, 3])
    """
    if isinstance(repeats, Tensor) and repeats.dtype not in (int32, int64):
        raise DtypeError(f"repeat_interleave expected repeats of int32 or int64, got {repeats.dtype.name}; convert them: repeats.long()")
    x, dim = (input.reshape(input.numel()), 0) if dim is None else (input, input._normalize_dim(dim))
    times = repeats._tensor.array() if isinstance(repeats, Tensor) else repeats
    return Select.apply(x, (*(slice(None),) * dim, np.repeat(np.arange(x.shape[dim]), times)))


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors joined along a dimension; empty ones of one dimension are left out.

    Raises:
        ValueError: If there are none.

    Example:
        >>> torch.cat([torch.zeros(2, 3), torch.zeros(2, 4)], dim=1).shape
        torch.Size([2, 7])
    """
    if not tensors:
        raise ValueError("cat expected at least one tensor, got none")
    dtype = result_type(*tensors)
    kept = [x for x in tensors if x._tensor.shape != (0,)] or list(tensors[:1])
    return views.joined([cast(x, dtype) for x in kept], dim, False)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension.

    Example:
        >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])], dim=1)
        tensor([[1, 3],
                [2, 4]])
    """
    dtype = result_type(*tensors)
    return views.joined([cast(x, dtype) for x in tensors], int(dim), True)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the first dimension, those of one dimension as rows.

    Example:
        >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    return cat([x if x.dims > 1 else x.reshape(1, x.numel()) for x in tensors])


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the second dimension, those of one dimension along the first.

    Example:
        >>> torch.hstack([torch.tensor([1, 2]), torch.tensor([3])])
        tensor([1, 2, 3])
    """
    parts = [x if x.dims else x.view(1) for x in tensors]
    return cat(parts, 0 if parts[0].dims == 1 else 1)


def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a size along dim, the last one possibly smaller; or of given sizes.

    Example:
        >>> torch.split(torch.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> torch.split(torch.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    return several(Tensor.split(tensor, split_size_or_sections, dim))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most so many pieces of equal size along dim, the last one possibly smaller.

    Raises:
        ValueError: If chunks is less than 1.

    Example:
        >>> torch.chunk(torch.arange(6), 4)
        (tensor([0, 1]), tensor([2, 3]), tensor([4, 5]))
    """
    length = input.shape[input._normalize_dim(dim)]
    if chunks < 1:
        raise ValueError(f"chunk expected at least one piece, got {chunks}")
    return split(input, math.ceil(length / chunks) if length else [0] * chunks, dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along dim, without it.

    Example:
        >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]), 1)
        (tensor([1, 3]), tensor([2, 4]))
    """
    dim = input._normalize_dim(dim)
    before = (slice(None),) * dim
    return several(Select.apply(input, (*before, i)) for i in range(input.shape[dim]))


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A part along dim, as a view; a negative start counts from the end.

    Raises:
        DimensionError: If the part is not within the dimension.

    Example:
        >>> torch.narrow(torch.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """
    dim = input._normalize_dim(dim)
    size = input.shape[dim]
    first = int(start) + size if start < 0 else int(start)
    if not (0 <= first <= size and 0 <= length <= size - first):
        raise DimensionError(f"narrow expected a part of the {size} elements along dimension {dim}, got start {start} and length {length}")
    start = first
    return Select.apply(input, (*(slice(None),) * dim, slice(start, start + length)))


def flip(input: Tensor, *numbers: Any, dims: Any = None) -> Tensor:
    """Elements in reverse order along dimensions, as a copy.

    Example:
        >>> torch.flip(torch.tensor([[1, 2], [3, 4]]), [1])
        tensor([[2, 1],
                [4, 3]])
    """
    reversed_dims = sizes(numbers if dims is None else (dims,))
    if not input.dims:
        input.view(1)._normalize_dims(reversed_dims)
    return Tensor.flip(input, *reversed_dims) if reversed_dims and input.dims else input.clone()


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements shifted along dimensions; those that leave at the end enter at the beginning.

    Example:
        >>> torch.roll(torch.arange(4), 1)
        tensor([3, 0, 1, 2])
    """
    if dims is None or not sizes((dims,)):
        return roll(input.reshape(input.numel()), shifts, 0).reshape(*input.shape)
    for shift, dim in zip(sizes((shifts,)), sizes((dims,)), strict=True):
        dim = input._normalize_dim(dim)
        numbers = np.roll(np.arange(input.shape[dim]), shift)
        input = Select.apply(input, (*(slice(None),) * dim, numbers))
    return input


def meshgrid(*tensors: Any, indexing: str | None = "ij") -> tuple[Tensor, ...]:
    """The coordinates of a grid, one tensor for each direction.

    Raises:
        ValueError: If indexing is neither "ij" nor "xy", a tensor has several dimensions, or the dtypes differ.

    Example:
        >>> x, y = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")
        >>> x
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    if indexing not in (None, "ij", "xy"):
        raise ValueError(f'meshgrid expected indexing "ij" or "xy", got {indexing!r}')
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    if not given or any(x.dims > 1 or x.dtype is not given[0].dtype for x in given):
        raise ValueError(f"meshgrid expected tensors of one dimension and one dtype, got shapes {[x.shape for x in given]}")
    if indexing == "xy" and len(given) > 1:
        given[:2] = given[1::-1]
    shape = [x.numel() for x in given]
    out = [x.view(*[-1 if i == place else 1 for i in range(len(given))]).expand(*shape) for place, x in enumerate(given)]
    if indexing == "xy" and len(out) > 1:
        out[:2] = out[1::-1]
    return tuple(out)


def triangle(input: Tensor, diagonal: int, lower: bool) -> Tensor:
    """The elements on one side of a diagonal, 0 elsewhere."""
    mask = (np.tri(*input.shape[-2:], diagonal if lower else diagonal - 1, dtype=bool)) == lower  # type: ignore
    return MaskedSelect.apply(input, input._like(TensorData(constant(np.broadcast_to(mask, input.shape).flatten()), input.shape)))


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The elements on and below a diagonal, 0 elsewhere.

    Example:
        >>> torch.tril(torch.ones(2, 3))
        tensor([[1., 0., 0.],
                [1., 1., 0.]])
    """
    return triangle(input, diagonal, True)


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The elements on and above a diagonal, 0 elsewhere.

    Example:
        >>> torch.triu(torch.ones(2, 3), diagonal=1)
        tensor([[0., 1., 1.],
                [0., 0., 1.]])
    """
    return triangle(input, diagonal, False)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements on a diagonal of two dimensions, as the last dimension of a view.

    Example:
        >>> torch.diagonal(torch.tensor([[1, 2, 3], [4, 5, 6]]), offset=1)
        tensor([2, 6])
    """
    return views.diagonal(input, offset, *input._normalize_dims((dim1, dim2)))


_diagonal = diagonal  # a parameter of diag has its name


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with these numbers on a diagonal; of a matrix, its diagonal.

    Raises:
        ValueError: If it has neither one dimension nor two.

    Example:
        >>> torch.diag(torch.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    if input.dims not in (1, 2):
        raise ValueError(f"diag expected one dimension or two, got shape {input.shape}; use diagonal or diag_embed")
    return _diagonal(input, diagonal).clone() if input.dims == 2 else on_diagonal(input, diagonal)


def on_diagonal(input: Tensor, offset: int) -> Tensor:
    """Square matrices, in the last two dimensions, with the elements of the last dimension on a diagonal.

    Raises:
        DimensionError: If there are no dimensions.
    """
    if not input.dims:
        raise DimensionError("a diagonal expected at least one dimension, got shape ()")
    size = input.shape[-1] + abs(offset)
    numbers = np.arange(input.shape[-1])
    return Put.apply(input.zeros((*input.shape[:-1], size, size)), (..., numbers + max(-offset, 0), numbers + max(offset, 0)), input)
