"""Stage 7 - Elements chosen by indices, masks and order, with PyTorch's arguments, on tensors of the engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.core.dtypes import bool_, int8, int16, int32, int64, is_float, uint8
from minitorch.core.errors import ArgumentError, DimensionError, DtypeError, IndexTypeError
from minitorch.core.indexing import as_index, selected_elements
from minitorch.core.layout_functions import Select
from minitorch.core.recording import refuse
from minitorch.ops.indexing import UFUNCS, Put, ScatterAdd, ScatterReduce, full_index
from minitorch.ops.indexing import gather as gather
from minitorch.tensor import Tensor
from minitorch.tensor_data import IndexingError, TensorData
from minitorch.torch.promotion import cast, truths
from minitorch.torch.reductions import Extreme, scalar_dims, shared_among_equal


def index_of(index: Any) -> tuple[Any, ...]:
    """An index as PyTorch reads it: a tensor of uint8 is a mask, and a list of tensors, lists or slices stands for a tuple.

    Raises:
        IndexTypeError: If a tensor holds other numbers.
        ArgumentError: If a slice has a negative step.
    """
    if (
        isinstance(index, list)
        and len(index) < 32
        and any(part is None or isinstance(part, (Tensor, list, tuple, slice)) for part in index)
    ):
        index = tuple(index)
    parts = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, Tensor):
            if is_float(part.dtype) or (part.dims and part.dtype in (int8, int16)):
                raise IndexTypeError(f"an index expected a tensor of int64, int32 or bool, got {part.dtype.name}; convert it: x.long()")
            part = cast(part, bool_) if part.dtype is uint8 else part
        elif isinstance(part, slice) and part.step is not None and part.step < 0:
            raise ArgumentError(f"a slice expected a positive step, got {part.step}; use flip, which reverses a dimension")
        parts.append(part)
    return as_index(tuple(parts))


def integers(like: Tensor, values: np.ndarray) -> Tensor:
    """Integers, which NumPy found among the numbers of a tensor, as a tensor of int64 on its backend."""
    refuse("a search or an order, as by nonzero(), sort() or topk(),")
    values = np.asarray(values, np.int64, order="C")
    return like._like(TensorData(values.reshape(-1), values.shape))


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather`, after all other dimensions are broadcast; without dim of the flattened tensor.

    Raises:
        ValueError: If the tensor and the index have different numbers of dimensions.

    Example:
        >>> x = torch.tensor([[30, 10, 20], [2, 3, 1]])
        >>> torch.take_along_dim(x, torch.argsort(x, dim=1), dim=1)
        tensor([[10, 20, 30],
                [ 1,  2,  3]])
    """
    if dim is None:
        return gather(input.reshape(input.numel()), 0, indices.reshape(indices.numel()))
    dim = input._normalize_dim(dim)
    require_int64(indices, "take_along_dim")
    if input.dims != indices.dims:
        raise ValueError(f"take_along_dim expected an index of {input.dims} dimensions, got shape {indices.shape}")
    around = [[size for i, size in enumerate(x.shape) if i != dim] for x in (input, indices)]
    shape = np.broadcast_shapes(*map(tuple, around))
    input, indices = (x.expand(*shape[:dim], x.shape[dim], *shape[dim:]) for x in (input, indices))
    return gather(input, dim, indices)


def require_int64(index: Tensor, name: str) -> Tensor:
    """An index itself. Raises IndexTypeError if it does not hold int64, even where others take int32."""
    if index.dtype is not int64:
        raise IndexTypeError(f"{name} expected an index of int64, got {index.dtype.name}; convert it: index.long()")
    return index


def vector(index: Tensor, name: str) -> np.ndarray:
    """The numbers of an index of one dimension, or of none.

    Raises:
        DimensionError: If it has more.
        IndexTypeError: If they are not int64 or int32.
    """
    if index.dims > 1:
        raise DimensionError(f"{name} expected an index of one dimension, got shape {index.shape}")
    if index.dtype not in (int64, int32):
        raise IndexTypeError(f"{name} expected an index of int64 or int32, got {index.dtype.name}; convert it: index.long()")
    return index._tensor.array().reshape(-1)


def slices(input: Tensor, dim: int, index: Tensor, source: Tensor, name: str) -> np.ndarray:
    """The numbers of an index of slices along dim, as many as those of a source of the same other sizes.

    Raises:
        DimensionError: If the shapes do not match.
        DtypeError: If the dtypes differ.
    """
    numbers, dim = vector(index, name), input._normalize_dim(dim)
    if source.dtype is not input.dtype:
        raise DtypeError(f"{name} expected a source of {input.dtype.name}, got {source.dtype.name}; convert it: source.to(input.dtype)")
    expected = (*input.shape[:dim], numbers.size, *input.shape[dim + 1 :])
    if source.shape != expected:
        raise DimensionError(f"{name} expected a source of shape {expected}, got {source.shape}")
    return numbers


def part(src: Tensor, index: Tensor, dtype: np.dtype) -> Tensor:
    """The values for the elements of an index, the first ones along every dimension.

    Raises:
        ValueError: If there are fewer.
        TypeError: If they are of another dtype.
    """
    if src.dtype is not dtype:
        raise TypeError(f"scatter expected values of {dtype.name}, got {src.dtype.name}; convert them: src.to(input.dtype)")
    if src.dims != index.dims or any(own < size for own, size in zip(src.shape, index.shape, strict=True)):
        raise DimensionError(f"scatter expected values for an index of shape {index.shape}, got shape {src.shape}")
    return Select.apply(src, tuple(slice(size) for size in index.shape))


def scatter(input: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    """input with elements replaced: the converse of `gather`. Of several values for one element the last one stays.

    Example:
        >>> torch.scatter(torch.zeros(2, 3), 1, torch.tensor([[2], [0]]), 5.0)
        tensor([[0., 0., 5.],
                [5., 0., 0.]])
    """
    place = full_index(input, dim, index)
    if isinstance(src, Tensor):
        values = part(src, index, input.dtype)
    else:
        values = cast(input._ensure_tensor(src), input.dtype).expand(*index.shape)
    return Put.apply(input, place, values)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """input with values added to elements: the converse of `gather`. An element receives all values for it.

    Example:
        >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([0, 2, 2]), torch.tensor([1.0, 2.0, 3.0]))
        tensor([1., 0., 5.])
    """
    return ScatterAdd.apply(input, full_index(input, dim, index), part(src, index, input.dtype))


def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """input with elements reduced with the values for them: "sum", "prod", "mean", "amax" or "amin".

    Args:
        input: A tensor.
        dim: The dimension, as in `gather`.
        index: For each value the index of its element along dim.
        src: The values.
        reduce: The reduction.
        include_self: Whether the elements of input count as well.

    Raises:
        ValueError: If the reduction is unknown.

    Example:
        >>> torch.scatter_reduce(torch.zeros(2), 0, torch.tensor([0, 1, 1]), torch.tensor([1.0, 2.0, 3.0]), "amax")
        tensor([1., 3.])
    """
    if reduce not in UFUNCS:
        raise ValueError(f"scatter_reduce expected reduce to be one of {', '.join(UFUNCS)}, got {reduce!r}")
    return ScatterReduce.apply(input, full_index(input, dim, index), part(src, index, input.dtype), reduce, include_self)


def values_for(x: Tensor, place: tuple[Any, ...], values: Tensor, name: str) -> Tensor:
    """Values to write at an index, in the dtype of a tensor.

    Raises:
        DtypeError: If the index holds tensors or lists and the dtypes differ, unless a mask selects what a single element fills.
    """
    if values.dtype is x.dtype:
        return values
    arrays = [each for each in place if isinstance(each, np.ndarray) and each.ndim]
    if arrays and not (values.numel() == 1 and len(arrays) == 1 and arrays[0].dtype == bool):
        raise DtypeError(f"{name} expected values of {x.dtype.name}, got {values.dtype.name}; convert them: values.to(input.dtype)")
    return cast(values, x.dtype)


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """input with values, which broadcast, at an index.

    Args:
        input: A tensor.
        indices: A tensor of indices, or a mask, for each of the first dimensions.
        values: A tensor of the same dtype; of any other only a single element for one mask.
        accumulate: Whether the values are added; an element that occurs several times receives all of them.

    Raises:
        TypeError: If there are no indices, one is not a tensor, or the dtypes differ.
        ValueError: If the values have more dimensions than what the index selects.

    Example:
        >>> rows, columns = torch.tensor([0, 1]), torch.tensor([2, 0])
        >>> torch.index_put(torch.zeros(2, 3), (rows, columns), torch.tensor([5.0, 6.0]))
        tensor([[0., 0., 5.],
                [6., 0., 0.]])
    """
    if not isinstance(indices, (tuple, list)) or not indices or not all(isinstance(each, Tensor) for each in indices):
        raise TypeError(f"index_put expected a tuple of tensors, got {indices!r}")
    place = index_of(tuple(indices))
    values = values_for(input, place, values, "index_put")
    numbers = selected_elements(input.shape, place)
    if values.dims > numbers.ndim:
        raise ValueError(f"index_put expected values that broadcast to {numbers.shape}, the shape at the index, got {values.shape}")
    if not accumulate:
        return Put.apply(input, place, values)
    added = values.expand(*numbers.shape).reshape(numbers.size)
    return ScatterAdd.apply(input.reshape(input.numel()), (numbers.reshape(-1),), added).reshape(input.shape)


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices with these indices along dim.

    Example:
        >>> torch.index_select(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1, torch.tensor([2, 0]))
        tensor([[3, 1],
                [6, 4]])
    """
    numbers = vector(index, "index_select")
    if not input.dims:
        return input.clone() if scalar_dims(input, dim) and numbers.tolist() == [0] else index_select(input.view(1), dim, index)
    return Select.apply(input, (*(slice(None),) * input._normalize_dim(dim), numbers))


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """input with slices added to those with these indices along dim.

    Example:
        >>> torch.index_add(torch.zeros(3), 0, torch.tensor([2, 2]), torch.tensor([1.0, 4.0]))
        tensor([0., 0., 5.])
    """
    if scalar_dims(input, dim):
        return index_add(input.view(1), dim, index, source.reshape(1), alpha=alpha).squeeze(0)
    dim, numbers = input._normalize_dim(dim), slices(input, dim, index, source, "index_add")
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < input.shape[dim]) and source.numel():
        raise IndexingError(f"index_add expected indices from 0 to {input.shape[dim] - 1}, got {numbers.min()} to {numbers.max()}")
    numbers = numbers.reshape([-1 if i == dim else 1 for i in range(input.dims)])
    spread = integers(input, np.broadcast_to(numbers, source.shape))
    return scatter_add(input, dim, spread, source if alpha == 1 else source * alpha)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """input with one number in the slices with these indices along dim.

    Raises:
        ValueError: If the value is a tensor with dimensions.
    """
    if isinstance(value, Tensor) and value.dims:
        raise ValueError(f"index_fill expected a number, or a tensor without dimensions, got shape {value.shape}; use index_copy")
    if scalar_dims(input, dim):
        return index_fill(input.view(1), dim, index, value).squeeze(0)
    filled = cast(value if isinstance(value, Tensor) else input._ensure_tensor(value), input.dtype)
    return Put.apply(input, (*(slice(None),) * input._normalize_dim(dim), vector(require_int64(index, "index_fill"), "index_fill")), filled)


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """input with the slices with these indices along dim replaced.

    Example:
        >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 4.0]))
        tensor([4., 0., 1.])
    """
    if scalar_dims(input, dim):
        return index_copy(input.view(1), dim, index, source.reshape(1)).squeeze(0)
    require_int64(index, "index_copy")
    return Put.apply(input, (*(slice(None),) * input._normalize_dim(dim), slices(input, dim, index, source, "index_copy")), source)


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice with an index along dim, without it, as a view.

    Example:
        >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
    """
    return Select.apply(input, (*(slice(None),) * input._normalize_dim(dim), int(index)))


def argwhere(input: Tensor) -> Tensor:
    """The indices of elements other than 0, a row for each.

    Example:
        >>> torch.argwhere(torch.tensor([[0, 5], [7, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    return nonzero(input)


def isin(elements: float | Tensor, test_elements: float | Tensor, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is among others.

    Example:
        >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 4]))
        tensor([False,  True, False])
    """
    refuse("isin()")
    like: Any = elements if isinstance(elements, Tensor) else test_elements
    a, b = (x._tensor.array() if isinstance(x, Tensor) else x for x in (elements, test_elements))
    found = np.isin(a, b, invert=invert)
    return like._like(TensorData(found.reshape(-1), found.shape))


def searchsorted(
    sorted_sequence: Tensor,
    input: float | Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: None = None,
) -> Tensor:
    """The index in a sorted sequence before which each number keeps the order; of equal elements the first, with right after the last.

    Args:
        sorted_sequence: Ascending along the last dimension: shape (n,), or (..., n) with the dimensions of input before the last.
        input: Numbers.
        out_int32: Whether the indices are int32.
        right: See above.
        side: "left" or "right", the same in words.
        sorter: None.

    Raises:
        NotImplementedError: If a sorter is given.
        ValueError: If side is another word, or the shapes do not match.

    Example:
        >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
        tensor([1, 2])
        >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]), right=True)
        tensor([2, 2])
    """
    if sorter is not None:
        raise NotImplementedError("searchsorted supports sorter=None only; sort the sequence: sequence.gather(-1, sorter)")
    if side not in (None, "left", "right") or (side == "left" and right):
        raise ValueError(f'searchsorted expected side "left", or "right", which right=True means, got {side!r} and right={right}')
    place = side or ("right" if right else "left")
    rows = sorted_sequence._tensor.array()
    numbers = np.asarray(input._tensor.array() if isinstance(input, Tensor) else input)
    if rows.ndim > 1 and rows.shape[:-1] != numbers.shape[:-1]:
        raise ValueError(f"searchsorted expected equal shapes before the last dimension, got {rows.shape} and {numbers.shape}")
    if rows.ndim == 1:
        found = np.searchsorted(rows, numbers, place)
    else:
        found = np.empty(numbers.shape, np.int64)
        for row in np.ndindex(rows.shape[:-1]):
            found[row] = np.searchsorted(rows[row], numbers[row], place)
    found = np.asarray(found, np.int32 if out_int32 else np.int64)
    return sorted_sequence._like(TensorData(found.reshape(-1), found.shape))


def bucketize(input: float | Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the interval between ascending boundaries in which each number lies; see `searchsorted`.

    Example:
        >>> torch.bucketize(torch.tensor([0.5, 2.0, 9.0]), torch.tensor([1.0, 3.0, 5.0]))
        tensor([0, 1, 3])
    """
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is true, in one dimension.

    Raises:
        TypeError: If the mask is not a bool tensor.

    Example:
        >>> torch.masked_select(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[True, False], [False, True]]))
        tensor([1, 4])
    """
    mask = truths(mask, "masked_select")
    shape = np.broadcast_shapes(input.shape, mask.shape)
    x = input if input.shape == shape else input.expand(*shape)
    return Select.apply(x, (np.broadcast_to(mask._tensor.array(), shape),))


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of elements other than 0: a row for each, or a tensor for each dimension.

    Example:
        >>> torch.nonzero(torch.tensor([0, 3, 0, 5]))
        tensor([[1],
                [3]])
        >>> torch.nonzero(torch.tensor([0, 3, 0, 5]), as_tuple=True)
        (tensor([1, 3]),)
    """
    found = np.nonzero(np.atleast_1d(input._tensor.array()))
    if as_tuple:
        return tuple(integers(input, each) for each in found)
    rows = np.stack(found, 1)
    return integers(input, rows if input.dims else rows[:, :0])


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort along dim; equal elements keep their order.

    Example:
        >>> torch.argsort(torch.tensor([30, 10, 20]))
        tensor([1, 2, 0])
    """
    return integers(input, np.zeros((), np.int64)) if scalar_dims(input, dim) else integers(input, order(input, dim, descending))


def order(x: Tensor, dim: int, descending: bool) -> np.ndarray:
    """The indices that sort along dim; NaN counts as the largest number."""
    values, dim = x._tensor.array(), x._normalize_dim(dim)
    if not descending:
        return np.argsort(values, dim, kind="stable")
    turned = np.flip(np.argsort(np.flip(values, dim), dim, kind="stable"), dim)
    return values.shape[dim] - 1 - turned


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Extreme:
    """The elements in ascending or descending order along dim, and their indices.

    Example:
        >>> values, indices = torch.sort(torch.tensor([30, 10, 20]), descending=True)
        >>> values, indices
        (tensor([30, 20, 10]), tensor([0, 2, 1]))
    """
    if scalar_dims(input, dim):
        return Extreme(input.clone(), argsort(input))
    indices = argsort(input, dim, descending)
    return Extreme(gather(input, dim, indices), indices)


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Extreme:
    """The k largest or smallest elements along dim, in order, and their indices.

    Raises:
        ValueError: If there are fewer than k.

    Example:
        >>> values, indices = torch.topk(torch.tensor([1, 4, 2, 3]), 2)
        >>> values, indices
        (tensor([4, 3]), tensor([1, 3]))
    """
    if scalar_dims(input, dim):
        return Extreme(*(each.squeeze(0) if k else each for each in topk(input.view(1), k, dim, largest, sorted)))
    if not 0 <= k <= input.shape[input._normalize_dim(dim)]:
        raise ValueError(f"topk expected k from 0 to {input.shape[dim]}, the size of dimension {dim}, got {k}")
    found = order(input, dim, largest)
    indices = integers(input, np.take(found, np.arange(k), dim))
    return Extreme(gather(input, dim, indices), indices)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Extreme:
    """The k-th smallest element along dim, and its index.

    Raises:
        DimensionError: If there are fewer than k, or k is less than 1.

    Example:
        >>> values, indices = torch.kthvalue(torch.tensor([30, 10, 20]), 2)
        >>> values, indices
        (tensor(20), tensor(2))
    """
    if scalar_dims(input, dim):
        return Extreme(*(each.squeeze(0) for each in kthvalue(input.view(1), k, dim, True)))
    if not 1 <= k <= input.shape[input._normalize_dim(dim)]:
        raise DimensionError(f"kthvalue expected k from 1 to {input.shape[dim]}, the size of dimension {dim}, got {k}")
    return of_rank(input, np.array(k - 1), dim, keepdim)


def of_rank(input: Tensor, rank: np.ndarray, dim: int, keepdim: bool) -> Extreme:
    """The elements with a rank from 0 on in ascending order along dim, and their indices; NaN comes last."""
    ranks = rank.reshape(rank.shape or (1,) * input.dims)
    indices = integers(input, np.take_along_axis(order(input, dim, False), ranks, dim))
    values = gather(input, dim, indices)
    return Extreme(values, indices) if keepdim else Extreme(values.squeeze(dim), indices.squeeze(dim))


def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median, the lower one of two, or the first NaN if there is one; with dim the values and their indices.

    Elements that equal the median of all share its gradient.

    Example:
        >>> torch.median(torch.tensor([4, 1, 3, 2]))
        tensor(2)
    """
    if dim is None:
        return median_of_all(input, median)
    size = 1 if scalar_dims(input, dim) else input.shape[input._normalize_dim(dim)]
    if not input.dims or not size:
        return kthvalue(input, 1, dim, keepdim)
    x = input._tensor.array()
    numbers = (x == x).sum(dim, keepdims=True)  # the rank of the first NaN
    return of_rank(input, np.where(numbers < size, numbers, (size - 1) // 2), dim, keepdim)


def median_of_all(input: Tensor, along: Callable[..., Extreme]) -> Tensor:
    """The median of all elements, by a function that returns it along a dimension; NaN for none."""
    if not input.numel():
        return cast(input.zeros(()) + math.nan, input.dtype)
    return shared_among_equal(input, along(input.detach().reshape(input.numel()), 0).values)
