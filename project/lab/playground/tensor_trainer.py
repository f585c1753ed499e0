"""The playground's network of Tensors, whose layers are those of `project/run_tensor.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import minitorch
from project.lab.playground.scalar_trainer import apply
from project.lab.playground.setting import PlaygroundSetting, inputs
from project.lab.playground.trainer import Network, Trainer
from project.run_tensor import Linear


class TensorTrainer(Trainer):
    """All points of an update pass through the network at once, as a tensor of shape (points, inputs).

    Attributes:
        backend: What computes.
    """

    backend = minitorch.SimpleBackend
    _parts: Any = None

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
        setting = self.setting
        parts = (setting.activation, setting.regularization, setting.penalty, setting.batch, self.optimizer)
        if parts != self._parts:
            self._parts, self._step = parts, self.make_step()
        x = self._tensor([self._inputs[number] for number in batch])
        loss, probability = self._step(x, self._tensor([float(self.points.y[number]) for number in batch]))
        return loss.item() * len(batch), int((probability.to_numpy() > 0.5).sum())

    def make_step(self) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Return a function that takes a step with inputs and labels; it returns the mean loss, and the probability of each label.

        It reads no attribute of the trainer: those change from step to step, and a compiled step would be recorded each time.
        """
        layers, setting, optimizer = self.network.layers, self.setting, self.optimizer

        def step(x: Any, labels: Any) -> tuple[Any, Any]:
            output = forward(layers, setting.activation, x)[-1].view(x.shape[0])
            probability = output * labels + (1 - output) * (1 - labels)
            loss = -probability.log().mean()
            loss.backward()
            if setting.regularization != "none":
                penalty(layers, setting).backward()
            optimizer.step()  # also clears the gradients
            return loss.detach(), probability.detach()

        return step

    def outputs(self, points: Sequence[tuple[float, float]]) -> list[list[list[float]]]:
        """See `Trainer.outputs`."""
        with minitorch.no_grad():
            x = self._tensor([inputs(self.setting.feature_names, point) for point in points])
            found = forward(self.network.layers, self.setting.activation, x)
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
        parameter.update(self._tensor(numbers.tolist()))

    def _tensor(self, values: list[Any]) -> Any:
        return minitorch.tensor(values, backend=self.backend)


def forward(layers: Sequence[Any], activation: str, x: Any) -> list[Any]:
    """The outputs of each layer, shape (points, units), the last one after the sigmoid."""
    found = []
    for layer in layers[:-1]:
        x = apply(activation, layer(x))
        found.append(x)
    return [*found, layers[-1](x).sigmoid()]


def penalty(layers: Sequence[Any], setting: PlaygroundSetting) -> Any:
    """The penalty on the weights, without the biases."""
    total: Any = 0.0
    for layer in layers:
        w = layer.weights.value
        total = total + ((w.relu() + (-w).relu()).sum() if setting.regularization == "L1" else 0.5 * (w * w).sum())
    return setting.penalty * total
