"""Stage 2 - Indexing: what x[1:, None, ..., ::2], x[[0, 2]] and x[mask] mean in shape, strides and offset, or as a list of elements.

An index of integers, slices, None and ... is *basic*: its result is a view. Lists, masks and negative steps pick elements that no
strides reach: their result is a copy.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from minitorch.core.dtypes import convert_array, to_array
from minitorch.core.tensor_base import TensorBase
from minitorch.tensor_data import IndexingError, TensorData


def as_index(index: Any) -> tuple[Any, ...]:
    """The index as a tuple of Python's ints, slices, None, ... and arrays.

    Raises:
        TypeError: If it holds anything else.
    """
    parts = []
    for part in index if isinstance(index, tuple) else (index,):
        if part is None or part is ... or isinstance(part, slice):
            parts.append(part)
        elif isinstance(part, (TensorBase, list, tuple, range, np.ndarray, bool, np.bool_)):
            array = _as_array(part)
            parts.append(int(array) if array.ndim == 0 and array.dtype.kind in "iu" else array)
        else:
            try:
                parts.append(operator.index(part))
            except TypeError:
                raise TypeError(
                    f"an index expected integers, slices, None, ..., lists of integers or masks, got {type(part).__name__} {part!r}"
                ) from None
    return tuple(parts)


def _as_array(part: Any) -> np.ndarray:
    """A list, an array or a tensor of integers or of truth values."""
    try:
        array = np.asarray(part)
    except ValueError:
        raise TypeError(f"an index expected a list of integers or of truth values with equal lengths, got {part!r}") from None
    if array.size == 0 and isinstance(part, (list, tuple)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise TypeError(f"an index expected integers or truth values, got a list or tensor of {array.dtype.name}; convert it: x.to(int64)")
    return array


def is_element(index: tuple[Any, ...], dims: int) -> bool:
    """Whether the index names one element: an integer for every dimension."""
    return len(index) == dims and all(type(part) is int for part in index)


def is_basic(index: tuple[Any, ...]) -> bool:
    """Whether strides can reach what the index picks, so that the result is a view."""
    return not any(isinstance(part, np.ndarray) or (isinstance(part, slice) and _step(part) < 0) for part in index)


def _step(part: slice) -> int:
    return 1 if part.step is None else operator.index(part.step)


def basic_view(data: TensorData, index: tuple[Any, ...]) -> TensorData:
    """What a basic index picks, over the same storage.

    Raises:
        IndexingError: If it has more integers and slices than there are dimensions, or an integer is out of range.
    """
    shape, strides, offset = [], [], data.offset
    dim = 0
    for part in _without_ellipsis(index, data):
        if part is None:
            shape.append(1)
            strides.append(0)
            continue
        length, stride = data.shape[dim], data.strides[dim]
        if isinstance(part, slice):
            picked = range(*part.indices(length))
            offset += picked.start * stride if picked else 0
            shape.append(len(picked))
            strides.append(stride * picked.step)
        else:
            if not -length <= part < length:
                raise IndexingError(
                    f"index {part} is out of range for dimension {dim} of shape {data.shape}: "
                    + (f"it must be {-length} to {length - 1}" if length else "it has no elements")
                )
            offset += (part % length) * stride
        dim += 1
    return data.as_view(tuple(shape), tuple(strides), offset)


def _without_ellipsis(index: tuple[Any, ...], data: TensorData) -> tuple[Any, ...]:
    """The index with whole slices where ... stands, or at its end, so that it speaks of every dimension."""
    taken = sum(part is not None and part is not ... for part in index)
    places = [i for i, part in enumerate(index) if part is ...]
    if taken > data.dims or len(places) > 1:
        raise IndexingError(f"expected at most {data.dims} indices for shape {data.shape} and at most one ..., got {len(index)}: {index}")
    place = places[0] if places else len(index)
    return (*index[:place], *[slice(None)] * (data.dims - taken), *index[place + 1 :])


def selected_elements(shape: tuple[int, ...], index: tuple[Any, ...]) -> np.ndarray:
    """The elements that any index picks, each by its number in the tensor, in an array of the result's shape. NumPy's rules.

    Raises:
        IndexingError: If an integer is out of range, there are too many, or lists or masks do not fit.
    """
    try:
        return np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)[index]
    except IndexError as error:
        raise IndexingError(f"this index does not fit shape {shape}: {error}") from None


def write(data: TensorData, index: tuple[Any, ...], values: Any) -> None:
    """Write numbers (a tensor, an array, nested lists or one number), which broadcast, to where an index points.

    Raises:
        IndexingError: If the index does not fit, or the values do not broadcast to what it picks.
        TypeError: If the values are no numbers, or the dtype cannot hold numbers of their kind.
        ValueError: If the tensor is an expanded one, whose elements share places in storage, or the dtype cannot hold a number as it is.
    """
    array = to_array(values, "assignment")
    whole = array.dtype.kind in "iu" and data.dtype.kind in "iu"  # a number that does not fit is found below
    if not whole and not np.can_cast(array.dtype, data.dtype, "same_kind"):
        raise TypeError(
            f"a tensor of {data.dtype.name} cannot hold {array.dtype.name}; convert the value, x.to({data.dtype.name}), or the tensor"
        )
    if array.dtype != data.dtype:
        array = convert_array(array, data.dtype, "assignment")
    if data.size and any(length > 1 and stride == 0 for length, stride in zip(data.shape, data.strides, strict=True)):
        raise ValueError(f"cannot write into an expanded tensor, shape {data.shape} with strides {data.strides}: call contiguous() first")
    if is_basic(index):
        target = basic_view(data, index).array()
        target[...] = _broadcast(array, target.shape)
    else:
        numbers = selected_elements(data.shape, index)
        data.array()[np.unravel_index(numbers, data.shape)] = _broadcast(array, numbers.shape)
    data.written()


def _broadcast(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The values repeated to the shape that an index picks; dimensions of size 1 in front that it lacks are dropped."""
    extra = max(0, values.ndim - len(shape))
    try:
        return np.broadcast_to(values.reshape(values.shape[extra:]) if set(values.shape[:extra]) == {1} else values, shape)
    except ValueError:
        raise IndexingError(f"assignment expected values that broadcast to {shape}, which the index picks, got {values.shape}") from None
