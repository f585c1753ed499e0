"""A convolution element by element: the pixels under the window, their products with the weight, and the sum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from project.lab.charts.cells import Cell, grid
from project.lab.typed.arrays import factor, figure
from project.lab.typed.source import Refused

MOST = 10
"""The largest number of rows and columns of an image that is drawn."""

Index = tuple[int, int, int]


@dataclass(frozen=True)
class Walk:
    """How the window moves over the image.

    Attributes:
        reverse: Whether the window is anchored at its last element instead of its first.
        stride: The distance between two positions of the window.
        padding: The number of zeros added around the image; None for the form of the course, whose result has the size of the image.
        dilation: The distance between two elements of the window.
    """

    reverse: bool = False
    stride: int = 1
    padding: int | None = None
    dilation: int = 1


@dataclass(frozen=True)
class Term:
    """One product: a weight times a pixel, which is 0 outside of the image."""

    channel: int
    i: int
    j: int
    row: int
    column: int
    inside: bool
    pixel: float
    weight: float

    @property
    def product(self) -> float:
        """The value of the product."""
        return self.pixel * self.weight if self.inside else 0.0


class Convolution:
    """A convolution of a small image.

    Args:
        image: Shape (C, H, W); in one dimension, H = 1.
        weight: Shape (O, C, kh, kw).
        walk: How the window moves.
        dims: 1 if texts should not mention rows, else 2.

    Raises:
        Refused: If image, weight and walk are incompatible.
    """

    def __init__(self, image: np.ndarray, weight: np.ndarray, walk: Walk, dims: int = 2) -> None:
        self.image, self.weight, self.walk, self.dims = image, weight, walk, dims
        if image.shape[0] != weight.shape[1]:
            raise Refused(
                f"expected a weight with {image.shape[0]} input channels, as in the image, got {weight.shape[1]} (weight of shape "
                f"{self.without_rows(weight.shape)})"
            )
        self.shape = (weight.shape[0], *(self._places(axis) for axis in (1, 2)))
        if min(self.shape) < 1:
            raise Refused(f"expected a window smaller than the padded image, got a result of shape {self.without_rows(self.shape)}")

    def _places(self, axis: int) -> int:
        """Return the number of positions along the rows (axis 1) or columns (axis 2)."""
        size = self.image.shape[axis]
        if self.walk.padding is None or (self.dims == 1 and axis == 1):
            return size
        return (size + 2 * self.walk.padding - self.walk.dilation * (self.weight.shape[axis + 1] - 1) - 1) // self.walk.stride + 1

    def without_rows(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return a shape or an index as it is shown: in one dimension without the rows."""
        return shape if self.dims == 2 else (*shape[:-2], shape[-1])

    def reach(self, axis: int, place: int) -> list[int]:
        """Return the rows (axis 1) or columns (axis 2) under the window, which may be outside of the image."""
        walk, size = self.walk, self.weight.shape[axis + 1]
        if walk.padding is None or (self.dims == 1 and axis == 1):
            return (place + np.arange(size) * (-1 if walk.reverse else 1)).tolist()
        return (place * walk.stride - walk.padding + np.arange(size) * walk.dilation).tolist()

    def index(self, number: int) -> Index:
        """Return the index of an element of the result from its number, which starts at 0."""
        o, rest = divmod(number, self.shape[1] * self.shape[2])
        return (o, *divmod(rest, self.shape[2]))

    def number(self, index: Index) -> int:
        """Return the number of an element of the result."""
        return (index[0] * self.shape[1] + index[1]) * self.shape[2] + index[2]

    @property
    def size(self) -> int:
        """The number of elements of the result."""
        return self.shape[0] * self.shape[1] * self.shape[2]

    def terms(self, index: Index) -> list[Term]:
        """Return the products whose sum is one element of the result, in the order of the weight."""
        o, y, x = index
        channels, height, width = self.image.shape
        found = []
        for c, (i, row), (j, column) in product(range(channels), enumerate(self.reach(1, y)), enumerate(self.reach(2, x))):
            inside = 0 <= row < height and 0 <= column < width
            pixel = float(self.image[c, row, column]) if inside else 0.0
            found.append(Term(c, i, j, row, column, inside, pixel, float(self.weight[o, c, i, j])))
        return found

    @cached_property
    def expected(self) -> np.ndarray:
        """The result."""
        sums = [sum(term.product for term in self.terms(self.index(number))) for number in range(self.size)]
        return np.array(sums).reshape(self.shape)


# Text


def name(convolution: Convolution, index: Index) -> str:
    """Return the name of an element of the result, such as out[0, 2, 3]."""
    return f"out[{', '.join(map(str, convolution.without_rows(index)))}]"


def rule(convolution: Convolution) -> str:
    """Return the formula of the convolution."""
    walk = convolution.walk
    if walk.padding is None:
        sign = "-" if walk.reverse else "+"
        y, x = f"y {sign} i", f"x {sign} j"
    else:
        y, x = (f"{walk.stride}·{place} - {walk.padding} + {walk.dilation}·{tap}" for place, tap in ("yi", "xj"))
    if convolution.dims == 1:
        return f"out[o, x] = sum over c, j of in[c, {x}] · weight[o, c, j]"
    return f"out[o, y, x] = sum over c, i, j of in[c, {y}, {x}] · weight[o, c, i, j]"


def sentence(convolution: Convolution, number: int) -> str:
    """Describe the position of the window after `number` elements."""
    if not number:
        return f"Nothing is computed yet. The result will have shape {convolution.without_rows(convolution.shape)}."
    index = convolution.index(number - 1)
    terms = convolution.terms(index)
    beyond = sum(not term.inside for term in terms)
    over = "" if not beyond else f", {beyond} of them outside of the image, where the value is 0"
    columns = convolution.reach(2, index[2])
    place = f"columns {_span(columns)}"
    if convolution.dims == 2:
        place = f"rows {_span(convolution.reach(1, index[1]))} and {place}"
    return f"{name(convolution, index)}: the window covers {place}, {len(terms)} numbers{over}."


def arithmetic(convolution: Convolution, number: int) -> str:
    """Return the products for the last computed element and their sum, one line per row of each channel."""
    if not number:
        return rule(convolution)
    index = convolution.index(number - 1)
    terms, width = convolution.terms(index), convolution.weight.shape[3]
    lines, sums = [], []
    for start in range(0, len(terms), width):
        row = terms[start : start + width]
        inside = [term for term in row if term.inside]
        sums.append(sum(term.product for term in row))
        label = f"channel {row[0].channel}" + (f", row {row[0].row}" if convolution.dims == 2 else "")
        says = " + ".join(f"{figure(term.pixel)}·{factor(term.weight)}" for term in inside)
        lines.append(f"{label}: {says} = {figure(sums[-1])}" if inside else f"{label}: outside of the image, 0")
    total = figure(sum(sums))
    added = " + ".join([figure(sums[0]), *map(factor, sums[1:])])
    result = f"{name(convolution, index)} = " + (f"{added} = {total}" if len(sums) > 1 else total)
    return "\n".join([*lines, result])


def remark(convolution: Convolution) -> str:
    """Describe the rows and columns that no window covers; "" if there are none."""
    walk = convolution.walk
    if walk.padding is None:
        return ""
    left = []
    for axis, said in ((1, "rows"), (2, "columns"))[2 - convolution.dims :]:
        read = {place for number in range(convolution.shape[axis]) for place in convolution.reach(axis, number)}
        unread = [place for place in range(convolution.image.shape[axis]) if place not in read]
        left += [f"{said} {', '.join(map(str, unread))}"] if unread else []
    return f"No window covers {' and '.join(left)} of the image, so these pixels are ignored." if left else ""


def _span(places: list[int]) -> str:
    """Return a range of positions as text, or all positions if they have gaps."""
    low, high = min(places), max(places)
    if high - low + 1 > len(places):
        return ", ".join(map(str, places))
    return f"{low} to {high}" if high > low else str(low)


# Drawing


def panels(convolution: Convolution, number: int, out: np.ndarray, wrong: np.ndarray) -> list[str]:
    """Return the markup of image, weight, products and result.

    Args:
        convolution: The convolution.
        number: The number of elements computed so far.
        out: The result.
        wrong: Which elements of the result are wrong.
    """
    index = convolution.index(number - 1) if number else None
    terms = {(term.channel, term.row, term.column): term for term in convolution.terms(index)} if index else {}
    products = _products_panel(convolution, list(terms.values()))
    return [_image_panel(convolution, terms), _weight_panel(convolution, index), products, _result_panel(convolution, number, out, wrong)]


def window(convolution: Convolution, number: int) -> dict[str, Any]:
    """Return what the browser needs to move the window by itself.

    Args:
        convolution: The convolution.
        number: The number of elements computed so far.
    """
    rows, columns = ([convolution.reach(axis, place) for place in range(convolution.shape[axis])] for axis in (1, 2))
    return {
        "image": convolution.image.tolist(),
        "weight": convolution.weight.tolist(),
        "rows": rows,
        "columns": columns,
        "first": [_extent(convolution, axis).start for axis in (1, 2)],
        "dims": convolution.dims,
        "channel": convolution.index(number - 1)[0] if number else 0,
        "text": arithmetic(convolution, number),
    }


def _image_panel(convolution: Convolution, terms: dict[tuple[int, int, int], Term]) -> str:
    """Return the image, including the positions around it that any window covers."""
    channels, height, width = convolution.image.shape
    rows, columns = (_extent(convolution, axis) for axis in (1, 2))
    scale = largest(convolution.image)
    cells = []
    for c, row, column in product(range(channels), rows, columns):
        inside = 0 <= row < height and 0 <= column < width
        value = float(convolution.image[c, row, column]) if inside else 0.0
        at = f"in[{', '.join(map(str, convolution.without_rows((c, row, column))))}]"
        note = f"{at} = {figure(value)}" if inside else f"{at} is outside of the image, where the value is 0"
        term = terms.get((c, row, column))
        tag = f"t{term.channel},{term.i},{term.j}" if term else f"p{c},{row},{column}"
        note += f"; times {figure(term.weight)}" if term and term.inside else ""
        look = "read" if term and inside else "linked" if term else "" if inside else "faint"
        cells.append(Cell(short(value), tag, (tag,), note, look, tone=value / scale if inside else None))
    title = f"image, shape {convolution.without_rows(convolution.image.shape)}"
    shape = convolution.without_rows((channels, len(rows), len(columns)))
    return grid(title, shape, cells, cell_width(len(columns)), (rows.start, columns.start))


def _extent(convolution: Convolution, axis: int) -> range:
    """Return the rows or columns of the image and of all windows."""
    covered = [place for number in range(convolution.shape[axis]) for place in convolution.reach(axis, number)]
    return range(min(0, *covered), max(convolution.image.shape[axis] - 1, *covered) + 1)


def _weight_panel(convolution: Convolution, index: Index | None) -> str:
    """Return the weight of the current output channel."""
    o = index[0] if index else 0
    weight = convolution.weight[o]
    scale = largest(convolution.weight)
    cells = []
    for c, i, j in np.ndindex(weight.shape):
        value, tag = float(weight[c, i, j]), f"t{c},{i},{j}"
        at = ", ".join(map(str, convolution.without_rows((o, c, i, j))))
        cells.append(Cell(short(value), tag, (tag,), f"weight[{at}] = {figure(value)}", tone=value / scale))
    title = f"weight[{o}], of shape {convolution.without_rows(convolution.weight.shape)}"
    return grid(title, convolution.without_rows(weight.shape), cells, 2.6)


def _products_panel(convolution: Convolution, terms: list[Term]) -> str:
    """Return the products for the last computed element, arranged like the weight; empty cells if there is none."""
    scale = max((abs(term.product) for term in terms), default=0.0) or 1.0
    cells = [Cell("", f"t{c},{i},{j}", (f"t{c},{i},{j}",), look="faint") for c, i, j in np.ndindex(convolution.weight.shape[1:])]
    for number, term in enumerate(terms):
        tag = cells[number].tag
        says = f"{short(term.pixel)}·{short(term.weight)}"
        note = f"{figure(term.pixel)}·{factor(term.weight)} = {figure(term.product)}" if term.inside else "outside of the image: 0"
        look, tone = ("", term.product / scale) if term.inside else ("faint", None)
        cells[number] = Cell(short(term.product), tag, (tag,), note, look, small=says if term.inside else "", tone=tone)
    shape = convolution.without_rows(convolution.weight.shape[1:])
    total = f", with sum {figure(sum(term.product for term in terms))}" if terms else ""
    return grid(f"products{total}", shape, cells, 3.2)


def _result_panel(convolution: Convolution, number: int, out: np.ndarray, wrong: np.ndarray) -> str:
    """Return the result with the elements computed so far."""
    scale = largest(out)
    cells = []
    for at, index in enumerate(np.ndindex(convolution.shape)):
        value, said = float(out[index]), name(convolution, index)
        there = at < number
        look = "wrong" if there and wrong[index] else "changed" if at == number - 1 else "" if there else "faint"
        note = f"{said} = {figure(value)}" if there else f"{said}, not computed yet"
        if there and wrong[index]:
            note += f"; expected {figure(float(convolution.expected[index]))}"
        tone = value / scale if there and np.isfinite(value) else None
        cells.append(Cell(short(value) if there else "", f"o{at}", (), note, look, ",".join(map(str, index)), tone=tone))
    title = f"result, shape {convolution.without_rows(convolution.shape)}"
    return grid(title, convolution.without_rows(convolution.shape), cells, cell_width(convolution.shape[2]))


def short(value: float) -> str:
    """Return a number that fits in a cell."""
    return f"{value:.3g}" if value else "0"


def largest(values: np.ndarray) -> float:
    """Return the largest finite absolute value, or 1 if it is 0."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max(initial=0.0)) or 1.0


def cell_width(columns: int) -> float:
    """Return the width of a cell in rem, so that a row fits on a phone."""
    return 2.4 if columns <= 7 else 1.9 if columns <= 9 else 1.7
