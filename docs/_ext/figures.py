"""Figures for the code cells: charts by Vega-Lite, graphs of boxes and arrows, all as SVG inside the page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import count
from typing import Any

INK = "#010203"
"""Stands in a chart for the page's text colour, light or dark."""

UNWRITTEN = 'raise NotImplementedError("Need to implement for Task'
"""What stands in the place of code that the student has yet to write."""

_serial = count()

CONFIG = {
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "labelFontSize": 12,
        "titleColor": INK,
        "titleFontSize": 12,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": INK,
        "gridOpacity": 0.12,
    },
    "axisX": {"grid": False, "labelFlush": False},
    "legend": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12},
    "title": {"color": INK},
    "header": {"labelColor": INK, "labelFontSize": 13},
    "range": {"category": ["#3b82c4", "#e07b1a", "#2f9e6e", "#b455a0"]},
}


class Figure:
    """An SVG with its text alternative, which stands below it for everyone to read."""

    def __init__(self, svg: str, caption: str) -> None:
        prefix = f"f{next(_serial)}-"  # ids must differ between the figures of a page
        self.svg = re.sub(r'( id="|url\(#)', rf"\g<1>{prefix}", svg).replace("<svg", '<svg aria-hidden="true"', 1)
        self.caption = caption

    def _repr_html_(self) -> str:
        if not self.caption.strip():
            raise ValueError("a figure needs a caption, which says in words what it shows")
        return f'<figure class="drawn">{self.svg}<figcaption>{escape(self.caption)}</figcaption></figure>'

    def __repr__(self) -> str:
        return f"Figure: {self.caption}"


def chart(spec: dict[str, Any], caption: str) -> Figure:
    """A Vega-Lite specification as a figure in the page's colours."""
    import vl_convert

    config = {**spec.get("config", {}), **CONFIG}
    svg = vl_convert.vegalite_to_svg({**spec, "config": config})
    return Figure(svg.replace(INK, "currentColor"), caption)


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    caption: str,
    x: str = "x",
    y: str = "",
    log: bool = False,
    points: bool = False,
) -> Figure:
    """One line for each named list of (x, y).

    Args:
        series: The lines by the name that the legend shows; values that are not finite are left out.
        caption: The figure in words.
        x: Title of the horizontal axis.
        y: Title of the vertical axis.
        log: Whether both axes are logarithmic.
        points: Whether the points are marked on the line.
    """
    values = [{"x": a, "y": b, "series": name} for name, pairs in series.items() for a, b in pairs if abs(b) != float("inf")]
    scale = {"type": "log"} if log else {"zero": False}
    axis = {"format": ".0e", "tickCount": 8} if log else {}
    name = {"field": "series", "type": "nominal", "sort": None, "title": None, "legend": {"orient": "top"} if len(series) > 1 else None}
    spec = {
        "width": 480,
        "height": 240,
        "data": {"values": values},
        "mark": {"type": "line", "point": points},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": x, "scale": scale, "axis": axis},
            "y": {"field": "y", "type": "quantitative", "title": y, "scale": scale, "axis": axis},
            "color": name,
            "strokeDash": name,
        },
    }
    return chart(spec, caption)


COLUMN, ROW, WIDTH, HEIGHT = 156, 78, 112, 46


def graph(
    inputs: Mapping[str, Sequence[str]],
    caption: str,
    labels: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    edge_labels: Mapping[tuple[str, str], str] | None = None,
    rows: Mapping[str, float] | None = None,
    marked: Sequence[str] = (),
) -> Figure:
    """Boxes and arrows, from what a value is computed from (left) to what is computed from it (right).

    Args:
        inputs: For each node the nodes that it is computed from.
        caption: The figure in words.
        labels: What stands in a node; its name where left out.
        notes: A second line in a node.
        edge_labels: What stands on the arrow from the first node to the second.
        rows: The height of a node, 0 at the top; where left out, nodes of a column follow each other.
        marked: Nodes with a strong border.
    """
    labels, notes, edge_labels, rows = labels or {}, notes or {}, edge_labels or {}, rows or {}
    columns: dict[str, int] = {}

    def column(name: str) -> int:
        if name not in columns:
            columns[name] = max((column(other) + 1 for other in inputs.get(name, ())), default=0)
        return columns[name]

    names = list(dict.fromkeys([*inputs, *(other for others in inputs.values() for other in others)]))
    filled: dict[int, int] = {}
    place: dict[str, tuple[float, float]] = {}
    for name in names:
        row = rows.get(name, filled.get(column(name), 0))
        filled[column(name)] = filled.get(column(name), 0) + 1
        place[name] = (10 + COLUMN * column(name), 16 + ROW * row)

    parts = []
    for name, others in inputs.items():
        for i, other in enumerate(others):
            bend = 14 * (2 * list(others[:i]).count(other) - 1) if list(others).count(other) > 1 else 0
            parts.append(_arrow(place[other], place[name], bend, edge_labels.get((other, name), "")))
    for name in names:
        parts.append(_box(*place[name], labels.get(name, name), notes.get(name, ""), name in marked))
    width = max(x for x, _ in place.values()) + WIDTH + 10
    height = max(y for _, y in place.values()) + HEIGHT + 16
    return Figure(f"{head(width, height)}{''.join(parts)}</svg>", caption)


def head(width: float, height: float) -> str:
    """The beginning of a drawing, with the tip of its arrows."""
    tip = (
        '<marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="graph-arrow" d="M0 0L10 5L0 10z"/></marker>'
    )
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-size="14"><defs>{tip}</defs>'


def _box(x: float, y: float, label: str, note: str, marked: bool) -> str:
    """A node at (x, y), its upper left corner."""
    middle, line = x + WIDTH / 2, y + (20 if note else 28)
    text = f'<text class="graph-label" x="{middle:g}" y="{line:g}" text-anchor="middle">{escape(label)}</text>'
    if note:
        text += f'<text class="graph-note" x="{middle:g}" y="{line + 18:g}" text-anchor="middle" font-size="12">{escape(note)}</text>'
    kind = "graph-node marked" if marked else "graph-node"
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8"/>{text}'


def _arrow(start: tuple[float, float], end: tuple[float, float], bend: float, label: str) -> str:
    """From the right edge of one box to the left edge of another, bent downward by `bend`."""
    x0, y0, x1, y1 = start[0] + WIDTH, start[1] + HEIGHT / 2, end[0] - 1, end[1] + HEIGHT / 2
    mx, my = (x0 + x1) / 2, (y0 + y1) / 2 + 2 * bend
    path = f'<path class="graph-edge" d="M{x0:g} {y0:g}Q{mx:g} {my:g} {x1:g} {y1:g}" marker-end="url(#tip)"/>'
    if label:
        path += f'<text class="graph-edge-label" x="{mx:g}" y="{(y0 + y1) / 2 + bend - 5:g}" text-anchor="middle" font-size="12">'
        path += f"{escape(label)}</text>"
    return path


def waits_for_tasks() -> bool:
    """Whether this is a workspace with code that the student has yet to write."""
    from course.manifest import ROOT

    modules = [*(ROOT / "minitorch").rglob("*.py"), *(ROOT / "project").glob("*.py")]
    return any(UNWRITTEN in module.read_text(encoding="utf-8") for module in modules)


def wait_for_tasks() -> None:
    """In a workspace with unwritten tasks, show a note instead of a traceback where a cell runs one.

    The note takes the place of the cell's output, and of that of later cells of the page that need it. Where every task is
    written, as in the reference, this does nothing: every error fails the build.
    """
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if shell is None or not waits_for_tasks():
        return
    waiting: list[str] = []

    def note(shell: Any, kind: type, error: BaseException, traceback: Any, tb_offset: int | None = None) -> None:
        found = re.search(r"Need to implement for Task (\d+\.\d+[a-z]?)", str(error))
        if found:
            waiting.append(found[1])
            print(f"This output appears when Task {found[1]} is written.")
        elif waiting:
            print(f"This output needs one above, which waits for Task {waiting[0]}.")
        else:
            shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)

    shell.set_custom_exc((Exception,), note)
