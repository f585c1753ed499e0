"""What all training programs share: the setting of a run, and a trainer that keeps its record and works in small steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import minitorch
from project.lab.training.settings import BaseSetting, option


@dataclass(frozen=True)
class Setting(BaseSetting):
    """What training on points of the plane depends on.

    Attributes:
        dataset: A name in `minitorch.datasets`.
        points: How many points.
        hidden: Size of each hidden layer.
        rate: Learning rate.
        epochs: How often the whole data set is gone through.
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


class Trainer:
    """Gradient descent on one data set: programs run it to the end, pages a little at a time.

    A subclass says in `train_step` how large a step is, and what a network is given.

    Args:
        setting: What to train.
        make_network: Makes the network from the size of its hidden layers; called once, after seeding.

    Attributes:
        setting: As given.
        graph: The data set.
        network: Module that gives the probability of label 1.
        optimizer: Its SGD; `optimizer.lr` may be changed between epochs.
        losses: For every finished epoch the sum of -log(probability of the right label) over the points; of mini-batches the mean.
        correct: For every finished epoch how many points had the right label.
        seconds: For every finished epoch the time it took.
        loss: Of the current epoch, as far as it has come.
        right: How many points of the current epoch had the right label so far.
        compiling: Seconds that compiling took before the first epoch; 0 where nothing is compiled.
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

    # What a subclass defines

    def seed(self, seed: int) -> None:
        """Begin the random numbers anew from which the network draws its first weights."""
        raise NotImplementedError(f"{type(self).__name__} has no seed; define seed(self, seed) in the class")

    def train_step(self) -> bool:
        """Train by the smallest step, add to `loss` and `right`, and say whether that ended the epoch."""
        raise NotImplementedError(f"{type(self).__name__} has no train_step; define train_step(self) in the class")

    def probabilities(self, points: Sequence[tuple[float, float]]) -> list[float]:
        """The probability of label 1 at every point."""
        raise NotImplementedError(f"{type(self).__name__} has no probabilities; define probabilities(self, points) in the class")

    # What programs and pages call

    @property
    def epoch(self) -> int:
        """How many epochs are finished."""
        return len(self.losses)

    @property
    def finished(self) -> int:
        """How many epochs are finished, of `total`: for the training loop."""
        return self.epoch

    @property
    def total(self) -> int:
        """How many epochs there are."""
        return self.setting.epochs

    @property
    def done(self) -> bool:
        """Whether all epochs are finished."""
        return self.epoch >= self.total

    def run_epoch(self) -> None:
        """Train to the end of the current epoch; nothing if all are done."""
        target = min(self.epoch + 1, self.setting.epochs)
        while self.epoch < target:
            self.advance()

    def run_for(self, seconds: float) -> None:
        """Train until the time is used up or all epochs are done; the next call goes on where this one ended.

        Args:
            seconds: How long; a step that has been begun is finished.
        """
        end = time.perf_counter() + seconds
        while not self.done and time.perf_counter() < end:
            self.advance()

    def grid(self, n: int) -> list[list[float]]:
        """The probability of label 1 in the middles of n × n cells of the unit square.

        Returns:
            n rows of n values: row 0 lies at the smallest x_2, and starts at the smallest x_1.
        """
        middles = [(i + 0.5) / n for i in range(n)]
        values = self.probabilities([(x_1, x_2) for x_2 in middles for x_1 in middles])
        return [values[row : row + n] for row in range(0, n * n, n)]

    def _start_epoch(self) -> None:
        self.loss, self.right, self._time = 0.0, 0, 0.0

    def advance(self) -> None:
        """Train the smallest step; the last of an epoch enters it into the record."""
        start = time.perf_counter()
        ended = self.train_step()
        self._time += time.perf_counter() - start
        if ended:
            self.seconds.append(self._time)
            self.correct.append(self.right)
            self.losses.append(self.loss)  # last, as it makes the epoch count: Ctrl-C may come in between
            self._start_epoch()
