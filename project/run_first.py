"""A first network, trained by functions of operators.py alone: add, mul, neg, sigmoid, relu and relu_back.

The lines that pass derivatives back are written out for this one network. The Scalars of Module 1 find them for any network.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated

import typer

import minitorch
from minitorch.operators import add, mul, neg, relu, relu_back, sigmoid
from project.lab.training import command_line

RATE = 0.1
"""How far a step follows the derivatives."""

ROWS, COLUMNS = 12, 24
"""Characters of the picture."""


class Network:
    """Hidden units, each a relu of a weighted sum of both coordinates, and a sigmoid of their weighted sum."""

    def __init__(self, hidden: int, seed: int) -> None:
        draw = random.Random(seed).uniform
        self.units = [
            [draw(-2, 2), draw(-2, 2), draw(-1, 1), draw(-1, 1)] for _ in range(hidden)
        ]  # two weights, bias, weight in the output
        self.bias = 0.0

    def sums(self, x_1: float, x_2: float) -> list[float]:
        """The weighted sum of each hidden unit."""
        return [add(add(mul(w_1, x_1), mul(w_2, x_2)), bias) for w_1, w_2, bias, _ in self.units]

    def output(self, sums: Sequence[float]) -> float:
        """The probability of label 1."""
        score = self.bias
        for unit, z in zip(self.units, sums, strict=True):
            score = add(score, mul(unit[3], relu(z)))
        return sigmoid(score)

    def step(self, x_1: float, x_2: float, label: int) -> None:
        """Follow the derivatives of the loss of one point, the negative logarithm of the probability of its label."""
        sums = self.sums(x_1, x_2)
        d_score = add(self.output(sums), neg(float(label)))  # the derivative with respect to the score is p - label
        rate = neg(RATE)
        for unit, z in zip(self.units, sums, strict=True):
            d_z = relu_back(z, mul(d_score, unit[3]))
            derivatives = (mul(d_z, x_1), mul(d_z, x_2), d_z, mul(d_score, relu(z)))
            unit[:] = [add(value, mul(rate, d)) for value, d in zip(unit, derivatives, strict=True)]
        self.bias = add(self.bias, mul(rate, d_score))

    def __call__(self, x_1: float, x_2: float) -> float:
        """The probability that a point has label 1."""
        return self.output(self.sums(x_1, x_2))


def right(network: Network, graph: minitorch.Graph) -> list[bool]:
    """Whether the network classifies each point correctly."""
    return [(network(x_1, x_2) > 0.5) == (label == 1) for (x_1, x_2), label in zip(graph.X, graph.y, strict=True)]


def picture(network: Network, graph: minitorch.Graph) -> str:
    """The unit square in characters: the shade is the answer, o and x are points with labels 0 and 1, O and X those that it gets wrong."""
    middles = [((column + 0.5) / COLUMNS, (row + 0.5) / ROWS) for row in reversed(range(ROWS)) for column in range(COLUMNS)]
    cells = ["▒" if network(x_1, x_2) > 0.5 else " " for x_1, x_2 in middles]
    for (x_1, x_2), label, is_right in zip(graph.X, graph.y, right(network, graph), strict=True):
        row, column = min(int(x_2 * ROWS), ROWS - 1), min(int(x_1 * COLUMNS), COLUMNS - 1)
        cells[(ROWS - 1 - row) * COLUMNS + column] = ("ox" if is_right else "OX")[label]
    return "\n".join("".join(cells[start : start + COLUMNS]) for start in range(0, len(cells), COLUMNS))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return command_line.call("run_first.py", command, arguments, __doc__)


def command(
    dataset: Annotated[str, typer.Option(metavar="NAME", help=f"one of {', '.join(minitorch.datasets)}")] = "Xor",
    hidden: Annotated[int, command_line.whole(1, "how many hidden units the network has")] = 12,
    epochs: Annotated[int, command_line.whole(0, "how often it sees all 50 points")] = 300,
    seed: Annotated[int, command_line.whole(0, "where the random numbers start")] = 0,
) -> int:
    """Train the network and draw what it learned; returns the exit status."""
    if dataset not in minitorch.datasets:
        raise command_line.UsageError(f"--dataset expected one of {', '.join(minitorch.datasets)}, got {dataset!r}")
    for function, inputs in {add: 2, mul: 2, relu_back: 2, neg: 1, relu: 1, sigmoid: 1}.items():
        for x in (1.0, -1.0):
            if not isinstance(got := function(*[x] * inputs), (int, float)):
                call = f"{function.__name__}({', '.join([str(x)] * inputs)})"
                raise command_line.UsageError(f"{call} expected a number, got {got!r}; is a return missing?")
    graph, network = minitorch.datasets[dataset](50, seed), Network(hidden, seed)
    for epoch in range(epochs + 1):
        if epoch == epochs or epoch % 100 == 0:
            print(f"epoch {epoch:>3}: {sum(right(network, graph))} of {graph.N} points right")
        for (x_1, x_2), label in zip(graph.X, graph.y, strict=True) if epoch < epochs else ():
            network.step(x_1, x_2, label)
    print(picture(network, graph))
    return 0


if __name__ == "__main__":
    command_line.run("run_first.py", main)
