"""Figures of a CUDA kernel as markup: its source with counts, the threads of a warp, and memory with who touches it."""

from __future__ import annotations

import html
import linecache
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minitorch.cuda.memory import CACHE_LINE, SECTOR
from project.lab.charts.palette import BLUE, GREEN, ORANGE

KIND_COLORS = {"read": BLUE, "write": GREEN, "atomic": ORANGE}

STYLE = """
<style>
.kernel {font: .82rem/1.45 var(--st-code-font, monospace); overflow-x: auto; border: 1px solid #8883; border-radius: 8px}
.kernel table {border-collapse: collapse; width: 100%}
.kernel td, .kernel th {padding: 0 .35rem; text-align: right; white-space: nowrap; border: 0; font-weight: 400}
.kernel td.source {text-align: left; white-space: pre; width: 100%}
.kernel th {font-size: .72rem; opacity: .75; padding-top: .3rem}
.kernel tr.now td {background: #1f6fb233; font-weight: 700}
.kernel tr.wrong td {background: #c0392b33}
.kernel tr.now.wrong td {background: #c0392b66}
.kernel .bad {color: light-dark(#a63603, #fdae6b); font-weight: 700}
.memory {display: block; width: 36rem; max-width: 100%; max-height: 70vh; margin: .2rem 0 .4rem}
.memory text {font: 600 6px sans-serif; text-anchor: middle; fill: #fff}
.memory .lane {fill: #8883}
.memory .on {fill: #1f6fb2}
.memory .grid {stroke: #8886; stroke-width: .5; fill: #8881}
.memory .waste {fill: #d9701e66}
.memory .conflict {stroke: #c0392b; stroke-width: 1.5}
.memory .ways {fill: none; stroke-width: .6; opacity: .7}
</style>
"""


def source(report: Any, now: int, file: str) -> str:
    """Return the kernel's source, each line with its counts; the current line is highlighted, lines with a finding are red.

    Args:
        report: A KernelReport.
        now: The current line.
        file: The file of the current line; other files are not shown.
    """
    counts = {line.place.line: line for line in report.lines if line.place.file == file}
    if not counts:
        return ""
    wrong = {place.line for finding in report.findings for place in _places(finding) if place.file == file}
    rows = ["<tr><th>line</th><th>threads</th><th>sectors</th><th>banks</th><th></th></tr>"]
    indent = min(len(text) - len(text.lstrip()) for text in (linecache.getline(file, number) for number in counts))
    for number in range(min(counts), max(counts) + 1):
        text = html.escape(linecache.getline(file, number).rstrip()[indent:])
        line = counts.get(number)
        active = f"{line.active / (32 * line.instructions):.0%}" if line and line.instructions else ""
        mine = [access for access in report.accesses if (access.place.line, access.place.file) == (number, file)]
        look = " ".join(name for name, is_so in (("now", number == now), ("wrong", number in wrong)) if is_so)
        cells = [f"<td>{number}</td>", f"<td>{active}</td>", _sectors(mine), _conflict(mine), f'<td class="source">{text}</td>']
        rows.append(f'<tr class="{look}">{"".join(cells)}</tr>')
    return f'{STYLE}<div class="kernel"><table>{"".join(rows)}</table></div>'


def _places(finding: Any) -> list[Any]:
    """The lines that a finding names."""
    if hasattr(finding, "first"):
        return [finding.first.place, finding.second.place]
    return [finding.place if hasattr(finding, "place") else finding.access.place]


def _sectors(accesses: Sequence[Any]) -> str:
    """A table cell with the sectors per request, marked if fewer would do."""
    mine = [access for access in accesses if access.space == "global" and access.requests]
    if not mine:
        return "<td></td>"
    sectors, ideal = (sum(getattr(access, name) for access in mine) for name in ("sectors", "ideal"))
    requests = sum(access.requests for access in mine)
    text = f"{sectors / requests:.3g}" + (f" / {ideal / requests:.3g}" if sectors > ideal else "")
    return f'<td class="{"bad" if sectors > ideal else ""}">{text}</td>'


def _conflict(accesses: Sequence[Any]) -> str:
    """A table cell with the degree of the worst bank conflict."""
    degree = max((access.degree for access in accesses if access.space == "shared"), default=0)
    return f'<td class="bad">{degree}-way</td>' if degree > 1 else f"<td>{'none' if degree else ''}</td>"


SIDE = 320
"""The width of a figure of memory in its own units; 32 threads of 10 units each."""


def memory(active: np.ndarray, shown: Any = None) -> str:
    """Return the threads of a warp, and the whole array that they access with a line from each thread to its element.

    The last dimension of the array is a row; an array of one dimension is in rows of 128 bytes. In global memory, elements that are
    transferred with their sector but not used are orange. In shared memory, elements in a bank conflict have a red border.

    Args:
        active: Whether each thread executes the line.
        shown: A WarpAccess; None if no memory is accessed.
    """
    boxes = [
        f'<rect class="{"lane on" if on else "lane"}" x="{10 * lane + 0.5}" y="0" width="9" height="10"/>'
        + (f'<text x="{10 * lane + 5}" y="7">{lane}</text>' if on else "")
        for lane, on in enumerate(active)
    ]
    label, height, title, note = f"{int(active.sum())} of 32 threads are active", 10.0, "", ""
    if shown is not None:
        drawn, height = _array(shown)
        boxes.append(drawn)
        label += f". {shown.sentence()}"
        title = f"<h4>{html.escape(shown.access.memory)}, {shown.access.space} memory, shape {shown.access.shape}</h4>"
        note = f"<figcaption>{rows_note(shown)}</figcaption>"
    box = f'viewBox="0 0 {SIDE} {height:g}" preserveAspectRatio="xMinYMin"'
    picture = f'<svg class="memory" role="img" aria-label="{html.escape(label)}" {box}>{"".join(boxes)}</svg>'
    return f"{STYLE}<section>{title}{picture}{note}</section>"


def _array(shown: Any) -> tuple[str, float]:
    """Return the markup of an array, and where it ends."""
    access = shown.access
    itemsize, size = access.dtype.itemsize, int(np.prod(access.shape))
    columns = access.shape[-1] if len(access.shape) > 1 else CACHE_LINE // itemsize
    rows, side, top = -(-size // columns), min(SIDE / columns, 10.0), 40.0
    by_cell: dict[int, list[int]] = {}
    for lane, cell in zip(shown.lanes.tolist(), shown.cells.tolist(), strict=True):
        by_cell.setdefault(cell, []).append(lane)
    waste = _wasted(by_cell, SECTOR // itemsize) if access.space == "global" else set()
    clash = _clashing(by_cell, CACHE_LINE // itemsize) if access.space == "shared" and shown.conflicts > 1 else set()

    def box(cell: int, looks: str, title: str = "") -> str:
        x, y = cell % columns * side, top + cell // columns * side
        return f'<rect {looks} x="{x:g}" y="{y:g}" width="{side:g}" height="{side:g}">{title}</rect>'

    lines = "".join(f"M0 {top + row * side:g}h{columns * side:g}" for row in range(rows + 1))
    lines += "".join(f"M{column * side:g} {top:g}v{rows * side:g}" for column in range(columns + 1))
    cells = [f'<path class="grid" d="{lines}"/>', *(box(cell, 'class="waste"') for cell in sorted(waste) if cell < size)]
    ways = ""
    for cell, who in by_cell.items():
        name = f"{access.memory}[{_index(cell, access.shape)}]: {f'thread {who[0]}' if len(who) == 1 else f'{len(who)} threads'}"
        look = f'class="{"conflict" if cell in clash else "touched"}" fill="{KIND_COLORS[access.kind]}"'
        cells.append(box(cell, look, f"<title>{html.escape(name)}</title>"))
        to = f"L{(cell % columns + 0.5) * side:g} {top + (cell // columns + 0.5) * side:g}"
        ways += "".join(f"M{10 * lane + 5} 10{to}" for lane in who)
    cells.append(f'<path class="ways" stroke="{KIND_COLORS[access.kind]}" d="{ways}"/>')
    return "".join(cells), top + rows * side + 1


def _wasted(by_cell: Mapping[int, Any], per_sector: int) -> set[int]:
    """The elements of the touched sectors that no thread accesses."""
    sectors = {cell // per_sector for cell in by_cell}
    return {cell for sector in sectors for cell in range(sector * per_sector, (sector + 1) * per_sector)} - set(by_cell)


def _clashing(by_cell: Mapping[int, Any], per_row: int) -> set[int]:
    """The elements that share a bank with another one that is accessed."""
    columns: dict[int, list[int]] = {}
    for cell in by_cell:
        columns.setdefault(cell % per_row, []).append(cell)
    return {cell for column in columns.values() if len(column) > 1 for cell in column}


def _index(cell: int, shape: Sequence[int]) -> str:
    """The index of an element, such as "3, 4"."""
    return ", ".join(str(int(i)) for i in np.unravel_index(cell, tuple(shape)))


def rows_note(shown: Any) -> str:
    """Say how much of a memory is touched."""
    access = shown.access
    per_row = CACHE_LINE // access.dtype.itemsize
    touched = len({int(cell) // per_row for cell in shown.cells})
    total = -(-int(np.prod(access.shape)) // per_row)
    return f"{touched} of {total} rows of 128 bytes are touched."
