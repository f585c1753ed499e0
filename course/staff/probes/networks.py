"""The network of the training tasks in NumPy: its outputs, gradients and gradient-descent steps."""

from __future__ import annotations

import itertools
import random

import numpy as np

SHIFT = 1e-6
"""The constant that the course's logarithm adds to its argument."""


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

    def parameters(self, weights: str = "weights") -> dict[str, np.ndarray]:
        """Its parameters under the names in the course's networks, weights before biases.

        Args:
            weights: The name of the weights of a layer.
        """
        named = {}
        for n, (weight, bias) in enumerate(self.layers, 1):
            named |= {f"layer{n}.{weights}": weight, f"layer{n}.bias": bias}
        return named

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """The probability of label 1 for every point, shape (points,)."""
        return self._activations(points)[-1][:, 0]

    def _activations(self, points: np.ndarray) -> list[np.ndarray]:
        """The points and the output of each layer."""
        activations = [points]
        for n, (weight, bias) in enumerate(self.layers):
            sums = activations[-1] @ weight + bias
            activations.append(np.maximum(sums, 0) if n < 2 else 1 / (1 + np.exp(-sums)))
        return activations

    def gradients(self, points: np.ndarray, labels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The gradients of the mean of -log(probability of the right label) with respect to the weights and bias of every layer."""
        activations = self._activations(points)
        probability = activations[-1]
        sign = np.where(labels[:, None] == 1, 1.0, -1.0)
        right = np.where(sign > 0, probability, 1 - probability)
        grad = -sign / (right + SHIFT) / len(points) * probability * (1 - probability)
        gradients = []
        for n in (2, 1, 0):
            gradients.append((activations[n].T @ grad, grad.sum(0)))
            grad = (grad @ self.layers[n][0].T) * (activations[n] > 0)
        return gradients[::-1]

    def descend(self, points: np.ndarray, labels: np.ndarray, rate: float) -> None:
        """Take one step of gradient descent on the mean loss over all points."""
        steps = self.gradients(points, labels)
        self.layers = [
            (weight - rate * grad_weight, bias - rate * grad_bias)
            for (weight, bias), (grad_weight, grad_bias) in zip(self.layers, steps, strict=True)
        ]


RULES = {
    "Simple": lambda x, y: x < 0.5,
    "Diag": lambda x, y: x + y < 0.5,
    "Split": lambda x, y: x < 0.2 or x > 0.8,
    "Xor": lambda x, y: (x < 0.5) != (y < 0.5),
}
"""The regions with label 1 in the datasets of the course."""


def labelled_points(dataset: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The points of a dataset, shape (count, 2), and their labels, as the course generates them from a seed."""
    draw = random.Random(seed).random
    points = [(draw(), draw()) for _ in range(count)]
    return np.array(points), np.array([int(RULES[dataset](*point)) for point in points])
