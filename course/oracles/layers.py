"""Tasks 2.5, 3.5 and 4.5: linear layers, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.explain.calls import Call, Judge
from course.explain.divergence import Difference
from course.oracles.tensors import array, value


def linear(call: Call) -> Difference | None:
    """Compare the outputs of a linear layer."""
    layer = call.arguments[0]
    weights, bias = array(layer.weights.value), array(layer.bias.value)

    def oracle(inputs: Any) -> Any:
        return np.einsum("pi,io->po", inputs, weights) + bias

    words = "Σ input · weight + bias for every point"
    wrong = value(call, "Linear.forward", words, oracle, call.before[1:2])
    if wrong is None:
        return None
    shapes = ("Parameters", f"weights of shape {weights.shape}, bias of shape {bias.shape}")
    return Difference(wrong.place, (wrong.rows[0], shapes, *wrong.rows[1:]), wrong.oracle)


JUDGES: dict[str, Judge] = {
    "project.run_tensor:Linear.forward": linear,
    "project.run_fast_tensor:Linear.forward": linear,
    "project.run_mnist_multiclass:Linear.forward": linear,
    "project.run_sentiment:Linear.forward": linear,
}
