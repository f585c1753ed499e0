"""A trained network of the playground in a link, and as one HTML file that needs no server."""

from __future__ import annotations

import base64
import html
import json
import math
import zlib
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from project.lab.playground.board import HTML, SCRIPT, STYLE, finite, static_parts
from project.lab.playground.points import MOST_BYTES, Points, read_csv
from project.lab.playground.setting import PlaygroundSetting
from project.lab.playground.trainer import Trainer

PARAMETER = "pg_shared"
"""The query parameter with the weights, and the points if they are not those of the setting."""

LONGEST = 30_000
"""Number of characters of a link; servers refuse longer ones."""

DAMAGED = "the link expected the weights and points of a network, got text that cannot be read; copy the whole link"


def link(trainer: Trainer, own_points: bool) -> str | None:
    """Return the query of the page with this setting, these weights and, if they are not those of the setting, these points.

    Returns:
        None if it is too long for a link, because of the number of points.

    Raises:
        ValueError: If the network has diverged.
    """
    setting, default = trainer.setting, PlaygroundSetting()
    values = {field.name: getattr(setting, field.name) for field in fields(setting) if field.name not in ("file", "features")}
    query: dict[str, Any] = {f"pg_{name}": value for name, value in values.items() if value != getattr(default, name)}
    query |= {"pg_rate": setting.rate, "pg_features": setting.feature_names, PARAMETER: pack(trainer, own_points)}
    text = urlencode(query, doseq=True)
    return text if len(text) <= LONGEST else None


def pack(trainer: Trainer, own_points: bool) -> str:
    """Return the weights and, if asked for, the points as text for a URL.

    Raises:
        ValueError: If a weight or a bias is infinite or NaN.
    """
    require_finite(trainer)
    parts = {"weights": trainer.weights(), "biases": trainer.biases(), "points": trainer.points.to_csv() if own_points else ""}
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(parts).encode(), 9)).decode().rstrip("=")


def require_finite(trainer: Trainer) -> None:
    """Raise a ValueError if a weight or a bias is infinite or NaN; such a network cannot be read again."""
    rows = [row for layer in trainer.weights() for row in layer] + trainer.biases()
    if not all(math.isfinite(number) for row in rows for number in row):
        raise ValueError("expected finite weights, got infinite ones or NaN; press Reset, and choose a smaller learning rate")


def unpack(text: str, sizes: list[int]) -> tuple[list[list[list[float]]], list[list[float]], Points | None]:
    """Return the weights, the biases and the points, None for those of the setting, of a text that `pack` made.

    Raises:
        ValueError: If the text is damaged, or belongs to a network of other sizes.
    """
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        stream = zlib.decompressobj()
        parts = json.loads(stream.decompress(packed, MOST_BYTES))
        weights, biases, points = [*parts["weights"]], [*parts["biases"]], parts["points"].encode()
        layers = [(len(w), {len(row) for row in w}, len(b)) for w, b in zip(weights, biases, strict=True)]
        numbers = [number for w, b in zip(weights, biases, strict=True) for row in (*w, b) for number in row]
        readable = stream.eof and all(type(number) in (int, float) and math.isfinite(number) for number in numbers)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, zlib.error):
        readable = False
    if not readable:
        raise ValueError(DAMAGED)
    if layers != [(first, {second}, second) for first, second in pairwise(sizes)]:
        got = [len(weights[0]), *map(len, biases)] if weights else []
        raise ValueError(f"the link expected the weights of a network of sizes {sizes}, got those of sizes {got}; copy the whole link")
    return weights, biases, read_csv(points, 0, 0) if points else None


def load_parameters(trainer: Trainer, weights: list[list[list[float]]], biases: list[list[float]]) -> None:
    """Give a network all of its weights and biases."""
    for layer, rows in enumerate(weights):
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                trainer.write_weight(layer, i, j, value)
        for j, value in enumerate(biases[layer]):
            trainer.write_bias(layer, j, value)
    trainer.changed = True


def page(trainer: Trainer, words: str) -> str:
    """Return an HTML file with the network, its points and its curves; the browser evaluates the network.

    Args:
        trainer: What was trained.
        words: What is shown, in words.
    """
    setting = trainer.setting
    data = static_parts(trainer) | {
        "biases": [[*map(finite, layer)] for layer in trainer.biases()],
        "features": setting.feature_names,
        "activation": setting.activation,
    }
    text = json.dumps(data | {"side": 40, "label": 1, "running": False}, allow_nan=False)
    parts = {
        "WORDS": html.escape(words),
        "COMMAND": html.escape(setting.command()),
        "BOARD": HTML,
        "STYLE": STYLE,
        "DATA": text,
        "SCRIPT": SCRIPT + ALONE,
    }
    made = FILE
    for name, part in parts.items():
        made = made.replace(f"{{{name}}}", part)
    return made


ALONE = Path(__file__).with_name("alone.js").read_text(encoding="utf-8")

FILE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A network of the MiniTorch playground</title>
<style>
:root {color-scheme: light dark; --st-font: system-ui, sans-serif; --st-primary-color: #1f6fb2}
:root {--st-text-color: #31333f; --st-background-color: #fff; --st-secondary-background-color: #f0f2f6}
@media (prefers-color-scheme: dark) {:root {--st-text-color: #fafafa; --st-background-color: #0e1117}}
body {font-family: var(--st-font); color: var(--st-text-color); background: var(--st-background-color); margin: 1rem; max-width: 70rem}
h1 {font-size: 1.4rem} code {overflow-wrap: anywhere} .layers {display: none}
{STYLE}
</style>
</head>
<body>
<h1>A network of the MiniTorch playground</h1>
<p>{WORDS} <b role="status" id="losses"></b></p>
{BOARD}
<p><label>Label of new points:
<select id="label"><option value="1">1, a triangle</option><option value="0">0, a circle</option></select></label></p>
<p>Trained with <code>{COMMAND}</code></p>
<script type="application/json" id="data">{DATA}</script>
<script type="module">
{SCRIPT}
</script>
</body>
</html>
"""
