"""A point that is dragged along the curve of a function, with tangent and secant, and the error of the slope for every epsilon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from project.lab.widgets.figure import figure, to_index

state = st.session_state


def movable_point(place: int, epsilon: int, table: dict[str, Sequence[Any]], key: str, moved: Callable[[int, int], None]) -> None:
    """Show the figure.

    Args:
        place: The number of the place of the point.
        epsilon: The number of its epsilon.
        table: The results of the student's functions: "places", "epsilons", "around" and "heights" (the curve, which begins before the
            first place and ends past the last), "numeric" (for each epsilon, the central difference at each place) and "slopes" (the
            derivatives by autodiff; None if there are none).
        key: The component's name in the session state.
        moved: Called with both numbers when the point is let go.
    """

    def drop() -> None:
        sent = state[key].moved
        if isinstance(sent, dict):
            place, epsilon = (to_index(sent.get(name), len(table[name])) for name in ("places", "epsilons"))
            if place is not None and epsilon is not None:
                moved(place, epsilon)

    _curve(key=key, data={"place": place, "epsilon": epsilon, **table}, on_moved_change=drop)


_HTML = """
<div class="figure">
  <div class="readout">
    <span>x <b class="x"></b></span><span>f(x) <b class="height"></b></span><span>epsilon <b class="size"></b></span>
    <span>Central difference <b class="numeric"></b></span><span>Autodiff <b class="slope"></b></span>
    <span>Difference <b class="away"></b></span>
  </div>
  <div class="plots">
    <svg class="plane" viewBox="0 0 480 270" role="application" aria-label="The function, its tangent and a secant. Drag the point along the
 curve, or move it with the arrow keys."></svg>
    <svg class="errors" viewBox="0 0 480 270" role="application" aria-label="Error of the central difference against epsilon. Drag the point
 to choose epsilon, or move it with the arrow keys."></svg>
  </div>
</div>
"""

_STYLE = """
.readout span {min-width: 5.5rem}
.plots {display: grid; grid-template-columns: repeat(auto-fit, minmax(min(320px, 100%), 1fr)); gap: .5rem 1.5rem; max-width: 920px}
.axis {stroke: currentColor; stroke-width: 1; opacity: .25}
.zero {opacity: .6}
.label {opacity: .8}
.right {text-anchor: end}
.middle {text-anchor: middle}
path, line {fill: none; stroke-width: 2.5}
.curve {stroke: var(--blue)}
.tangent {stroke: var(--orange); stroke-dasharray: 7 4}
.secant {stroke: var(--green)}
.end {fill: var(--green)}
"""

_curve: Any = figure("curve", _HTML, _STYLE, Path(__file__).with_name("curve.js"))
