"""Train a network on a compiled backend, on the CPU or on a GPU, in mini-batches of ten points."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import minitorch
from project.lab.training import command_line, program
from project.lab.training.fast_trainer import FastSetting, FastTrainer

SETTING = FastSetting(hidden=100, rate=0.05, program="run_fast_tensor")
"""What is trained unless flags say otherwise."""

PUBLISHED = {
    "--BACKEND": "--backend",
    "--DATASET": "--dataset",
    "--PTS": "--points",
    "--HIDDEN": "--hidden",
    "--RATE": "--rate",
    "--EPOCHS": "--epochs",
}
"""The flags of the published program, and what they are called here."""


class Network(minitorch.Module):
    """Two hidden layers and one output: 2 coordinates → hidden_layers → hidden_layers → the probability of label 1.

    Attributes:
        layer1: The first Linear layer.
        layer2: The second.
        layer3: The third.
    """

    layer1: Linear
    layer2: Linear
    layer3: Linear

    def __init__(self, hidden_layers: int, backend: minitorch.TensorBackend) -> None:
        """Create the three layers `layer1`, `layer2` and `layer3`.

        Args:
            hidden_layers: Number of units in each of the two hidden layers.
            backend: The backend of all parameters.
        """
        super().__init__()
        self.layer1 = Linear(2, hidden_layers, backend)
        self.layer2 = Linear(hidden_layers, hidden_layers, backend)
        self.layer3 = Linear(hidden_layers, 1, backend)

    def forward(self, x: minitorch.Tensor) -> minitorch.Tensor:
        """Return the probability of label 1 for each point.

        Args:
            x: Points, shape (points, 2).

        Returns:
            Shape (points,).
        """
        first = self.layer1(x).relu()
        second = self.layer2(first).relu()
        return self.layer3(second).sigmoid().view(x.shape[0])


class Linear(minitorch.Module):
    """A linear layer. Weights and biases are initialized uniformly in (-1/√in_size, 1/√in_size).

    With this bound, the sums of a hundred inputs start as small as those of two. Between -1 and 1, the first outputs would saturate the
    sigmoid, where its gradient is almost zero, and about a third of all runs would learn nothing.

    Args:
        in_size: Number of inputs for a point.
        out_size: Number of outputs.
        backend: The backend of the parameters.

    Attributes:
        weights: Parameter of shape (in_size, out_size): [i, j] is the weight from input i to output j.
        bias: Parameter of shape (out_size,): [j] is added to output j.
    """

    def __init__(self, in_size: int, out_size: int, backend: minitorch.TensorBackend) -> None:
        super().__init__()
        bound = in_size**-0.5
        self.weights = minitorch.Parameter(2 * bound * (minitorch.rand((in_size, out_size), backend) - 0.5))
        self.bias = minitorch.Parameter(2 * bound * (minitorch.rand((out_size,), backend) - 0.5))

    def forward(self, inputs: minitorch.Tensor) -> minitorch.Tensor:
        """Return all outputs for each point. Each is its bias plus the sum of all inputs, each times its weight to that output.

        The sums are one matrix product.

        Args:
            inputs: Shape (points, in_size).

        Returns:
            Shape (points, out_size).
        """
        return inputs @ self.weights.value + self.bias.value


def main(arguments: Sequence[str] | None = None) -> int:
    """Train with the options of the command line; returns the exit status."""
    arguments = [lower_case(argument) for argument in (sys.argv[1:] if arguments is None else arguments)]
    description = f"{__doc__} The published flags work too: {', '.join(PUBLISHED)}."
    return program.main(description, SETTING, lambda setting: FastTrainer(setting, Network), arguments)


def lower_case(argument: str) -> str:
    """Translate an option of the published program, with or without its value, to its name here; return anything else unchanged."""
    flag, equals, value = argument.partition("=")
    return PUBLISHED.get(flag, flag) + equals + value


if __name__ == "__main__":
    command_line.run("run_fast_tensor.py", main)
