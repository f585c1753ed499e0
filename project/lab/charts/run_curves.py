"""The chart that overlays the curves of several training runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from project.lab.charts import vega
from project.lab.charts.palette import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED
from project.lab.charts.vega import SIDE, Spec, finite

COLORS = [BLUE, ORANGE, GREEN, PURPLE, RED, GRAY]
"""One for each run; more lines could not be told apart."""

SETS = {"training": [1, 0], "validation": [5, 3]}
"""The data on which a curve is measured, and its dash pattern."""

PANELS: dict[str, dict[str, str]] = {
    "loss": {"loss": "training", "valid_loss": "validation"},
    "accuracy": {"accuracy": "training", "train_accuracy": "training", "valid_accuracy": "validation"},
}
"""The curves of each plot, by the names in `RunFile.curves`, and the data on which they are measured."""


def overlay(curves: Mapping[str, Mapping[str, Sequence[Any]]], units: Sequence[str], description: str) -> Spec | None:
    """Return the losses, and the accuracies if there are any, one plot below the other.

    Args:
        curves: The curves of each run, as in `RunFile.curves`, by the label of the run; at most as many as COLORS.
        units: What the horizontal axis counts, for each run: "epoch" or "step".
        description: The alternative text.

    Returns:
        The specification; None if no run has a point.
    """
    rows = {panel: _rows(panel, curves, units) for panel in PANELS}
    rows = {panel: points for panel, points in rows.items() if points}
    if not rows:
        return None
    last = max(point["at"] for points in rows.values() for point in points)
    present = [name for name in SETS if any(point["data"] == name for points in rows.values() for point in points)]
    legend = vega.LEGEND | {"columns": 1, "labelLimit": SIDE - 60, "symbolStrokeWidth": 3}
    encoding = {
        "color": vega.nominal("run", list(curves), COLORS[: len(curves)], legend),
        "strokeDash": vega.nominal("data", present, [SETS[name] for name in present], vega.LEGEND if len(present) > 1 else None),
    }
    title = " or ".join(sorted(set(units)))
    panels = []
    for panel, points in rows.items():
        below = panel != list(rows)[-1]
        x = vega.quantitative("at", None if below else title, scale={"domain": [1, max(last, 2)]}, axis={"tickCount": 6, "format": "d"})
        options = {"scale": {"domain": [0, 1]}, "axis": {"format": "%"}} if panel == "accuracy" else {"scale": {"zero": True, "nice": True}}
        y = vega.quantitative(panel, panel, **options)
        layer = vega.layer("line", {"x": x, "y": y, **encoding}, points, strokeWidth=2, point=_has_single_points(points))
        panels.append({"width": SIDE - 30, "height": 160} | layer)
    stacked = {"legend": {"layout": {"bottom": {"direction": "vertical", "anchor": "start"}}}}  # next to each other they are too wide
    return {"description": description, "vconcat": panels, "config": stacked}


def _rows(panel: str, curves: Mapping[str, Mapping[str, Sequence[Any]]], units: Sequence[str]) -> list[Spec]:
    """Return the points of a plot."""
    return [
        {"at": at, panel: finite(value, 6), "run": label, "data": data}
        for (label, run), unit in zip(curves.items(), units, strict=True)
        for name, data in PANELS[panel].items()
        for at, value in zip(run.get(unit, []), run.get(name, []), strict=False)
    ]


def _has_single_points(points: Sequence[Spec]) -> bool:
    """Whether a line has only one point, which is invisible without a mark."""
    lines = [(point["run"], point["data"]) for point in points]
    return any(lines.count(line) == 1 for line in set(lines))
