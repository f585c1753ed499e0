"""The student's model: where its parameters are, its loss at the start, and how it learns one batch by heart."""

from __future__ import annotations

import math

import numpy as np

import minitorch
from minitorch.language import model as student
from minitorch.optim import Adam
from minitorch.tensor import tensor
from project.lab.cards import WrongResult
from project.lab.explorers.language_layers import checked
from project.lab.explorers.network_functions import to_numpy
from project.lab.explorers.tensor_sandbox import apply
from project.lab.typed.arrays import figure

CONTEXT, TEXTS = 4, 2
"""The size of the batch."""

PARTS = {"wte": "embedding of tokens", "wpe": "embedding of positions", "attn": "attention", "mlp": "networks"}


def build(vocabulary: int, layers: int, heads: int, width: int, seed: int) -> student.GPT2:
    """Return a model, whose weights are determined by the seed."""
    minitorch.manual_seed(seed)
    return student.GPT2(vocabulary, CONTEXT, layers, heads, width)


def counts(model: student.GPT2) -> dict[str, int]:
    """Return the number of parameters by the part that they belong to.

    Raises:
        WrongResult: If the model does not return its parameters, or the value of one is no tensor.
    """
    found = dict.fromkeys([*PARTS.values(), "normalization"], 0)
    named = model.named_parameters()
    if not isinstance(named, list) or any(not isinstance(each, tuple) or len(each) != 2 for each in named):
        raise WrongResult(f"model.named_parameters() expected to return a list of pairs, got {named!r:.60}")
    for name, parameter in named:
        part = next((said for key, said in PARTS.items() if key in name.split(".")), "normalization")
        if not isinstance(parameter.value, minitorch.Tensor):
            raise WrongResult(f"the value of the parameter {name} expected to be a tensor, got {type(parameter.value).__name__}")
        found[part] += parameter.value.numel()
    return found


def batch(vocabulary: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random tokens, and those that follow them."""
    text = np.random.default_rng(seed).integers(0, vocabulary, (TEXTS, CONTEXT + 1))
    return text[:, :-1], text[:, 1:]


def loss(model: student.GPT2, tokens: np.ndarray, targets: np.ndarray) -> minitorch.Tensor:
    """Return the loss.

    Raises:
        WrongResult: If it is not that of the logits.
    """
    vocabulary = model.wte.weight.value.shape[0]
    logits = apply(model, "model(tokens)", tensor(tokens))
    values = to_numpy(logits, (*tokens.shape, vocabulary), "model(tokens)")
    found = apply(student.cross_entropy, "cross_entropy(logits, targets)", logits, tensor(targets))
    if found.numel() != 1:
        raise WrongResult(f"cross_entropy(logits, targets) expected to return one number, got shape {found.shape}")
    logs = values - values.max(-1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(-1, keepdims=True))
    expected = -np.take_along_axis(logs, targets[..., None], -1).mean()
    checked("cross_entropy(logits, targets)", found.to_numpy().reshape(1), expected.reshape(1))
    return found


def overfit(model: student.GPT2, tokens: np.ndarray, targets: np.ndarray, steps: int) -> list[tuple[float, float]]:
    """Return the loss of each step of training on one batch.

    Raises:
        WrongResult: If a loss is not that of the logits, or is not finite.
    """
    optimizer, losses = Adam(model.parameters(), lr=0.03), []
    for step in range(steps):
        optimizer.zero_grad()
        value = loss(model, tokens, targets)
        value.backward()
        optimizer.step()
        losses.append((float(step), float(value.to_numpy().reshape(-1)[0])))
        if not math.isfinite(losses[-1][1]):
            raise WrongResult(f"the loss after {step} steps expected to be finite, got {figure(losses[-1][1])}")
    return losses
