"""Strided arrays: reading, comparing, and drawing them as small grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.explain.divergence import format_number

Index = tuple[int, ...]

ROWS, COLUMNS, STORAGE = 6, 7, 10
"""At most this much of a matrix and of a storage is drawn."""


def memory_offset(index: Sequence[int], strides: Sequence[int]) -> int:
    """The distance from the first element of an array to the element at an index, from the addresses that NumPy computes."""
    base = np.zeros(1, np.int8)
    steps = [stride if i >= 0 else -stride for i, stride in zip(index, strides, strict=True)]
    array = np.lib.stride_tricks.as_strided(base, [abs(i) + 1 for i in index], steps, writeable=False)
    return array[(..., *(slice(abs(i), None) for i in index))].ctypes.data - base.ctypes.data  # nothing is read


@dataclass(frozen=True)
class Strided:
    """An operand of a kernel.

    Attributes:
        name: "a", "out".
        storage: The storage.
        shape, strides: The layout of the elements in the storage.
        offset: The position of the first element.
    """

    name: str
    storage: Any
    shape: Index
    strides: Index
    offset: int = 0

    @property
    def array(self) -> Any:
        """The elements as NumPy reads them.

        Raises:
            IndexError: If an element lies outside of the storage.
        """
        last = self.position(tuple(size - 1 for size in self.shape))
        if 0 not in self.shape and not 0 <= last < len(self.storage):
            raise IndexError(f"shape {self.shape} with strides {self.strides} does not fit into a storage of {len(self.storage)}")
        steps = [stride * self.storage.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(self.storage[self.offset :], self.shape, steps, writeable=False)

    def position(self, index: Sequence[int]) -> int:
        """The position of an element in the storage."""
        return self.offset + memory_offset(index, self.strides)

    def source(self, index: Index) -> Index:
        """The index of the element that a broadcast repeats at an index of the larger shape."""
        own = index[len(index) - len(self.shape) :]
        if not own:
            return ()
        return tuple(map(int, np.unravel_index(np.ravel_multi_index(own, self.shape, mode="clip"), self.shape)))

    def indices_of(self, value: Any, near: Index) -> list[Index]:
        """The indices of the elements that equal a number, sorted by distance from an index."""
        found = [tuple(map(int, index)) for index in np.argwhere(equal(self.array, value))]
        return sorted(found, key=lambda index: sum(abs(i - j) for i, j in zip(index, near, strict=True)))

    def diagram(self, marks: Mapping[Index, str]) -> str:
        """Shape, strides, grid and storage as text; a mark such as "[]" encloses an element."""
        offset = f", offset {self.offset}" if self.offset else ""
        lines = [f"shape {self.shape}, strides {self.strides}{offset}", *grid(self.array, marks)]
        is_dense = np.prod(self.shape, dtype=int) < 2 or tuple(self.strides) == contiguous_strides(self.shape)
        if self.offset or not is_dense:
            words = {self.position(index): mark for index, mark in marks.items()}
            lines.append(f"storage {row(self.storage, words)}")
        return "\n".join(lines)


def operand(name: str, storage: Any, shape: Any, strides: Any) -> Strided:
    """An operand made from the arguments of a kernel."""
    return Strided(name, np.asarray(storage), tuple(map(int, shape)), tuple(map(int, strides)))


def contiguous_strides(shape: Sequence[int]) -> Index:
    """The strides of contiguous elements, last dimension fastest."""
    return np.empty(tuple(shape), np.int8).strides


def tolerance(*arrays: Any) -> float:
    """The relative difference that rounding may cause: larger for float32 and half precision."""
    return 2e-3 if any(array.dtype.itemsize < 8 and array.dtype.kind == "f" for array in arrays) else 1e-6


ABSOLUTE = 1e-4
"""This share of the relative tolerance is also an absolute one: more than the rounding error of ln(1 + 0.000001) in float32."""


def equal(array: Any, value: Any, share: float = 1e-9) -> Any:
    """Where an array equals a number or another array, within a relative tolerance."""
    with np.errstate(all="ignore"):
        array, value = np.asarray(array, np.float64), np.asarray(value, np.float64)
        size = np.maximum(np.abs(array), np.abs(value))
        close = np.abs(array - value) <= share * np.where(np.isfinite(size), size, 0) + max(ABSOLUTE * share, 1e-9)
        return close | (array == value) | (np.isnan(array) & np.isnan(value))


def first_difference(expected: Any, got: Any) -> Index | None:
    """The index of the first element that differs, last dimension fastest."""
    wrong = np.argwhere(~equal(expected, got, tolerance(np.asarray(expected), np.asarray(got))))
    return tuple(map(int, wrong[0])) if len(wrong) else None


def grid(array: Any, marks: Mapping[Index, str]) -> list[str]:
    """An array as rows of numbers; of more than two dimensions, the matrix that contains the first mark."""
    array = np.asarray(array)
    if array.ndim == 0:
        return [_cell(array[()], marks.get((), ""))]
    first = next(iter(marks), (0,) * array.ndim)
    head, lines = first[: max(array.ndim - 2, 0)], []
    if head:
        lines.append(f"at ({', '.join(map(str, head))}, …):")
        array = array[head]
        marks = {index[len(head) :]: mark for index, mark in marks.items() if index[: len(head)] == head}
        first = first[len(head) :]
    if array.ndim == 1:
        array, marks, first = array[None], {(0, *index): mark for index, mark in marks.items()}, (0, *first)
    top, left = (_window(place, size, length) for place, size, length in zip(first, array.shape, (ROWS, COLUMNS), strict=True))
    cells = [
        [_cell(array[i, j], marks.get((i, j), "")) for j in range(left, min(left + COLUMNS, array.shape[1]))]
        for i in range(top, min(top + ROWS, array.shape[0]))
    ]
    width = max((len(cell) for line in cells for cell in line), default=0)
    before, after = "… " if left else "", " …" if left + COLUMNS < array.shape[1] else ""
    lines += ["…"] if top else []
    lines += [before + " ".join(f"{cell:>{width}}" for cell in line).rstrip() + after for line in cells]
    return lines + (["…"] if top + ROWS < array.shape[0] else []) if array.size else ["no elements"]


def row(storage: Any, marks: Mapping[int, str]) -> str:
    """The part of a storage around the first mark, in one line."""
    start = _window(next(iter(marks), 0), len(storage), STORAGE)
    cells = [_cell(storage[i], marks.get(i, "")).strip() for i in range(start, min(start + STORAGE, len(storage)))]
    return f"{'… ' if start else ''}{' '.join(cells)}{' …' if start + STORAGE < len(storage) else ''}"


def _window(place: int, size: int, length: int) -> int:
    """The start of a window of this length that contains a position."""
    return max(0, min(place - length // 2, size - length))


def _cell(value: Any, mark: str) -> str:
    text = format_number(value)
    text = text if len(text) <= 7 else f"{float(value):.3g}"
    return f"{mark[0]}{text}{mark[1]}" if mark else f" {text} "
