"""A chain of operations on a tensor of the numbers 0, 1, 2 …: the layout after each operation, and the storage position of each element.

The layouts and positions come from the student's TensorData, `index_to_position` and `to_index`, and are checked against NumPy.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from minitorch.core.indexing import basic_view, is_basic, is_element, selected_elements
from minitorch.tensor_data import IndexingError, TensorData, broadcast_strides, index_to_position, to_index
from project.lab.cards import WrongResult
from project.lab.charts.cells import Cell, grid, strip
from project.lab.typed.source import Refused
from project.lab.typed.steps import Step

MOST_DIMS = 6
MOST_ELEMENTS = 120
LETTERS = "ijklmn"


@dataclass(frozen=True)
class Stage:
    """The tensor after an operation.

    Attributes:
        data: The tensor, as computed by the student's code.
        values: The correct values, computed by NumPy.
        made: How it was created: "view", "copy", or "itself" if contiguous() had nothing to do; "" for x.
        wrong: An error message if the layout is wrong, else "".
    """

    data: TensorData
    values: np.ndarray
    made: str = ""
    wrong: str = ""


@dataclass(frozen=True)
class Place:
    """An element and its position in the storage.

    Attributes:
        index: The index of the element.
        position: Its position according to the student's code; None if that is not a position in the storage.
        answer: The return value of the student's `index_to_position`.
        right: The correct position, offset + i · stride_0 + … .
        value: The value at `position`; None if there is none.
        expected: The correct value.
    """

    index: tuple[int, ...]
    position: int | None
    answer: Any
    right: int
    value: int | None
    expected: int

    @property
    def wrong(self) -> bool:
        """Whether the element is read from the wrong position."""
        return self.position != self.right or self.value != self.expected


@dataclass(frozen=True)
class Run:
    """The results of a chain of operations, up to the first that fails.

    Attributes:
        stages: x, and the tensor after each operation.
        refusal: Why the next operation is invalid, or "".
    """

    stages: list[Stage]
    refusal: str = ""

    @property
    def result(self) -> Stage:
        """The last tensor."""
        return self.stages[-1]

    def sharing(self, steps: Sequence[Step]) -> str:
        """Return a sentence on whether the result shares the storage of x, or which operations made a copy."""
        if len(self.stages) == 1:
            return "There are no operations: this is x itself."
        if self.result.data._storage is self.stages[0].data._storage:
            return "The result shares the storage of x: no element was copied, and a change to one is visible in the other."
        copies = [step.text for step, stage in zip(steps, self.stages[1:], strict=False) if stage.made == "copy"]
        return f"The result has its own storage: {' and '.join(copies)} made a copy. Changing it does not change x."


def run(shape: tuple[int, ...], steps: Sequence[Step]) -> Run:
    """Apply operations to x one by one, until one is invalid or gives a wrong layout.

    Raises:
        WrongResult: If student code returns no tensor of the right shape.
    """
    stages = [begin(shape)]
    for step in steps:
        try:
            stages.append(follow(stages[-1], step))
        except Refused as refusal:
            return Run(stages, str(refusal))
        if stages[-1].wrong:
            break
    return Run(stages)


def begin(shape: tuple[int, ...]) -> Stage:
    """Return x: the numbers 0, 1, 2 … in a storage of that size."""
    numbers = np.arange(math.prod(shape))
    return Stage(TensorData(numbers, shape), numbers.reshape(shape))


def follow(before: Stage, step: Step) -> Stage:
    """Return the tensor after one more operation.

    Raises:
        Refused: If the operation is invalid for the tensor.
        WrongResult: If student code returns no tensor of the right shape.
    """
    try:
        order = _order(before.data.dims, step)
        after = _STEPS[step.method](before, step.args) if order is None else None
    except (IndexingError, ValueError) as error:  # caused by the input; errors of the student's permute propagate
        raise Refused(f"{step.text} does not fit shape {before.data.shape}: {error}") from None
    after = after or _permute(before, order or ())
    if after.data.dims > MOST_DIMS or after.data.size > MOST_ELEMENTS:
        raise Refused(
            f"{step.text} gives shape {after.data.shape}; at most {MOST_DIMS} dimensions and {MOST_ELEMENTS} elements can be drawn"
        )
    return after


def _order(dims: int, step: Step) -> tuple[int, ...] | None:
    """Return the order of dimensions for permute or transpose; None for another operation."""
    order = list(range(dims))
    if step.method == "permute":
        asked = tuple(dim + dims if -dims <= dim < 0 else dim for dim in step.args)
        if sorted(asked) != order:
            raise IndexingError(f"expected each dimension from 0 to {dims - 1} once, got {step.args}")
        return asked
    if step.method != "transpose":
        return None
    if not all(-dims <= dim < dims for dim in step.args):
        raise IndexingError(f"expected two dimensions from 0 to {dims - 1}, got {step.args}")
    a, b = step.args
    order[a], order[b] = order[b], order[a]
    return tuple(order)


def _permute(before: Stage, order: tuple[int, ...]) -> Stage:
    """Call the student's TensorData.permute."""
    data = before.data
    given = (data.shape, data.strides, data.offset)
    permuted = data.permute(*order)
    call = f"permute({', '.join(map(str, order))})"
    if not isinstance(permuted, TensorData):
        forgot = "; is the return missing?" if permuted is None else ""
        raise WrongResult(f"{call} expected to return TensorData, got {permuted!r:.60}{forgot}")
    if (data.shape, data.strides, data.offset) != given:
        raise WrongResult(f"{call} expected to leave its own tensor unchanged, got another layout of it; create a new TensorData")
    shape, strides = np.take(data.shape, order).tolist(), np.take(data.strides, order).tolist()
    shape, strides = tuple(shape), tuple(strides)
    facts = f"shape {tuple(permuted.shape)}, strides {tuple(permuted.strides)}, offset {permuted.offset}"
    wanted = f"shape {shape}, strides {strides}, offset {data.offset}"
    wrong = "" if facts == wanted else f"{call} expected {wanted}, got {facts}"
    if permuted._storage is not data._storage:
        wrong = wrong or f"{call} expected to share the storage, got a copy of it; pass on the storage itself"
    if tuple(permuted.shape) != shape:
        raise WrongResult(wrong)
    return Stage(permuted, before.values.transpose(order), "view", wrong)


def _view(before: Stage, shape: Sequence[int]) -> Stage:
    """Return a view of another shape; one size may be -1."""
    sizes = list(shape)
    if sizes.count(-1) == 1:
        rest = -math.prod(sizes)
        sizes[sizes.index(-1)] = before.data.size // rest if rest else 0
    if any(size < 0 for size in sizes):
        raise ValueError(f"expected sizes of at least 0, and at most one -1, got {tuple(shape)}")
    return Stage(before.data.reshape(sizes), before.values.reshape(sizes), "view")


def _expand(before: Stage, shape: Sequence[int]) -> Stage:
    """Return an expanded view, with stride 0 where it repeats; a size of -1 is kept."""
    data = before.data
    own = (-1,) * (len(shape) - data.dims) + tuple(data.shape)
    sizes = tuple(own[i] if size == -1 and i < len(own) else size for i, size in enumerate(shape))
    fits = len(sizes) >= data.dims and all(a in (1, b) for a, b in zip(data.shape[::-1], sizes[::-1], strict=False))
    if not fits or any(size < 0 for size in sizes):
        raise IndexingError(f"only sizes of 1 can be expanded, and dimensions added in front, got {tuple(shape)}")
    if math.prod(sizes) > MOST_ELEMENTS:
        raise ValueError(f"expected at most {MOST_ELEMENTS} elements, got {math.prod(sizes)}")
    view = data.as_view(sizes, broadcast_strides(data.shape, data.strides, sizes), data.offset)
    return Stage(view, np.broadcast_to(before.values, sizes), "view")


def _index(before: Stage, index: tuple[Any, ...]) -> Stage:
    """Return a view for integers, slices, None and ...; return a copy for negative steps and lists."""
    data = before.data
    index = tuple(np.array(part, dtype=np.int64) if isinstance(part, list) else part for part in index)
    if is_element(index, data.dims):
        raise ValueError("it selects one element, which is a plain number; write a slice such as 1:2, or select the cell below")
    if is_basic(index):
        return Stage(basic_view(data, index), before.values[index], "view")
    values = before.values.reshape(-1)[selected_elements(data.shape, index)]
    return Stage(TensorData(values.reshape(-1), values.shape), values, "copy")


def _contiguous(before: Stage, none: Sequence[int]) -> Stage:
    """Return the tensor itself if it is contiguous, else a copy."""
    if before.data.is_contiguous():
        return Stage(before.data, before.values, "itself")
    return Stage(TensorData(before.values.reshape(-1).copy(), before.values.shape), before.values, "copy")


_STEPS = {
    "view": _view,
    "expand": _expand,
    "index": _index,
    "contiguous": _contiguous,
}


# Cells and positions


def places(stage: Stage) -> list[Place]:
    """Return every element with its position according to the student's `index_to_position`, last dimension fastest."""
    data, found = stage.data, []
    for index in product(*map(range, data.shape)):
        answer = index_to_position(index, data.strides)
        right = _right_position(data, index)
        position = _position(answer, data)
        value = None if position is None else int(data._storage[position])
        found.append(Place(index, position, answer, right, value, int(stage.values[index])))
    return found


def _right_position(data: TensorData, index: Sequence[int]) -> int:
    """Return the correct position of an element in the storage, from the address that NumPy computes for it."""
    numbers = np.zeros(1, np.int8)
    view = np.lib.stride_tricks.as_strided(numbers, data.shape, data.strides)
    return data.offset + view[(..., *(slice(i, None) for i in index))].ctypes.data - numbers.ctypes.data


def _position(answer: Any, data: TensorData) -> int | None:
    """Return the storage position for a return value of index_to_position; None if it is invalid."""
    try:
        position = data.offset + operator.index(answer)
    except TypeError:
        return None
    return position if 0 <= position < len(data._storage) else None


def complaint(stage: Stage, found: Sequence[Place]) -> str:
    """Return an error message if the student's positions are wrong, else ""."""
    wrong = [place for place in found if place.position != place.right]
    if not wrong:
        return ""
    first, data = wrong[0], stage.data
    terms = " + ".join(f"{i}·{stride}" for i, stride in zip(first.index, data.strides, strict=True)) or "nothing"
    forgot = "; is the return missing?" if first.answer is None else ""
    return (
        f"index_to_position({first.index}, {tuple(data.strides)}) expected {terms} = {first.right - data.offset}, got {first.answer!r:.40}"
        f"{forgot} ({len(wrong)} of {len(found)} cells are read from the wrong position)"
    )


def ordinal_complaint(shape: Sequence[int]) -> str:
    """Return an error message if the student's `to_index` writes a wrong index, else ""."""
    for ordinal, index in enumerate(product(*map(range, shape))):
        out: list[Any] = [None] * len(shape)
        to_index(ordinal, tuple(shape), out)
        if tuple(out) != index:
            return f"to_index({ordinal}, {tuple(shape)}, out_index) expected to write {index}, wrote {tuple(out)}"
    return ""


def formula(data: TensorData, index: Sequence[int]) -> str:
    """Return offset + i · stride_0 + …, with names and with numbers."""
    letters = " + ".join(["offset", *(f"{LETTERS[dim]}·stride_{dim}" for dim in range(data.dims))])
    numbers = " + ".join([str(data.offset), *(f"{i}·{stride}" for i, stride in zip(index, data.strides, strict=True))])
    position = _right_position(data, index)
    return f"position = {letters}\n         = {numbers}\n         = {position}"


def readers(found: Sequence[Place], position: int) -> list[tuple[int, ...]]:
    """Return the elements that are read from a storage position."""
    return [place.index for place in found if place.position == position]


def position_of(found: Sequence[Place], index: tuple[int, ...]) -> int | None:
    """Return the position of an element according to the student's code."""
    return next((place.position for place in found if place.index == index), None)


def listed(indices: Sequence[tuple[int, ...]], most: int = 8) -> str:
    """Return indices as text, such as "[0, 1], [1, 1] and 4 more"."""
    shown = ", ".join(str(list(index)) for index in indices[:most])
    return shown + (f" and {len(indices) - most} more" if len(indices) > most else "")


# Drawing


def panels(stages: Sequence[Stage], found: Sequence[Place], cell: tuple[int, ...] | None, position: int | None) -> list[str]:
    """Return the markup of x, of the result, and of their storages.

    Args:
        stages: x first, the result last.
        found: The elements of the result; empty if index_to_position is not written, so that the cells are not linked to the storage.
        cell: The index of the selected element, if there is one.
        position: The selected storage position, or that of the selected element.
    """
    original, stage = stages[0], stages[-1]
    shared = stage.data._storage is original.data._storage
    drawn = []
    if stage is not original:
        drawn.append(grid("x", original.data.shape, _cells_of_x(original, position, shared)))
        if not shared:
            drawn.append(strip("Storage of x", _storage(original, None, None, "x")))
    drawn.append(grid("result" if stage is not original else "x", stage.data.shape, _cells(stage, found, cell, position)))
    title = "Storage" if stage is original else "Storage of both" if shared else "Storage of the result"
    drawn.append(strip(title, _storage(stage, position, {place.position for place in found} if found else None, "s")))
    return drawn


def _cells_of_x(original: Stage, position: int | None, shared: bool) -> list[Cell]:
    """Return the cells of x; the value of each element is its storage position."""
    store = "s" if shared else "x"
    return [
        Cell(
            str(n),
            f"{store}{n}",
            (f"{store}{n}",),
            f"x{list(index)} = {n}, storage position {n}",
            "linked" if shared and n == position else "",
            f"place:{n}" if shared else "",
        )
        for n, index in enumerate(product(*map(range, original.data.shape)))
    ]


def _cells(stage: Stage, found: Sequence[Place], picked: tuple[int, ...] | None, position: int | None) -> list[Cell]:
    """Return the cells of the result, each with its value and its storage position."""
    if not found:
        indices = product(*map(range, stage.data.shape))
        return [Cell(str(int(stage.values[index])), f"c{n}", (f"c{n}",)) for n, index in enumerate(indices)]
    cells = []
    for place in found:
        reads = "no position in the storage" if place.position is None else f"storage position {place.position}"
        note = f"result{list(place.index)} = {'?' if place.value is None else place.value}, {reads}"
        if place.wrong:
            note += f"; expected {place.expected} at position {place.right}"
        look = "picked" if place.index == picked else "linked" if position is not None and place.position == position else ""
        where = "nowhere" if place.position is None else f"s{place.position}"
        text = "?" if place.value is None else str(place.value)
        small = "" if place.position is None else f"at {place.position}"
        pick = "cell:" + ",".join(map(str, place.index))
        cells.append(Cell(text, where, (where,), note, "wrong" if place.wrong else look, pick, small))
    return cells


def _storage(stage: Stage, position: int | None, read: set[int | None] | None, store: str) -> list[Cell]:
    """Return the cells of a storage; a position that is not read is faint. Only the storage of the result, "s", is clickable."""
    cells = []
    for place, value in enumerate(stage.data._storage.tolist()):
        look = "picked" if place == position else "faint" if read is not None and place not in read else ""
        note = f"storage position {place} holds {value}"
        pick = f"place:{place}" if store == "s" else ""
        cells.append(Cell(str(value), f"{store}{place}", (f"{store}{place}",), note, look, pick, f"at {place}"))
    return cells
