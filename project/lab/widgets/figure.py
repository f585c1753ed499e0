"""Figures that are painted in the browser: they follow the pointer at once, and tell the page when it lets go."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from streamlit.components.v2 import component

from project.lab.charts.palette import BLUE, GREEN, ORANGE, RED

SHARED = Path(__file__).with_name("figure.js").read_text(encoding="utf-8")
"""What the scripts of all figures use: colors, heat maps, and dragging with a mouse, a finger or the arrow keys."""

STYLE = (
    f".figure {{--blue: {BLUE}; --orange: {ORANGE}; --red: {RED}; --green: {GREEN}}}"
    + """
.figure {font-family: var(--st-font); color: var(--st-text-color); position: relative}
.figure svg {position: relative; display: block; width: 100%; overflow: visible}
.figure svg svg {overflow: hidden}
.figure text {fill: currentColor; font-size: 13px}
.handle {cursor: grab; touch-action: none; outline: none}
.handle:active {cursor: grabbing}
.handle circle {fill: var(--paper, var(--st-background-color)); stroke: var(--ink, var(--st-text-color)); stroke-width: 3}
.handle:is(:hover, :focus) circle {fill: var(--st-primary-color)}
.handle .reach {fill: transparent; stroke: none}
.handle:is(:hover, :focus) .reach {fill: color-mix(in srgb, var(--st-primary-color) 25%, transparent)}
.readout {display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; margin: 0 0 .5rem; font-variant-numeric: tabular-nums}
.readout span {font-size: .82rem}
.readout b {display: block; font-size: 1.35rem; font-weight: 500}
"""
)


def figure(name: str, html: str, style: str, script: Path, before: str = "") -> Any:
    """Return a component of Streamlit.

    Args:
        name: Its name, without the prefix of the course.
        html: Its first content.
        style: Rules in addition to STYLE.
        script: The file whose default function draws the data and sends events.
        before: Functions in JavaScript that the file uses besides the shared ones.
    """
    text = script.read_text(encoding="utf-8")
    return component(f"minitorch_{name}", html=html, css=STYLE + style, js=SHARED + before + text)


def to_number(sent: Any, low: float, high: float) -> float | None:
    """A number from the browser, within bounds; None for anything else."""
    good = isinstance(sent, int | float) and not isinstance(sent, bool) and math.isfinite(sent)
    return min(max(float(sent), low), high) if good else None


def to_index(sent: Any, size: int) -> int | None:
    """An index below `size` from the browser; None for anything else. JavaScript may send 2 as 2.0."""
    good = isinstance(sent, int | float) and not isinstance(sent, bool) and math.isfinite(sent) and float(sent).is_integer()
    return int(sent) if good and 0 <= sent < size else None
