"""Train a network of Tensors on a data set of points in the plane."""

from __future__ import annotations

from collections.abc import Sequence

import minitorch
from project.lab.training import command_line, program
from project.lab.training.tensor_trainer import TensorTrainer
from project.lab.training.trainer import Setting

SETTING = Setting(hidden=10, epochs=1000, program="run_tensor")
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
    """A linear layer. Weights and biases are initialized uniformly in (-1, 1).

    Args:
        in_size: Number of inputs for a point.
        out_size: Number of outputs.

    Attributes:
        weights: Parameter of shape (in_size, out_size): [i, j] is the weight from input i to output j.
        bias: Parameter of shape (out_size,): [j] is added to output j.
    """

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.weights = minitorch.Parameter(2 * (minitorch.rand((in_size, out_size)) - 0.5))
        self.bias = minitorch.Parameter(2 * (minitorch.rand((out_size,)) - 0.5))

    def forward(self, inputs: minitorch.Tensor) -> minitorch.Tensor:
        """Return all outputs for each point. Each is its bias plus the sum of all inputs, each times its weight to that output.

        Args:
            inputs: Shape (points, in_size).

        Returns:
            Shape (points, out_size).
        """
        points, in_size = inputs.shape
        out_size = self.bias.value.size
        products = inputs.view(points, in_size, 1) * self.weights.value.view(1, in_size, out_size)
        return products.sum(1).view(points, out_size) + self.bias.value


def main(arguments: Sequence[str] | None = None) -> int:
    """Train with the options of the command line; returns the exit status."""
    return program.main(__doc__, SETTING, lambda setting: TensorTrainer(setting, Network), arguments)


if __name__ == "__main__":
    command_line.run("run_tensor.py", main)
