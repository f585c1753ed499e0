"""The chart of the roofline: operations a second over operations a byte, with the roof of the machine."""

from __future__ import annotations

from collections.abc import Sequence

from project.lab.charts import vega
from project.lab.charts.palette import GRAY
from project.lab.charts.speed_chart import COLORS, SHAPES
from project.lab.charts.vega import Spec
from project.lab.explorers.roofline import Roof, intensity, reached
from project.lab.explorers.speed import BACKENDS, Measurement, work

LEFT, RIGHT = 0.02, 1000.0
"""The smallest and the largest intensity that is shown."""


def roofline(found: Sequence[Measurement], itemsize: int, roof: Roof) -> Spec:
    """Return the chart. Both axes are logarithmic; estimates are left out.

    Args:
        found: The measurements.
        itemsize: Bytes of a number.
        roof: The roof.
    """
    rows = [
        {
            "intensity": float(f"{intensity(each.op, each.size, itemsize):.4g}"),
            "GFLOP/s": float(f"{work(each.op, each.size) / each.seconds / 1e9:.4g}"),
            "backend": each.backend,
            "size": each.size,
            "of the roof": f"{reached(each, itemsize, roof):.0%}",
        }
        for each in found
        if each.runs
    ]
    names = [name for name in BACKENDS if any(row["backend"] == name for row in rows)]
    places = [BACKENDS.index(name) for name in names]
    scale = {"type": "log", "domain": [LEFT, RIGHT]}
    ticks = {"values": [10.0**k for k in range(-2, 4)], "grid": False, "format": "~g"}
    x = vega.quantitative("intensity", "floating-point operations a byte", scale=scale, axis=ticks)
    powers = {"format": ",~g", "values": [10.0**k for k in range(-6, 6)]}
    y = vega.quantitative("GFLOP/s", "GFLOP/s", scale={"type": "log", "nice": True}, axis=powers)
    corners = [LEFT, min(max(roof.ridge, LEFT), RIGHT), RIGHT]
    line = [{"intensity": at, "GFLOP/s": float(f"{roof.limit(at) / 1e9:.4g}")} for at in corners]
    color = vega.nominal("backend", names, [COLORS[i] for i in places], vega.LEGEND | {"columns": 3})
    shape = vega.nominal("backend", names, [SHAPES[i] for i in places])
    del shape["legend"]  # that of the color channel shows both
    points = {"x": x, "y": y, "color": color, "shape": shape}
    return vega.chart(
        in_words(found, itemsize, roof),
        [
            vega.layer("line", {"x": x, "y": y}, line, strokeWidth=3, color=GRAY, tooltip=False),
            vega.layer("point", points, rows, size=70, tooltip={"content": "data"}, filled=True, opacity=1),
        ],
        height=260,
    )


def in_words(found: Sequence[Measurement], itemsize: int, roof: Roof) -> str:
    """Describe the roof, and how close each backend comes to it at its largest measured size."""
    largest = {each.backend: each for each in found if each.runs}  # the last one of each backend
    shares = [f"{name} {reached(each, itemsize, roof):.0%}" for name, each in largest.items()]
    return (
        f"This machine reads and writes {roof.bandwidth / 1e9:.3g} GB/s and computes {roof.peak / 1e9:.3g} GFLOP/s, so memory is the limit "
        f"below {roof.ridge:.3g} operations a byte. Of what is possible at its largest measured size: {', '.join(shares) or 'nothing yet'}."
    )
