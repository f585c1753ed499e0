"""Shared by all programs that train on points: the setting of a run, and a trainer that works in small steps and records results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import minitorch
from project.lab.training.settings import BaseSetting, option
from project.lab.training.training_run import TrainingRun


@dataclass(frozen=True)
class Setting(BaseSetting):
    """The settings for training on points in the plane.

    Attributes:
        dataset: A name in `minitorch.datasets`.
        points: Number of points.
        hidden: Size of each hidden layer.
        rate: Learning rate.
        epochs: Number of passes over the data set.
        seed: For the points and the initial weights.
        program: The file in project/ that trains, without .py.
    """

    dataset: str = option("Simple", f"one of {', '.join(minitorch.datasets)}", choices=tuple(minitorch.datasets))
    points: int = option(50, "how many points", low=1, high=10_000)
    hidden: int = option(2, "size of each hidden layer", low=1, high=1_000)
    rate: float = option(0.5, "learning rate", above=0)
    epochs: int = option(500, "how often to go through the data", low=1, high=1_000_000)
    seed: int = option(0, "for the points and the initial weights", low=0, high=2**32 - 1)
    program: str = field(default="run_scalar", kw_only=True)  # type: ignore[misc]  # three programs share this class


class Trainer(TrainingRun):
    """Gradient descent on one data set. Programs run it to the end; pages run it for a short time per update.

    A subclass defines in `train_step` the size of a step and the input of the network.

    Args:
        setting: The settings.
        make_network: Creates the network from the size of its hidden layers; called once, after seeding.

    Attributes:
        setting: As given.
        graph: The data set.
        network: The Module, which returns the probability of label 1.
        optimizer: Its SGD optimizer; `optimizer.lr` may be changed between epochs.
        losses: For each finished epoch, the sum of -log(probability of the correct label) over the points; with mini-batches, the mean.
        correct: For each finished epoch, the number of correctly classified points.
        seconds: For each finished epoch, its duration.
        loss: The loss of the current epoch so far.
        right: The number of correctly classified points in the current epoch so far.
        compiling: Seconds of compilation before the first epoch; 0 if nothing is compiled.
    """

    compiling = 0.0

    def __init__(self, setting: Setting, make_network: Callable[[int], Any]) -> None:
        self.setting = setting
        self.graph = minitorch.datasets[setting.dataset](setting.points, setting.seed)
        self.seed(setting.seed)
        self.network = make_network(setting.hidden)
        self.optimizer = minitorch.SGD(self.network.parameters(), setting.rate)
        self.losses: list[float] = []
        self.correct: list[int] = []
        self.seconds: list[float] = []
        self._start_epoch()

    # Defined by a subclass

    def seed(self, seed: int) -> None:
        """Seed the random numbers from which the weights are initialized."""
        raise NotImplementedError(f"{type(self).__name__} has no seed; define seed(self, seed) in the class")

    def train_step(self) -> bool:
        """Train the smallest unit, add to `loss` and `right`, and return whether that ended the epoch."""
        raise NotImplementedError(f"{type(self).__name__} has no train_step; define train_step(self) in the class")

    def probabilities(self, points: Sequence[tuple[float, float]]) -> list[float]:
        """Return the probability of label 1 at each point."""
        raise NotImplementedError(f"{type(self).__name__} has no probabilities; define probabilities(self, points) in the class")

    # Called by programs and pages

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        return len(self.losses)

    def curves(self) -> dict[str, list[Any]]:
        """See `TrainingRun.curves`."""
        return {"loss": self.losses, "accuracy": [right / self.graph.N for right in self.correct]}

    def grid(self, n: int) -> list[list[float]]:
        """Return the probability of label 1 at the centers of n × n cells of the unit square.

        Returns:
            n rows of n values: row 0 has the smallest x_2, and column 0 the smallest x_1.
        """
        middles = [(i + 0.5) / n for i in range(n)]
        values = self.probabilities([(x_1, x_2) for x_2 in middles for x_1 in middles])
        return [values[row : row + n] for row in range(0, n * n, n)]

    def _start_epoch(self) -> None:
        self.loss, self.right, self._time = 0.0, 0, 0.0

    def advance(self) -> None:
        """Train the smallest unit; the last one of an epoch adds the epoch to the record."""
        start = time.perf_counter()
        ended = self.train_step()
        self._time += time.perf_counter() - start
        if ended:
            self.seconds.append(self._time)
            self.correct.append(self.right)
            self.losses.append(self.loss)  # last, because it increments `epoch`: Ctrl-C may arrive in between
            self._start_epoch()
