"""A function of two numbers as a coloured square, a plain Vega-Lite specification."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from project.lab.charts.palette import BLUE, ORANGE, WHITE

SIDE = 231
SHADES = [ORANGE, WHITE, BLUE]


def heatmap(places: Sequence[float], rows: Sequence[Sequence[float]], title: str, description: str) -> dict[str, Any]:
    """A value for every pair of places.

    Args:
        places: The centres of the cells, at equal distances, for both axes.
        rows: rows[j][i] is the value at x = places[i], y = places[j].
        title: Stands above.
        description: The picture in words.
    """
    half = (places[1] - places[0]) / 2
    cells = [
        {"x": x - half, "x2": x + half, "y": y - half, "y2": y + half, "value": value if math.isfinite(value) else None}
        for y, row in zip(places, rows, strict=True)
        for x, value in zip(places, row, strict=True)
    ]
    most = max((abs(cell["value"]) for cell in cells if cell["value"] is not None), default=0.0) or 1.0
    domain = [places[0] - half, places[-1] + half]
    return {
        "description": description,
        "title": {"text": title, "anchor": "start"},
        "width": SIDE,
        "height": SIDE,
        "data": {"values": cells},
        "mark": {"type": "rect", "tooltip": True},
        "encoding": {
            "x": _axis("x", domain),
            "x2": {"field": "x2"},
            "y": _axis("y", domain),
            "y2": {"field": "y2"},
            "color": {
                "field": "value",
                "type": "quantitative",
                "scale": {"domain": [-most, 0, most], "range": SHADES},
                "legend": {"title": None, "orient": "bottom", "gradientLength": 160, "tickCount": 3, "format": ".3~g"},
            },
        },
    }


def _axis(name: str, domain: list[float]) -> dict[str, Any]:
    """One side of the square."""
    scale = {"domain": domain, "nice": False, "zero": False}
    return {"field": name, "type": "quantitative", "title": name, "scale": scale, "axis": {"grid": False, "tickCount": 5}}
