"""The charts of training: decision boundary, loss and accuracy, for a page, a report file and the book alike."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from minitorch import Graph
from project.lab.charts import vega
from project.lab.charts.palette import BLUE, LABEL_COLORS, LABEL_SHAPES, ORANGE, PALE_SCALE
from project.lab.charts.vega import SIDE, Spec, finite

OVERLAP = 0.1
"""The part of a cell under the next one. Without it, a thin seam shows where a pixel belongs to both."""


def boundary(grid: Sequence[Sequence[float]], graph: Graph, title: str = "") -> Spec:
    """Return the probability of label 1 over the unit square as a heat map, with the points on top.

    Args:
        grid: n rows of n probabilities, row 0 at the smallest x_2, as returned by `Trainer.grid`.
        graph: The points.
        title: The title of the chart.
    """
    n = len(grid)
    ends = [min(1.0, (i + 1 + OVERLAP) / n) for i in range(n)]
    cells = [
        {"x": i / n, "x2": ends[i], "y": j / n, "y2": ends[j], "p": finite(p, 4)} for j, row in enumerate(grid) for i, p in enumerate(row)
    ]
    points = [{"x": x_1, "y": x_2, "label": str(label)} for (x_1, x_2), label in zip(graph.X, graph.y, strict=True)]
    square = vega.span("x", "y", [0, 1], ("x_1", "x_2"))
    probability = vega.shades("p", [0, 0.5, 1], PALE_SCALE, title="probability of label 1", gradientLength=140, values=[0, 0.5, 1])
    value = {"field": "p", "type": "quantitative", "title": "probability of label 1"}
    legend = vega.LEGEND | {"title": "label", "symbolSize": 80, "symbolStrokeWidth": 1}  # a theme's thicker stroke hides the symbol
    labels = {
        "fill": vega.nominal("label", ["0", "1"], LABEL_COLORS, legend),
        "shape": vega.nominal("label", ["0", "1"], LABEL_SHAPES, legend),
    }
    return vega.chart(
        f"Probability of label 1 over the unit square, from orange (0) to blue (1), and {graph.N} labeled points.",
        [
            vega.layer("rect", square | {"color": probability, "tooltip": value}, cells),
            vega.layer(
                "point",
                {"x": square["x"], "y": square["y"], **labels},
                points,
                tooltip=False,
                size=60,
                stroke="white",
                strokeWidth=1,
                opacity=1,
            ),
        ],
        title=title,
    )


def curves(losses: Sequence[float], correct: Sequence[int], points: int, most: int = 200) -> Spec:
    """Return the loss and the accuracy over the epochs, one below the other.

    Args:
        losses: One value per finished epoch.
        correct: The number of correct points, one value per finished epoch.
        points: The number of points.
        most: The largest number of epochs to draw, evenly spaced; few if the chart must follow a run.
    """
    drawn = _evenly_spaced(len(losses), most)
    rows = [{"epoch": i + 1, "loss": finite(losses[i], 4), "accuracy": correct[i] / points, "correct": correct[i]} for i in drawn]
    x = vega.quantitative("epoch", "epoch")
    loss = vega.quantitative("loss", "loss", scale={"zero": True, "nice": True})
    accuracy = vega.quantitative("accuracy", "accuracy", scale={"domain": [0, 1]}, axis={"format": "%"})
    one = len(rows) == 1  # a line through one point is invisible
    panels = [
        _panel(vega.layer("line", {"x": x | {"title": None}, "y": loss}, color=ORANGE, point=one), 140),
        _panel(vega.layer("line", {"x": x, "y": accuracy}, color=BLUE, point=one), 140),
    ]
    description = f"Loss and accuracy on {points} points, over {len(losses)} epochs."
    return {"description": description, "data": {"values": rows}, "vconcat": panels}


def learning(losses: Sequence[float], train: Sequence[float], valid: Sequence[float], most: int = 200) -> Spec:
    """Return the loss, and the training and validation accuracy, over the epochs, one below the other.

    Args:
        losses: One value per finished epoch.
        train: Training accuracy, one value per finished epoch.
        valid: Validation accuracy, one value per finished epoch.
        most: The largest number of epochs to draw, evenly spaced.
    """
    drawn = _evenly_spaced(len(losses), most)
    x = vega.quantitative("epoch", "epoch", axis={"values": [1 + i for i in _evenly_spaced(len(losses), 7)], "format": "d"})
    names = ["training", "validation"]
    shares = [
        {"epoch": i + 1, "accuracy": values[i], "set": name} for name, values in zip(names, (train, valid), strict=True) for i in drawn
    ]
    lowest = min((share["accuracy"] for share in shares), default=0.0)
    loss = vega.quantitative("loss", "loss", scale={"zero": True, "nice": True})
    domain = [math.floor(lowest * 10) / 10, 1]  # most of the curve is near the top
    accuracy = {
        "x": x,
        "y": vega.quantitative("accuracy", "accuracy", scale={"domain": domain}, axis={"format": "%"}),
        "color": vega.nominal("set", names, [BLUE, ORANGE]),
        "strokeDash": vega.nominal("set", names, [[1, 0], [4, 3]], legend=None),
    }
    one = len(drawn) == 1
    losses_by_epoch = [{"epoch": i + 1, "loss": finite(losses[i], 4)} for i in drawn]
    panels = [
        _panel(vega.layer("line", {"x": x | {"title": None}, "y": loss}, losses_by_epoch, color=BLUE, point=one), 110),
        _panel(vega.layer("line", accuracy, shares, point=one), 150),
    ]
    return {"description": f"Loss, training accuracy and validation accuracy over {len(losses)} epochs.", "vconcat": panels}


def save(spec: Spec, path: str | Path) -> None:
    """Render a specification to a file atomically.

    Raises:
        ValueError: If the name does not end in .png or .svg.
    """
    import vl_convert  # contains a JavaScript engine: import it only when a file is rendered

    path = Path(path)
    if path.suffix == ".png":
        write(path, vl_convert.vegalite_to_png(spec, scale=2))
    elif path.suffix == ".svg":
        write(path, vl_convert.vegalite_to_svg(spec).encode())
    else:
        raise ValueError(f"a chart expected a file name that ends in .png or .svg, got {path.name}")


def write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _panel(layer: Spec, height: int) -> Spec:
    """Return one plot of a column."""
    return {"width": SIDE, "height": height} | layer


def _evenly_spaced(n: int, most: int) -> list[int]:
    """Return at most `most` evenly spaced indices below n, including the first and the last."""
    return list(range(n)) if n <= most else [round(i * (n - 1) / (most - 1)) for i in range(most)]
