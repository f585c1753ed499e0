"""A pad to draw a digit on, and the drawing as pixels: centred and as large as the digits of the data sets are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import streamlit as st
from streamlit.components.v2 import component

Strokes = list[list[tuple[float, float]]]
"""Every stroke as the points it goes through: x to the right and y down, from 0 to 1."""

MOST_POINTS = 4000
LEAST_EXTENT = 0.12
"""The side of the pad that a single dot is taken to fill: enlarged further it would fill the picture."""

SMALL_PEN, LARGE_PEN = 2.6, 1.45
"""Half the thickness of a stroke in dots of the 32×32 grid and in pixels of 28×28: with them drawings have as much ink as the data."""

state = st.session_state


def pad(key: str) -> Strokes:
    """Show the pad; it keeps what was drawn when the page is left.

    Args:
        key: Its name in the session's state.

    Returns:
        What is drawn on it.
    """
    kept = f"{key}_strokes"

    def keep() -> None:
        state[kept] = state[key].strokes

    _pad(key=key, data={"strokes": state.get(kept) or []}, default={"strokes": state.get(kept) or []}, on_strokes_change=keep)
    return read(state.get(kept))


def read(sent: Any) -> Strokes:
    """What the browser sent as strokes, without what cannot be one."""
    strokes: Strokes = []
    points = 0
    for stroke in sent if isinstance(sent, list) else []:
        found = [_point(each) for each in stroke] if isinstance(stroke, list) else []
        kept = [point for point in found if point is not None][: MOST_POINTS - points]
        points += len(kept)
        strokes += [kept] if kept else []
    return strokes


def small(strokes: Strokes) -> np.ndarray:
    """The drawing as the 8×8 digits are made: as high or wide as the picture, each pixel the share of ink in 4×4 dots.

    Args:
        strokes: At least one.

    Returns:
        From 0 to 1, in steps of 1/16.
    """
    dots = ink(placed(strokes, 32, 32, 2 * SMALL_PEN), 32, SMALL_PEN) >= 0.5
    return dots.reshape(8, 4, 8, 4).mean((1, 3))


def large(strokes: Strokes) -> np.ndarray:
    """The drawing as the 28×28 digits are made: within 20×20 pixels, its centre of mass in the middle of the picture.

    Args:
        strokes: At least one.

    Returns:
        From 0 to 1.
    """
    lines = placed(strokes, 28, 20, 2 * LARGE_PEN)
    found = ink(lines, 28, LARGE_PEN)
    rows, columns = np.indices(found.shape) + 0.5
    shift = np.array([14 - (columns * found).sum() / found.sum(), 14 - (rows * found).sum() / found.sum()])
    return ink([line + shift for line in lines], 28, LARGE_PEN)


def placed(strokes: Strokes, side: int, box: int, thickness: float) -> list[np.ndarray]:
    """The points of the strokes in pixels, enlarged until they fill a box in the middle of the picture.

    Args:
        strokes: At least one.
        side: Of the picture.
        box: The side of the square that the drawing fills in one direction, ink included.
        thickness: Of a stroke.
    """
    points = np.concatenate([np.array(stroke, float) for stroke in strokes])
    low, high = points.min(0), points.max(0)
    scale = (box - thickness) / max(float((high - low).max()), LEAST_EXTENT)
    return [(np.array(stroke, float) - (low + high) / 2) * scale + side / 2 for stroke in strokes]


def ink(lines: Sequence[np.ndarray], side: int, radius: float) -> np.ndarray:
    """How much of every pixel is covered by lines.

    Args:
        lines: Of each the points (x, y) that it goes through, in pixels.
        side: Rows and columns.
        radius: Half the thickness of a line.
    """
    y, x = np.indices((side, side)) + 0.5
    nearest = np.full((side, side), np.inf)
    for line in lines:
        for (x0, y0), (x1, y1) in pairwise(line if len(line) > 1 else [line[0], line[0]]):
            dx, dy = x1 - x0, y1 - y0
            along = ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy or 1.0)
            along = np.clip(along, 0.0, 1.0)
            nearest = np.minimum(nearest, np.hypot(x - x0 - along * dx, y - y0 - along * dy))
    return np.clip(radius + 0.5 - nearest, 0.0, 1.0)


def _point(sent: Any) -> tuple[float, float] | None:
    """A point on the pad; None if it is none."""
    try:
        x, y = map(float, sent)
    except (TypeError, ValueError):
        return None
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    return min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)


_HTML = """
<div class="pad">
  <svg viewBox="0 0 100 100" tabindex="0" role="application" aria-label="Pad to draw a digit on, with a mouse, a finger, or the keyboard:
 arrow keys move the pen, the space bar lowers and lifts it, backspace takes the last stroke back, delete clears the pad">
    <g></g><circle r="2.2"/>
  </svg>
  <div><button type="button" class="undo">Undo</button><button type="button" class="clear">Clear</button></div>
  <p>With the keyboard: arrow keys move the pen, space lowers and lifts it.</p>
</div>
"""

_STYLE = """
.pad {font-family: var(--st-font); color: var(--st-text-color); max-width: 260px}
svg {
  display: block; width: 100%; aspect-ratio: 1; box-sizing: border-box; touch-action: none; cursor: crosshair; border-radius: 8px;
  background: var(--st-secondary-background-color); border: 1px solid color-mix(in srgb, var(--st-text-color) 45%, transparent);
}
svg:focus-visible, button:focus-visible {outline: 2px solid var(--st-primary-color); outline-offset: 2px}
polyline {fill: none; stroke: currentColor; stroke-width: 8; stroke-linecap: round; stroke-linejoin: round; pointer-events: none}
circle {fill: none; stroke: var(--st-primary-color); stroke-width: 1.5; visibility: hidden; pointer-events: none}
circle.down {fill: var(--st-primary-color)}
svg:focus-visible circle {visibility: visible}
.pad div {display: flex; gap: .5rem; margin-top: .5rem}
button {
  font: inherit; color: inherit; background: transparent; border-radius: 8px; padding: .25rem .9rem; cursor: pointer;
  border: 1px solid color-mix(in srgb, var(--st-text-color) 35%, transparent);
}
p {margin: .4rem 0 0; font-size: .8rem; opacity: .8}
"""

_BEHAVIOUR = """
export default function ({parentElement, data, setStateValue}) {
  const pad = parentElement.querySelector(".pad"), svg = pad.querySelector("svg");
  const ink = pad.querySelector("g"), mark = pad.querySelector("circle");
  const kept = pad.kept = pad.kept || {strokes: data.strokes || [], pen: [0.5, 0.5], down: false};
  const draw = () => {
    ink.replaceChildren(...kept.strokes.map((stroke) => {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
      const points = stroke.length > 1 ? stroke : [stroke[0], stroke[0]];
      line.setAttribute("points", points.map(([x, y]) => `${x * 100},${y * 100}`).join(" "));
      return line;
    }));
    mark.setAttribute("cx", kept.pen[0] * 100);
    mark.setAttribute("cy", kept.pen[1] * 100);
    mark.classList.toggle("down", kept.down);
  };
  const send = () => setStateValue("strokes", kept.strokes);
  const within = (value) => Math.round(Math.min(Math.max(value, 0), 1) * 1000) / 1000;
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    return [within((event.clientX - box.left) / box.width), within((event.clientY - box.top) / box.height)];
  };
  let drawing = false;
  svg.onpointerdown = (event) => {
    if (event.button > 0) return;
    drawing = true;
    kept.down = false;
    svg.setPointerCapture(event.pointerId);
    kept.strokes = [...kept.strokes, [at(event)]];
    draw();
  };
  svg.onpointermove = (event) => {
    if (!drawing) return;
    const stroke = kept.strokes[kept.strokes.length - 1], last = stroke[stroke.length - 1], next = at(event);
    if (Math.hypot(next[0] - last[0], next[1] - last[1]) < 0.01) return;
    stroke.push(next);
    draw();
  };
  svg.onpointerup = svg.onpointercancel = () => {
    if (drawing) send();
    drawing = false;
  };
  const undo = () => {kept.strokes = kept.strokes.slice(0, -1); kept.down = false; draw(); send();};
  const clear = () => {kept.strokes = []; kept.down = false; draw(); send();};
  pad.querySelector(".undo").onclick = undo;
  pad.querySelector(".clear").onclick = clear;
  const moves = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
  svg.onkeydown = (event) => {
    if (event.key in moves) {
      kept.pen = kept.pen.map((value, axis) => within(value + moves[event.key][axis] * 0.04));
      if (kept.down) kept.strokes[kept.strokes.length - 1].push(kept.pen);
    } else if (event.key === " ") {
      kept.down = !kept.down;
      if (kept.down) kept.strokes = [...kept.strokes, [kept.pen]];
      else send();
    } else if (event.key === "Backspace") undo();
    else if (event.key === "Delete") clear();
    else return;
    event.preventDefault();
    event.stopPropagation();
    draw();
  };
  svg.onblur = () => {if (kept.down) {kept.down = false; send(); draw();}};
  draw();
}
"""

_pad: Any = component("minitorch_digit_pad", html=_HTML, css=_STYLE, js=_BEHAVIOUR)
