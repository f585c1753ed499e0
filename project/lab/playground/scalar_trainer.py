"""The playground's network of Scalars, whose layers are those of `project/run_scalar.py`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import minitorch
from project.lab.playground.setting import inputs
from project.lab.playground.trainer import Network, Trainer
from project.run_scalar import Linear


class ScalarTrainer(Trainer):
    """Each point passes through the network alone, and adds its gradient."""

    def make_network(self) -> Network:
        """See `Trainer.make_network`."""
        random.seed(self.setting.seed)
        return Network(self.setting.sizes, Linear)

    def learn(self, batch: Sequence[int]) -> tuple[float, int]:
        """See `Trainer.learn`."""
        total, right = 0.0, 0
        for number in batch:
            output = self._forward(self.points.X[number])[-1][0]
            probability = output if self.points.y[number] else 1.0 - output
            loss = -probability.log()
            (loss / len(batch)).backward()
            total += loss.data
            right += probability.data > 0.5
        if self.setting.regularization != "none":
            self._penalty().backward()
        self.optimizer.step()  # gives every parameter a new Scalar, without a derivative
        return total, right

    def outputs(self, points: Sequence[tuple[float, float]]) -> list[list[list[float]]]:
        """See `Trainer.outputs`."""
        found = [[[unit.data for unit in layer] for layer in self._forward(point)] for point in points]
        return [[list(unit) for unit in zip(*layer, strict=True)] for layer in zip(*found, strict=True)]

    def weights(self) -> list[list[list[float]]]:
        """See `Trainer.weights`."""
        return [[[weight.value.data for weight in row] for row in layer.weights] for layer in self.network.layers]

    def biases(self) -> list[list[float]]:
        """See `Trainer.biases`."""
        return [[bias.value.data for bias in layer.bias] for layer in self.network.layers]

    def write_weight(self, layer: int, i: int, j: int, value: float) -> None:
        """See `Trainer.write_weight`."""
        self.network.layers[layer].weights[i][j].update(minitorch.Scalar(value))

    def write_bias(self, layer: int, j: int, value: float) -> None:
        """See `Trainer.write_bias`."""
        self.network.layers[layer].bias[j].update(minitorch.Scalar(value))

    def _forward(self, point: tuple[float, float]) -> list[list[Any]]:
        """The outputs of each layer, the last one after the sigmoid."""
        units: list[Any] = [minitorch.Scalar(x, None) for x in inputs(self.setting.feature_names, point)]  # constants
        found = []
        for layer in self.network.layers[:-1]:
            units = [apply(self.setting.activation, unit) for unit in layer(units)]
            found.append(units)
        return [*found, [self.network.layers[-1](units)[0].sigmoid()]]

    def _penalty(self) -> Any:
        """The penalty on the weights, without the biases."""
        weights = [weight.value for layer in self.network.layers for row in layer.weights for weight in row]
        if self.setting.regularization == "L1":
            return self.setting.penalty * minitorch.dot([w.relu() + (-w).relu() for w in weights], [1.0] * len(weights))
        return self.setting.penalty / 2 * minitorch.dot(weights, weights)


def apply(activation: str, x: Any) -> Any:
    """An activation of a Scalar or of a Tensor; "linear" returns it as it is."""
    return x if activation == "linear" else getattr(x, activation)()
