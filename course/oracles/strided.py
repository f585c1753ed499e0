"""Storages, shapes and strides: read, compared and drawn as small grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.explain.divergence import shown_number

Index = tuple[int, ...]

ROWS, COLUMNS = 6, 7
"""So much of a matrix is drawn."""


@dataclass(frozen=True)
class Strided:
    """An operand as a kernel is given it.

    Attributes:
        name: "a", "out".
        storage: Its numbers in a row.
        shape, strides: How its elements lie there.
        offset: Where the first one stands.
    """

    name: str
    storage: Any
    shape: Index
    strides: Index
    offset: int = 0

    @property
    def array(self) -> Any:
        """Its elements, as NumPy reads them; an error if an index leads out of the storage."""
        last = self.position(tuple(size - 1 for size in self.shape))
        if 0 not in self.shape and not 0 <= last < len(self.storage):
            raise IndexError(f"shape {self.shape} with strides {self.strides} leads out of a storage of {len(self.storage)}")
        steps = [stride * self.storage.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(self.storage[self.offset :], self.shape, steps, writeable=False)

    def position(self, index: Sequence[int]) -> int:
        """Where an element stands in storage."""
        return self.offset + sum(i * stride for i, stride in zip(index, self.strides, strict=True))

    def source(self, index: Index) -> Index:
        """The index of its element that belongs to an index of a shape that it is broadcast to."""
        own = index[len(index) - len(self.shape) :]
        return tuple(0 if size == 1 else i for i, size in zip(own, self.shape, strict=True))

    def places(self, value: Any, near: Index) -> list[Index]:
        """Where a number stands among its elements, those near an index first."""
        found = [tuple(map(int, index)) for index in np.argwhere(equal(self.array, value))]
        return sorted(found, key=lambda index: sum(abs(i - j) for i, j in zip(index, near, strict=True)))

    def drawn(self, marks: Mapping[Index, str]) -> str:
        """Shape, strides, a grid and the storage; a mark such as "[]" stands around an element."""
        offset = f", offset {self.offset}" if self.offset else ""
        lines = [f"shape {self.shape}, strides {self.strides}{offset}", *grid(self.array, marks)]
        dense = np.prod(self.shape, dtype=int) > 1 and tuple(self.strides) != row_by_row(self.shape)
        if dense or self.offset:
            words = {self.position(index): mark for index, mark in marks.items()}
            lines.append(f"storage {row(self.storage, words)}")
        return "\n".join(lines)


def operand(name: str, storage: Any, shape: Any, strides: Any) -> Strided:
    """An operand from a kernel's arguments."""
    return Strided(name, np.asarray(storage), tuple(map(int, shape)), tuple(map(int, strides)))


def row_by_row(shape: Sequence[int]) -> Index:
    """The strides of elements that lie one after the other."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides)) if shape else ()


def tolerance(*arrays: Any) -> float:
    """How far two ways of computing may lie apart, as a share: more where numbers are narrow."""
    return 2e-3 if any(array.dtype.itemsize < 8 and array.dtype.kind == "f" for array in arrays) else 1e-6


def equal(array: Any, value: Any, share: float = 1e-9) -> Any:
    """Where an array is a number, or another array."""
    with np.errstate(all="ignore"):
        array, value = np.asarray(array, np.float64), np.asarray(value, np.float64)
        size = np.maximum(np.abs(array), np.abs(value))
        close = np.abs(array - value) <= share * np.where(np.isfinite(size), size, 0) + min(share, 1e-9)
        return close | (array == value) | (np.isnan(array) & np.isnan(value))


def first_difference(expected: Any, got: Any) -> Index | None:
    """The index of the first element that differs, last dimension fastest."""
    wrong = np.argwhere(~equal(expected, got, tolerance(np.asarray(expected), np.asarray(got))))
    return tuple(map(int, wrong[0])) if len(wrong) else None


def grid(array: Any, marks: Mapping[Index, str]) -> list[str]:
    """An array as rows of numbers; of more dimensions than two that part in which the first mark stands."""
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
    top, left = (_window(place, size, room) for place, size, room in zip(first, array.shape, (ROWS, COLUMNS), strict=True))
    cells = [
        [_cell(array[i, j], marks.get((i, j), "")) for j in range(left, min(left + COLUMNS, array.shape[1]))]
        for i in range(top, min(top + ROWS, array.shape[0]))
    ]
    width = max((len(cell) for line in cells for cell in line), default=0)
    before, behind = "… " if left else "", " …" if left + COLUMNS < array.shape[1] else ""
    lines += ["…"] if top else []
    lines += [before + " ".join(f"{cell:>{width}}" for cell in line).rstrip() + behind for line in cells]
    return lines + (["…"] if top + ROWS < array.shape[0] else []) if array.size else ["no elements"]


def row(storage: Any, marks: Mapping[int, str]) -> str:
    """A storage in one line, the part around the first mark."""
    start = _window(next(iter(marks), 0), len(storage), 10)
    cells = [_cell(storage[i], marks.get(i, "")).strip() for i in range(start, min(start + 10, len(storage)))]
    return f"{'… ' if start else ''}{' '.join(cells)}{' …' if start + 10 < len(storage) else ''}"


def _window(place: int, size: int, room: int) -> int:
    """Where to begin, so that a place is seen."""
    return max(0, min(place - room // 2, size - room))


def _cell(value: Any, mark: str) -> str:
    text = shown_number(value)
    text = text if len(text) <= 7 else f"{float(value):.3g}"
    return f"{mark[0]}{text}{mark[1]}" if mark else f" {text} "
