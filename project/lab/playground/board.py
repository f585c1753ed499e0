"""The board of the playground: what the browser draws, and what it sends back."""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from streamlit.components.v2 import component

from project.lab.charts.palette import LABEL_COLORS, SCALE, channels
from project.lab.playground.setting import MOST_LAYERS, MOST_UNITS
from project.lab.playground.trainer import Trainer
from project.lab.widgets.figure import SHARED, to_index, to_number

SIDES = {"scalars": 14, "tensors": 24, "fast": 32, "compiled": 32}
"""Cells along each side of a heat map; Scalars need a forward pass for each cell."""

SHARE = 3
"""While training, a picture is computed again when this many times the time that it took has passed."""

MOST_EPOCHS = 240
"""Of longer curves epochs are left out."""

SUBSCRIPTS = str.maketrans({"1": "₁", "2": "₂"})

state = st.session_state


def board(trainer: Trainer, rival: Trainer | None, key: str, act: Callable[[dict[str, Any]], None], running: bool) -> None:
    """Show the board.

    Args:
        trainer: What is trained.
        rival: What is trained beside it, if anything.
        key: The component's name in the session state.
        act: Is called with what the browser sends; see `read`.
        running: Whether it is training, so that an older picture will do.
    """

    def acted() -> None:
        event = read(state[key].event, trainer)
        if event is not None:
            act(event)

    kept = state.get(f"{key}_picture")
    if kept is None or not running or time.perf_counter() > kept["again"]:
        begun = time.perf_counter()
        made = picture(trainer, rival)
        ended = time.perf_counter()
        kept = state[f"{key}_picture"] = {"made": made, "again": ended + SHARE * (ended - begun)}
    _board(key=key, data=kept["made"] | {"label": state.get("pg_label", 1), "running": running}, on_event_change=acted)


def picture(trainer: Trainer, rival: Trainer | None) -> dict[str, Any]:
    """Return what the browser draws, as JSON; heat maps are base64 of one byte a cell, 0 for the lowest color and 255 for the highest."""
    side = SIDES[trainer.setting.network]
    *maps, (output,) = trainer.maps(side)
    made = static_parts(trainer) | {"side": side, "output": encode(output, False), "rival": rival and _rival(rival)}
    for layer, (column, units) in enumerate(zip(made["columns"], maps, strict=True)):
        is_signed = layer == 0 or trainer.setting.activation != "sigmoid"
        for unit, cells in zip(column["units"], units, strict=True):
            unit["map"] = encode(cells, is_signed)
    return made


def static_parts(trainer: Trainer) -> dict[str, Any]:
    """What the browser draws except for the heat maps, as JSON."""
    names, points = [pretty(name) for name in trainer.setting.feature_names], trainer.points
    columns = [[{"label": name, "name": name} for name in names]]
    columns += [
        [{"name": f"unit {j + 1} of hidden layer {layer}", "bias": finite(bias)} for j, bias in enumerate(biases)]
        for layer, biases in enumerate(trainer.biases()[:-1], 1)
    ]
    return {
        "columns": [{"units": units} for units in columns],
        "weights": [[[finite(weight) for weight in row] for row in layer] for layer in trainer.weights()],
        "points": [[x_1, x_2, y, is_test] for (x_1, x_2), y, is_test in zip(points.X, points.y, points.is_test, strict=True)],
        "curves": curves(trainer),
        "rival": None,
        "colors": [channels(color) for color in SCALE],
        "marks": [channels(color) for color in LABEL_COLORS],
        "most_units": MOST_UNITS,
        "most_layers": MOST_LAYERS,
    }


def _rival(rival: Trainer) -> dict[str, Any]:
    """The output and the losses of the rival."""
    side = SIDES[rival.setting.network]
    return {"side": side, "output": encode(rival.maps(side)[-1][0], False), "title": "The rival's output", **curves(rival)}


def encode(cells: Sequence[float], is_signed: bool) -> str:
    """Encode numbers as bytes.

    Args:
        cells: The numbers.
        is_signed: Whether they are shown from -m to m, where m is the largest absolute value, at least 1; otherwise from 0 to 1.
    """
    values = np.nan_to_num(np.asarray(cells, float), nan=0.0 if is_signed else 0.5, posinf=1e30, neginf=-1e30)
    if is_signed:
        values = values / (2 * max(1.0, float(np.abs(values).max()))) + 0.5
    return base64.b64encode(np.rint(255 * values.clip(0, 1)).astype(np.uint8).tobytes()).decode()


def curves(trainer: Trainer) -> dict[str, list[float | None]]:
    """The losses by epoch, at most MOST_EPOCHS of them."""
    every = max(1, math.ceil(trainer.epoch / MOST_EPOCHS))
    return {
        name: [loss if loss is not None and math.isfinite(loss) else None for loss in losses[::every]]
        for name, losses in (("train", trainer.losses), ("test", trainer.test_losses))
    }


def finite(value: float) -> float:
    """A number that JSON can hold: 0 for NaN, and a large one for infinity."""
    return 0.0 if math.isnan(value) else max(-1e6, min(1e6, value))


def pretty(feature: str) -> str:
    """The name of an input as in a formula: "x1^2" is x₁²."""
    head, _, power = feature.partition("^")
    return head.translate(SUBSCRIPTS).replace("*", "") + ("²" if power else "")


# What the browser sends


def read(event: Any, trainer: Trainer) -> dict[str, Any] | None:
    """Return an event that the browser sent, with checked values; None if it is none, or refers to what is not there any more.

    Returns:
        {"kind": "add", "x": (x_1, x_2)}, {"kind": "delete", "number": n}, {"kind": "layers", "layers": [4, 3]},
        {"kind": "weight", "layer": l, "i": i, "j": j, "value": w} or {"kind": "bias", "layer": l, "j": j, "value": b}.
    """
    if not isinstance(event, dict):
        return None
    kind, sizes = event.get("kind"), trainer.setting.sizes
    if kind == "add":
        x_1, x_2 = to_number(event.get("x"), 0, 1), to_number(event.get("y"), 0, 1)
        return None if x_1 is None or x_2 is None else {"kind": kind, "x": (x_1, x_2)}
    if kind == "delete":
        number = to_index(event.get("number"), len(trainer.points.X))
        return None if number is None else {"kind": kind, "number": number}
    if kind == "layers":
        units = event.get("layers")
        if not isinstance(units, list) or len(units) > MOST_LAYERS or not all(to_index(each, MOST_UNITS + 1) for each in units):
            return None
        return {"kind": kind, "layers": [int(each) for each in units]}
    if kind not in ("weight", "bias"):
        return None
    value, layer = to_number(event.get("value"), -1e6, 1e6), to_index(event.get("layer"), len(sizes) - 1)
    if value is None or layer is None:
        return None
    j, i = to_index(event.get("j"), sizes[layer + 1]), 0 if kind == "bias" else to_index(event.get("i"), sizes[layer])
    return None if i is None or j is None else {"kind": kind, "layer": layer, "i": i, "j": j, "value": value}


HTML = """
<div class="board">
  <div class="layers"></div>
  <div class="stage">
    <canvas tabindex="0" role="application" aria-label="The network and its output. Arrow keys move a cross over the output, Enter adds a
 point, Delete removes the nearest one. The caption below describes the picture, and weights can be edited in the form below it."></canvas>
    <input class="edit" type="number" step="0.1">
  </div>
  <div class="foot"><div class="tip" role="status"></div><button type="button" class="save">Save PNG</button></div>
</div>
"""

STYLE = """
.board {font-family: var(--st-font); color: var(--st-text-color); width: 100%; container-type: inline-size}
.stage {position: relative}
canvas {display: block; width: 100%}
canvas:focus-visible, button:focus-visible {outline: 2px solid var(--st-primary-color); outline-offset: 2px}
.layers {position: relative; height: 1.7rem; white-space: nowrap; font-size: .85rem}
.layers > span {position: absolute; bottom: 0; transform: translateX(-50%); display: inline-flex; gap: .25rem; align-items: center}
.layers > .ends {right: 10px; top: 0; bottom: auto; transform: none}
@container (max-width: 699px) {.layers {height: 3.6rem} .layers > .ends {left: 0}}
button {
  font: inherit; color: inherit; background: transparent; border-radius: 6px; padding: 0 .45rem; cursor: pointer; min-height: 1.5rem;
  border: 1px solid color-mix(in srgb, var(--st-text-color) 35%, transparent);
}
button:disabled {opacity: .35; cursor: default}
.foot > button {white-space: nowrap}
.foot {display: flex; justify-content: space-between; gap: 1rem; align-items: start}
.tip {font-size: .8rem; min-height: 1.3rem; line-height: 1.3rem}
.edit {
  position: absolute; display: none; width: 6rem; font: inherit; color: inherit; background: var(--st-background-color);
  border: 2px solid var(--st-primary-color); border-radius: 6px;
}
"""

SCRIPT = SHARED + Path(__file__).with_name("board.js").read_text(encoding="utf-8")

_board: Any = component("minitorch_playground", html=HTML, css=STYLE, js=SCRIPT)
