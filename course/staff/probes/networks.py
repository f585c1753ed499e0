"""The network of the training tasks in NumPy: what it puts out, and what gradient descent makes of it."""

from __future__ import annotations

import itertools
import random

import numpy as np

SHIFT = 1e-6
"""What the course's logarithm adds to its argument."""


class Perceptron:
    """Two hidden layers and one output: 2 → hidden → hidden → a probability.

    Args:
        hidden: Size of each hidden layer.
        seed: For the weights.
    """

    def __init__(self, hidden: int, seed: int) -> None:
        draw = np.random.default_rng(seed)
        sizes = [2, hidden, hidden, 1]
        self.layers = [(draw.uniform(-1, 1, (n, m)), draw.uniform(-1, 1, m)) for n, m in itertools.pairwise(sizes)]

    def named(self, weights: str = "weights") -> dict[str, np.ndarray]:
        """Its parameters by the names that the course's networks give them, weights before biases.

        Args:
            weights: What those of a layer are called.
        """
        named = {}
        for n, (weight, bias) in enumerate(self.layers, 1):
            named |= {f"layer{n}.{weights}": weight, f"layer{n}.bias": bias}
        return named

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """The probability of label 1 for every point, shape (points,)."""
        return self._passed(points)[-1][:, 0]

    def _passed(self, points: np.ndarray) -> list[np.ndarray]:
        """The points and what each layer puts out for them."""
        passed = [points]
        for n, (weight, bias) in enumerate(self.layers):
            sums = passed[-1] @ weight + bias
            passed.append(np.maximum(sums, 0) if n < 2 else 1 / (1 + np.exp(-sums)))
        return passed

    def gradients(self, points: np.ndarray, labels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Those of the mean of -log(probability of the right label), by the weights and the bias of every layer."""
        passed = self._passed(points)
        probability = passed[-1]
        sign = np.where(labels[:, None] == 1, 1.0, -1.0)
        right = np.where(sign > 0, probability, 1 - probability)
        flow = -sign / (right + SHIFT) / len(points) * probability * (1 - probability)
        found = []
        for n in (2, 1, 0):
            found.append((passed[n].T @ flow, flow.sum(0)))
            flow = (flow @ self.layers[n][0].T) * (passed[n] > 0)
        return found[::-1]

    def descend(self, points: np.ndarray, labels: np.ndarray, rate: float) -> None:
        """One step down along the mean gradient over all points."""
        steps = self.gradients(points, labels)
        self.layers = [
            (weight - rate * by_weight, bias - rate * by_bias)
            for (weight, bias), (by_weight, by_bias) in zip(self.layers, steps, strict=True)
        ]


RULES = {
    "Simple": lambda x, y: x < 0.5,
    "Diag": lambda x, y: x + y < 0.5,
    "Split": lambda x, y: x < 0.2 or x > 0.8,
    "Xor": lambda x, y: (x < 0.5) != (y < 0.5),
}
"""Where the label is 1 in the data sets of the course."""


def labelled_points(dataset: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The points of a data set, shape (count, 2), and their labels, as the course draws them from a seed."""
    draw = random.Random(seed).random
    points = [(draw(), draw()) for _ in range(count)]
    return np.array(points), np.array([int(RULES[dataset](*point)) for point in points])
