"""Curves of functions as Vega-Lite specifications."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from project.lab.charts.palette import BLUE, GREY, ORANGE, RED

COLOURS = [BLUE, ORANGE, GREY]
DASHES = [[1, 0], [6, 3], [2, 2]]
SIDE = 280


def sample(f: Callable[[float], float], low: float, high: float, n: int = 201) -> list[tuple[float, float | None]]:
    """Points of a curve; None where f has no value."""
    xs = [low + (high - low) * i / (n - 1) for i in range(n)]
    return [(x, value(f, x)) for x in xs]


def value(f: Callable[[float], float], x: float) -> float | None:
    """f(x), or None where it has no finite value."""
    try:
        y = f(x)
    except (ArithmeticError, ValueError):
        return None
    return y if math.isfinite(y) else None


def curves(
    series: Mapping[str, Sequence[tuple[float, float | None]] | Sequence[tuple[float, float]]],
    description: str,
    x_title: str = "x",
    y_title: str = "",
    mark: tuple[float, float] | None = None,
    log: bool = False,
) -> dict[str, Any]:
    """Curves over one axis, told apart by colour and by dashes.

    Args:
        series: By name, the points of each curve.
        description: The picture in words.
        x_title: Stands at the horizontal axis.
        y_title: Stands at the vertical axis.
        mark: A point to set off.
        log: Whether both axes are logarithmic.
    """
    rows = [{"x": x, "y": _drawable(y), "curve": name} for name, points in series.items() for x, y in points]
    names = list(series)
    scale = {"type": "log"} if log else {"zero": False}
    axis = {"format": ".0e"} if log else {}
    x = {"field": "x", "type": "quantitative", "title": x_title, "scale": {**scale, "nice": False}, "axis": {**axis, "tickCount": 6}}
    y = {"field": "y", "type": "quantitative", "title": y_title or None, "scale": scale, "axis": {**axis, "tickCount": 6}}
    legend = {"orient": "bottom", "title": None} if len(names) > 1 else None
    line = {
        "data": {"values": rows},
        "mark": {"type": "line", "clip": True, "strokeWidth": 2, "tooltip": True},
        "encoding": {
            "x": x,
            "y": y,
            "color": {"field": "curve", "type": "nominal", "scale": {"domain": names, "range": COLOURS[: len(names)]}, "legend": legend},
            "strokeDash": {
                "field": "curve",
                "type": "nominal",
                "scale": {"domain": names, "range": DASHES[: len(names)]},
                "legend": legend,
            },
        },
    }
    layers: list[dict[str, Any]] = [line]
    if mark is not None and math.isfinite(mark[1]):
        layers.append(
            {
                "data": {"values": [{"x": mark[0], "y": mark[1]}]},
                "mark": {"type": "point", "filled": True, "size": 90, "color": RED, "tooltip": True},
                "encoding": {"x": x, "y": y},
            }
        )
    return {"description": description, "width": SIDE, "height": SIDE - 60, "layer": layers}


def _drawable(y: float | None) -> float | None:
    """y, or a gap in its place: JSON knows neither NaN nor infinity."""
    return y if y is not None and math.isfinite(y) else None
