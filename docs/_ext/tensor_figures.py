"""Figures of tensors: grids of cells over their storage, shapes aligned for broadcasting, and equations of grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from figures import Figure, head
from learning_figures import Row

CELL = 26
"""Side of a cell in pixels; a cell with a long text is wider."""

GAP = 12
"""Between the parts of a tensor of three dimensions."""

Shape = tuple[int, ...]
View = tuple[Shape, Shape, int]
"""Shape, strides and offset."""


def layout(
    storage: Sequence[float], views: Mapping[str, View], caption: str, marked: Mapping[str, Sequence[Shape]] | None = None
) -> Figure:
    """Tensors as grids, and below them the storage that they share.

    Args:
        storage: The numbers in a row.
        views: Shape, strides and offset by the name that stands above the grid; up to three dimensions.
        caption: The figure in words.
        marked: For a view by its name the indices from which an arrow leads to the place in storage.
    """
    marked = marked or {}
    storage_texts = [f"{value:g}" for value in storage]
    width = _width(storage_texts)
    left, top = 10.0, 16.0
    under, over, bottom = [], [], 0.0
    arrows: dict[tuple[float, int], float] = {}  # of cells in one column that share a place, the lowest has the arrow
    for name, (shape, strides, offset) in views.items():
        places = _places(shape, strides, offset, len(storage))
        lines = [name, f"strides {strides}" + (f", offset {offset}" if offset else "")]
        under += [_text(left, top + 14 * i, line, "start", strong=i == 0) for i, line in enumerate(lines)]
        right = left + max(7.2 * len(line) for line in lines)
        for index, place in np.ndenumerate(places):
            x, y = _corner(index, shape, width, left, top + 24)
            is_marked = index in [tuple(one) for one in marked.get(name, ())]
            under.append(_cell(x, y, width, storage_texts[int(place)], marked=is_marked))
            right, bottom = max(right, x + width), max(bottom, y + CELL)
            if is_marked:
                arrows[x + width / 2, int(place)] = y + CELL
        left = right + 34
    strip = bottom + (58 if arrows else 34)
    under.append(_text(10, strip - 8, "storage", "start", strong=True))
    hit = {place for _, place in arrows}
    for position, text in enumerate(storage_texts):
        x = 10 + width * position
        under += [_cell(x, strip, width, text, marked=position in hit), _text(x + width / 2, strip + CELL + 14, str(position), note=True)]
    for (x, place), y in arrows.items():
        end = 10 + width * (place + 0.5)
        curve = f"M{x:g} {y:g}C{x:g} {strip - 20:g} {end:g} {y + 20:g} {end:g} {strip - 1:g}"
        over.append(f'<path class="graph-edge" d="{curve}" marker-end="url(#tip)"/>')
    return _figure([*under, *over], max(left - 24, 20 + width * len(storage)), strip + CELL + 24, caption)


def steps(shapes: Mapping[str, Shape], caption: str) -> Row:
    """Contiguous tensors as grids of positions, with an arrow for one step along each dimension, labeled with its stride.

    Args:
        shapes: The shapes by the name that stands above the grid; one to three dimensions, each of at least 2.
        caption: The figure in words.
    """
    return Row([_steps(name, shape) for name, shape in shapes.items()], caption)


def _steps(name: str, shape: Shape) -> Figure:
    """One tensor of `steps`."""
    strides = tuple(int(np.prod(shape[dim + 1 :])) for dim in range(len(shape)))
    note = f"strides {strides}"
    left, top = 34.0, 66.0
    parts = [_text(left, 14, name, "start", strong=True), _text(left, 30, note, "start", note=True)]
    corners = {index: _corner(index, shape, CELL, left, top) for index in np.ndindex(shape)}
    parts += [_cell(*corner, CELL, str(int(np.dot(index, strides)))) for index, corner in corners.items()]
    middle, low = left + CELL / 2, top + CELL * (1, *shape)[-2]
    across = CELL * shape[-1] + GAP
    arrows = [  # to the next column above the grid, to the next row on its left, to the next part below it
        ((middle, top + 1), (middle + CELL / 2, top - 14), (middle + CELL, top), (middle + CELL / 2, top - 11)),
        ((left + 1, top + 13), (left - 16, top + CELL), (left, top + CELL + 13), (left - 22, top + CELL + 4)),
        ((middle, low - 1), (middle + across / 2, low + 24), (middle + across, low), (middle + across / 2, low + 27)),
    ]
    for stride, (start, bend, end, place) in zip(reversed(strides), arrows, strict=False):
        curve = "M{:g} {:g}Q{:g} {:g} {:g} {:g}".format(*start, *bend, *end)
        parts.append(f'<path class="graph-edge" d="{curve}" marker-end="url(#tip)"/>')
        parts.append(_text(*place, f"+{stride}", note=True))
    right = max(left + 7.2 * max(len(name), len(note)), *(x + CELL for x, _ in corners.values()))
    return _figure(parts, right + 12, low + 36, "")


def alignment(shapes: Mapping[str, Shape], caption: str) -> Figure:
    """Shapes one below the other, aligned at their right ends, and the shape that they broadcast to.

    A size that is missing is drawn as a dashed 1, a size that is stretched has a dashed border, and a clash shows as ≠.

    Args:
        shapes: The shapes by their names.
        caption: The figure in words.
    """
    dims = max(len(shape) for shape in shapes.values())
    padded = {name: (1,) * (dims - len(shape)) + shape for name, shape in shapes.items()}
    sizes = [set(column) - {1} for column in zip(*padded.values(), strict=True)]
    result = ["≠" if len(column) > 1 else str(min(column, default=1)) for column in sizes]
    names = [*shapes, "together"]
    left = 24 + max(7.6 * len(name) for name in names)
    parts = []
    for row, name in enumerate(names):
        y = 10 + row * (CELL + 12) + (8 if name == "together" else 0)
        parts.append(_text(left - 14, y + 18, name, "end", strong=True))
        for column in range(dims):
            x = left + column * 44
            if name == "together":
                parts.append(_cell(x, y, 34, result[column], marked=True))
            else:
                size = padded[name][column]
                parts.append(_cell(x, y, 34, str(size), dashed=size == 1 and bool(sizes[column])))
                if column < dims - len(shapes[name]):
                    parts.append(_text(x + 17, y - 2, "missing", note=True))
    return _figure(parts, left + dims * 44 + 4, 10 + len(names) * (CELL + 12) + 8, caption)


Grid = tuple[str, Sequence[Sequence[float]]] | tuple[str, Sequence[Sequence[float]], Sequence[tuple[int, int]]]
"""What stands above it, its rows, and, where they are given, the (row, column) of the cells that are drawn dashed."""


def equation(parts: Sequence[str | Grid], caption: str) -> Figure:
    """Grids in a row with signs between them.

    Args:
        parts: Signs, as texts, and grids.
        caption: The figure in words.
    """
    tall = max(len(part[1]) for part in parts if not isinstance(part, str)) * CELL
    x, top = 10.0, 26.0
    drawn = []
    for part in parts:
        if isinstance(part, str):
            length = 9.0 * len(part) + 10
            drawn.append(_text(x + length / 2, top + tall / 2 + 5, part))
            x += length + 10
            continue
        title, rows = part[0], part[1]
        dashed = part[2] if len(part) == 3 else ()
        width = _width([f"{value:g}" for row in rows for value in row])
        y = top + (tall - len(rows) * CELL) / 2
        length = max(width * len(rows[0]), 7.4 * len(title))
        start = x + (length - width * len(rows[0])) / 2
        drawn.append(_text(x + length / 2, y - 8, title, strong=True))
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                drawn.append(_cell(start + width * j, y + CELL * i, width, f"{value:g}", dashed=(i, j) in dashed))
        x += length + 10
    return _figure(drawn, x, top + tall + 10, caption)


def _places(shape: Shape, strides: Shape, offset: int, length: int) -> np.ndarray:
    """For every index its position in a storage of some length: NumPy reads the positions themselves through shape and strides."""
    numbers = np.arange(length)[offset:]
    return np.lib.stride_tricks.as_strided(numbers, shape, [stride * numbers.itemsize for stride in strides], writeable=False)


def _corner(index: Shape, shape: Shape, width: float, left: float, top: float) -> tuple[float, float]:
    """Upper left corner of a cell; the parts of a tensor of three dimensions stand beside each other."""
    part, row, column = (0,) * (3 - len(index)) + tuple(index)
    return left + part * (shape[-1] * width + GAP) + column * width, top + row * CELL


def _width(texts: Sequence[str]) -> float:
    return max(CELL, 8 * max(map(len, texts)) + 8)


def _cell(x: float, y: float, width: float, text: str, marked: bool = False, dashed: bool = False) -> str:
    kind = "graph-node marked" if marked else "graph-node"
    dash = ' stroke-dasharray="3 3"' if dashed else ""
    box = f'<rect class="{kind}" x="{x + 1:g}" y="{y + 1:g}" width="{width - 2:g}" height="{CELL - 2}" rx="3"{dash}/>'
    return box + _text(x + width / 2, y + 18, text)


def _text(x: float, y: float, text: str, anchor: str = "middle", strong: bool = False, note: bool = False) -> str:
    kind = "graph-note" if note else "graph-label"
    size, weight = (11, 400) if note else (13, 600 if strong else 400)
    look = f'text-anchor="{anchor}" font-size="{size}" style="font-weight: {weight}"'
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" {look}>{escape(text)}</text>'


def _figure(parts: Sequence[str], width: float, height: float, caption: str) -> Figure:
    return Figure(f"{head(width, height)}{''.join(parts)}</svg>", caption)
