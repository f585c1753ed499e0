"""Dropout: the input, the mask and the result as grids, and the distribution of the sum over many masks."""

from __future__ import annotations

import numpy as np

from project.lab.charts import vega
from project.lab.charts.cells import Cell, grid
from project.lab.charts.palette import BLUE, GREEN, ORANGE
from project.lab.charts.vega import Spec
from project.lab.explorers.convolution import cell_width, largest, short
from project.lab.typed.arrays import figure

BINS = 20


def complaint(values: np.ndarray, left: np.ndarray) -> str:
    """Return an error message if the result of dropout contains anything but 0 and the input values, else ""."""
    odd = np.argwhere(~(np.isclose(left, values) | (left == 0)))
    if not len(odd):
        return ""
    at = tuple(map(int, odd[0]))
    return f"expected {figure(values[at])} or 0 at {list(at)}, got {figure(left[at])}; do not rescale the values that are kept"


def panels(values: np.ndarray, mask: np.ndarray, left: np.ndarray) -> list[str]:
    """Return the markup of the input, the mask and the result.

    Args:
        values: The input, shape (H, W).
        mask: 1 where a value is kept.
        left: The result.
    """
    panels = []
    for title, numbers in (("input", values), ("mask", mask), ("result", left)):
        scale = largest(values if title == "result" else numbers)
        cells = []
        for row, column in np.ndindex(values.shape):
            value, out = float(numbers[row, column]), title != "input" and not mask[row, column]
            note = f"{title}[{row}, {column}] = {figure(value)}" + (", dropped" if out else "")
            tag = f"d{row},{column}"
            cells.append(Cell(short(value), tag, (tag,), note, "idle" if out else "", tone=None if out else value / scale))
        panels.append(grid(f"{title}, shape {values.shape}", values.shape, cells, cell_width(values.shape[1])))
    return panels


def summary(values: np.ndarray, sums: np.ndarray, rate: float, rescaled: bool) -> str:
    """Describe the mean and the standard deviation of the sums, measured and expected."""
    whole = float(values.sum())
    factor = 1 / (1 - rate) if rescaled else 1.0
    mean = whole * (1 - rate) * factor
    deviation = factor * float(np.sqrt(rate * (1 - rate) * (values**2).sum()))
    says = (
        f"Over {len(sums)} masks, the sum has mean {figure(float(sums.mean()))} and standard deviation {figure(float(sums.std()))}; in "
        f"theory {figure(mean)} and {figure(deviation)}. Without dropout it is {figure(whole)}. "
    )
    if rescaled:
        return says + "Dividing by 1 - rate corrects the mean, so the next layer sees values of the same scale in training and evaluation."
    return says + "The next layer sees smaller values in training than in evaluation. To correct this, `nn.Dropout` divides by 1 - rate."


def histogram(sums: np.ndarray, whole: float, description: str) -> Spec:
    """Return the histogram of the sum.

    Args:
        sums: One per mask.
        whole: The sum without dropout, drawn as a line.
        description: The alternative text.
    """
    low, high = min(0.0, whole, float(sums.min())), max(whole, float(sums.max()), 1e-9)
    high += (high - low) * 0.02
    counts, edges = np.histogram(sums, BINS, (low, high))
    bars = [
        {"from": float(a), "to": float(b), "masks": int(count)} for a, b, count in zip(edges[:-1], edges[1:], counts, strict=True) if count
    ]
    axis = {"scale": {"domain": [low, high]}}
    count = vega.quantitative("masks", "masks", scale={"zero": True, "nice": True})
    bar = {"x": vega.quantitative("from", "sum of the result", **axis), "x2": {"field": "to"}, "y": count, "y2": {"datum": 0}}
    lines = [{"sum": whole, "line": "without dropout"}, {"sum": float(sums.mean()), "line": "mean over the masks"}]
    names = [line["line"] for line in lines]
    line = {
        "x": vega.quantitative("sum", "sum of the result", **axis),
        "color": vega.nominal("line", names, [ORANGE, GREEN]),
        "strokeDash": vega.nominal("line", names, [[6, 3], [1, 0]], legend=None),
    }
    return vega.chart(
        description, [vega.layer("rect", bar, bars, color=BLUE), vega.layer("rule", line, lines, strokeWidth=2.5)], height=200
    )
