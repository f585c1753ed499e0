"""A pad for drawing a digit, and its conversion to pixels, centered and scaled like the digits of the data sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import streamlit as st
from streamlit.components.v2 import component

Strokes = list[list[tuple[float, float]]]
"""The points of every stroke, with x to the right and y down, from 0 to 1."""

MOST_POINTS = 4000
LEAST_EXTENT = 0.12
"""The smallest extent of a drawing, relative to the pad, so that a single dot is not scaled up to the whole image."""

SMALL_PEN, LARGE_PEN = 2.6, 1.45
"""Half the width of a stroke, in dots of a 32×32 grid and in pixels of a 28×28 image; they match the ink of the data sets."""

state = st.session_state


def pad(key: str) -> Strokes:
    """Show the pad. It keeps the drawing when the student leaves the page.

    Args:
        key: Its name in the session state.

    Returns:
        The strokes.
    """
    kept = f"{key}_strokes"

    def keep() -> None:
        state[kept] = state[key].strokes

    _pad(key=key, data={"strokes": state.get(kept) or []}, default={"strokes": state.get(kept) or []}, on_strokes_change=keep)
    return read(state.get(kept))


def read(sent: Any) -> Strokes:
    """Return the strokes that the browser sent, without invalid points."""
    strokes: Strokes = []
    points = 0
    for stroke in sent if isinstance(sent, list) else []:
        found = [_point(each) for each in stroke] if isinstance(stroke, list) else []
        kept = [point for point in found if point is not None][: MOST_POINTS - points]
        points += len(kept)
        strokes += [kept] if kept else []
    return strokes


def small(strokes: Strokes) -> np.ndarray:
    """Return the drawing as an 8×8 image, produced like the 8×8 digits: it fills the image, and a pixel is the fraction of 4×4 dots.

    Args:
        strokes: At least one stroke.

    Returns:
        Shape (8, 8), values from 0 to 1 in steps of 1/16.
    """
    dots = ink(scale_to_box(strokes, 32, 32, 2 * SMALL_PEN), 32, SMALL_PEN) >= 0.5
    return dots.reshape(8, 4, 8, 4).mean((1, 3))


def large(strokes: Strokes) -> np.ndarray:
    """Return the drawing as a 28×28 image, produced like MNIST: it fits in 20×20 pixels, and its center of mass is in the middle.

    Args:
        strokes: At least one stroke.

    Returns:
        Shape (28, 28), values from 0 to 1.
    """
    lines = scale_to_box(strokes, 28, 20, 2 * LARGE_PEN)
    found = ink(lines, 28, LARGE_PEN)
    rows, columns = np.indices(found.shape) + 0.5
    shift = np.array([14 - (columns * found).sum() / found.sum(), 14 - (rows * found).sum() / found.sum()])
    return ink([line + shift for line in lines], 28, LARGE_PEN)


def scale_to_box(strokes: Strokes, side: int, box: int, thickness: float) -> list[np.ndarray]:
    """Return the points of the strokes in pixels, scaled to fit a box in the middle of the image.

    Args:
        strokes: At least one stroke.
        side: Height and width of the image.
        box: Height and width of the box, including the width of the strokes.
        thickness: Width of a stroke.
    """
    points = np.concatenate([np.array(stroke, float) for stroke in strokes])
    low, high = points.min(0), points.max(0)
    scale = (box - thickness) / max(float((high - low).max()), LEAST_EXTENT)
    return [(np.array(stroke, float) - (low + high) / 2) * scale + side / 2 for stroke in strokes]


def ink(lines: Sequence[np.ndarray], side: int, radius: float) -> np.ndarray:
    """Return the fraction of every pixel that is covered by lines.

    Args:
        lines: The points (x, y) of every line, in pixels.
        side: Height and width of the image.
        radius: Half the width of a line.
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
    """Return a point on the pad; None if it is invalid."""
    try:
        x, y = map(float, sent)
    except (TypeError, ValueError):
        return None
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    return min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)


_HTML = """
<div class="pad">
  <svg viewBox="0 0 100 100" tabindex="0" role="application" aria-label="Pad for drawing a digit with a mouse, a finger or the keyboard:
 arrow keys move the pen, space lowers and lifts it, backspace removes the last stroke, delete clears the pad">
    <g></g><circle r="2.2"/>
  </svg>
  <div><button type="button" class="undo">Undo</button><button type="button" class="clear">Clear</button></div>
  <p>Keyboard: arrow keys move the pen, space lowers and lifts it.</p>
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

_SCRIPT = """
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

_pad: Any = component("minitorch_digit_pad", html=_HTML, css=_STYLE, js=_SCRIPT)
