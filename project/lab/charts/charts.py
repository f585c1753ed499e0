"""Charts as Vega-Lite specifications, plain dicts that a page, a file and the book draw alike."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minitorch import Graph
from project.lab.charts.palette import BLUE, DARK_BLUE, DARK_ORANGE, ORANGE, PALE_BLUE, PALE_ORANGE, WHITE

SHADES = [PALE_BLUE, WHITE, PALE_ORANGE]
"""Probability 0, 1/2 and 1: pale, so that the points stand out."""

SIDE = 300
"""Width of a chart in pixels, so that it fits a phone with its axis."""


def boundary(grid: Sequence[Sequence[float]], graph: Graph, title: str = "") -> dict[str, Any]:
    """The probability of label 1 over the unit square, as colour, with the points on it.

    Args:
        grid: n rows of n probabilities, row 0 at the smallest x_2, as `Trainer.grid` gives them.
        graph: The points.
        title: Stands above the chart.
    """
    n = len(grid)
    cells = [
        {"x": i / n, "x2": (i + 1) / n, "y": j / n, "y2": (j + 1) / n, "p": _drawable(p)}
        for j, row in enumerate(grid)
        for i, p in enumerate(row)
    ]
    points = [{"x": x_1, "y": x_2, "label": str(label)} for (x_1, x_2), label in zip(graph.X, graph.y, strict=True)]
    side = n * max(1, round(SIDE / n)) if n else SIDE  # whole pixels a cell: else thin seams show between cells
    spec = {
        "description": f"Probability of label 1 over the unit square, from blue (0) to orange (1), and {graph.N} labelled points.",
        "width": side,
        "height": side,
        "layer": [
            {
                "data": {"values": cells},
                "mark": {"type": "rect", "tooltip": True},
                "encoding": {
                    "x": _axis("x", "x_1"),
                    "x2": {"field": "x2"},
                    "y": _axis("y", "x_2"),
                    "y2": {"field": "y2"},
                    "color": {
                        "field": "p",
                        "type": "quantitative",
                        "scale": {"domain": [0, 0.5, 1], "range": SHADES},
                        "legend": {"title": "probability of label 1", "orient": "bottom", "gradientLength": 140, "values": [0, 0.5, 1]},
                    },
                },
            },
            {
                "data": {"values": points},
                "mark": {"type": "point", "size": 60, "stroke": "white", "strokeWidth": 1, "opacity": 1},
                "encoding": {
                    "x": _axis("x", "x_1"),
                    "y": _axis("y", "x_2"),
                    "fill": _labels([DARK_BLUE, DARK_ORANGE]),
                    "shape": _labels(["circle", "triangle-up"]),
                },
            },
        ],
    }
    return spec | {"title": title} if title else spec


def curves(losses: Sequence[float], correct: Sequence[int], points: int, most: int = 200) -> dict[str, Any]:
    """The loss and the share of points with the right label over the epochs, one below the other.

    Args:
        losses: One value a finished epoch.
        correct: How many points were right, one value a finished epoch.
        points: How many points there are.
        most: How many epochs to draw at most, evenly spread: few where the picture must follow a run.
    """
    drawn = _thinned(len(losses), most)
    rows = [{"epoch": i + 1, "loss": _drawable(losses[i]), "right": correct[i] / points, "correct": correct[i]} for i in drawn]
    panels = [
        {
            "width": SIDE,
            "height": 110,
            "mark": {"type": "line", "color": colour, "point": len(rows) == 1, "tooltip": True},  # a line through one point is invisible
            "encoding": {
                "x": {"field": "epoch", "type": "quantitative", "title": "epoch" if title != "loss" else None, "scale": {"nice": False}},
                "y": {"field": field, "type": "quantitative", "title": title, **options},
            },
        }
        for field, title, colour, options in [
            ("loss", "loss", ORANGE, {"scale": {"zero": True}}),
            ("right", "points right", BLUE, {"scale": {"domain": [0, 1]}, "axis": {"format": "%"}}),
        ]
    ]
    return {
        "description": f"Loss and share of the {points} points with the right label, over {len(losses)} epochs.",
        "data": {"values": rows},
        "vconcat": panels,
    }


def learning(losses: Sequence[float], train: Sequence[float], valid: Sequence[float], most: int = 200) -> dict[str, Any]:
    """The loss, and the shares of the training and of the validation set that are right, over the epochs, one below the other.

    Args:
        losses: One value a finished epoch.
        train: Share of the training set, one value a finished epoch.
        valid: Share of the validation set, one value a finished epoch.
        most: How many epochs to draw at most, evenly spread.
    """
    drawn = _thinned(len(losses), most)
    ticks = {"values": [1 + i for i in _thinned(len(losses), 7)], "format": "d"}
    x = {"field": "epoch", "type": "quantitative", "scale": {"nice": False}, "axis": ticks}
    sets = [("training", train), ("validation", valid)]
    shares = [{"epoch": i + 1, "right": values[i], "set": name} for name, values in sets for i in drawn]
    lowest = min((share["right"] for share in shares), default=0.0)
    names = [name for name, _ in sets]
    loss = {
        "data": {"values": [{"epoch": i + 1, "loss": _drawable(losses[i])} for i in drawn]},
        "mark": {"type": "line", "color": BLUE, "point": len(drawn) == 1, "tooltip": True},
        "encoding": {"x": x | {"title": None}, "y": {"field": "loss", "type": "quantitative", "scale": {"zero": True}}},
    }
    right = {
        "data": {"values": shares},
        "mark": {"type": "line", "point": len(drawn) == 1, "tooltip": True},
        "encoding": {
            "x": x,
            "y": {
                "field": "right",
                "type": "quantitative",
                "title": "right",
                "scale": {"domain": [math.floor(lowest * 10) / 10, 1]},  # most of it lies near the top
                "axis": {"format": "%"},
            },
            "color": {
                "field": "set",
                "type": "nominal",
                "scale": {"domain": names, "range": [BLUE, ORANGE]},
                "legend": {"title": None, "orient": "bottom"},
            },
            "strokeDash": {"field": "set", "type": "nominal", "scale": {"domain": names, "range": [[1, 0], [4, 3]]}, "legend": None},
        },
    }
    return {
        "description": f"Loss, and the shares of training and validation examples that are right, over {len(losses)} epochs.",
        "vconcat": [{"width": SIDE, "height": height} | panel for height, panel in [(110, loss), (150, right)]],
    }


def save(spec: dict[str, Any], path: str | Path) -> None:
    """Draw a specification into a file, which is there in full or not at all.

    Raises:
        ValueError: If the name ends neither in .png nor in .svg.
    """
    import vl_convert  # loads a browser engine: only when a file is drawn

    path = Path(path)
    if path.suffix == ".png":
        write(path, vl_convert.vegalite_to_png(spec, scale=2))
    elif path.suffix == ".svg":
        write(path, vl_convert.vegalite_to_svg(spec).encode())
    else:
        raise ValueError(f"a chart expected a file name that ends in .png or .svg, got {path.name}")


def write(path: Path, content: bytes) -> None:
    """Write a file that others see in full or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _axis(field: str, title: str) -> dict[str, Any]:
    """One side of the unit square."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {"grid": False, "tickCount": 5},
    }


def _labels(range: list[str]) -> dict[str, Any]:
    """The two labels, as two colours or two shapes; both end up in one legend."""
    scale = {"domain": ["0", "1"], "range": range}
    legend = {"title": "label", "orient": "bottom", "symbolSize": 80, "symbolStrokeWidth": 1}  # a theme's thicker one hides the symbol
    return {"field": "label", "type": "nominal", "scale": scale, "legend": legend}


def _drawable(value: float) -> float | None:
    """The value, or a gap in its place where training has gone astray: JSON knows neither NaN nor infinity."""
    return round(value, 4) if math.isfinite(value) else None


def _thinned(n: int, most: int) -> list[int]:
    """Indices below n, evenly spread, first and last among them, at most `most`."""
    return list(range(n)) if n <= most else [round(i * (n - 1) / (most - 1)) for i in range(most)]
