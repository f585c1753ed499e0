"""Dropout as pictures: the numbers, the mask, what is left, and how the sum varies from mask to mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from project.lab.charts.cells import Cell, grid
from project.lab.charts.palette import BLUE, GREEN, ORANGE
from project.lab.explorers.convolution import cell_width, largest, short
from project.lab.typed.arrays import figure

BINS = 20


def odd_one(values: np.ndarray, left: np.ndarray) -> str:
    """What stands in a result of dropout that can not, "" if nothing does: every number is as it was, or 0."""
    odd = np.argwhere(~(np.isclose(left, values) | (left == 0)))
    if not len(odd):
        return ""
    at = tuple(map(int, odd[0]))
    return f"expected {figure(values[at])} or 0 at {list(at)}, got {figure(left[at])}; it does not make larger what is left"


def panels(values: np.ndarray, mask: np.ndarray, left: np.ndarray) -> list[str]:
    """The markup of the numbers, of the mask and of what is left.

    Args:
        values: Rows and columns.
        mask: 1 where a number is kept.
        left: The result.
    """
    drawn = []
    for title, numbers in (("input", values), ("mask", mask), ("result", left)):
        scale = largest(values if title == "result" else numbers)
        cells = []
        for row, column in np.ndindex(values.shape):
            value, out = float(numbers[row, column]), title != "input" and not mask[row, column]
            note = f"{title}[{row}, {column}] = {figure(value)}" + (", dropped" if out else "")
            tag = f"d{row},{column}"
            cells.append(Cell(short(value), tag, (tag,), note, "idle" if out else "", tone=None if out else value / scale))
        drawn.append(grid(f"{title}, shape {values.shape}", values.shape, cells, cell_width(values.shape[1])))
    return drawn


def summary(values: np.ndarray, sums: np.ndarray, rate: float, rescaled: bool) -> str:
    """Mean and spread of the sums, beside what they must be, in sentences."""
    whole = float(values.sum())
    factor = 1 / (1 - rate) if rescaled else 1.0
    mean = whole * (1 - rate) * factor
    deviation = factor * float(np.sqrt(rate * (1 - rate) * (values**2).sum()))
    says = (
        f"Over {len(sums)} masks the sum is {figure(float(sums.mean()))} on average and varies by {figure(float(sums.std()))} (standard "
        f"deviation); by the rules of probability {figure(mean)} and {figure(deviation)}. Without dropout it is {figure(whole)}. "
    )
    if rescaled:
        return (
            says + "Divided by 1 - rate what is left has the right mean: what comes after sees numbers of one size in training and later."
        )
    return says + "What comes after sees smaller numbers in training than later: `nn.Dropout` divides what is left by 1 - rate."


def histogram(sums: np.ndarray, whole: float, description: str) -> dict[str, Any]:
    """How often which sum occurs, a plain Vega-Lite specification.

    Args:
        sums: One for every mask.
        whole: The sum without dropout, drawn as a line.
        description: The picture in words.
    """
    low, high = min(0.0, whole, float(sums.min())), max(whole, float(sums.max()), 1e-9)
    high += (high - low) * 0.02
    counts, edges = np.histogram(sums, BINS, (low, high))
    bars = [
        {"from": float(a), "to": float(b), "masks": int(count)} for a, b, count in zip(edges[:-1], edges[1:], counts, strict=True) if count
    ]
    x = {"type": "quantitative", "scale": {"domain": [low, high], "nice": False}, "title": "sum of what is left"}
    lines = [{"sum": whole, "line": "without dropout"}, {"sum": float(sums.mean()), "line": "mean over the masks"}]
    colour = {
        "field": "line",
        "type": "nominal",
        "scale": {"domain": [line["line"] for line in lines], "range": [ORANGE, GREEN]},
        "legend": {"orient": "bottom", "title": None},
    }
    dash = {"field": "line", "type": "nominal", "scale": {"range": [[6, 3], [1, 0]]}, "legend": None}
    return {
        "description": description,
        "width": 280,
        "height": 200,
        "layer": [
            {
                "data": {"values": bars},
                "mark": {"type": "rect", "color": BLUE, "tooltip": True},
                "encoding": {
                    "x": {"field": "from", **x},
                    "x2": {"field": "to"},
                    "y": {"field": "masks", "type": "quantitative", "scale": {"zero": True}},
                    "y2": {"datum": 0},
                },
            },
            {
                "data": {"values": lines},
                "mark": {"type": "rule", "strokeWidth": 2.5, "tooltip": True},
                "encoding": {"x": {"field": "sum", **x}, "color": colour, "strokeDash": dash},
            },
        ],
    }
