"""The roofline of a CUDA kernel: how fast chosen cards could run it, given its operations per byte; and its occupancy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from minitorch.cuda import CARDS, occupancy
from project.lab.charts import vega
from project.lab.charts.palette import BLUE, GRAY, GREEN, ORANGE, PURPLE
from project.lab.charts.vega import Spec

LEFT, RIGHT = 0.05, 1000.0
"""The intensities that are always shown; a kernel outside of them extends the axis."""


@dataclass(frozen=True)
class Speed:
    """What a card reaches at most.

    Source: NVIDIA's data sheets: T4 (2019), A100 40GB PCIe (2020), GeForce RTX 4090 (2022), H100 SXM (2022).

    Attributes:
        name: The card.
        bandwidth: Bytes of global memory per second.
        peak: Operations of float32 per second, without tensor cores.
    """

    name: str
    bandwidth: float
    peak: float

    def limit(self, intensity: float) -> float:
        """The operations per second that are possible at an intensity."""
        return min(self.peak, self.bandwidth * intensity)


SPEEDS = (
    Speed("T4", 320e9, 8.1e12),
    Speed("A100", 1555e9, 19.5e12),
    Speed("RTX 4090", 1008e9, 82.6e12),
    Speed("H100", 3350e9, 66.9e12),
)

COLORS = (GRAY, BLUE, GREEN, PURPLE)


def roofline(intensity: float) -> Spec:
    """Return the chart of the roofs, with a line at the kernel's intensity. Both axes are logarithmic.

    Args:
        intensity: Operations per byte. Without arithmetic, 0, or without traffic, infinity, the kernel has no place on the axis: only the
            roofs are drawn.
    """
    kernel = [intensity] if 0 < intensity < math.inf else []
    left, right = min([LEFT, *kernel]), max([RIGHT, *kernel])
    ticks = {"values": [0.1, 1, 10, 100, 1000], "grid": False, "format": "~g"}
    x = vega.quantitative("intensity", "operations a byte", scale={"type": "log", "domain": [left, right]}, axis=ticks)
    y = vega.quantitative("TFLOP/s", "TFLOP/s", scale={"type": "log", "nice": True}, axis={"format": "~g", "tickCount": 5})
    names = [speed.name for speed in SPEEDS]
    color = vega.nominal("card", names, list(COLORS), vega.LEGEND | {"columns": 4})
    roofs = [
        {"intensity": at, "TFLOP/s": float(f"{speed.limit(at) / 1e12:.4g}"), "card": speed.name}
        for speed in SPEEDS
        for at in (left, speed.peak / speed.bandwidth, right)
    ]
    points = [
        {"intensity": here, "TFLOP/s": float(f"{speed.limit(here) / 1e12:.4g}"), "card": speed.name} for here in kernel for speed in SPEEDS
    ]
    rule = [{"intensity": here} for here in kernel]
    return vega.chart(
        in_words(intensity),
        [
            vega.layer("line", {"x": x, "y": y, "color": color}, roofs, strokeWidth=2, tooltip=False),
            vega.layer("rule", {"x": x}, rule, color=ORANGE, strokeWidth=3, tooltip=False),
            vega.layer("point", {"x": x, "y": y, "color": color}, points, size=70, filled=True, opacity=1, tooltip={"content": "data"}),
        ],
        height=240,
    )


def in_words(intensity: float, traffic: bool = True) -> str:
    """Say what limits the kernel, and to which share of the peak.

    Args:
        intensity: Operations per byte; infinity without traffic.
        traffic: Whether the kernel accesses global memory.
    """
    if intensity == 0 and not traffic:
        return "The kernel does no floating-point arithmetic and accesses no global memory: neither roof limits it."
    if intensity == 0:
        return "The kernel does no floating-point arithmetic, so it has no place on the chart: it can only be as fast as the memory."
    if intensity == math.inf:
        return "The kernel accesses no global memory, so it has no place on the chart: it can only be as fast as the arithmetic."
    shares = []
    for speed in SPEEDS:
        share = speed.limit(intensity) / speed.peak
        what = "arithmetic" if share == 1 else "memory"
        shares.append(f"{speed.name} {percent(share)} ({what})")
    return f"At {intensity:,.2f} operations a byte, the possible share of each card's peak, and what limits it: {', '.join(shares)}."


def percent(share: float) -> str:
    """A share in percent; below 1 %, with a digit that is not 0."""
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.1g}%"


def occupancies(threads: int, registers: int, shared_bytes: int) -> list[dict[str, str]]:
    """Return a row for each card with the occupancy of a kernel, or why it cannot run there.

    Args:
        threads: Threads per block.
        registers: Registers per thread.
        shared_bytes: Bytes of shared memory per block.
    """
    rows = []
    for capability, card in CARDS.items():
        row = {"card": f"{card.name} ({capability})"}
        try:
            found = occupancy(threads, registers, shared_bytes, capability)
        except ValueError as error:
            rows.append(row | {"warps": "-", "limited by": str(error)})
            continue
        if not found.blocks:
            rows.append(row | {"warps": "0", "limited by": f"{' and '.join(found.limited_by)}: a block does not fit"})
            continue
        rows.append(
            row | {"warps": f"{found.warps} of {found.max_warps} ({found.fraction:.0%})", "limited by": " and ".join(found.limited_by)}
        )
    return rows
