"""What all training programs share: the setting of a run, and a trainer that keeps its record and works in small steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import minitorch

LIMITS = {"points": (1, 10_000), "hidden": (1, 1_000), "epochs": (1, 1_000_000), "seed": (0, 2**32 - 1)}
"""Smallest and largest value of each whole number in a Setting."""


@dataclass(frozen=True)
class Setting:
    """All that a training run depends on: the same setting gives the same run.

    Attributes:
        dataset: A name in `minitorch.datasets`.
        points: How many points.
        hidden: Size of each hidden layer.
        rate: Learning rate.
        epochs: How often the whole data set is gone through.
        seed: For the points and for the first weights.
        program: The file under project/ that trains, without .py.

    Raises:
        ValueError: If a value is not allowed, in one line that says which are.
    """

    dataset: str = "Simple"
    points: int = 50
    hidden: int = 2
    rate: float = 0.5
    epochs: int = 500
    seed: int = 0
    program: str = "run_scalar"

    def __post_init__(self) -> None:
        if self.dataset not in minitorch.datasets:
            raise ValueError(f"dataset expected one of {', '.join(minitorch.datasets)}, got {self.dataset!r}")
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise ValueError(f"{name} expected a whole number from {low} to {high}, got {value!r}")
        if isinstance(self.rate, bool) or not isinstance(self.rate, (int, float)) or not 0 < self.rate < math.inf:
            raise ValueError(f"rate expected a number above 0, such as 0.5, got {self.rate!r}")

    def command(self) -> str:
        """The command line that repeats the run."""
        return (
            f"python project/{self.program}.py --dataset {self.dataset} --points {self.points} --hidden {self.hidden} "
            f"--rate {self.rate} --epochs {self.epochs} --seed {self.seed}"
        )


class Trainer:
    """Gradient descent on one data set: programs run it to the end, pages a little at a time.

    A subclass says in `train_a_little` how large a step is, and what a network is given.

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

    def train_a_little(self) -> bool:
        """Train by the smallest step, add to `loss` and `right`, and say whether that ended the epoch."""
        raise NotImplementedError(f"{type(self).__name__} has no train_a_little; define train_a_little(self) in the class")

    def probabilities(self, points: Sequence[tuple[float, float]]) -> list[float]:
        """The probability of label 1 at every point."""
        raise NotImplementedError(f"{type(self).__name__} has no probabilities; define probabilities(self, points) in the class")

    # What programs and pages call

    @property
    def epoch(self) -> int:
        """How many epochs are finished."""
        return len(self.losses)

    @property
    def done(self) -> bool:
        """Whether all epochs are finished."""
        return self.epoch >= self.setting.epochs

    def run_epoch(self) -> None:
        """Train to the end of the current epoch; nothing if all are done."""
        target = min(self.epoch + 1, self.setting.epochs)
        while self.epoch < target:
            self._advance()

    def run_for(self, seconds: float) -> None:
        """Train until the time is used up or all epochs are done; the next call goes on where this one ended.

        Args:
            seconds: How long; a step that has been begun is finished.
        """
        end = time.perf_counter() + seconds
        while not self.done and time.perf_counter() < end:
            self._advance()

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

    def _advance(self) -> None:
        """Train a little; at the end of an epoch enter it into the record."""
        start = time.perf_counter()
        ended = self.train_a_little()
        self._time += time.perf_counter() - start
        if ended:
            self.seconds.append(self._time)
            self.correct.append(self.right)
            self.losses.append(self.loss)  # last, as it makes the epoch count: Ctrl-C may come in between
            self._start_epoch()
