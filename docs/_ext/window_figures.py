"""Figures of windows: one that slides along a row of numbers, and grids with windows cut out or marked; bars, and pictures in shades."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import NamedTuple

from figures import Figure, head

CELL = 26
"""Side of a cell in pixels; a cell with a long text is wider."""

GAP = 8
"""Between the windows of a grid that is cut into them."""


class Grid(NamedTuple):
    """Numbers in rows and columns.

    Attributes:
        title: What stands above.
        rows: The numbers.
        marked: (row, column) of the cells with a strong border.
        dashed: Those of the cells with a dashed one.
        window: Height and width of the windows that the grid is cut into; None for a grid in one piece.
    """

    title: str
    rows: Sequence[Sequence[float]]
    marked: Collection[tuple[int, int]] = ()
    dashed: Collection[tuple[int, int]] = ()
    window: tuple[int, int] | None = None


def slides(numbers: Sequence[float], weight: Sequence[float], caption: str, reverse: bool = False) -> Figure:
    """A window at each of its places on a row of numbers, one place a line, with its sum of products.

    Args:
        numbers: What the window slides over. Beyond the edge that it reaches are zeros, dashed.
        weight: As many as the window is wide.
        caption: The figure in words.
        reverse: Whether the window reaches to the left, its first weight at its right end.
    """
    reach = len(weight) - 1
    before, behind = (reach, 0) if reverse else (0, reach)
    padded = [0] * before + list(numbers) + [0] * behind
    outside = {i for i in range(len(padded)) if not before <= i < before + len(numbers)}
    width = _cell_width(padded)
    parts, end = [], 0.0
    for place in range(len(numbers)):
        y = 8 + place * (CELL + 12)
        covered = [place + reach - k if reverse else place + k for k in range(len(weight))]
        for i, number in enumerate(padded):
            parts.append(_cell(10 + i * width, y, width, f"{number:g}", i in covered, i in outside))
        products = [(padded[i], factor) for i, factor in zip(covered, weight, strict=True) if i not in outside]
        terms = " + ".join(f"{a:g} · {b:g}" for a, b in products)
        line = f"{terms} = {sum(a * b for a, b in products):g}"
        x = 24 + len(padded) * width
        parts.append(_text(x, y + 18, line, "start"))
        end = max(end, x + 7.4 * len(line))
    return _figure(parts, end + 4, 8 + len(numbers) * (CELL + 12), caption)


def grids(parts: Sequence[str | Grid], caption: str) -> Figure:
    """Grids in a row with signs between them.

    Args:
        parts: Signs, as texts, and grids.
        caption: The figure in words.
    """
    tall = max(_extent(len(part.rows), CELL, part.window and part.window[0]) for part in parts if isinstance(part, Grid))
    x, top, drawn = 10.0, 28.0, []
    for part in parts:
        if isinstance(part, str):
            length = 9.0 * len(part) + 10
            drawn.append(_text(x + length / 2, top + tall / 2 + 5, part))
            x += length + 8
            continue
        high, wide = part.window or (None, None)
        width = _cell_width([value for row in part.rows for value in row])
        size = _extent(len(part.rows[0]), width, wide)
        length = max(size, 7.4 * len(part.title))
        left, y = x + (length - size) / 2, top + (tall - _extent(len(part.rows), CELL, high)) / 2
        drawn.append(_text(x + length / 2, y - 9, part.title, strong=True))
        for i, row in enumerate(part.rows):
            for j, value in enumerate(row):
                at = left + _extent(j, width, wide, inner=True), y + _extent(i, CELL, high, inner=True)
                drawn.append(_cell(*at, width, f"{value:g}", (i, j) in part.marked, (i, j) in part.dashed))
        x += length + 8
    return _figure(drawn, x + 2, top + tall + 10, caption)


def bars(panels: Mapping[str, Sequence[float]], caption: str) -> Figure:
    """Numbers as bars, panel beside panel, each panel with a scale of its own.

    Args:
        panels: The numbers, none negative, by the title of their panel.
        caption: The figure in words.
    """
    tall, width, x, parts = 90, 34, 10.0, []
    for title, numbers in panels.items():
        length = max(width * len(numbers), 7.6 * len(title))
        start = x + (length - width * len(numbers)) / 2
        parts.append(_text(x + length / 2, 16, title, strong=True))
        for i, number in enumerate(numbers):
            high = tall * number / max(numbers)
            left, top = start + width * i, 44 + tall - high
            kind = "graph-node marked" if number == max(numbers) else "graph-node"
            parts.append(f'<rect class="{kind}" x="{left + 4:g}" y="{top:g}" width="{width - 8}" height="{high:g}"/>')
            parts.append(_text(left + width / 2, top - 6, f"{number:.2g}"))
        x += length + 26
    return _figure(parts, x - 16, 44 + tall + 8, caption)


def shades(pictures: Sequence[tuple[str, Sequence[Sequence[float]]]], caption: str, columns: int = 5, pixel: float = 12) -> Figure:
    """Pictures beside each other, each with its title; of the numbers of a picture the smallest is clear and the largest solid.

    Args:
        pictures: Title and rows of numbers; all of one size.
        caption: The figure in words.
        columns: How many stand in a row.
        pixel: Side of a pixel.
    """
    height, width = len(pictures[0][1]) * pixel, len(pictures[0][1][0]) * pixel
    step = max(width, 8 * max(len(title) for title, _ in pictures)) + 16
    parts = []
    for number, (title, rows) in enumerate(pictures):
        x, y = 10 + number % columns * step, 26 + number // columns * (height + 34)
        parts.append(_text(x, y - 7, title, "start", strong=True))
        parts.append(f'<rect class="graph-edge" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>')
        least, most = min(map(min, rows)), max(map(max, rows))
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                if value > least:
                    place = f'x="{x + j * pixel:g}" y="{y + i * pixel:g}" width="{pixel:g}" height="{pixel:g}"'
                    parts.append(f'<rect fill="currentColor" fill-opacity="{(value - least) / (most - least):.2f}" {place}/>')
    across, down = min(len(pictures), columns), -(-len(pictures) // columns)
    return _figure(parts, 4 + across * step, 4 + down * (height + 34), caption)


def channels(inputs: int, outputs: int, side: int, window: int, caption: str) -> Figure:
    """A convolution with several channels: a row for each input channel, a column for each output channel, a window where they meet.

    Args:
        inputs: Number of input channels.
        outputs: Number of output channels.
        side: Height and width of a channel.
        window: Height and width of a window.
        caption: The figure in words.
    """
    pixel, left, top = 12, 10.0, 46.0
    size, wide = side * pixel, window * pixel
    across, down = max(size, 76) + 26, size + 24
    covered = {(1 + i, 1 + j) for i in range(window) for j in range(window)}
    shapes = f"input ({inputs}, {side}, {side})", f"weight ({outputs}, {inputs}, {window}, {window})", f"out ({outputs}, {side}, {side})"
    parts = [_text(left, 16, shapes[0], "start", strong=True), _text(left + across + 20, 16, shapes[1], "start", strong=True)]
    last = top + inputs * down
    for channel in range(inputs):
        y = top + channel * down
        parts.append(_text(left, y - 6, f"channel {channel}", "start"))
        parts += _mesh(left, y, side, pixel, covered)
        for out in range(outputs):
            x = left + across + 20 + out * across
            parts += _mesh(x + (size - wide) / 2, y + (size - wide) / 2, window, pixel, ())
            if out == 0:
                parts.append(_text(x - 18, y + size / 2 + 7, "*"))
            parts.append(_text(x + size / 2, y + size + 15, "+" if channel < inputs - 1 else "="))
    parts.append(_text(left, last + size / 2 + 5, shapes[2], "start", strong=True))
    for out in range(outputs):
        x = left + across + 20 + out * across
        parts += _mesh(x, last, side, pixel, {(1, 1)})
        parts.append(_text(x + size / 2, last + size + 17, f"channel {out}"))
    return _figure(parts, left + 20 + (1 + outputs) * across, last + size + 28, caption)


def _mesh(x: float, y: float, side: int, pixel: float, marked: Collection[tuple[int, int]]) -> list[str]:
    """A square of empty cells; the marked ones come last, so that their borders are on top."""
    cells = sorted(((i, j) for i in range(side) for j in range(side)), key=lambda cell: cell in marked)
    return [
        f'<rect class="{"graph-node marked" if (i, j) in marked else "graph-node"}" '
        f'x="{x + j * pixel:g}" y="{y + i * pixel:g}" width="{pixel:g}" height="{pixel:g}"/>'
        for i, j in cells
    ]


def _extent(count: int, side: float, window: int | None, inner: bool = False) -> float:
    """How long so many cells are, with the gaps between windows; `inner` counts a gap behind the last as well."""
    gaps = (count if inner else count - 1) // window if window else 0
    return count * side + gaps * GAP


def _cell_width(values: Sequence[float]) -> float:
    return max(CELL, 8 * max(len(f"{value:g}") for value in values) + 8)


def _cell(x: float, y: float, width: float, text: str, marked: bool, dashed: bool) -> str:
    kind = "graph-node marked" if marked else "graph-node"
    dash = ' stroke-dasharray="3 3"' if dashed else ""
    box = f'<rect class="{kind}" x="{x + 1:g}" y="{y + 1:g}" width="{width - 2:g}" height="{CELL - 2}" rx="3"{dash}/>'
    return box + _text(x + width / 2, y + 18, text)


def _text(x: float, y: float, text: str, anchor: str = "middle", strong: bool = False) -> str:
    look = f'text-anchor="{anchor}" font-size="13" style="font-weight: {600 if strong else 400}"'
    return f'<text class="graph-label" x="{x:g}" y="{y:g}" {look}>{escape(text)}</text>'


def _figure(parts: Sequence[str], width: float, height: float, caption: str) -> Figure:
    return Figure(f"{head(width, height)}{''.join(parts)}</svg>", caption)
