"""Training of a scalar network on a data set, in steps as small as one point: programs run it to the end, pages a little at a time."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
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

    Raises:
        ValueError: If a value is not allowed, in one line that says which are.
    """

    dataset: str = "Simple"
    points: int = 50
    hidden: int = 2
    rate: float = 0.5
    epochs: int = 500
    seed: int = 0

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
            f"python project/run_scalar.py --dataset {self.dataset} --points {self.points} --hidden {self.hidden} "
            f"--rate {self.rate} --epochs {self.epochs} --seed {self.seed}"
        )


class Trainer:
    """Gradient descent on one data set: one step an epoch, along the mean gradient over all points.

    Args:
        setting: What to train.
        make_network: Makes the network from the size of its hidden layers; called once, after seeding `random`.

    Attributes:
        setting: As given.
        graph: The data set.
        network: Module that maps a pair of Scalars to the probability of label 1.
        optimizer: Its SGD; `optimizer.lr` may be changed between epochs.
        losses: For every finished epoch the sum of -log(probability of the right label) over the points.
        correct: For every finished epoch how many points had the right label.
        seconds: For every finished epoch the time it took.
    """

    def __init__(self, setting: Setting, make_network: Callable[[int], Any]) -> None:
        self.setting = setting
        self.graph = minitorch.datasets[setting.dataset](setting.points, setting.seed)
        random.seed(setting.seed)
        self.network = make_network(setting.hidden)
        self.optimizer = minitorch.SGD(self.network.parameters(), setting.rate)
        self.losses: list[float] = []
        self.correct: list[int] = []
        self.seconds: list[float] = []
        self._start_epoch()

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
            self._train_point()

    def run_for(self, seconds: float) -> None:
        """Train until the time is used up or all epochs are done; the next call goes on at the next point.

        Args:
            seconds: How long; a point that has been begun is finished.
        """
        end = time.perf_counter() + seconds
        while not self.done and time.perf_counter() < end:
            self._train_point()

    def predict(self, x_1: float, x_2: float) -> float:
        """The probability that the point (x_1, x_2) has label 1."""
        return self._forward(x_1, x_2).data

    def grid(self, n: int) -> list[list[float]]:
        """The probability of label 1 in the middles of n × n cells of the unit square.

        Returns:
            n rows of n values: row 0 lies at the smallest x_2, and starts at the smallest x_1.
        """
        middles = [(i + 0.5) / n for i in range(n)]
        return [[self.predict(x_1, x_2) for x_1 in middles] for x_2 in middles]

    def _forward(self, x_1: float, x_2: float) -> minitorch.Scalar:
        return self.network((minitorch.Scalar(x_1, None), minitorch.Scalar(x_2, None)))  # constants: no derivative flows into the data

    def _start_epoch(self) -> None:
        self._point = 0
        self._loss, self._right, self._time = 0.0, 0, 0.0

    def _train_point(self) -> None:
        """Add the gradient of the current point; after the last one step and finish the epoch."""
        start = time.perf_counter()
        output = self._forward(*self.graph.X[self._point])
        probability = output if self.graph.y[self._point] == 1 else 1.0 - output
        loss = -probability.log()
        (loss / self.graph.N).backward()
        self._loss += loss.data
        self._right += probability.data > 0.5
        self._point += 1
        if self._point == self.graph.N:
            self.optimizer.step()  # gives every parameter a new Scalar, without a derivative
        self._time += time.perf_counter() - start
        if self._point == self.graph.N:
            self.seconds.append(self._time)
            self.correct.append(self._right)
            self.losses.append(self._loss)  # last, as it makes the epoch count: Ctrl-C may come in between
            self._start_epoch()
