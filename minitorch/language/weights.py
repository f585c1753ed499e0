"""Stage 6 - Weights of a model by name, in the layout in which those of GPT-2 are published: to read, and to replace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minitorch.module import Module
from minitorch.tensor import tensor

BUFFERS = (".attn.bias", ".attn.masked_bias")
"""Endings of names in published files that are no weights, but masks."""

MAX_NAMED = 5
"""The largest number of mistakes that a message names."""


def named_weights(model: Module) -> dict[str, np.ndarray]:
    """Copies of all weights by name, as `minitorch.io` and safetensors write them to a file."""
    return {name: parameter.value.to_numpy().copy() for name, parameter in model.named_parameters()}


def load_weights(model: Module, weights: Mapping[str, Any]) -> None:
    """Replace all weights. Nothing changes unless all names and shapes fit.

    Args:
        model: The model.
        weights: Arrays by name, such as those of a published file; masks in it are ignored.

    Raises:
        ValueError: If a weight is missing, unknown, or of another shape.
    """
    parameters = dict(model.named_parameters())
    given = {name: np.asarray(array) for name, array in weights.items() if not name.endswith(BUFFERS)}
    wrong = [f"no {name}" for name in parameters if name not in given]
    wrong += [f"an unknown {name}" for name in given if name not in parameters]
    for name, array in given.items():
        if name in parameters and array.shape != parameters[name].value.shape:
            wrong.append(f"{name} of shape {array.shape} instead of {parameters[name].value.shape}")
    if wrong:
        more = f" and {len(wrong) - MAX_NAMED} more" if len(wrong) > MAX_NAMED else ""
        found = ", ".join(wrong[:MAX_NAMED]) + more
        raise ValueError(f"load_weights expected the {len(parameters)} weights of the model, got {found}; build it with the same sizes")
    for name, array in given.items():
        old = parameters[name].value
        parameters[name].update(tensor(array, old.backend, dtype=old.dtype))
