"""A classifier without training: three numbers, chosen by hand, define a line that separates the points of the data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import minitorch
from minitorch import operators
from project.lab.charts import charts
from project.lab.training import command_line

CELLS = 30
"""Cells along each side of the picture."""


def separating_line() -> tuple[float, float, float]:
    """Return three numbers that classify all points of the data set Simple correctly, for any number of points.

    A point (x_1, x_2) gets label 1 if weight_1 · x_1 + weight_2 · x_2 + bias is above 0, and label 0 otherwise.

    Returns:
        weight_1, weight_2 and bias.
    """
    return -10.0, 0.0, 5.0


class Network(minitorch.Module):
    """The line as a network: one linear function and a sigmoid, on plain floats."""

    def __init__(self, weight_1: float, weight_2: float, bias: float) -> None:
        super().__init__()
        self.weight_1 = minitorch.Parameter(weight_1)
        self.weight_2 = minitorch.Parameter(weight_2)
        self.bias = minitorch.Parameter(bias)

    def forward(self, x_1: float, x_2: float) -> float:
        """Return the probability that the point (x_1, x_2) has label 1."""
        return operators.sigmoid(self.weight_1.value * x_1 + self.weight_2.value * x_2 + self.bias.value)


def right(network: Network, graph: minitorch.Graph) -> int:
    """Return the number of points of a data set that the network classifies correctly."""
    return sum((network(x_1, x_2) > 0.5) == (label == 1) for (x_1, x_2), label in zip(graph.X, graph.y, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return command_line.call("run_manual.py", command, arguments, __doc__)


def command(
    points: Annotated[Any, typer.Option(parser=command_line.number, metavar="N", help="how many points each data set has")] = 50,
    report: Annotated[Path | None, typer.Option(metavar="DIR", readable=False, help="folder for manual.md and manual.png")] = None,
) -> int:
    """Count the points that the line classifies correctly; returns the exit status."""
    try:
        graphs = {name: make(points) for name, make in minitorch.datasets.items()}
    except ValueError as error:
        raise command_line.UsageError(str(error)) from None
    folder = command_line.report_folder(report)

    weight_1, weight_2, bias = separating_line()
    network = Network(weight_1, weight_2, bias)
    line = f"{weight_1:g} · x_1 + {weight_2:g} · x_2 + {bias:g}"
    print(f"Label 1 where {line} > 0")
    for name, graph in graphs.items():
        print(f"{name:<7} {right(network, graph):>{len(str(graph.N))}} of {graph.N} points right")
    if folder:
        print(f"Report: {write_report(network, graphs['Simple'], line, folder)}")
    return 0


def write_report(network: Network, graph: minitorch.Graph, line: str, folder: Path) -> Path:
    """Write manual.md and manual.png, the result and a figure of one data set, to a folder."""
    middles = [(i + 0.5) / CELLS for i in range(CELLS)]
    grid = [[network(x_1, x_2) for x_1 in middles] for x_2 in middles]
    charts.save(charts.boundary(grid, graph, line), folder / "manual.png")
    sentence = f"Label 1 where {line} > 0: {right(network, graph)} of {graph.N} points of Simple right."
    path = folder / "manual.md"
    charts.write(path, f"# A line by hand\n\n{sentence}\n\n![The data set Simple and the line](manual.png)\n".encode())
    return path


if __name__ == "__main__":
    command_line.run("run_manual.py", main)
