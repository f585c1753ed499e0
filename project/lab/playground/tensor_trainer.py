"""The playground's network of Tensors, whose layers are those of `project/run_tensor.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minitorch
from project.lab.playground.scalar_trainer import apply
from project.lab.playground.setting import inputs
from project.lab.playground.trainer import Network, Trainer
from project.run_tensor import Linear


class TensorTrainer(Trainer):
    """All points of an update pass through the network at once, as a tensor of shape (points, inputs).

    Attributes:
        backend: What computes.
    """

    backend = minitorch.SimpleBackend

    def make_network(self) -> Network:
        """See `Trainer.make_network`."""
        minitorch.manual_seed(self.setting.seed)
        self.load()
        return Network(self.setting.sizes, self.make_linear)

    def make_linear(self, in_size: int, out_size: int) -> Any:
        """Return a layer with new weights."""
        return Linear(in_size, out_size)

    def load(self) -> None:
        """See `Trainer.load`: the inputs of all points."""
        self._inputs = [inputs(self.setting.feature_names, point) for point in self.points.X]

    def learn(self, batch: Sequence[int]) -> tuple[float, int]:
        """See `Trainer.learn`."""
        labels = minitorch.tensor([float(self.points.y[number]) for number in batch], backend=self.backend)
        output = self._forward([self._inputs[number] for number in batch])[-1].view(len(batch))
        probability = output * labels + (1 - output) * (1 - labels)
        loss = -probability.log().mean()
        loss.backward()
        if self.setting.regularization != "none":
            self._penalty().backward()
        self.optimizer.step()  # also clears the gradients
        return loss.item() * len(batch), int((probability.to_numpy() > 0.5).sum())

    def outputs(self, points: Sequence[tuple[float, float]]) -> list[list[list[float]]]:
        """See `Trainer.outputs`."""
        with minitorch.no_grad():
            found = self._forward([inputs(self.setting.feature_names, point) for point in points])
        return [layer.to_numpy().T.tolist() for layer in found]

    def weights(self) -> list[list[list[float]]]:
        """See `Trainer.weights`."""
        return [layer.weights.value.to_numpy().tolist() for layer in self.network.layers]

    def biases(self) -> list[list[float]]:
        """See `Trainer.biases`."""
        return [layer.bias.value.to_numpy().tolist() for layer in self.network.layers]

    def write_weight(self, layer: int, i: int, j: int, value: float) -> None:
        """See `Trainer.write_weight`."""
        self._write(self.network.layers[layer].weights, (i, j), value)

    def write_bias(self, layer: int, j: int, value: float) -> None:
        """See `Trainer.write_bias`."""
        self._write(self.network.layers[layer].bias, (j,), value)

    def _write(self, parameter: Any, index: tuple[int, ...], value: float) -> None:
        """Give a parameter a new tensor that differs in one element."""
        numbers = parameter.value.to_numpy().copy()
        numbers[index] = value
        parameter.update(minitorch.tensor(numbers.tolist(), backend=self.backend))

    def _forward(self, rows: Sequence[Sequence[float]]) -> list[Any]:
        """The outputs of each layer, shape (points, units), the last one after the sigmoid."""
        units: Any = minitorch.tensor([list(row) for row in rows], backend=self.backend)
        found = []
        for layer in self.network.layers[:-1]:
            units = apply(self.setting.activation, layer(units))
            found.append(units)
        return [*found, self.network.layers[-1](units).sigmoid()]

    def _penalty(self) -> Any:
        """The penalty on the weights, without the biases."""
        total: Any = 0.0
        for layer in self.network.layers:
            w = layer.weights.value
            total = total + ((w.relu() + (-w).relu()).sum() if self.setting.regularization == "L1" else 0.5 * (w * w).sum())
        return self.setting.penalty * total
