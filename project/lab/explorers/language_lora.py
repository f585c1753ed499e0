"""A small network that has learned one text, and learns another with the student's adapters, or in full."""

from __future__ import annotations

import copy
import math

import numpy as np

import minitorch
from minitorch.language import lora as student
from minitorch.language.layers import Linear
from minitorch.module import Module
from minitorch.optim import Adam
from minitorch.tensor import Tensor, tensor
from project.lab.cards import WrongResult
from project.lab.explorers.language_layers import checked
from project.lab.explorers.network_functions import to_numpy
from project.lab.explorers.tensor_sandbox import apply
from project.lab.typed.arrays import figure

OLD, NEW = "the cat sat . the dog ran .", "the cat ran . the dog sat ."
"""The two texts, each a circle of words."""

WORDS = ("the", "cat", "sat", ".", "dog", "ran")
HIDDEN, LAYERS = 7, ("first", "second")
BYTES = 8
"""Bytes of a number in float64."""

Losses = list[tuple[float, float]]


class NextWord(Module):
    """Two linear layers, from the last two words to logits of the next one."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.first = Linear(2 * len(WORDS), HIDDEN, minitorch.SimpleBackend)
        self.second = Linear(HIDDEN, len(WORDS), minitorch.SimpleBackend)
        draw = np.random.default_rng(seed)
        for layer in (self.first, self.second):
            shape = layer.weight.value.shape
            layer.weight.update(tensor(draw.normal(0, 1 / math.sqrt(shape[0]), shape)))

    def forward(self, x: Tensor) -> Tensor:
        """The logits, shape (B, 6), for words as ones among zeros, shape (B, 12)."""
        return self.second(self.first(x).tanh())


def pairs(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return each two words in a row of a circle, as ones among zeros, and the number of the word that follows."""
    numbers = np.array([WORDS.index(word) for word in text.split()])
    ones = np.eye(len(WORDS))
    return np.concatenate([ones[np.roll(numbers, 1)], ones[numbers]], 1), np.roll(numbers, -1)


def learn(network: NextWord, text: str, steps: int, lr: float) -> Losses:
    """Train a network on a text, and return the loss of each step.

    Raises:
        WrongResult: If a loss is not finite.
    """
    x, targets = pairs(text)
    optimizer, losses = Adam(network.parameters(), lr=lr), []
    for step in range(steps):
        optimizer.zero_grad()
        logits = apply(network, "model(x)", tensor(x))
        chosen = minitorch.logsoftmax(logits, 1) * tensor(np.eye(len(WORDS))[targets])
        loss = -chosen.sum() / len(x)
        loss.backward()
        optimizer.step()
        losses.append((float(step), float(loss.to_numpy().reshape(-1)[0])))
        if not math.isfinite(losses[-1][1]):
            raise WrongResult(f"the loss after {step} steps expected to be finite, got {figure(losses[-1][1])}")
    return losses


def adapt(base: NextWord, rank: int, alpha: float, steps: int, lr: float, seed: int) -> tuple[NextWord, Losses]:
    """Return a copy of a network whose adapters have learned the new text, and the losses.

    Raises:
        WrongResult: If new adapters change an output, training changes another parameter, or an output is not that of the formula.
    """
    network, x = copy.deepcopy(base), pairs(NEW)[0]
    before, values = outputs(base, x), arrays(base)
    student.add_adapters(network, list(LAYERS), rank, alpha, seed)
    for name in LAYERS:
        if not isinstance(getattr(network, name), student.LoRALinear):
            got = type(getattr(network, name)).__name__
            raise WrongResult(f"add_adapters(model, names) expected to make model.{name} a LoRALinear, got {got}")
    checked("model(x) with new adapters", outputs(network, x), before)
    losses = learn(network, NEW, steps, lr)
    for name, array in arrays(network).items():
        if name in values:
            checked(f"{name} after training adapters", array, values[name])
    checked("model(x) with trained adapters", outputs(network, x), defined(arrays(network), x, alpha / rank))
    return network, losses


def merge(adapted: NextWord) -> tuple[NextWord, dict[str, np.ndarray]]:
    """Return a copy of a network with merged adapters, and the change of each weight.

    Raises:
        WrongResult: If a change is not that of the formula, or merging changes an output.
    """
    network, x = copy.deepcopy(adapted), pairs(NEW)[0]
    before, changes = outputs(network, x), {}
    for name in LAYERS:
        layer = getattr(network, name)
        a, b, shape = layer.A.value.to_numpy(), layer.B.value.to_numpy(), layer.weight.value.shape
        found = to_numpy(apply(student.LoRALinear.delta, f"model.{name}.delta()", layer), shape, f"model.{name}.delta()")
        changes[name] = checked(f"model.{name}.delta()", found, np.einsum("ri,or->io", a, b) * layer.alpha / layer.rank)
        layer.merge()
    checked("model(x) after merge", outputs(network, x), before)
    return network, changes


def outputs(network: NextWord, x: np.ndarray) -> np.ndarray:
    """Return the logits."""
    return to_numpy(apply(network, "model(x)", tensor(x)), (len(x), len(WORDS)), "model(x)")


def arrays(network: NextWord) -> dict[str, np.ndarray]:
    """Return copies of all parameters by name."""
    return {name: parameter.value.to_numpy().copy() for name, parameter in network.named_parameters()}


def defined(values: dict[str, np.ndarray], x: np.ndarray, scale: float) -> np.ndarray:
    """Return the logits by the formula."""
    hidden = np.tanh(_layer(values, "first", x, scale))
    return _layer(values, "second", hidden, scale)


def _layer(values: dict[str, np.ndarray], name: str, x: np.ndarray, scale: float) -> np.ndarray:
    weight, bias, a, b = (values[f"{name}.{part}"] for part in ("weight", "bias", "A", "B"))
    return x @ weight + bias + scale * np.einsum("bi,ri,or->bo", x, a, b)


def trained(network: NextWord) -> int:
    """Return how many numbers are trained."""
    return sum(parameter.value.numel() for parameter in network.parameters() if parameter.value.requires_grad)


def continued(network: NextWord, words: tuple[str, str], count: int) -> list[str]:
    """Return the most likely words after two words."""
    text, ones = list(words), np.eye(len(WORDS))
    for _ in range(count):
        x = np.concatenate([ones[WORDS.index(word)] for word in text[-2:]])[None]
        text.append(WORDS[int(outputs(network, x).argmax())])
    return text
