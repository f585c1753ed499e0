"""The chart of the speed of the backends relative to the first one, over the input size."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from project.lab.charts import plots, vega
from project.lab.charts.palette import BLUE, GRAY, GREEN, ORANGE, PURPLE
from project.lab.charts.vega import Spec
from project.lab.explorers.speed import BACKENDS, Measurement

COLORS = [GRAY, ORANGE, BLUE, GREEN, PURPLE]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross"]
"""By position in BACKENDS."""

TITLES = {"matmul": "rows and columns of each matrix", "map": "elements", "zip": "elements", "reduce": "elements"}
"""The unit of the sizes, by operation."""


def speedups(found: Sequence[Measurement]) -> dict[tuple[int, str], float]:
    """Return the speed relative to the backend that was measured first, by size and backend."""
    base = {each.size: each.seconds for each in found if each.backend == found[0].backend}
    return {(each.size, each.backend): base[each.size] / each.seconds for each in found if each.size in base}


def speedup(found: Sequence[Measurement], description: str = "") -> Spec:
    """Return the chart. Both axes are logarithmic, and estimates are hollow.

    Args:
        found: At least one measurement, all of one operation.
        description: The alternative text.
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
    color = vega.nominal("backend", names, [COLORS[i] for i in places], vega.LEGEND | {"columns": 3, "symbolStrokeWidth": 2})
    shape = vega.nominal("backend", names, [SHAPES[i] for i in places])
    del shape["legend"]  # that of the color channel shows both
    ticks = {"values": sizes, "grid": False, "format": "~s" if sizes[-1] > 9999 else "d"}
    x = vega.quantitative("size", TITLES[found[0].op], scale={"type": "log"}, axis=ticks)
    powers = {"format": ",~g", "values": [10.0**k for k in range(-6, 10)]}
    y = vega.quantitative("speed-up", f"speed relative to {found[0].backend}", scale={"type": "log", "nice": True}, axis=powers)
    fill = {"condition": {"test": "datum.measured == 'yes'", **color}, "value": "transparent"}
    points = {"x": x, "y": y, "color": color, "shape": shape, "fill": fill}
    return vega.chart(
        description or in_words(found),
        [
            vega.layer("line", {"x": x, "y": y, "color": color}, strokeWidth=2, tooltip=False),
            vega.layer("point", points, size=70, tooltip={"content": "data"}, strokeWidth=2, opacity=1),
        ],
        height=260,
        values=rows,
    )


def recorded(rows: Sequence[Sequence[str]]) -> Spec:
    """Return the chart of the matrix products in a record of the goals, of the sizes that it compares with NumPy and the textbook kernel.

    Args:
        rows: The rows of benchmarks/results/goals.json: program, row, goal, measured, verdict.
    """
    ratio: dict[str, dict[int, float]] = {"NumPy's": {}, "textbook's": {}}
    for _, row, goal, measured, _ in rows:
        rival = goal.rpartition(" ")[2]
        if (product := re.fullmatch(r"matmul float32 (\d+)", row)) and rival in ratio:
            ratio[rival][int(product[1])] = float(measured.split()[0])
    sizes = sorted(ratio["NumPy's"].keys() & ratio["textbook's"].keys())
    fast = [(size, ratio["textbook's"][size]) for size in sizes]
    series = {
        "fast": fast,
        "numpy": [(size, speed / ratio["NumPy's"][size]) for size, speed in fast],
        "textbook": [(size, 1.0) for size in sizes],
    }
    shown = "; ".join(f"{size}: {name} {sense(speed)}×" for name in ("fast", "numpy") for size, speed in series[name])
    return plots.curves(series, f"Matrix products, float32, relative to textbook. {shown}.", TITLES["matmul"], "speed relative to textbook")


def in_words(found: Sequence[Measurement]) -> str:
    """Describe the chart at the largest complete size."""
    ratio, base = speedups(found), found[0].backend
    size = max(size for size, _ in ratio)
    others = [f"{name} {sense(ratio[size, name])}×" for at, name in ratio if at == size and name != base]
    return f"At {size:,} {TITLES[found[0].op]}, speed relative to {base}: {', '.join(others) or 'nothing else was measured'}."


def sense(ratio: float) -> str:
    """Return a ratio with two significant digits, or as an integer."""
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def notes(found: Sequence[Measurement], left_out: Mapping[str, str]) -> list[str]:
    """Return notes on the chart and the table."""
    lines = [f"{name}: NOT RUN, {why}." for name, why in left_out.items()]
    guessed = sorted({each.backend for each in found if not each.runs})
    if guessed:
        lines.append(
            f"{', '.join(guessed)}: hollow points and ≈ are estimates. A call would take too long, so the time is extrapolated from the "
            "largest measured size and the number of operations."
        )
    return lines
