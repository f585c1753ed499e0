"""Tensors as tables of colored cells, in HTML that a screen reader can read."""

from __future__ import annotations

from html import escape
from itertools import product

import numpy as np

from project.lab.charts.palette import NEGATIVE, POSITIVE, rgba

EDGE = 3
"""The number of cells shown at each end of a long dimension."""

MOST_SLICES = 4
"""The largest number of tables for a tensor of more than two dimensions."""


def grid(values: np.ndarray, title: str) -> str:
    """Return a tensor as tables: the last two dimensions are rows and columns, with one table for each index of the others.

    Args:
        values: Its elements, in its shape.
        title: The title above it, such as "x"; the shape is added.
    """
    heading = f"<b>{escape(title)}</b> <span style='opacity:.75'>shape {escape(str(values.shape))}</span>"
    if not values.size:
        return _block(heading, "<p>no elements</p>")
    finite = np.abs(values[np.isfinite(values)].astype(float))
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    before = list(product(*map(range, values.shape[:-2])))
    tables = []
    for index in before[:MOST_SLICES]:
        name = f"[{', '.join(map(str, index))}, :, :]" if index else ""
        tables.append(_table(np.atleast_2d(values[index]), name, f"{title}{name}", largest))
    if len(before) > MOST_SLICES:
        tables.append(f"<p>… and {len(before) - MOST_SLICES} more of these tables</p>")
    return _block(heading, "".join(tables))


def side_by_side(grids: list[str]) -> str:
    """Return several grids in a row that wraps on a narrow page."""
    return f"<div style='display:flex;flex-wrap:wrap;gap:1rem 2rem'>{''.join(grids)}</div>"


def _block(heading: str, content: str) -> str:
    """Return a heading and tables; a table that is too wide scrolls by itself."""
    return f"<div style='max-width:100%;overflow-x:auto'><div>{heading}</div>{content}</div>"


def _table(values: np.ndarray, name: str, label: str, largest: float) -> str:
    """Return one table of numbers."""
    rows = []
    for i in _shown(values.shape[0]):
        cells = [_cell(None if i is None or j is None else values[i, j], largest) for j in _shown(values.shape[1])]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    caption = f"<caption style='text-align:left;opacity:.75'>{escape(name)}</caption>" if name else ""
    style = "border-collapse:separate;border-spacing:2px;font-variant-numeric:tabular-nums;margin:.25rem 0"
    return f"<table aria-label='{escape(label, quote=True)}' style='{style}'>{caption}{''.join(rows)}</table>"


def _shown(length: int) -> list[int | None]:
    """Return the indices to show, with None for those omitted in the middle."""
    if length <= 2 * EDGE + 1:
        return list(range(length))
    return [*range(EDGE), None, *range(length - EDGE, length)]


def _cell(value: np.generic | None, largest: float) -> str:
    """Return one number, blue if positive and orange if negative, darker for larger values; … for omitted ones."""
    if value is None:
        return "<td style='text-align:center;padding:.1rem .3rem'>…</td>"
    number = float(value)
    strength = 0.5 * min(abs(number) / largest, 1.0) if np.isfinite(number) else 0.0
    fill = rgba(POSITIVE if number >= 0 else NEGATIVE, strength)
    text = str(value) if value.dtype == bool else f"{number:.4g}"
    style = f"background:{fill};border:1px solid rgba(128,128,128,.45);text-align:right;padding:.1rem .45rem;min-width:2.6rem"
    return f"<td style='{style}'>{escape(text)}</td>"
