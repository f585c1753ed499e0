"""Stage 2 - TensorData: how an array of any shape lies in a flat storage.

The element at index (i, j, …) stands at position offset + i · stride_0 + j · stride_1 + … . That is all there is to a tensor: other shapes,
strides and offsets over the same storage are other views of the same numbers, and none of them copies anything.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from functools import lru_cache
from itertools import count, product, zip_longest
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, printable

MAX_DIMS = 32
"""More dimensions than any tensor has."""

LARGE = 4096
"""Elements from which on a storage begins where vector instructions like it."""

Storage = np.ndarray
Index = Sequence[int]
OutIndex = MutableSequence[int]
Shape = Sequence[int]
Strides = Sequence[int]
UserIndex = Sequence[int]
UserShape = Sequence[int]
UserStrides = Sequence[int]


version_counter = count(1)
"""Numbers the writes into all storages and what functions save, in the order in which they happen."""


class IndexingError(RuntimeError, IndexError):
    """An index, a shape or an order of dimensions that does not fit."""


def index_to_position(index: Index, strides: Strides) -> int:
    """The position in storage of an index, counted from where the tensor starts.

    Args:
        index: One number for every dimension; more are not looked at.
        strides: How far a step in each dimension leads.
    """
    position = 0
    for dim in range(len(strides)):
        position += index[dim] * strides[dim]
    return position


def to_index(ordinal: int, shape: Shape, out_index: OutIndex) -> None:
    """Write the index of the ordinal-th element into out_index, the last dimension running fastest.

    Every ordinal from 0 to size - 1 gives another index, so that a loop over ordinals meets every element once.

    Args:
        ordinal: From 0 to size - 1.
        shape: Of the tensor.
        out_index: Where the index is written; as long as shape, or longer.
    """
    for dim in range(len(shape) - 1, -1, -1):
        ordinal, out_index[dim] = divmod(ordinal, shape[dim])


def broadcast_index(big_index: Index, big_shape: Shape, shape: Shape, out_index: OutIndex) -> None:
    """Write into out_index where the element at big_index is found in a smaller tensor that is broadcast to big_shape.

    Dimensions are matched from the right: those that the smaller tensor lacks are dropped, and where it has size 1 the index is 0.

    Args:
        big_index: Index into big_shape; as long as it, or longer.
        big_shape: The shape broadcast to, with at least as many dimensions as shape.
        shape: Of the smaller tensor.
        out_index: Where the index is written; as long as shape, or longer.
    """
    missing = len(big_shape) - len(shape)
    for dim, length in enumerate(shape):
        out_index[dim] = big_index[dim + missing] if length > 1 else 0


def shape_broadcast(shape1: UserShape, shape2: UserShape) -> tuple[int, ...]:
    """The shape of two tensors together: matched from the right, a missing dimension or one of size 1 stretches to the other's size.

    Raises:
        IndexingError: If two sizes differ and neither is 1.
    """
    out = []
    for size1, size2 in zip_longest(reversed(shape1), reversed(shape2), fillvalue=1):
        if size1 != size2 and 1 not in (size1, size2):
            raise IndexingError(
                f"shapes {tuple(shape1)} and {tuple(shape2)} do not broadcast: matched from the right, {size1} meets {size2}; "
                "sizes must be equal, or one of them 1 (view puts in a 1)"
            )
        out.append(size2 if size1 == 1 else size1)
    return tuple(reversed(out))


def broadcast_strides(shape: Shape, strides: Strides, big_shape: Shape) -> tuple[int, ...]:
    """The strides by which a smaller tensor is read as one of big_shape: 0 in every dimension that is stretched."""
    stretched = [stride if length > 1 else 0 for length, stride in zip(shape, strides, strict=True)]
    return (0,) * (len(big_shape) - len(shape)) + tuple(stretched)


def strides_from_shape(shape: UserShape) -> tuple[int, ...]:
    """The strides of a tensor whose elements lie one after the other, last dimension fastest: (2, 3, 4) gives (12, 4, 1)."""
    strides = []
    step = 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def contiguous_layout(shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Strides and number of elements of a new tensor, worked out once for every shape."""
    return strides_from_shape(shape), math.prod(shape)


def allocate_aligned(length: int, dtype: np.dtype) -> Storage:
    """As np.empty, but beginning at a multiple of 64 bytes: else every vector instruction meets two cache lines."""
    storage = np.empty(length + 64 // dtype.itemsize, dtype)
    start = -storage.ctypes.data % 64 // dtype.itemsize
    return storage[start : start + length]


def positions(shape: Shape, strides: Strides) -> list[int]:
    """`index_to_position` of every index in order, found one dimension at a time instead of one index at a time."""
    found = [0]
    for stride, length in zip(strides, shape, strict=True):
        steps = range(0, length * stride, stride) if stride else [0] * length
        found = [position + step for position in found for step in steps]
    return found


def as_shape(shape: Any, op: str = "a shape") -> tuple[int, ...]:
    """A shape of Python ints, from a sequence of whole numbers or from one alone.

    Raises:
        TypeError: If one is not a whole number.
        ValueError: If one is negative, or there are more than MAX_DIMS.
    """
    try:
        sizes = tuple(map(operator.index, shape if isinstance(shape, (tuple, list, Iterable)) else (shape,)))
    except TypeError:
        raise TypeError(f"{op} expected whole numbers, got {shape!r}; write it as (2, 3)") from None
    if min(sizes, default=0) < 0:
        raise ValueError(f"{op} expected sizes of at least 0, got {sizes}")
    if len(sizes) > MAX_DIMS:
        raise ValueError(f"{op} expected at most {MAX_DIMS} dimensions, got {len(sizes)}")
    return sizes


cached_broadcast = lru_cache(maxsize=4096)(shape_broadcast)
"""`shape_broadcast`, worked out once for every pair of tuples."""


class TensorData:
    """A view of a storage: shape, strides and offset. Views that are made from it share its storage.

    Args:
        storage: The numbers in a row; an array is kept as it is, a list becomes one.
        shape: Size of every dimension.
        strides: How far in storage a step in each dimension leads; left out: the elements lie one after the other.
        offset: Position of the first element.

    Attributes:
        shape: Size of every dimension.
        strides: Step in storage of every dimension, in elements.
        offset: Position of the first element.
        size: Number of elements.
        dtype: Kind of the numbers in the storage.

    Raises:
        IndexingError: If strides and shape differ in length.
        ValueError: If the storage has too few elements, or, without strides, too many.
    """

    # _version: how often the storage has been written into, and the tick of the last time; all its views share this list
    __slots__ = ("_storage", "_version", "dtype", "offset", "shape", "size", "strides")

    def __init__(
        self,
        storage: Sequence[float] | Storage,
        shape: UserShape,
        strides: UserStrides | None = None,
        offset: int = 0,
    ) -> None:
        self._storage = storage if isinstance(storage, np.ndarray) else np.array(storage, dtype=as_dtype(None))
        self.dtype = as_dtype(self._storage.dtype)
        if self._storage.ndim != 1:
            raise ValueError(f"a storage expected one dimension, got an array of shape {self._storage.shape}; pass array.reshape(-1)")
        if not self._storage.flags.c_contiguous:
            raise ValueError("a storage expected an array whose elements lie one after the other; pass array.copy()")
        shape = as_shape(shape)
        layout = strides_from_shape(shape) if strides is None else tuple(map(operator.index, strides))
        self._set_layout(shape, layout, operator.index(offset))
        self._version = [0, 0]
        self._check(exact=strides is None and offset == 0)

    def _set_layout(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> None:
        self.shape, self.strides, self.offset, self.size = shape, strides, offset, math.prod(shape)

    def _check(self, exact: bool) -> None:
        """That every index leads to a place in the storage."""
        if len(self.strides) != self.dims:
            raise IndexingError(f"expected as many strides as dimensions, got shape {self.shape} with strides {self.strides}")
        if any(stride < 0 for stride in self.strides) or self.offset < 0:
            raise ValueError(
                f"expected strides and offset of at least 0, got strides {self.strides}, offset {self.offset}; copy the values"
            )
        have = len(self._storage)
        need = self.size if exact else self._end()
        if need > have or (exact and need != have):
            raise ValueError(f"shape {self.shape} needs {need} elements, got a storage of {have}")

    def _end(self) -> int:
        """The position behind the last element in storage."""
        steps = [(length - 1) * stride for length, stride in zip(self.shape, self.strides, strict=True)]
        return self.offset + sum(steps) + 1 if self.size else self.offset

    def as_view(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> TensorData:
        """The same storage with another layout, which must lie within it."""
        data = TensorData.__new__(TensorData)
        data._storage, data._version, data.dtype = self._storage, self._version, self.dtype
        data._set_layout(shape, strides, offset)
        return data

    @staticmethod
    def zeros(shape: UserShape, dtype: Any = None) -> TensorData:
        """A new storage filled with zeros."""
        data = TensorData.empty(as_shape(shape), as_dtype(dtype))
        data._storage.fill(0)
        return data

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: np.dtype) -> TensorData:
        """A new storage of any numbers, for a result of which every element will be written. What it is given is not checked."""
        data = TensorData.__new__(TensorData)
        data.shape, data.offset, data.dtype = shape, 0, dtype
        data.strides, data.size = contiguous_layout(shape)
        data._storage = np.empty(data.size, dtype) if data.size < LARGE else allocate_aligned(data.size, dtype)
        data._version = [0, 0]
        return data

    # What it looks like

    @property
    def dims(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def version(self) -> int:
        """How often anything was written into the storage, through whatever view."""
        return self._version[0]

    @property
    def _shape(self) -> np.ndarray:
        """The shape as an array, as solutions to the published course use it."""
        return np.array(self.shape, dtype=np.int32)

    @property
    def _strides(self) -> np.ndarray:
        """The strides as an array, as solutions to the published course use them."""
        return np.array(self.strides, dtype=np.int32)

    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other, last dimension fastest."""
        if self.strides == contiguous_layout(self.shape)[0]:
            return True
        step = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length != 1 and stride != step and self.size:
                return False
            step *= length
        return True

    def copied_to_host(self) -> TensorData:
        """A tensor that the CPU's operations can reach: this one; a storage elsewhere is copied."""
        return self

    def tuple(self) -> tuple[Storage, tuple[int, ...], tuple[int, ...]]:
        """What a kernel is given: the stretch of storage that the view lies in, beginning with its first element, shape and strides."""
        if len(self._storage) == self.size and not self.offset:
            return self._storage, self.shape, self.strides
        return self._storage[self.offset : self._end()], self.shape, self.strides

    def array(self) -> np.ndarray:
        """The view as NumPy sees it: no copy, so that writing into it changes the storage."""
        if not self.size:
            return np.empty(self.shape, self.dtype)
        step = self._storage.itemsize
        return np.ndarray(self.shape, self.dtype, self._storage, self.offset * step, tuple(stride * step for stride in self.strides))

    def to_string(self) -> str:
        """The elements in nested brackets, aligned, long ones shortened."""
        return np.array2string(printable(self.array()), separator=", ")

    def __repr__(self) -> str:
        return f"TensorData(shape={self.shape}, strides={self.strides}, offset={self.offset}, dtype={self.dtype.name})"

    # Elements

    def index(self, index: int | UserIndex) -> int:
        """The position in storage of an index.

        Raises:
            IndexingError: If it has too few or too many numbers, or one is negative or too large.
        """
        index = tuple(index) if isinstance(index, Iterable) else (index,)
        if len(index) != self.dims:
            raise IndexingError(f"expected an index of {self.dims} numbers for shape {self.shape}, got {index}")
        for dim, (i, length) in enumerate(zip(index, self.shape, strict=True)):
            if not 0 <= i < length:
                limits = f"it must be 0 to {length - 1}" if length else "there are no elements"
                raise IndexingError(f"index {index} is out of range for shape {self.shape}: in dimension {dim} {limits}")
        return self.offset + index_to_position(index, self.strides)

    def indices(self) -> Iterator[tuple[int, ...]]:
        """Every index once, last dimension fastest."""
        return product(*map(range, self.shape))

    def sample(self) -> tuple[int, ...]:
        """An index drawn at random.

        Raises:
            IndexingError: If there are no elements.
        """
        if not self.size:
            raise IndexingError(f"sample expected a tensor with elements, got shape {self.shape}")
        return tuple(random.randint(0, length - 1) for length in self.shape)

    def get(self, key: UserIndex) -> Any:
        """The element at an index, as a Python number."""
        return self._storage[self.index(key)].item()

    def set(self, key: UserIndex, val: float) -> None:
        """Write the element at an index."""
        self._storage[self.index(key)] = val
        self.written()

    def written(self) -> None:
        """Count a change of the storage; whoever writes into it calls this."""
        self._version[0] += 1
        self._version[1] = next(version_counter)

    # Views

    def permute(self, *order: int) -> TensorData:
        """The dimensions in another order: a view of the same storage, made by `as_view`.

        Args:
            order: order[i] is the old number of what becomes dimension i; each dimension once.

        Raises:
            IndexingError: If a dimension is missing or named twice.
        """
        if sorted(order) != list(range(self.dims)):
            raise IndexingError(
                f"permute expected each of the dimensions {tuple(range(self.dims))} of shape {self.shape} once, got {order}"
            )
        return self.as_view(tuple(self.shape[dim] for dim in order), tuple(self.strides[dim] for dim in order), self.offset)

    def reshaped(self, shape: UserShape) -> TensorData:
        """The same elements in the same order with another shape, over the same storage.

        Raises:
            ValueError: If the elements do not lie one after the other, or their number is another.
        """
        if math.prod(shape) != self.size:
            raise ValueError(f"view expected a shape of {self.size} elements like {self.shape}, got {tuple(shape)} of {math.prod(shape)}")
        if not self.is_contiguous():
            raise ValueError(
                f"view expected elements that lie one after the other, got shape {self.shape} with strides {self.strides}; "
                "call contiguous() first, or reshape"
            )
        shape = tuple(shape)
        return self.as_view(shape, contiguous_layout(shape)[0], self.offset)

    @staticmethod
    def shape_broadcast(shape_a: UserShape, shape_b: UserShape) -> tuple[int, ...]:
        """`shape_broadcast`, by the name that solutions to the published course call."""
        return shape_broadcast(shape_a, shape_b)
