"""The student's online softmax of one query, one tile after the other, with a check of each step, and the memory of attention."""

from __future__ import annotations

import math

import numpy as np

from minitorch.language import fused_attention as student
from project.lab.charts import vega
from project.lab.charts.palette import BLUE, ORANGE
from project.lab.charts.vega import Spec
from project.lab.explorers.language_layers import checked

KEYS, SIZE = 8, 2

LENGTHS = (128, 256, 512, 1024, 2048, 4096)
"""Lengths of a text, for which the numbers kept by one head are shown."""


def draw(seed: int, masked: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of a query, the last ones masked, and the values of its keys."""
    random = np.random.default_rng(seed)
    scores, values = random.normal(scale=2, size=KEYS).round(1), random.normal(scale=3, size=(KEYS, SIZE)).round(0) + 0.0  # no -0
    scores[KEYS - masked :] = -np.inf
    return scores, values


def steps(scores: np.ndarray, values: np.ndarray, tile: int) -> list[tuple[np.ndarray, float, float, np.ndarray]]:
    """Return the scores of each tile, and the largest score, the sum of the weights and that of the values after it.

    Raises:
        WrongResult: If one of them is wrong.
    """
    largest, total, output = np.full(1, student.MASKED), np.zeros(1), np.zeros((1, values.shape[1]))
    found = []
    for end in range(tile, len(scores) + tile, tile):
        part = scores[end - tile : end]
        student.add_tile(largest, total, output, part[None].copy(), values[end - tile : end].copy())
        seen = scores[:end][np.isfinite(scores[:end])]
        highest = seen.max() if len(seen) else student.MASKED
        powers = np.exp(seen - highest)
        for name, got, expected in (
            ("largest", largest, np.array([highest])),
            ("total", total, np.array([powers.sum()])),
            ("output", output, (powers @ values[: len(seen)])[None]),
        ):
            checked(f"add_tile: {name} after {min(end, len(scores))} keys", got, expected)
        found.append((part, float(largest[0]), float(total[0]), output[0].copy()))
    return found


def softmax_mean(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the mean of the values by softmax over all scores at once; zeros without keys."""
    seen = np.isfinite(scores)
    if not seen.any():
        return np.zeros(values.shape[1])
    powers = np.exp(scores[seen] - scores[seen].max())
    return powers @ values[seen] / powers.sum()


def number(value: float) -> str:
    """Return a number for a table; a masked score as −∞."""
    return "−∞" if value == student.MASKED or math.isinf(value) else f"{value:.3f}"


def memory(tile: int) -> Spec:
    """Return the numbers that a head keeps besides inputs and result, for all scores at once and for tiles, as lines."""
    names = ("all scores, T × T", "tile and log-sum-exp")
    rows = [
        {"T": length, "numbers": float(count), "kept": name}
        for length in LENGTHS
        for name, count in zip(names, (length * length, tile * tile + 2 * tile + length), strict=True)
    ]
    encoding = {
        "x": vega.quantitative("T", "length of the text, T", scale={"type": "log", "base": 2}),
        "y": vega.quantitative("numbers", "numbers", scale={"type": "log"}),
        "color": vega.nominal("kept", list(names), [ORANGE, BLUE]),
    }
    said = f"Numbers that one head keeps at length {LENGTHS[-1]}: {LENGTHS[-1] ** 2:,} for all scores, {rows[-1]['numbers']:,.0f} in tiles."
    return vega.chart(said, [vega.layer("line", encoding, point=True)], width=260, height=200, values=rows)
