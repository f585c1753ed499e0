"""Stage 2 - Indexing: x[1:, None, ..., ::2], x[[0, 2]] and x[mask], as a layout or as a list of elements.

An index of integers, slices, None and ... is *basic*: its result is a view. Lists, masks and negative steps select elements that strides
cannot express: their result is a copy. Integers and slices beside lists and masks are applied first, as in PyTorch: x[0, :, [1, 2]] is
x[0][:, [1, 2]], where NumPy counts the integer among the lists and puts their dimension first.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from minitorch.core.dtypes import convert_array, to_array
from minitorch.core.errors import ArgumentError, IndexTypeError
from minitorch.core.recording import assign, constant
from minitorch.core.tensor_base import TensorBase
from minitorch.tensor_data import IndexingError, TensorData


def as_index(index: Any) -> tuple[Any, ...]:
    """An index as a tuple of Python ints, slices, None, ... and arrays.

    Raises:
        IndexTypeError: If it contains anything else.
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
                raise IndexTypeError(
                    f"an index expected integers, slices, None, ..., lists of integers or masks, got {type(part).__name__} {part!r}"
                ) from None
    return tuple(parts)


def _as_array(part: Any) -> np.ndarray:
    """A list, an array or a tensor of integers or bools as an array."""
    try:
        array = np.asarray(part)
    except ValueError:
        raise IndexTypeError(f"an index expected a list of integers or bools with equal lengths, got {part!r}") from None
    if array.size == 0 and isinstance(part, (list, tuple)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise IndexTypeError(f"an index expected integers or bools, got a list or tensor of {array.dtype.name}; convert it: x.to(int64)")
    return array


def is_element(index: tuple[Any, ...], dims: int) -> bool:
    """Whether an index selects a single element: an integer for every dimension."""
    return len(index) == dims and all(type(part) is int for part in index)


def is_basic(index: tuple[Any, ...]) -> bool:
    """Whether strides can express what an index selects, so that the result is a view."""
    return not any(isinstance(part, np.ndarray) or (isinstance(part, slice) and _step(part) < 0) for part in index)


def _step(part: slice) -> int:
    return 1 if part.step is None else operator.index(part.step)


def basic_view(data: TensorData, index: tuple[Any, ...]) -> TensorData:
    """The view that a basic index selects.

    Raises:
        IndexingError: If it has more integers and slices than there are dimensions, or an integer is out of range.
    """
    shape, strides, offset = [], [], data.offset
    dim = 0
    for part in _expand_ellipsis(index, data.shape):
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


def _expand_ellipsis(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The index with ... replaced by full slices, or full slices appended, so that it covers every dimension."""
    dims, taken = len(shape), sum(_width(part) for part in index)
    ellipses = [i for i, part in enumerate(index) if part is ...]
    if taken > dims or len(ellipses) > 1:
        raise IndexingError(f"expected at most {dims} indices for shape {shape} and at most one ..., got {len(index)}: {index}")
    position = ellipses[0] if ellipses else len(index)
    return (*index[:position], *[slice(None)] * (dims - taken), *index[position + 1 :])


def _width(part: Any) -> int:
    """Of how many dimensions a part of an index selects elements."""
    if isinstance(part, np.ndarray):
        return part.ndim if part.dtype.kind == "b" else 1
    return int(part is not None and part is not ...)


def selected_elements(shape: tuple[int, ...], index: tuple[Any, ...]) -> np.ndarray:
    """The elements that an index selects, as their ordinals in an array of the result's shape.

    Integers, slices and None are applied first; lists and masks select along the dimensions that these leave.

    Raises:
        IndexingError: If an integer is out of range, there are too many, or the shapes of lists or masks do not match.
    """
    basic: list[Any] = []
    advanced: list[Any] = []
    dim = 0
    for part in _expand_ellipsis(index, shape):
        own = shape[dim : dim + _width(part)]
        dim += len(own)
        if not isinstance(part, np.ndarray):
            basic.append(part)
            advanced += [] if type(part) is int else [slice(None)]
        elif part.ndim:
            if part.dtype.kind == "b" and part.shape != own:
                raise IndexingError(f"a mask expected shape {own}, that of its dimensions of shape {shape}, got {part.shape}")
            basic += [slice(None)] * len(own)
            advanced.append(part)
        else:  # True and False select 1 or 0 times along a new dimension
            basic.append(None)
            advanced.append(np.zeros(int(part), np.int64))
    try:
        return np.arange(math.prod(shape)).reshape(shape)[tuple(basic)][tuple(advanced)]
    except IndexError as error:
        raise IndexingError(f"this index does not fit shape {shape}: {error}") from None


def write(data: TensorData, index: tuple[Any, ...], values: Any) -> None:
    """Write numbers (a tensor, an array, nested lists or one number), which broadcast, to the elements at an index.

    Raises:
        IndexingError: If the index is invalid, or the values do not broadcast to its shape.
        TypeError: If the values are not numbers, or the dtype cannot represent numbers of their kind.
        ValueError: If elements of the tensor share positions in storage, or the dtype cannot represent a number exactly.
    """
    given = isinstance(values, TensorBase) and not values.backend.cuda
    array = values._tensor.array() if given else to_array(values, "assignment")
    whole = array.dtype.kind in "iu" and data.dtype.kind in "iu"  # a number that does not fit is found below
    if not whole and not np.can_cast(array.dtype, data.dtype, "same_kind"):
        raise TypeError(
            f"a tensor of {data.dtype.name} cannot represent {array.dtype.name}; convert the value, x.to({data.dtype.name}), or the tensor"
        )
    if array.dtype != data.dtype and not given:
        array = convert_array(array, data.dtype, "assignment")
    if data.size and any(length > 1 and stride == 0 for length, stride in zip(data.shape, data.strides, strict=True)):
        raise ArgumentError(
            f"cannot write into an expanded tensor, shape {data.shape} with strides {data.strides}: call contiguous() first"
        )
    inputs = (values._tensor,) if given else ()
    if is_basic(index):
        target = basic_view(data, index).array()
        assign(put, data, (target, None, _broadcast(array, target.shape)), inputs)
    else:
        numbers = selected_elements(data.shape, index)
        assign(put, data, (data.array(), constant(numbers), _broadcast(array, numbers.shape)), inputs)
    data.bump_version()


def put(target: np.ndarray, numbers: np.ndarray | None, values: np.ndarray) -> None:
    """Write values into an array, converted to its dtype.

    Args:
        target: The array.
        numbers: The elements, counted in row-major order, in the shape of the values; None for all.
        values: Numbers.

    Raises:
        ValueError: If an integer dtype cannot represent a number exactly.
    """
    target = target if target.ndim else target.reshape(1)
    index = ... if numbers is None else np.unravel_index(numbers, target.shape)
    target[index] = values if values.dtype == target.dtype else convert_array(values, target.dtype, "assignment")


def _broadcast(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The values broadcast to the shape of an index; extra leading dimensions of size 1 are dropped."""
    extra = max(0, values.ndim - len(shape))
    try:
        return np.broadcast_to(values.reshape(values.shape[extra:]) if set(values.shape[:extra]) == {1} else values, shape)
    except ValueError:
        raise IndexingError(f"assignment expected values that broadcast to {shape}, the shape at the index, got {values.shape}") from None
