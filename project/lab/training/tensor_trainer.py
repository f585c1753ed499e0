"""Training of a network of Tensors, all points at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import minitorch
from project.lab.training.trainer import Setting, Trainer


class TensorTrainer(Trainer):
    """One step of gradient descent per epoch, with the mean gradient over all points, which pass through the network as one tensor.

    Args:
        setting: The settings.
        make_network: Creates a Module that maps points, shape (n, 2), to their probabilities of label 1, shape (n,); called once,
            after `minitorch.manual_seed`.

    Attributes:
        backend: What computes.
        points: The data set, shape (N, 2).
        labels: Its labels, shape (N,).
    """

    backend: minitorch.TensorBackend = minitorch.SimpleBackend

    def __init__(self, setting: Setting, make_network: Callable[[int], Any]) -> None:
        super().__init__(setting, make_network)
        self.points = minitorch.tensor(self.graph.X, backend=self.backend)
        self.labels = minitorch.tensor(self.graph.y, backend=self.backend, dtype=self.points.dtype)

    def seed(self, seed: int) -> None:
        """See `Trainer.seed`."""
        minitorch.manual_seed(seed)

    def train_step(self) -> bool:
        """Train one epoch: one forward pass, one backward pass and one step."""
        loss, probability = self.learn(self.points, self.labels)
        self.loss = loss.item() * self.graph.N
        self.right = int((probability.to_numpy() > 0.5).sum())
        return True

    def learn(self, points: minitorch.Tensor, labels: minitorch.Tensor) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """Take a step of gradient descent; returns the mean loss, and the probability of each point's correct label."""
        output = self.network(points)
        probability = output * labels + (1 - output) * (1 - labels)
        loss = -probability.log().mean()
        loss.backward()
        self.optimizer.step()  # also clears the gradients
        return loss.detach(), probability.detach()

    def probabilities(self, points: Sequence[tuple[float, float]]) -> list[float]:
        """See `Trainer.probabilities`."""
        with minitorch.no_grad():
            return self.network(minitorch.tensor(points, backend=self.backend)).tolist()
