"""Softmax step by step, with and without the shift by the maximum, and a chart of the probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from project.lab.charts import vega
from project.lab.charts.palette import BLUE
from project.lab.charts.vega import Spec
from project.lab.typed.arrays import factor, figure

TYPES = {"float64": np.float64, "float32": np.float32}


def steps(logits: np.ndarray, dtype: str, shift: bool) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Return exponents, exponentials, their sum and the probabilities, each rounded to a dtype.

    Args:
        logits: The logits, already divided by the temperature.
        dtype: A key of TYPES.
        shift: Whether the maximum is subtracted first.
    """
    x = logits.astype(TYPES[dtype])
    exponents = x - x.max() if shift else x
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        powers = np.exp(exponents)
        total = powers.sum()
        return exponents, powers, float(total), powers / total


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    """Return the logarithm of softmax, computed so that it does not overflow."""
    return logits - np.logaddexp.reduce(logits)


def table(logits: np.ndarray, dtype: str, shift: bool) -> list[dict[str, str]]:
    """Return one row per class."""
    exponents, powers, _, shares = steps(logits, dtype, shift)
    exponent = "x - m" if shift else "x"
    return [
        {"class": str(i), exponent: figure(x), f"e^({exponent})" if shift else "e^x": figure(power), "probability": figure(share)}
        for i, (x, power, share) in enumerate(zip(exponents, powers, shares, strict=True))
    ]


def verdict(logits: np.ndarray, dtype: str, shift: bool) -> str:
    """Describe the sum of the exponentials."""
    _, powers, total, shares = steps(logits, dtype, shift)
    largest = math.log(float(np.finfo(TYPES[dtype]).max))
    if math.isinf(total):
        return (
            f"The sum is inf: for x > {largest:.1f}, e^x overflows in {dtype}. A finite number divided by inf is 0, and inf / inf is nan."
        )
    if total == 0:
        return f"The sum is 0: every e^x underflows in {dtype}, and 0 / 0 is nan."
    if shift:
        return f"The sum is {figure(total)}. The largest exponential is e^0 = 1, so nothing overflows, and the sum is at least 1."
    lost = powers[shares == 0].size
    return f"The sum is {figure(total)}." + (f" {lost} of the probabilities underflow in {dtype} and become 0." if lost else "")


def log_sum_exp(logits: np.ndarray) -> str:
    """Return the computation of the logarithm of the sum of exponentials, as text."""
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
    """Describe the largest probability and the entropy."""
    positive = probabilities[probabilities > 0]
    bits = abs(float((positive * np.log2(positive)).sum()))
    return (
        f"The largest probability is {figure(float(probabilities.max()))}. The entropy is {bits:.2f} bits; it is 0 if one class is certain "
        f"and {math.log2(len(probabilities)):.2f} if all classes are equally likely."
    )


def chart(probabilities: Sequence[float], description: str) -> Spec:
    """Return a bar chart of the probabilities.

    Args:
        probabilities: One per class.
        description: The alternative text.
    """
    values = [{"class": str(i), "probability": p, "label": f"{p:.3f}"} for i, p in enumerate(probabilities) if math.isfinite(p)]
    axes = {
        "x": {"field": "class", "type": "nominal", "title": "class", "axis": {"labelAngle": 0}},
        "y": vega.quantitative("probability", "probability", scale={"domain": [0, 1.08]}, axis={"values": [0, 0.2, 0.4, 0.6, 0.8, 1]}),
    }
    layers = [
        vega.layer("bar", axes, color=BLUE),
        vega.layer("text", axes | {"text": {"field": "label"}}, tooltip=False, dy=-8, fontSize=12, color="currentColor"),
    ]
    return vega.chart(description, layers, height=220, values=values)
