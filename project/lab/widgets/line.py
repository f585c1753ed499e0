"""A line between two classes of points, moved and turned by dragging; counts, loss and probabilities follow the pointer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from project.lab.charts.palette import BLACK, LABEL_COLORS, PALE_SCALE, channels
from project.lab.charts.vega import finite
from project.lab.widgets.figure import figure, to_number

MOST = 10.0
"""The largest absolute value of a weight and of the bias; line.js has the same."""

STEP = 0.05
SCORES = [STEP * i for i in range(round(-3 * MOST / STEP), round(3 * MOST / STEP) + 1)]
"""All scores that a point of the unit square can have, in steps between which the browser interpolates."""

state = st.session_state


def tables(sigmoid: Callable[[float], float], log: Callable[[float], float]) -> dict[str, Any]:
    """Return what the browser needs to know of two functions: probability, and loss for label 0 and label 1, of every score in SCORES."""
    p = [sigmoid(score) for score in SCORES]
    losses = [[-log(1 - each) for each in p], [-log(each) for each in p]]
    probability, *rest = ([finite(value, 5) for value in values] for values in (p, *losses))
    return {"probability": probability, "losses": rest}


def movable_line(line: Sequence[float], graph: Any, found: dict[str, Any], key: str, moved: Callable[[list[float]], None]) -> None:
    """Show the figure.

    Args:
        line: weight_1, weight_2 and bias.
        graph: The points.
        found: What `tables` returned.
        key: The component's name in the session state.
        moved: Called with the three numbers when the line is let go.
    """

    def drop() -> None:
        if len(sent := read(state[key].moved)) == 3:
            moved(sent)

    data = {
        "weights": line,
        "points": [[*x, label] for x, label in zip(graph.X, graph.y, strict=True)],
        "colors": [channels(color) for color in PALE_SCALE],
        "marks": LABEL_COLORS,
        "low": SCORES[0],
        "step": STEP,
    }
    _line(key=key, data=data | found, on_moved_change=drop)


def read(sent: Any) -> list[float]:
    """Return the numbers that the browser sent, within bounds; [] if they are none."""
    values = [to_number(value, -MOST, MOST) for value in sent] if isinstance(sent, list) else []
    return [round(value, 2) for value in values if value is not None]


_HTML = """
<div class="figure">
  <div class="readout">
    <span>Correct <b class="correct"></b></span><span>Wrong <b class="wrong"></b></span><span>Mean loss <b class="loss"></b></span>
  </div>
  <div class="plane"><canvas></canvas><svg viewBox="0 0 400 400" role="application" aria-label="Points of two classes and a line. Drag the
 handles, or move them with the arrow keys."></svg></div>
  <code class="formula"></code>
</div>
"""

_STYLE = (
    """
.figure {max-width: 420px}
.plane {position: relative; margin: 0 4px}
canvas {position: absolute; width: 100%; height: 100%; border-radius: 4px}
"""
    + f".zero {{stroke: {BLACK}; stroke-width: 2.5}} .plane {{--ink: {BLACK}; --paper: #fff}}"
    + """
.points > * {stroke: #fff; stroke-width: 1}
.points > .wrong {stroke: var(--red); stroke-width: 3}
code.formula {display: block; margin-top: .4rem; font-size: .85rem; min-height: 1.3em}
"""
)

_line: Any = figure("line", _HTML, _STYLE, Path(__file__).with_name("line.js"))
