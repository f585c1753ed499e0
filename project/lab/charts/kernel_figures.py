"""Figures of a CUDA kernel as markup: its source with counts, the threads of a warp, and memory with who touches it."""

from __future__ import annotations

import html
import linecache
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minitorch.cuda.memory import CACHE_LINE, SECTOR
from project.lab.charts.palette import BLUE, GREEN, ORANGE

MOST_ROWS = 34
"""Rows of a memory that are drawn."""

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
.lanes, .memory {display: grid; gap: 1px; width: max-content; max-width: 100%}
.lanes {grid-template-columns: repeat(32, minmax(0, 1fr)); width: 100%; margin: .2rem 0 .4rem}
.lanes i, .memory i {display: block; box-sizing: border-box; background: #8882; border-radius: 2px}
.lanes i {height: 1.1rem; font: 600 .5rem/1.1rem sans-serif; text-align: center; font-style: normal}
.lanes i.on {background: #1f6fb2; color: #fff}
@media (max-width: 640px) {.lanes i {font-size: 0}}
.memory i {height: .62rem}
.memory i.waste {background: #d9701e55}
.memory i.conflict {outline: 2px solid #c0392b; outline-offset: -1px}
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


def lanes(active: np.ndarray) -> str:
    """Return the threads of a warp in a row, the active ones in blue."""
    cells = [f'<i class="{"on" if on else ""}">{number if on else ""}</i>' for number, on in enumerate(active)]
    return f'{STYLE}<div class="lanes" role="img" aria-label="{int(active.sum())} of 32 threads are active">{"".join(cells)}</div>'


def memory(shown: Any) -> str:
    """Return the part of an array that a warp touches, in rows of 128 bytes.

    In global memory, elements that are transferred with their sector but not used are orange. In shared memory, a column is a bank, and
    elements in a conflict have a red border.

    Args:
        shown: A WarpAccess.
    """
    access = shown.access
    itemsize, size = access.dtype.itemsize, int(np.prod(access.shape))
    per_row = CACHE_LINE // itemsize
    by_cell: dict[int, list[int]] = {}
    for lane, cell in zip(shown.lanes.tolist(), shown.cells.tolist(), strict=True):
        by_cell.setdefault(cell, []).append(lane)
    waste = _wasted(by_cell, SECTOR // itemsize) if access.space == "global" else set()
    clash = _clashing(by_cell, per_row) if access.space == "shared" and shown.conflicts > 1 else set()
    touched = sorted({cell // per_row for cell in by_cell})
    color = KIND_COLORS[access.kind]
    cells = []
    for row in touched[:MOST_ROWS]:
        for cell in range(row * per_row, min((row + 1) * per_row, size)):
            if cell in by_cell:
                who = f"thread {by_cell[cell][0]}" if len(by_cell[cell]) == 1 else f"{len(by_cell[cell])} threads"
                look = ' class="conflict"' if cell in clash else ""
                title = f"{access.memory}[{_index(cell, access.shape)}]: {who}"
                cells.append(f'<i{look} style="background: {color}" title="{html.escape(title)}"></i>')
            else:
                cells.append('<i class="waste"></i>' if cell in waste else "<i></i>")
    width = 0.62 * itemsize / 4
    style = f"grid-template-columns: repeat({per_row}, minmax(0, {width}rem))"
    label = html.escape(shown.sentence(), quote=True)
    return f'{STYLE}<div class="memory" role="img" aria-label="{label}" style="{style}">{"".join(cells)}</div>'


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
    """Say which rows of a memory are drawn."""
    access = shown.access
    per_row = CACHE_LINE // access.dtype.itemsize
    touched = len({int(cell) // per_row for cell in shown.cells})
    total = -(-int(np.prod(access.shape)) // per_row)
    more = f"; the first {MOST_ROWS} of them are drawn" if touched > MOST_ROWS else ""
    return f"{touched} of {total} rows of 128 bytes are touched{more}."
