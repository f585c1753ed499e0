"""Training in the playground: a run that works in updates, whose settings can change between two of them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import minitorch
from project.lab.playground.points import Points
from project.lab.playground.setting import LIVE, PlaygroundSetting, inputs
from project.lab.training.training_run import TrainingRun

MOMENTUM = 0.9


class Network(minitorch.Module):
    """Linear layers, with the activation between them.

    Args:
        sizes: The number of inputs, of the units of each hidden layer, and of outputs.
        make_linear: Makes a layer from its number of inputs and outputs.

    Attributes:
        layers: The layers, which are also the children `layer1`, `layer2` …
    """

    def __init__(self, sizes: Sequence[int], make_linear: Callable[[int, int], Any]) -> None:
        super().__init__()
        self.layers = [make_linear(first, second) for first, second in pairwise(sizes)]
        for number, layer in enumerate(self.layers, 1):
            setattr(self, f"layer{number}", layer)


class Trainer(TrainingRun):
    """Gradient descent in batches; the training points are shuffled in every epoch.

    A subclass knows how the network's numbers are held.

    Args:
        setting: The setting.
        points: The points.

    Attributes:
        setting: The setting, with the changes since.
        points: The points.
        network: The network.
        updates: Number of updates so far.
        losses: For each finished epoch, the mean of -log(probability of the correct label) over the training points, each in its own
            update.
        test_losses: For each finished epoch, that mean over the test points after it; None if there are none.
        correct: For each finished epoch, the number of correctly classified training points, each in its own update.
        test_correct: For each finished epoch, the number of correctly classified test points after it.
        seconds: For each finished epoch, its duration.
    """

    network: Network
    optimizer: Any

    def __init__(self, setting: PlaygroundSetting, points: Points) -> None:
        self.setting, self.points = setting, points
        self.updates = 0
        self.losses: list[float] = []
        self.test_losses: list[float | None] = []
        self.correct: list[int] = []
        self.test_correct: list[int] = []
        self.seconds: list[float] = []
        self._random = random.Random(setting.seed)
        self.network = self.make_network()
        self._make_optimizer()
        self._start_epoch()

    # Defined by a subclass

    def make_network(self) -> Network:
        """Return the network with new weights, the same for the same seed."""
        raise NotImplementedError("a subclass makes the network")

    def learn(self, batch: Sequence[int]) -> tuple[float, int]:
        """Take a step with the points of these numbers; returns the sum of their losses, and how many are classified correctly."""
        raise NotImplementedError("a subclass takes the step")

    def outputs(self, points: Sequence[tuple[float, float]]) -> list[list[list[float]]]:
        """For each layer and each of its units the output at each point; the last layer's is the probability of label 1."""
        raise NotImplementedError("a subclass computes the outputs")

    def weights(self) -> list[list[list[float]]]:
        """For each layer the weights: [i][j] is the weight from input i to output j."""
        raise NotImplementedError("a subclass reads the weights")

    def biases(self) -> list[list[float]]:
        """For each layer the bias of each output."""
        raise NotImplementedError("a subclass reads the biases")

    def write_weight(self, layer: int, i: int, j: int, value: float) -> None:
        """Set the weight from input i to output j of a layer."""
        raise NotImplementedError("a subclass writes the weight")

    def write_bias(self, layer: int, j: int, value: float) -> None:
        """Set the bias of output j of a layer."""
        raise NotImplementedError("a subclass writes the bias")

    # Called by the program and the page

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        return len(self.losses)

    @property
    def place(self) -> float:
        """The part of the current epoch that is finished, from 0 to below 1."""
        return self._first / len(self._order)

    def names(self) -> dict[str, dict[str, Any]]:
        """The name of each weight and bias, and where it is: its layer and its numbers there, all counted from 0."""
        found = {}
        for layer, (before, after) in enumerate(pairwise(self.setting.sizes)):
            for j in range(after):
                place = {"layer": layer, "j": j}
                for i in range(before):
                    found[f"layer {layer + 1}, weight from input {i + 1} to output {j + 1}"] = {"kind": "weight", "i": i, **place}
                found[f"layer {layer + 1}, bias of output {j + 1}"] = {"kind": "bias", "i": 0, **place}
        return found

    def advance(self) -> None:
        """Make one update; the last one of an epoch adds the epoch to the record."""
        begun = time.perf_counter()
        batch = self._order[self._first : self._first + self.setting.batch]
        loss, right = self.learn(batch)
        self._loss, self._right, self._first = self._loss + loss, self._right + right, self._first + len(batch)
        self.updates += 1
        ended = self._first >= len(self._order)
        if ended:
            found = self.measure(self.points.numbers(test=True))
        self._time += time.perf_counter() - begun
        if ended:
            self.seconds.append(self._time)
            self.correct.append(self._right)
            self.test_losses.append(found[0])
            self.test_correct.append(found[1])
            self.losses.append(self._loss / len(self._order))  # last, because it increments `epoch`: Ctrl-C may arrive in between
            self._start_epoch()

    def curves(self) -> dict[str, list[Any]]:
        """See `TrainingRun.curves`."""
        train, test = (len(self.points.numbers(of_test)) for of_test in (False, True))
        curves: dict[str, list[Any]] = {"loss": self.losses, "train_accuracy": [right / train for right in self.correct]}
        if test:
            curves |= {"valid_loss": self.test_losses, "valid_accuracy": [right / test for right in self.test_correct]}
        return curves

    def measure(self, numbers: Sequence[int]) -> tuple[float | None, int]:
        """The mean loss of points with these numbers, None if there are none; and how many are classified correctly."""
        if not numbers:
            return None, 0
        (probabilities,) = self.outputs([self.points.X[number] for number in numbers])[-1]
        labels = [self.points.y[number] for number in numbers]
        losses = [-float(minitorch.operators.log(p if y else 1 - p)) for p, y in zip(probabilities, labels, strict=True)]
        right = sum((p > 0.5) == bool(y) for p, y in zip(probabilities, labels, strict=True))
        return sum(losses) / len(losses), right

    def maps(self, side: int) -> list[list[list[float]]]:
        """For each layer and each of its units the output at the centers of side × side cells of the unit square.

        Returns:
            For each unit side · side values, row by row from the smallest x_2, in a row from the smallest x_1. The first entry holds
            the inputs.
        """
        middles = [(i + 0.5) / side for i in range(side)]
        points = [(x_1, x_2) for x_2 in middles for x_1 in middles]
        columns = zip(*(inputs(self.setting.feature_names, point) for point in points), strict=True)
        return [[list(column) for column in columns], *self.outputs(points)]

    def change(self, setting: PlaygroundSetting) -> None:
        """Continue with other values of the fields in LIVE."""
        if any(getattr(setting, name) != getattr(self.setting, name) for name in LIVE if name != "epochs") and self.updates:
            self.changed = True
        new_optimizer = setting.optimizer != self.setting.optimizer
        self.setting = replace(self.setting, **{name: getattr(setting, name) for name in LIVE})
        if new_optimizer:
            self._make_optimizer()
        self.optimizer.lr = setting.rate

    def use(self, points: Points) -> None:
        """Continue with other points; the epoch begins anew."""
        self.points = points
        self.changed = self.changed or self.updates > 0
        self.load()
        self._start_epoch()

    def load(self) -> None:
        """Prepare the points for `learn`, if a subclass needs it."""

    def _make_optimizer(self) -> None:
        parameters, rate = self.network.parameters(), self.setting.rate
        if self.setting.optimizer == "Adam":
            self.optimizer = minitorch.Adam(parameters, lr=rate)
        else:
            momentum = MOMENTUM if self.setting.optimizer == "momentum" else 0.0
            self.optimizer = minitorch.SGD(parameters, rate, momentum=momentum)

    def _start_epoch(self) -> None:
        numbers = self.points.numbers(test=False)
        self._order = self._random.sample(numbers, len(numbers))
        self._first, self._loss, self._right, self._time = 0, 0.0, 0, 0.0
