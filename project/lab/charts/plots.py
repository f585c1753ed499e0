"""Charts of the curves of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from project.lab.charts import vega
from project.lab.charts.palette import BLUE, GRAY, ORANGE, PURPLE, RED
from project.lab.charts.vega import Spec, finite

COLORS = [BLUE, ORANGE, GRAY, PURPLE]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]


def sample(f: Callable[[float], float], low: float, high: float, n: int = 201) -> list[tuple[float, float | None]]:
    """Return points of a curve, with None where f is undefined."""
    xs = [low + (high - low) * i / (n - 1) for i in range(n)]
    return [(x, value(f, x)) for x in xs]


def value(f: Callable[[float], float], x: float) -> float | None:
    """Return f(x), or None if it is undefined or not finite."""
    try:
        return finite(f(x))
    except (ArithmeticError, ValueError):
        return None


def curves(
    series: Mapping[str, Sequence[tuple[float, float | None]] | Sequence[tuple[float, float]]],
    description: str,
    x_title: str = "x",
    y_title: str = "",
    mark: tuple[float, float] | None = None,
) -> Spec:
    """Return curves over one axis, distinguished by color and dash pattern.

    Args:
        series: The points of each curve, by name.
        description: The alternative text.
        x_title: The title of the horizontal axis.
        y_title: The title of the vertical axis.
        mark: A point to highlight.
    """
    names = list(series)
    rows = [{"x": x, "y": finite(y), "curve": name} for name, points in series.items() for x, y in points]
    x = vega.quantitative("x", x_title, axis={"tickCount": 6})
    y = vega.quantitative("y", y_title or None, scale={"nice": True}, axis={"tickCount": 6})
    legend = vega.LEGEND if len(names) > 1 else None
    curve = {
        "color": vega.nominal("curve", names, COLORS[: len(names)], legend),
        "strokeDash": vega.nominal("curve", names, DASHES[: len(names)], legend),
    }
    layers = [vega.layer("line", {"x": x, "y": y, **curve}, rows, clip=True, strokeWidth=2)]
    if mark is not None and finite(mark[1]) is not None:
        layers.append(vega.layer("point", {"x": x, "y": y}, [{"x": mark[0], "y": mark[1]}], filled=True, size=90, color=RED))
    return vega.chart(description, layers, height=240)
