"""Train a network of Scalars on a data set of points in the plane."""

from __future__ import annotations

import random
from collections.abc import Sequence

import minitorch
from project.lab.training import command_line, program
from project.lab.training.scalar_trainer import ScalarTrainer
from project.lab.training.trainer import Setting

SETTING = Setting(program="run_scalar")
"""What is trained unless flags say otherwise."""


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

    def __init__(self, hidden_layers: int) -> None:
        """Create the three layers `layer1`, `layer2` and `layer3`.

        Args:
            hidden_layers: Number of units in each of the two hidden layers.
        """
        super().__init__()
        self.layer1 = Linear(2, hidden_layers)
        self.layer2 = Linear(hidden_layers, hidden_layers)
        self.layer3 = Linear(hidden_layers, 1)

    def forward(self, x: Sequence[minitorch.Scalar]) -> minitorch.Scalar:
        """Return the probability that the point x = (x_1, x_2) has label 1."""
        first = [h.relu() for h in self.layer1(x)]
        second = [h.relu() for h in self.layer2(first)]
        return self.layer3(second)[0].sigmoid()


class Linear(minitorch.Module):
    """A linear layer. Weights and biases are initialized uniformly in (-1, 1).

    Args:
        in_size: Number of inputs.
        out_size: Number of outputs.

    Attributes:
        weights: weights[i][j] is the Parameter `weight_i_j`, the weight from input i to output j.
        bias: bias[j] is the Parameter `bias_j`, which is added to output j.
    """

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.weights = [[self._parameter(f"weight_{i}_{j}") for j in range(out_size)] for i in range(in_size)]
        self.bias = [self._parameter(f"bias_{j}") for j in range(out_size)]

    def _parameter(self, name: str) -> minitorch.Parameter:
        """Return a new parameter with a random Scalar."""
        return self.add_parameter(name, minitorch.Scalar(2 * (random.random() - 0.5)))

    def forward(self, inputs: Sequence[minitorch.Scalar]) -> list[minitorch.Scalar]:
        """Return all outputs. Each is its bias plus the sum of all inputs, each times its weight to that output.

        Args:
            inputs: in_size Scalars.

        Returns:
            out_size Scalars.
        """
        columns = zip(*self.weights, strict=True)  # column j: the weights of output j
        return [
            minitorch.dot(inputs, [weight.value for weight in column]) + bias.value for column, bias in zip(columns, self.bias, strict=True)
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Train with the options of the command line; returns the exit status."""
    return program.main(__doc__, SETTING, lambda setting: ScalarTrainer(setting, Network), arguments)


if __name__ == "__main__":
    command_line.run("run_scalar.py", main)
