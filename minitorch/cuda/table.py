"""Stage 3 - The report of a kernel's inspection as text: findings, totals, and the counts of every line beside its source."""

from __future__ import annotations

import linecache
import os
import textwrap
from collections.abc import Iterable
from typing import Any

from minitorch.cuda.lanes import WARP
from minitorch.cuda.recorder import LineCount

NARROWEST = 72
"""Columns that the table needs."""

HEADER = ("line", "active", "sectors", "coalesced", "conflict", "flops")


def format_report(report: Any, width: int) -> str:
    """The report as plain text; see `KernelReport.table`."""
    width = max(width, NARROWEST)
    parts = [_launch(report, width), _findings(report, width), *_totals(report, width), *_sources(report, width)]
    return "\n\n".join(part for part in parts if part)


def _launch(report: Any, width: int) -> str:
    count = report.grid[0] * report.grid[1] * report.grid[2]
    warps = -(-report.threads // WARP)
    launch = f"grid {report.grid} of blocks {report.block}: {count} × {report.threads} threads, {warps} warps per block"
    return textwrap.fill(f"{report.kernel} ({os.path.basename(report.file)}), {launch}", width)


def _findings(report: Any, width: int) -> str:
    if not report.findings:
        return "No findings."
    sentences = [textwrap.fill(str(finding), width, initial_indent="  ", subsequent_indent="    ") for finding in report.findings]
    return "\n".join(["Findings", *sentences])


def _totals(report: Any, width: int) -> list[str]:
    rows: list[tuple[str, ...]] = []
    for memory, space in dict.fromkeys((access.memory, access.space) for access in report.accesses):
        mine = report.select_accesses(memory, space=space)
        counts = [sum(access.elements for access in mine if access.kind == kind) for kind in ("read", "write", "atomic")]
        requests, sectors = sum(access.requests for access in mine), sum(access.sectors for access in mine)
        ideal, wavefronts = sum(access.ideal for access in mine), sum(access.wavefronts for access in mine)
        last = f"{ideal / sectors:.0%}" if sectors else f"{max(access.degree for access in mine)}-way" if space == "shared" else ""
        rows.append((memory, space, *map(str, counts), str(requests), str(sectors or wavefronts or ""), last))
    header = ("array", "memory", "reads", "writes", "atomics", "requests", "sectors", "coalesced")
    spaces = {row[1] for row in rows}
    notes = ["Requests are accesses of whole warps."]
    if "shared" in spaces:
        notes.append("For shared memory, sectors are passes and coalesced is the worst bank conflict (1-way: none).")
    intensity = f"{report.flops} flops / {report.global_bytes} bytes of global traffic = {report.intensity:.2f} flops per byte."
    threads = f"Active threads per warp: {report.warp_efficiency:.0%}. Shared memory: {report.shared_bytes} bytes per block."
    text = " ".join([*notes, threads, intensity])
    if not rows:
        return [textwrap.fill(f"{threads} {intensity}", width)]
    table = "\n".join(_clip(line, width) for line in _columns([header, *rows], left=2).splitlines())
    return [table, textwrap.fill(text, width)]


def _sources(report: Any, width: int) -> list[str]:
    """One table per file, beginning with the kernel's own."""
    tables = []
    for file in dict.fromkeys(line.place.file for line in report.lines):
        rows = [_row(report, line) for line in report.lines if line.place.file == file and line.instructions]
        if not rows:
            continue
        counts = _columns([HEADER, *(row[0] for row in rows)], left=0).splitlines()
        sources = ["source", *(linecache.getline(file, row[1]).strip() for row in rows)]
        lines = [_clip(f"{count}  {source}", width) for count, source in zip(counts, sources, strict=True)]
        tables.append("\n".join(lines) if file == report.file else "\n".join([os.path.basename(file), *lines]))
    return tables


def _row(report: Any, line: LineCount) -> tuple[tuple[str, ...], int]:
    """The cells of a line, and its number."""
    mine = [access for access in report.accesses if access.place == line.place]
    far = [access for access in mine if access.space == "global" and access.requests]
    near = [access.degree for access in mine if access.space == "shared"]
    sectors, requests, ideal = (sum(getattr(access, name) for access in far) for name in ("sectors", "requests", "ideal"))
    cells = (
        str(line.place.line),
        f"{line.active / (WARP * line.instructions):.0%}",
        f"{sectors / requests:.1f}" if requests else "",
        f"{ideal / sectors:.0%}" if sectors else "",
        f"{max(near)}-way" if near else "",
        str(line.flops or ""),
    )
    return cells, line.place.line


def _columns(rows: Iterable[tuple[str, ...]], left: int) -> str:
    """Rows of cells as aligned columns; the first ones are aligned to the left."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(n) if i < left else cell.rjust(n) for i, (cell, n) in enumerate(zip(row, widths, strict=True))) for row in rows
    )


def _clip(text: str, width: int) -> str:
    """A line that fits, with an ellipsis where it was cut."""
    text = text.rstrip()
    return text if len(text) <= width else f"{text[: width - 1]}…"
