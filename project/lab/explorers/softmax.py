"""Softmax step by step, with and without the shift, and its probabilities as a chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from project.lab.charts.palette import BLUE, GREY
from project.lab.typed.arrays import factor, figure

TYPES = {"float64": np.float64, "float32": np.float32}


def steps(logits: np.ndarray, dtype: str, shift: bool) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Exponents, powers, their sum and their shares, each rounded to the type as a computer does it.

    Args:
        logits: Divided by the temperature already.
        dtype: One of TYPES.
        shift: Whether the largest is subtracted first.
    """
    x = logits.astype(TYPES[dtype])
    exponents = x - x.max() if shift else x
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        powers = np.exp(exponents)
        total = powers.sum()
        return exponents, powers, float(total), powers / total


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    """The logarithms of softmax, right for numbers of any size."""
    return logits - np.logaddexp.reduce(logits)


def table(logits: np.ndarray, dtype: str, shift: bool) -> list[dict[str, str]]:
    """One row for every class."""
    exponents, powers, _, shares = steps(logits, dtype, shift)
    exponent = "x - m" if shift else "x"
    return [
        {"class": str(i), exponent: figure(x), f"e^({exponent})" if shift else "e^x": figure(power), "share": figure(share)}
        for i, (x, power, share) in enumerate(zip(exponents, powers, shares, strict=True))
    ]


def verdict(logits: np.ndarray, dtype: str, shift: bool) -> str:
    """What has become of the sum."""
    _, powers, total, shares = steps(logits, dtype, shift)
    largest = math.log(float(np.finfo(TYPES[dtype]).max))
    if math.isinf(total):
        return (
            f"The sum is inf: e^x is too large for a {dtype} from x = {largest:.1f} on. A finite number divided by inf is 0, and inf / inf "
            "is nan."
        )
    if total == 0:
        return f"The sum is 0: every e^x is too small for a {dtype}, and 0 / 0 is nan."
    if shift:
        return f"The sum is {figure(total)}: one power is e^0 = 1, none is larger, so that nothing overflows and the sum is at least 1."
    lost = powers[shares == 0].size
    return f"The sum is {figure(total)}." + (f" {lost} of the shares are too small for a {dtype} and become 0." if lost else "")


def log_sum_exp(logits: np.ndarray) -> str:
    """The logarithm of the sum of powers as arithmetic."""
    m = float(logits.max())
    exponents = [float(x) - m for x in logits]
    total = sum(map(math.exp, exponents))
    powers = " + ".join(f"e^{factor(x)}" for x in exponents)
    result = m + math.log(total)
    return "\n".join(
        [
            f"m = {figure(m)}",
            f"ln Σ e^x = m + ln Σ e^(x - m) = {figure(m)} + ln({powers})",
            f"         = {figure(m)} + ln {figure(total)} = {figure(result)}",
            *(f"ln softmax, class {i}: {figure(float(x))} - {factor(result)} = {figure(float(x) - result)}" for i, x in enumerate(logits)),
        ]
    )


def spread(probabilities: np.ndarray) -> str:
    """How sure the probabilities are, in a sentence."""
    positive = probabilities[probabilities > 0]
    bits = abs(float((positive * np.log2(positive)).sum()))
    return (
        f"The largest is {figure(float(probabilities.max()))}. Their entropy is {bits:.2f} bits: 0 if one class is certain, "
        f"{math.log2(len(probabilities)):.2f} if all are equally likely."
    )


def chart(probabilities: Sequence[float], description: str) -> dict[str, Any]:
    """The probabilities as bars, a plain Vega-Lite specification.

    Args:
        probabilities: One for every class.
        description: The picture in words.
    """
    values = [{"class": str(i), "probability": p, "label": f"{p:.3f}"} for i, p in enumerate(probabilities) if math.isfinite(p)]
    x = {"field": "class", "type": "nominal", "title": "class", "axis": {"labelAngle": 0}}
    y = {"field": "probability", "type": "quantitative", "scale": {"domain": [0, 1.08]}, "axis": {"values": [0, 0.2, 0.4, 0.6, 0.8, 1]}}
    text = {"mark": {"type": "text", "dy": -8, "fontSize": 12, "color": GREY}, "encoding": {"text": {"field": "label"}}}
    bars = {"mark": {"type": "bar", "color": BLUE, "tooltip": True}}
    return {
        "description": description,
        "width": 270,
        "height": 220,
        "data": {"values": values},
        "encoding": {"x": x, "y": y},
        "layer": [bars, text],
    }
