"""The student's rows of integers, with a check of them, their errors, and a small model before and after quantization."""

from __future__ import annotations

import math

import numpy as np

from minitorch.core.context import no_grad
from minitorch.language import model as models
from minitorch.language import quantization as student
from project.lab.cards import WrongResult
from project.lab.charts import vega
from project.lab.charts.palette import BLUE, ORANGE
from project.lab.charts.vega import Spec
from project.lab.explorers import language_model
from project.lab.explorers.language_layers import checked

COUNT = 200
"""Weights of the row."""

VOCABULARY, STEPS = 6, 25
"""The small model, and its training."""

NAMES = ("weights", "rounded")


def row(largest: float, seed: int) -> np.ndarray:
    """Return a row of weights: normal numbers up to 1, and one of the given magnitude."""
    weights = np.random.default_rng(seed).normal(0, 0.3, COUNT).clip(-1, 1)
    weights[0] = largest
    return weights.astype(np.float32)


def quantize(weights: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the integers of a row, its scale, and what the integers represent.

    Raises:
        WrongResult: If one of them is wrong.
    """
    found = student.quantize_rows(weights[None].copy())
    if not isinstance(found, tuple) or len(found) != 2 or not all(isinstance(part, np.ndarray) for part in found):
        raise WrongResult(f"quantize_rows(weights) expected to return a tuple of two arrays, got {type(found).__name__}")
    for part, kind, shape in zip(found, ("int8", "float32"), ((1, COUNT), (1,)), strict=True):
        if part.dtype != kind or part.shape != shape:
            raise WrongResult(f"quantize_rows(weights) expected {kind} of shape {shape}, got {part.dtype} of shape {part.shape}")
    integers, scales = found
    checked("the scales of quantize_rows(weights)", scales, np.abs(weights).max(keepdims=True) / 127)
    step = float(scales[0])
    if (wrong := np.abs(weights / step - integers[0]) > 0.501).any():
        at = int(np.flatnonzero(wrong)[0])
        raise WrongResult(
            f"quantize_rows(weights) expected the integer nearest to {weights[at] / step:.3f} at [0, {at}], got {integers[0, at]}"
        )
    back = student.dequantize(integers.copy(), scales.copy())
    if not isinstance(back, np.ndarray) or back.shape != integers.shape:
        raise WrongResult(f"dequantize(integers, scales) expected to return an array of shape {integers.shape}, got {type(back).__name__}")
    return integers[0], step, checked("dequantize(integers, scales)", back, integers * scales[:, None])[0]


def grid(weights: np.ndarray, back: np.ndarray, step: float) -> Spec:
    """Return a chart of the weights near zero, and of what their integers represent, on the grid of multiples of the scale."""
    near = max(6 * step, 0.05)
    shown = np.flatnonzero(np.abs(weights) <= near)
    rows = [{"value": float(x[i]), "of": name} for name, x in zip(NAMES, (weights, back), strict=True) for i in shown]
    lines = [{"value": float(k * step)} for k in range(-math.ceil(near / step), math.ceil(near / step) + 1)]
    domain = {"domain": [-near * 1.1, near * 1.1], "clamp": True}
    x = vega.quantitative("value", "value", scale=domain)
    place = {"field": "of", "type": "nominal", "sort": list(NAMES), "title": None}
    marks = {"x": x, "y": place, "color": vega.nominal("of", list(NAMES), [BLUE, ORANGE], None)}
    said = f"{len(shown)} weights near zero, and the multiples of the scale {step:.4g} to which they are rounded."
    ruled = vega.layer("rule", {"x": x}, lines, opacity=0.25)
    return vega.chart(said, [ruled, vega.layer("tick", marks, rows, thickness=2)], height=110)


def histogram(weights: np.ndarray, back: np.ndarray, step: float) -> Spec:
    """Return a chart of the errors, in scales: none is beyond one half."""
    counts, edges = np.histogram((weights.astype(np.float64) - back) / step, bins=24, range=(-0.6, 0.6))
    rows = [
        {"error": float(left), "error2": float(right), "weights": int(count)}
        for left, right, count in zip(edges, edges[1:], counts, strict=False)
    ]
    x = vega.quantitative("error", "error, in scales", scale={"domain": [-0.6, 0.6]})
    bars = {
        "x": x,
        "x2": {"field": "error2"},
        "y": vega.quantitative("weights", "weights", scale={"zero": True}),
        "y2": {"datum": 0},
        "color": {"value": BLUE},
    }
    bound = vega.layer("rule", {"x": x, "color": {"value": ORANGE}}, [{"error": -0.5}, {"error": 0.5}], strokeWidth=2)
    largest = float(np.abs((weights - back) / step).max())
    return vega.chart(
        f"Errors of {len(weights)} weights. The largest is {largest:.3f} scales; the bound is 0.5.",
        [vega.layer("bar", bars, rows), bound],
        height=200,
    )


def compare(seed: int) -> list[tuple[str, int, float]]:
    """Train a small model on a batch, and quantize it.

    Returns:
        A description of the model, its number of bytes, and its perplexity on the batch; before and after.

    Raises:
        WrongResult: If a result of the model is wrong.
    """
    model = language_model.build(VOCABULARY, 1, 2, 8, seed)
    tokens, targets = language_model.batch(VOCABULARY, seed)
    language_model.overfit(model, tokens, targets, STEPS)
    found = [("float64", student.model_nbytes(model), perplexity(model, tokens, targets))]
    student.quantize(model)
    return [*found, ("int8 in the linear layers", student.model_nbytes(model), perplexity(model, tokens, targets))]


def perplexity(model: models.GPT2, tokens: np.ndarray, targets: np.ndarray) -> float:
    """Return e to the power of the loss.

    Raises:
        WrongResult: If a result is wrong.
    """
    with no_grad():
        return math.exp(language_model.loss(model, tokens, targets).item())
