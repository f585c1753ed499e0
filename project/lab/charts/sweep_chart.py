"""The charts of a sweep: what its trials reached over the values of one option."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from project.lab.charts import vega
from project.lab.charts.palette import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED
from project.lab.charts.vega import Spec, finite
from project.lab.sweeps import store
from project.lab.sweeps.search import Range
from project.lab.sweeps.store import Request, Result

COLORS = [BLUE, ORANGE, GREEN, PURPLE, RED, GRAY]
"""One for each rung; the seventh has the first color again."""

SIDE = 270
"""Width of a plot in pixels, which fits a phone including the numbers of the axis."""


def chart(request: Request, results: Sequence[Result], name: str) -> Spec:
    """Return the metric of the trials over the values of an option, with a ring around the best trial.

    The axis of the option is logarithmic if its range is, or if its listed numbers are positive and differ by a factor of 10 or more. So is
    the axis of a loss.

    Args:
        request: The sweep.
        results: Its finished trials in the order of the rungs, at least one of which has the metric.
        name: An option that varies.
    """
    ranked = store.rank(results, request.metric)
    metric = store.metric_of(results, request.metric)
    with_metric = [result for result in results if not result.outcome.error and result.outcome.metrics.get(metric) is not None]
    rows = [_row(request, result, metric) for result in with_metric]
    best = [_row(request, ranked[0], metric)]
    encoding = {"x": _axis_of_values(request, name), "y": _axis_of_metric(metric, [row[metric] for row in rows])}
    color: Spec = {}
    if request.search == "halving":
        names = list(dict.fromkeys(row["trained"] for row in rows))
        colors = [COLORS[i % len(COLORS)] for i in range(len(names))]
        color = {"color": vega.nominal("trained", names, colors, vega.LEGEND | {"columns": 3, "symbolSize": 80})}
    mark = {"filled": True, "size": 60, "opacity": 0.85, "tooltip": {"content": "data"}} | ({} if color else {"color": BLUE})
    ring = {"filled": False, "size": 220, "strokeWidth": 2, "opacity": 1, "color": RED, "tooltip": {"content": "data"}}
    layers = [vega.layer("point", encoding | color, rows, **mark), vega.layer("point", encoding, best, **ring)]
    return vega.chart(in_words(request, results, name), layers, width=SIDE, height=230)


def in_words(request: Request, results: Sequence[Result], name: str) -> str:
    """Describe the chart in a sentence."""
    best, metric = store.rank(results, request.metric)[0], store.metric_of(results, request.metric)
    return f"{_title(metric).capitalize()} over {name}: the best is {_shown(metric, best)} at {name} {best.trial.values[name]}."


def reached(request: Request, results: Sequence[Result]) -> str:
    """Return what the best trial reached in a few words."""
    best, metric = store.rank(results, request.metric)[0], store.metric_of(results, request.metric)
    return f"{_title(metric)} {_shown(metric, best)}"


def _title(metric: str) -> str:
    """Return the name of a metric in words."""
    return metric.replace("_", " ").replace("valid ", "validation ").replace("train ", "training ")


def _shown(metric: str, result: Result) -> str:
    """Return the value of a metric as text."""
    value = result.outcome.metrics[metric]
    return f"{value:.4g}" if metric.endswith("loss") else f"{value:.1%}"


def _row(request: Request, result: Result, metric: str) -> dict[str, Any]:
    """Return the data of a point; its tooltip shows them."""
    trial = result.trial
    trained = {"trained": f"{trial.epochs} {request.unit}"} if request.search == "halving" else {}
    return {"trial": trial.number} | trained | trial.values | {metric: finite(result.outcome.metrics[metric])}


def _axis_of_values(request: Request, name: str) -> Spec:
    """Return the horizontal channel: numbers, or names in the order of the command line."""
    choices = request.choices()[name]
    values = [choices.low, choices.high] if isinstance(choices, Range) else choices
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values):
        return {"field": name, "type": "ordinal", "title": name, "sort": values, "axis": {"labelAngle": 0, "labelOverlap": True}}
    scale = {"type": "log"} if _is_wide(numbers) else {}
    axis = {"format": "~r", "tickCount": 5, "labelOverlap": True}
    return vega.quantitative(name, name, scale=scale | {"domain": [min(numbers), max(numbers)]}, axis=axis)


def _axis_of_metric(metric: str, values: Sequence[float]) -> Spec:
    """Return the vertical channel: percent, or the loss."""
    if not metric.endswith("loss"):
        return vega.quantitative(metric, metric, scale={"nice": 6}, axis={"format": ".0%", "tickCount": 6})
    scale = {"type": "log"} if _is_wide(values) else {"nice": 5}
    return vega.quantitative(metric, metric, scale=scale, axis={"format": "~g", "tickCount": 5, "labelOverlap": True})


def _is_wide(values: Sequence[float]) -> bool:
    """Whether numbers need a logarithmic axis."""
    return min(values) > 0 and max(values) >= 10 * min(values)
