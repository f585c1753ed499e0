"""Training of a network of Scalars, one point at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import minitorch
from project.lab.training.trainer import Setting, Trainer


class ScalarTrainer(Trainer):
    """One step of gradient descent per epoch, with the mean gradient over all points, which are processed one at a time.

    Args:
        setting: The settings.
        make_network: Creates a Module that maps a pair of Scalars to the probability of label 1; called once, after seeding `random`.
    """

    def __init__(self, setting: Setting, make_network: Callable[[int], Any]) -> None:
        super().__init__(setting, make_network)
        self._point = 0

    def seed(self, seed: int) -> None:
        """See `Trainer.seed`."""
        random.seed(seed)

    def train_step(self) -> bool:
        """Add the gradient of the current point; after the last point, take the step."""
        output = self._forward(*self.graph.X[self._point])
        probability = output if self.graph.y[self._point] == 1 else 1.0 - output
        loss = -probability.log()
        (loss / self.graph.N).backward()
        self.loss += loss.data
        self.right += probability.data > 0.5
        self._point += 1
        if self._point < self.graph.N:
            return False
        self.optimizer.step()  # gives every parameter a new Scalar, without a derivative
        self._point = 0
        return True

    def probabilities(self, points: Sequence[tuple[float, float]]) -> list[float]:
        """See `Trainer.probabilities`."""
        return [self._forward(x_1, x_2).data for x_1, x_2 in points]

    def _forward(self, x_1: float, x_2: float) -> minitorch.Scalar:
        return self.network((minitorch.Scalar(x_1, None), minitorch.Scalar(x_2, None)))  # constants: no derivative flows into the data
