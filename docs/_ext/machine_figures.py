"""Figures of what a processor does: threads along time, parts of matrices, and what each step of a measured group has gained."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from figures import Figure, chart, head

LANE = 40
"""Height of a lane in pixels, with the gap below it."""

Part = tuple[float, float, float, float, str]
"""Top row, left column, rows, columns, and what stands in it."""


def timeline(
    lanes: Mapping[str, Sequence[tuple[float, float, str]]],
    caption: str,
    unit: float = 40,
    marked: Sequence[tuple[str, int]] = (),
) -> Figure:
    """Boxes along time, one lane for each thread or place.

    Args:
        lanes: For each name the boxes: where they begin, how long they are, what stands in them.
        caption: The figure in words.
        unit: Pixels for a length of 1.
        marked: Boxes with a strong border, by lane and number.
    """
    left = 24 + max(7.6 * len(name) for name in lanes)
    parts, right = [], left
    for row, (name, boxes) in enumerate(lanes.items()):
        y = 10 + row * LANE
        parts.append(_text(left - 14, y + 19, name, "end", strong=True))
        for number, (start, length, text) in enumerate(boxes):
            x = left + start * unit
            parts += _box(x, y, length * unit, LANE - 12, text, (name, number) in marked)
            right = max(right, x + length * unit)
    bottom = 10 + len(lanes) * LANE
    parts.append(f'<path class="graph-edge" d="M{left:g} {bottom:g}H{right:g}" marker-end="url(#tip)"/>')
    parts.append(_text(right, bottom + 16, "time", "end", note=True))
    return _figure(parts, right + 10, bottom + 24, caption)


def matrices(parts: Sequence[str | tuple[str, float, float, Sequence[Part]]], caption: str, unit: float = 10) -> Figure:
    """Matrices as outlines, with signs between them.

    Args:
        parts: Signs, and matrices: title, rows, columns, and the parts of them that are drawn with a strong border.
        caption: The figure in words.
        unit: Pixels for a row or column.
    """
    tall = max(part[1] for part in parts if not isinstance(part, str)) * unit
    x, top, drawn = 10.0, 28.0, []
    for part in parts:
        if isinstance(part, str):
            length = 9.0 * len(part) + 8
            drawn.append(_text(x + length / 2, top + tall / 2 + 5, part))
            x += length + 8
            continue
        title, rows, columns, marked = part
        y, length = top + (tall - rows * unit) / 2, max(columns * unit, 7.4 * len(title))
        start = x + (length - columns * unit) / 2
        drawn.append(_text(x + length / 2, y - 9, title, strong=True))
        drawn.append(f'<rect class="graph-node" x="{start:g}" y="{y:g}" width="{columns * unit:g}" height="{rows * unit:g}"/>')
        for row, column, height, width, text in marked:
            drawn += _box(start + column * unit, y + row * unit, width * unit, height * unit, text, True)
        x += length + 8
    return _figure(drawn, x + 2, top + tall + 12, caption)


class Table:
    """Rows of texts as a table, the titles first. A text between backticks is code."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self.rows = rows

    def _repr_html_(self) -> str:
        head, *body = ([re.sub(r"^`(.*)`$", r"<code>\1</code>", escape(cell)) for cell in row] for row in self.rows)
        cell = '</td><td style="white-space: nowrap">'
        lines = [f"<tr><td>{cell.join(row)}</td></tr>" for row in body]
        table = f'<table class="table"><thead><tr><th>{"</th><th>".join(head)}</th></tr></thead><tbody>{"".join(lines)}</tbody></table>'
        return f'<figure class="drawn">{table}</figure>'

    def __repr__(self) -> str:
        return "\n".join(" | ".join(row) for row in self.rows)


def gains(group: dict[str, Any], caption: str) -> Figure:
    """How many times faster than the first step each step is, one dot for each kind of work, on a logarithmic axis.

    Args:
        group: From what `benchmarks.steps` saves.
        caption: The figure in words.
    """
    first = group["steps"][0]["seconds"]
    ideas = [step["idea"] for step in group["steps"]]
    values = [
        {"step": step["idea"], "work": work, "gain": first[work][0] / seconds[0]}
        for step in group["steps"]
        for work, seconds in step["seconds"].items()
    ]
    works = list(group["operations"])
    work = {"field": "work", "type": "nominal", "sort": None, "title": None, "legend": {"orient": "top"} if len(works) > 1 else None}
    spec = {
        "width": 340,
        "height": {"step": 24},
        "data": {"values": values},
        "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
        "encoding": {
            "y": {"field": "step", "type": "nominal", "sort": ideas, "title": None, "axis": {"labelLimit": 300, "grid": True}},
            "x": {
                "field": "gain",
                "type": "quantitative",
                "title": "times faster than the first step",
                "scale": {"type": "log"},
                "axis": {"grid": True, "values": [1, 10, 100, 1000], "format": "d"},
            },
            "color": work,
            "shape": work,
        },
    }
    return chart(spec, caption)


def _box(x: float, y: float, width: float, height: float, text: str, marked: bool) -> list[str]:
    kind = "graph-node marked" if marked else "graph-node"
    box = f'<rect class="{kind}" x="{x + 1:g}" y="{y + 1:g}" width="{width - 2:g}" height="{height - 2:g}" rx="3"/>'
    return [box, _text(x + width / 2, y + height / 2 + 4, text)] if text else [box]


def _text(x: float, y: float, text: str, anchor: str = "middle", strong: bool = False, note: bool = False) -> str:
    kind = "graph-note" if note else "graph-label"
    look = f'text-anchor="{anchor}" font-size="12" style="font-weight: {600 if strong else 400}"'
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" {look}>{escape(text)}</text>'


def _figure(parts: Sequence[str], width: float, height: float, caption: str) -> Figure:
    return Figure(f"{head(width, height)}{''.join(parts)}</svg>", caption)
