"""Heat maps of functions of two numbers."""

from __future__ import annotations

from collections.abc import Sequence

from project.lab.charts import vega
from project.lab.charts.palette import SCALE
from project.lab.charts.vega import Spec, finite

SIDE = 231


def heatmap(places: Sequence[float], rows: Sequence[Sequence[float]], title: str, description: str) -> Spec:
    """Return a heat map over a square.

    Args:
        places: The centers of the cells, evenly spaced, for both axes.
        rows: rows[j][i] is the value at x = places[i], y = places[j].
        title: The title of the chart.
        description: The alternative text.
    """
    half = (places[1] - places[0]) / 2
    cells = [
        {"x": x - half, "x2": x + half, "y": y - half, "y2": y + half, "value": finite(value)}
        for y, row in zip(places, rows, strict=True)
        for x, value in zip(places, row, strict=True)
    ]
    most = max((abs(cell["value"]) for cell in cells if cell["value"] is not None), default=0.0) or 1.0
    square = vega.span("x", "y", [places[0] - half, places[-1] + half])
    color = vega.shades("value", [-most, 0, most], SCALE, gradientLength=160, tickCount=3, format=".3~g")
    return vega.chart(
        description, [vega.layer("rect", square | {"color": color}, cells)], width=SIDE, title={"text": title, "anchor": "start"}
    )
