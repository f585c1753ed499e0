"""A ring all-reduce, drawn as a ring."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from project.lab.explorers.language_machines import Moment

STYLE = """
<style>
.ring {width: 330px; max-width: 100%}
.ring circle {fill: none; stroke: currentColor; stroke-width: 1.5; opacity: .6}
.ring text {fill: currentColor; font-size: 11px; text-anchor: middle}
.ring .chunk {font-weight: 600}
.ring rect {fill: color-mix(in srgb, var(--blue) 55%, transparent)}
.ring .all {fill: none; stroke: currentColor; stroke-width: .6; opacity: .5}
.ring .changed {fill: var(--green)}
.ring .done {fill: var(--blue)}
.ring .arrow {fill: none; stroke: var(--orange); stroke-width: 2.5}
.ring marker path {fill: var(--orange)}
</style>
"""


def circle(moment: Moment, values: list[list[int]], description: str) -> str:
    """Return the markup of the processes in a ring, with an arrow for every chunk that is sent in a step.

    Each process has a bar for each of its chunks; a bar is as full as the number of processes whose numbers are in its sum.

    Args:
        moment: The state after the step.
        values: The value of each chunk of each process before the first step.
        description: The alternative text.
    """
    processes = len(values)
    parts = [_process(moment, process, values) for process in range(processes)]
    for each in moment.transfers:
        (x1, y1), (x2, y2) = (_place(at, processes) for at in (each.source + 0.28, each.source + 0.72))
        (xm, ym), (xt, yt) = (_place(each.source + 0.5, processes, radius) for radius in (150, 166))
        parts.append(
            f'<path class="arrow" marker-end="url(#tip)" d="M{x1:.1f} {y1:.1f}Q{xm:.1f} {ym:.1f} {x2:.1f} {y2:.1f}"/>'
            f'<text class="chunk" x="{xt:.1f}" y="{yt + 4:.1f}">{"+" if each.added else "="} {each.chunk}</text>'
        )
    return (
        f'{STYLE}<svg class="ring" viewBox="-200 -190 400 380" role="img" aria-label="{description}"><defs>'
        '<marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z"/>'
        f"</marker></defs>{''.join(parts)}</svg>"
    )


def _process(moment: Moment, process: int, values: list[list[int]]) -> str:
    """Return the markup of a process and the bars of its chunks."""
    processes = len(values)
    x, y = _place(process, processes)
    received = {each.chunk for each in moment.transfers if each.target == process}
    bars, width = "", 52 / processes - 2
    for chunk, members in enumerate(moment.held[process]):
        left, full = x - 26 + 52 * chunk / processes, 22 * len(members) / processes
        look = "changed" if chunk in received else "done" if len(members) == processes else ""
        total = sum(values[member][chunk] for member in members)
        bars += f'<rect class="all" x="{left:.1f}" y="{y + 1:.1f}" width="{width:.1f}" height="22"/>'
        bars += f'<rect class="{look}" x="{left:.1f}" y="{y + 23 - full:.1f}" width="{width:.1f}" height="{full:.1f}">'
        bars += f"<title>process {process}, chunk {chunk}: {total}</title></rect>"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="38"/><text x="{x:.1f}" y="{y - 9:.1f}">process {process}</text>{bars}'


def _place(process: float, processes: int, radius: float = 140) -> tuple[float, float]:
    """Return a place on the ring, clockwise from the top; halves are between two processes."""
    angle = 2 * math.pi * process / processes
    return radius * math.sin(angle), -radius * math.cos(angle)
