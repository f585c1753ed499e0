"""The training tasks from Module 2 on: linear layers, compared with the matrix product of NumPy."""

from __future__ import annotations

from typing import Any

from course.explain.calls import Call, Judge
from course.explain.divergence import Wrong
from course.oracles.tensors import array, value


def linear(call: Call) -> Wrong | None:
    """Whether a layer of tensors gives inputs @ weights + bias."""
    layer = call.arguments[0]
    weights, bias = array(layer.weights.value), array(layer.bias.value)

    def oracle(inputs: Any) -> Any:
        return inputs @ weights + bias

    words = "for every point Σ input · weight, plus the bias"
    wrong = value(call, "Linear.forward", words, oracle, call.before[1:2])
    if wrong is None:
        return None
    shapes = ("Parameters", f"weights of shape {weights.shape}, bias of shape {bias.shape}")
    return Wrong(wrong.place, (wrong.rows[0], shapes, *wrong.rows[1:]), wrong.oracle)


JUDGES: dict[str, Judge] = {
    "project.run_tensor:Linear.forward": linear,
    "project.run_fast_tensor:Linear.forward": linear,
    "project.run_mnist_multiclass:Linear.forward": linear,
    "project.run_sentiment:Linear.forward": linear,
}
