"""The parts of every Vega-Lite specification: charts, layers, axes, scales and legends.

A chart file names data and encodings; sizes, defaults and gaps are defined here, colors in `palette`. The result is a plain dict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]

SIDE = 300
"""Default width of a plot in pixels, which fits a phone including the axis."""

LEGEND: Spec = {"orient": "bottom", "title": None}


def chart(
    description: str,
    layers: Sequence[Spec],
    *,
    width: int = SIDE,
    height: int | None = None,
    title: str | Spec = "",
    values: Sequence[Spec] | None = None,
) -> Spec:
    """Return a chart of one or more layers.

    Args:
        description: The alternative text.
        layers: What is drawn, from back to front.
        width: Width of the plot.
        height: Height of the plot; square by default.
        title: The title, if any.
        values: Data that all layers share, if any.
    """
    options: Spec = {"title": title} if title else {}
    if values is not None:
        options["data"] = {"values": list(values)}
    return {"description": description, "width": width, "height": height or width, **options, "layer": list(layers)}


def layer(mark: str, encoding: Spec, values: Sequence[Spec] | None = None, **options: Any) -> Spec:
    """Return one layer.

    Args:
        mark: The type of the mark, such as "line".
        encoding: Its channels.
        values: Its data; None if the chart has data.
        options: Properties of the mark. A tooltip shows all encoded fields by default.
    """
    data = {} if values is None else {"data": {"values": list(values)}}
    return {**data, "mark": {"type": mark, "tooltip": True, **options}, "encoding": encoding}


def quantitative(field: str, title: str | None = None, *, scale: Spec | None = None, axis: Spec | None = None) -> Spec:
    """Return a channel for numbers. By default, its axis ends at the data and need not contain 0."""
    given = scale or {}
    defaults = {"nice": False} if given.get("type") == "log" else {"nice": False, "zero": False}
    channel = {"field": field, "type": "quantitative", "title": title, "scale": defaults | given}
    return channel | ({"axis": axis} if axis else {})


def span(x: str, y: str, domain: Sequence[float], titles: tuple[str, str] | None = None) -> Spec:
    """Return the channels of rectangles from (x, y) to (x2, y2) in a square without grid lines."""
    titles = titles or (x, y)
    axes = {"scale": {"domain": list(domain)}, "axis": {"grid": False, "tickCount": 5}}
    return {
        "x": quantitative(x, titles[0], **axes),
        "x2": {"field": f"{x}2"},
        "y": quantitative(y, titles[1], **axes),
        "y2": {"field": f"{y}2"},
    }


def nominal(field: str, names: Sequence[str], values: Sequence[Any], legend: Spec | None = LEGEND) -> Spec:
    """Return a channel for categories: a color, a shape or a dash pattern for each name. Channels with equal legends share one."""
    return {"field": field, "type": "nominal", "scale": {"domain": list(names), "range": list(values)}, "legend": legend}


def shades(field: str, domain: Sequence[float], colors: Sequence[str], **legend: Any) -> Spec:
    """Return a color channel for numbers."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": list(domain), "range": list(colors)},
        "legend": LEGEND | legend,
    }


def finite(value: float | None, digits: int | None = None) -> float | None:
    """Return a value, or None (a gap) if it is not finite, because JSON has no NaN and no infinity."""
    if value is None or not math.isfinite(value):
        return None
    return value if digits is None else round(value, digits)
