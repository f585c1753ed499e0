"""Stage 2 - TensorData: an array of any shape in a flat storage.

The element at index (i, j, …) is at position offset + i · stride_0 + j · stride_1 + … . Other shapes, strides and offsets over the same
storage are other views of the same numbers; a view copies nothing.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from ctypes import addressof, c_char
from functools import lru_cache
from itertools import count, product, zip_longest
from typing import Any

import numpy as np

from minitorch.core.dtypes import as_dtype, printable
from minitorch.core.recording import call, constant, fill

MAX_DIMS = 32
"""The largest number of dimensions of a tensor."""

LARGE = 4096
"""Smallest number of elements of a storage that is aligned for vector instructions."""

Storage = np.ndarray
Index = Sequence[int] | np.ndarray
OutIndex = MutableSequence[int] | np.ndarray
Shape = Sequence[int]
Strides = Sequence[int]
UserIndex = Sequence[int]
UserShape = Sequence[int]
UserStrides = Sequence[int]


version_counter = count(1)
"""Counts the writes into all storages and the saves of all functions, in the order in which they happen."""


class IndexingError(RuntimeError, IndexError):
    """An invalid index, shape or order of dimensions."""


def index_to_position(index: Index, strides: Strides) -> int:
    """The position of an index in storage, relative to the first element.

    Module 3 compiles this function: use loops over range, indexing and arithmetic, but no lists, reversed or generator expressions.

    Args:
        index: One number for every dimension; further numbers are ignored.
        strides: Step in storage for each dimension.
    """
    position = 0
    for dim in range(len(strides)):
        position += index[dim] * strides[dim]
    return position


def to_index(ordinal: int, shape: Shape, out_index: OutIndex) -> None:
    """Write the index of the ordinal-th element into out_index; the last dimension varies fastest.

    Every ordinal from 0 to size - 1 gives a different index, so that a loop over ordinals visits every element once.

    Module 3 compiles this function: use loops over range, indexing and arithmetic, but no lists, reversed or generator expressions.

    Args:
        ordinal: From 0 to size - 1.
        shape: Shape of the tensor.
        out_index: Receives the index; at least as long as shape.
    """
    for dim in range(len(shape) - 1, -1, -1):
        ordinal, out_index[dim] = divmod(ordinal, shape[dim])


def broadcast_index(big_index: Index, big_shape: Shape, shape: Shape, out_index: OutIndex) -> None:
    """Write into out_index the index, in a smaller tensor that is broadcast to big_shape, of the element at big_index.

    Dimensions are aligned from the right: those that the smaller tensor lacks are dropped, and where it has size 1 the index is 0.

    Module 3 compiles this function: use loops over range, indexing and arithmetic, but no lists, reversed or generator expressions.

    Args:
        big_index: Index into big_shape; at least as long as it.
        big_shape: The broadcast shape, with at least as many dimensions as shape.
        shape: Shape of the smaller tensor.
        out_index: Receives the index; at least as long as shape.
    """
    missing = len(big_shape) - len(shape)
    for dim, length in enumerate(shape):
        out_index[dim] = big_index[dim + missing] if length > 1 else 0


def shape_broadcast(shape1: UserShape, shape2: UserShape) -> tuple[int, ...]:
    """The broadcast shape of two shapes: aligned from the right, a missing dimension or one of size 1 takes the other's size.

    Raises:
        IndexingError: If two sizes differ and neither is 1.
    """
    out = []
    for size1, size2 in zip_longest(reversed(shape1), reversed(shape2), fillvalue=1):
        if size1 != size2 and 1 not in (size1, size2):
            raise IndexingError(
                f"shapes {tuple(shape1)} and {tuple(shape2)} do not broadcast: aligned from the right, {size1} does not match {size2}; "
                "sizes must be equal, or one of them 1 (view can insert a 1)"
            )
        out.append(size2 if size1 == 1 else size1)
    return tuple(reversed(out))


def broadcast_strides(shape: Shape, strides: Strides, big_shape: Shape) -> tuple[int, ...]:
    """The strides of a smaller tensor viewed with big_shape: 0 in every dimension that is broadcast."""
    stretched = [stride if length > 1 else 0 for length, stride in zip(shape, strides, strict=True)]
    return (0,) * (len(big_shape) - len(shape)) + tuple(stretched)


def strides_from_shape(shape: UserShape) -> tuple[int, ...]:
    """The strides of a contiguous tensor: (2, 3, 4) gives (12, 4, 1)."""
    strides = []
    step = 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def contiguous_layout(shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Strides and number of elements of a contiguous tensor, cached for every shape."""
    return strides_from_shape(shape), math.prod(shape)


def allocate_aligned(length: int, dtype: np.dtype) -> Storage:
    """An uninitialized storage that starts at a multiple of 64 bytes, so that vector instructions do not cross cache lines."""
    storage = np.empty(length + 64 // dtype.itemsize, dtype)
    address = addressof(c_char.from_buffer(storage.view(np.uint8).data))  # in half the time of storage.ctypes
    start = -address % 64 // dtype.itemsize
    return storage[start : start + length]


def positions(shape: Shape, strides: Strides) -> list[int]:
    """`index_to_position` of every index in order, computed one dimension at a time instead of one index at a time."""
    found = [0]
    for stride, length in zip(strides, shape, strict=True):
        steps = range(0, length * stride, stride) if stride else [0] * length
        found = [position + step for position in found for step in steps]
    return found


def as_shape(shape: Any, op: str = "a shape") -> tuple[int, ...]:
    """A shape as a tuple of Python ints, from a sequence of integers or a single one.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is negative, or there are more than MAX_DIMS.
    """
    try:
        sizes = tuple(map(operator.index, shape if isinstance(shape, (tuple, list, Iterable)) else (shape,)))
    except TypeError:
        raise TypeError(f"{op} expected whole numbers, got {shape!r}; write it as (2, 3)") from None
    if sizes and min(sizes) < 0:
        raise ValueError(f"{op} expected sizes of at least 0, got {sizes}")
    if len(sizes) > MAX_DIMS:
        raise ValueError(f"{op} expected at most {MAX_DIMS} dimensions, got {len(sizes)}")
    return sizes


cached_broadcast = lru_cache(maxsize=4096)(shape_broadcast)
"""`shape_broadcast`, cached for every pair of tuples."""


class TensorData:
    """A view of a storage: shape, strides and offset. Views made from it share its storage.

    Args:
        storage: The numbers in a flat array, which is not copied, or a list.
        shape: Size of every dimension.
        strides: Step in storage for each dimension, in elements; left out: the elements are contiguous.
        offset: Position of the first element.

    Attributes:
        shape: Size of every dimension.
        strides: Step in storage for each dimension, in elements.
        offset: Position of the first element.
        size: Number of elements.
        dtype: Data type of the storage.

    Raises:
        IndexingError: If strides and shape differ in length.
        ValueError: If the storage has too few elements, or, without strides, too many.
    """

    # _version: number of writes into the storage, and the version counter of the last one; all views share this list
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
            raise ValueError("a storage expected a contiguous array; pass array.copy()")
        shape = as_shape(shape)
        layout = strides_from_shape(shape) if strides is None else tuple(map(operator.index, strides))
        self._set_layout(shape, layout, operator.index(offset))
        self._version = [0, 0]
        self._check(exact=strides is None and offset == 0)
        constant(self._storage)

    def _set_layout(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> None:
        self.shape, self.strides, self.offset, self.size = shape, strides, offset, math.prod(shape)

    def _check(self, exact: bool) -> None:
        """Check that every index maps to a position within the storage."""
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
        """The position past the last element in storage."""
        steps = [(length - 1) * stride for length, stride in zip(self.shape, self.strides, strict=True)]
        return self.offset + sum(steps) + 1 if self.size else self.offset

    def as_view(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> TensorData:
        """The same storage with another layout, which must fit within it."""
        data = TensorData.__new__(TensorData)
        data._storage, data._version, data.dtype = self._storage, self._version, self.dtype
        data.shape, data.strides, data.offset, data.size = shape, strides, offset, math.prod(shape)
        return data

    @staticmethod
    def zeros(shape: UserShape, dtype: Any = None) -> TensorData:
        """A new storage filled with zeros."""
        data = TensorData.empty(as_shape(shape), as_dtype(dtype))
        call(fill, data._storage, 0)
        return data

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: np.dtype) -> TensorData:
        """A new, uninitialized storage, for a result whose every element will be written. Arguments are not checked."""
        data = TensorData.__new__(TensorData)
        data.shape, data.offset, data.dtype = shape, 0, dtype
        data.strides, data.size = contiguous_layout(shape)
        data._storage = np.empty(data.size, dtype) if data.size < LARGE else allocate_aligned(data.size, dtype)
        data._version = [0, 0]
        return data

    # Properties

    @property
    def dims(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def version(self) -> int:
        """Number of writes into the storage, through any view."""
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
        """Whether the elements are contiguous in storage, last dimension fastest."""
        if self.strides == contiguous_layout(self.shape)[0]:
            return True
        step = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length != 1 and stride != step and self.size:
                return False
            step *= length
        return True

    def to_host(self) -> TensorData:
        """The data in host memory: itself; storage on a device is copied."""
        return self

    def from_first(self) -> Storage:
        """The storage from the first element on, without a slice where the element is the storage's first."""
        return self._storage[self.offset :] if self.offset else self._storage

    def tuple(self) -> tuple[Storage, tuple[int, ...], tuple[int, ...]]:
        """Arguments of a kernel: storage from the first element on to the last, shape and strides."""
        if len(self._storage) == self.size and not self.offset:
            return self._storage, self.shape, self.strides
        return self._storage[self.offset : self._end()], self.shape, self.strides

    def array(self) -> np.ndarray:
        """The view as a NumPy array without a copy: writing into it changes the storage."""
        if not self.size:
            return np.empty(self.shape, self.dtype)
        step = self._storage.itemsize
        return np.ndarray(self.shape, self.dtype, self._storage, self.offset * step, tuple(stride * step for stride in self.strides))

    def to_string(self) -> str:
        """The elements in nested brackets, aligned, abbreviated if there are many."""
        return np.array2string(printable(self.array()), separator=", ")

    def __repr__(self) -> str:
        return f"TensorData(shape={self.shape}, strides={self.strides}, offset={self.offset}, dtype={self.dtype.name})"

    # Elements

    def index(self, index: int | UserIndex) -> int:
        """The position in storage of an index.

        Raises:
            IndexingError: If it has too few or too many numbers, or one is out of range.
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
        """A random index.

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
        self.bump_version()

    def bump_version(self) -> None:
        """Count a write into the storage; every write must call this."""
        self._version[0] += 1
        self._version[1] = next(version_counter)

    # Views

    def permute(self, *order: int) -> TensorData:
        """The dimensions in another order: a view of the same storage, made with `as_view`.

        Args:
            order: Dimension i of the result is dimension order[i] of this tensor; each dimension once.

        Raises:
            IndexingError: If a dimension is missing or repeated.
        """
        if sorted(order) != list(range(self.dims)):
            raise IndexingError(
                f"permute expected each of the dimensions {tuple(range(self.dims))} of shape {self.shape} once, got {order}"
            )
        return self.as_view(tuple(self.shape[dim] for dim in order), tuple(self.strides[dim] for dim in order), self.offset)

    def reshape(self, shape: UserShape) -> TensorData:
        """The same elements in the same order with another shape, over the same storage.

        Raises:
            ValueError: If the elements are not contiguous, or the sizes do not multiply to their number.
        """
        shape = tuple(shape)
        strides, size = contiguous_layout(shape)
        if size != self.size:
            raise ValueError(f"view expected a shape of {self.size} elements like {self.shape}, got {shape} of {size}")
        if not self.is_contiguous():
            raise ValueError(
                f"view expected contiguous elements, got shape {self.shape} with strides {self.strides}; "
                "call contiguous() first, or reshape"
            )
        return self.as_view(shape, strides, self.offset)

    @staticmethod
    def shape_broadcast(shape_a: UserShape, shape_b: UserShape) -> tuple[int, ...]:
        """`shape_broadcast`, under the name that solutions to the published course call."""
        return shape_broadcast(shape_a, shape_b)
