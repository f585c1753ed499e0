"""Stage 7 - Further functions that divide, join and rearrange tensors, with PyTorch's arguments, on tensors of the engine."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.layout_functions import Select
from minitorch.ops import views
from minitorch.tensor import Tensor
from minitorch.torch import shapes
from minitorch.torch.promotion import cast, result_type


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Tensors expanded to one shape, as views.

    Example:
        >>> a, b = torch.broadcast_tensors(torch.zeros(3, 1), torch.zeros(4))
        >>> a.shape, b.shape
        (torch.Size([3, 4]), torch.Size([3, 4]))
    """
    shape = np.broadcast_shapes(*(x.shape for x in tensors))
    return tuple(x.expand(*shape) for x in tensors)


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """The tensor rotated k times by 90 degrees, from the first of two dimensions towards the second.

    Raises:
        ValueError: If there are not two different dimensions.

    Example:
        >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    dims = shapes.sizes((dims,))
    if len(dims) != 2 or input._normalize_dim(dims[0]) == input._normalize_dim(dims[1]):
        raise ValueError(f"rot90 expected two different dimensions, got {tuple(dims)}")
    first, second = dims
    turned = input if k % 4 in (0, 3) else shapes.flip(input, second) if k % 4 == 1 else shapes.flip(input, first, second)
    if k % 2 == 0:
        return turned.clone() if turned is input else turned
    turned = shapes.transpose(turned, first, second)
    return turned if k % 4 == 1 else shapes.flip(turned, second)


def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order, as a copy."""
    return shapes.flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order, as a copy.

    Raises:
        ValueError: If there are no dimensions.
    """
    if not input.dims:
        raise ValueError("flipud expected at least one dimension, got shape ()")
    return shapes.flip(input, 0)


def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension."""
    return input.reshape(input.numel())


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of a size along a dimension, each a step after the one before, as a view: the last dimension of the result goes through one.

    Raises:
        ValueError: If a window is larger than the dimension, or the step less than 1.

    Example:
        >>> torch.arange(5).unfold(0, 3, 2)
        tensor([[0, 1, 2],
                [2, 3, 4]])
    """
    x = input if input.dims else input.view(1)
    dim, size, step = x._normalize_dim(dimension), int(size), int(step)
    if not 0 <= size <= x.shape[dim] or step < 1:
        raise ValueError(f"unfold expected a size from 0 to {x.shape[dim]} and a step of at least 1, got {size} and {step}")
    out = views.unfold(x, dim, size, step)
    return out if input.dims else out.squeeze(0)


# Pieces


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces along dim: a number of them, the first ones possibly larger by 1; or those that end before given indices, and the rest.

    Example:
        >>> torch.tensor_split(torch.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        >>> torch.tensor_split(torch.arange(5), (1, 3))
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    dim = input._normalize_dim(dim)
    given = indices_or_sections._tensor.array().tolist() if isinstance(indices_or_sections, Tensor) else indices_or_sections
    if isinstance(given, int):
        if given < 1:
            raise ValueError(f"tensor_split expected at least one piece, got {given}")
        quotient, rest = divmod(input.shape[dim], given)
        given = np.cumsum([quotient + (i < rest) for i in range(given - 1)]).tolist()
    bounds = [None, *given, None]
    before = (slice(None),) * dim
    return tuple(Select.apply(input, (*before, slice(start, end))) for start, end in itertools.pairwise(bounds))


def equal_pieces(input: Tensor, indices_or_sections: Any, dim: int, name: str, least: int) -> tuple[Tensor, ...]:
    """`tensor_split` into pieces of one size, or at indices.

    Raises:
        ValueError: If the pieces would differ in size, or there are too few dimensions.
    """
    if input.dims < least:
        raise ValueError(f"{name} expected at least {least} dimensions, got shape {input.shape}")
    if isinstance(indices_or_sections, int) and (indices_or_sections < 1 or input.shape[dim] % indices_or_sections):
        raise ValueError(f"{name} expected a number of pieces that divides {input.shape[dim]}, got {indices_or_sections}; use tensor_split")
    return tensor_split(input, indices_or_sections, dim)


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along the second dimension, of one dimension along the first: a number of equal ones, or at indices."""
    return equal_pieces(input, indices_or_sections, 1 if input.dims > 1 else 0, "hsplit", 1)


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along the first dimension: a number of equal ones, or at indices."""
    return equal_pieces(input, indices_or_sections, 0, "vsplit", 2)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces along the third dimension: a number of equal ones, or at indices."""
    return equal_pieces(input, indices_or_sections, 2, "dsplit", 3)


# Joins


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the third dimension; those of fewer get it.

    Example:
        >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[[1, 3],
                 [2, 4]]])
    """
    parts = [x.reshape(1, x.numel()) if x.dims < 2 else x for x in tensors]
    return shapes.cat([x.unsqueeze(2) if x.dims == 2 else x for x in parts], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the second dimension, those of fewer than two as columns.

    Example:
        >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 3],
                [2, 4]])
    """
    return shapes.cat([x.reshape(x.numel(), 1) if x.dims < 2 else x for x in tensors], 1)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each of several vectors, one a row; of one vector itself.

    Raises:
        ValueError: If one has not one dimension.

    Example:
        >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
        tensor([[1, 3],
                [1, 4],
                [2, 3],
                [2, 4]])
    """
    if not tensors or any(x.dims != 1 for x in tensors):
        raise ValueError(f"cartesian_prod expected tensors of one dimension, got shapes {[x.shape for x in tensors]}")
    if len(tensors) == 1:
        return tensors[0]
    return shapes.stack(shapes.meshgrid(*tensors), -1).reshape(-1, len(tensors))


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector in their order, one a row; with replacement an element may be chosen again.

    Raises:
        ValueError: If it has not one dimension, or r is negative.

    Example:
        >>> torch.combinations(torch.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    if input.dims != 1 or r < 0:
        raise ValueError(f"combinations expected one dimension and r from 0 on, got shape {input.shape} and {r}")
    if r == 0:
        return input.zeros((0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    numbers = np.array(list(choose(range(input.numel()), r)), np.int64).reshape(-1, r)
    return Select.apply(input, (numbers,))


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with several matrices along its diagonal, and 0 elsewhere; a vector counts as a row.

    Raises:
        ValueError: If one has more than two dimensions.

    Example:
        >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor([[3], [4]]))
        tensor([[1, 2, 0],
                [0, 0, 3],
                [0, 0, 4]])
    """
    if any(x.dims > 2 for x in tensors):
        raise ValueError(f"block_diag expected at most two dimensions, got shapes {[x.shape for x in tensors]}")
    dtype = result_type(*tensors)
    blocks = [cast(x.reshape(1, x.numel()) if x.dims < 2 else x, dtype) for x in tensors]
    width, rows, start = sum(x.shape[1] for x in blocks), [], 0
    for x in blocks:
        parts = [x.zeros((x.shape[0], start)), x, x.zeros((x.shape[0], width - start - x.shape[1]))]
        rows.append(shapes.cat([part for part in parts if part.shape[1]] or [x], 1))
        start += x.shape[1]
    return shapes.cat(rows, 0)


# Diagonals and triangles


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements on a diagonal.

    Example:
        >>> torch.diagflat(torch.tensor([1, 2]), offset=1)
        tensor([[0, 1, 0],
                [0, 0, 2],
                [0, 0, 0]])
    """
    return shapes.diag(input.reshape(input.numel()), offset)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices, in two new dimensions, with the elements of the last dimension on a diagonal.

    Example:
        >>> torch.diag_embed(torch.zeros(5, 3)).shape
        torch.Size([5, 3, 3])
    """
    return shapes.movedim(shapes.on_diagonal(input, offset), (-2, -1), (dim1, dim2))
