"""The speed-up chart: how many times as fast as the first backend the others are, over the size of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from project.lab.charts.palette import BLUE, GREEN, GREY, ORANGE, PURPLE
from project.lab.explorers.speed import BACKENDS, Measurement

COLOURS = [GREY, ORANGE, BLUE, GREEN, PURPLE]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross"]
"""By place in BACKENDS: told apart by shape as well."""

SIDE = 300

TITLES = {"matmul": "rows and columns of each matrix", "map": "elements", "zip": "elements", "reduce": "elements"}
"""By operation what is counted in its sizes."""


def speedups(found: Sequence[Measurement]) -> dict[tuple[int, str], float]:
    """By size and backend, how many times as fast as the base: the backend that was measured first."""
    base = {each.size: each.seconds for each in found if each.backend == found[0].backend}
    return {(each.size, each.backend): base[each.size] / each.seconds for each in found if each.size in base}


def speedup(found: Sequence[Measurement], description: str = "") -> dict[str, Any]:
    """The chart as a Vega-Lite specification; both axes are logarithmic, and estimates are hollow.

    Args:
        found: At least one measurement, of one operation.
        description: The picture in words.
    """
    ratio = speedups(found)
    rows = [
        {
            "size": each.size,
            "speed-up": float(f"{ratio[each.size, each.backend]:.4g}"),
            "backend": each.backend,
            "milliseconds": float(f"{each.seconds * 1000:.4g}"),
            "measured": "yes" if each.runs else "estimated",
        }
        for each in found
        if (each.size, each.backend) in ratio
    ]
    names = [name for name in BACKENDS if any(row["backend"] == name for row in rows)]
    places = [BACKENDS.index(name) for name in names]
    sizes = sorted({row["size"] for row in rows})
    colour = {
        "field": "backend",
        "type": "nominal",
        "scale": {"domain": names, "range": [COLOURS[i] for i in places]},
        "legend": {"orient": "bottom", "title": None, "columns": 3, "symbolStrokeWidth": 2},
    }
    x = {
        "field": "size",
        "type": "quantitative",
        "title": TITLES[found[0].op],
        "scale": {"type": "log", "nice": False},
        "axis": {"values": sizes, "grid": False, "format": "~s" if sizes[-1] > 9999 else "d"},
    }
    y = {
        "field": "speed-up",
        "type": "quantitative",
        "title": f"times as fast as {found[0].backend}",
        "scale": {"type": "log"},
        "axis": {"format": ",~g", "values": [10.0**k for k in range(-6, 10)]},  # a line for every power of ten alone
    }
    shape = {"field": "backend", "type": "nominal", "scale": {"domain": names, "range": [SHAPES[i] for i in places]}}
    return {
        "description": description or in_words(found),
        "width": SIDE,
        "height": SIDE - 40,
        "data": {"values": rows},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"x": x, "y": y, "color": colour}},
            {
                "mark": {"type": "point", "size": 70, "tooltip": {"content": "data"}, "strokeWidth": 2, "opacity": 1},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": colour,
                    "shape": shape,
                    "fill": {"condition": {"test": "datum.measured == 'yes'", **colour}, "value": "transparent"},
                },
            },
        ],
    }


def in_words(found: Sequence[Measurement]) -> str:
    """What the chart shows at the largest size that is complete."""
    ratio, base = speedups(found), found[0].backend
    size = max(size for size, _ in ratio)
    others = [f"{name} {sense(ratio[size, name])} times" for at, name in ratio if at == size and name != base]
    return f"At {size:,} {TITLES[found[0].op]}, as fast as {base}: {', '.join(others) or 'nothing else was measured'}."


def sense(ratio: float) -> str:
    """A ratio with as many digits as make sense."""
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def notes(found: Sequence[Measurement], left_out: Mapping[str, str]) -> list[str]:
    """What must be known to read the chart or the table."""
    told = [f"{name}: NOT RUN, {why}." for name, why in left_out.items()]
    guessed = sorted({each.backend for each in found if not each.runs})
    if guessed:
        told.append(
            f"{', '.join(guessed)}: hollow points and ≈ are estimates; a call would take too long, so the time follows from the last "
            "size that was measured and the number of operations."
        )
    return told
