"""Train a network of Scalars on a data set of points in the plane."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import minitorch
from project.lab import command_line, report
from project.lab.trainer import Setting, Trainer


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
        """Make the three layers `layer1`, `layer2` and `layer3`.

        Args:
            hidden_layers: How many numbers each of the two hidden layers puts out.
        """
        super().__init__()
        self.layer1 = Linear(2, hidden_layers)
        self.layer2 = Linear(hidden_layers, hidden_layers)
        self.layer3 = Linear(hidden_layers, 1)

    def forward(self, x: Sequence[minitorch.Scalar]) -> minitorch.Scalar:
        """The probability that the point x = (x_1, x_2) has label 1."""
        first = [h.relu() for h in self.layer1(x)]
        second = [h.relu() for h in self.layer2(first)]
        return self.layer3(second)[0].sigmoid()


class Linear(minitorch.Module):
    """A layer of weighted sums. Weights and biases start uniform in (-1, 1).

    Args:
        in_size: How many numbers come in.
        out_size: How many go out.

    Attributes:
        weights: weights[i][j] is the Parameter `weight_i_j`, by which input i enters output j.
        bias: bias[j] is the Parameter `bias_j`, which is added to output j.
    """

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.weights = [[self._parameter(f"weight_{i}_{j}") for j in range(out_size)] for i in range(in_size)]
        self.bias = [self._parameter(f"bias_{j}") for j in range(out_size)]

    def _parameter(self, name: str) -> minitorch.Parameter:
        """A new parameter with a Scalar drawn at random."""
        return self.add_parameter(name, minitorch.Scalar(2 * (random.random() - 0.5)))

    def forward(self, inputs: Sequence[minitorch.Scalar]) -> list[minitorch.Scalar]:
        """Every output: its bias plus the sum of all inputs, each times the weight by which it enters that output.

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
    """Train as the command line says; returns the exit status."""
    parser = command_line.Parser("run_scalar.py", __doc__)
    default = Setting()
    names = ", ".join(minitorch.datasets)
    parser.add_argument("--dataset", type=dataset_name, default=default.dataset, metavar="NAME", help=f"one of {names}")
    parser.add_argument("--points", type=command_line.number, default=default.points, metavar="N", help="how many points")
    parser.add_argument("--hidden", type=command_line.number, default=default.hidden, metavar="N", help="size of each hidden layer")
    parser.add_argument("--rate", type=command_line.decimal, default=default.rate, metavar="X", help="learning rate")
    parser.add_argument("--epochs", type=command_line.number, default=default.epochs, metavar="N", help="how often to go through the data")
    parser.add_argument("--seed", type=command_line.number, default=default.seed, metavar="N", help="for the points and the first weights")
    parser.add_argument("--log-every", type=command_line.number, default=10, metavar="N", help="epochs from one printed line to the next")
    parser.add_argument("--report", metavar="DIR", help="folder for report.md, boundary.png and curves.png")
    options = parser.parse_args(arguments)
    try:
        setting = Setting(options.dataset, options.points, options.hidden, options.rate, options.epochs, options.seed)
    except ValueError as error:
        parser.refuse(str(error))
    every = options.log_every
    if not isinstance(every, int) or every < 1:
        parser.refuse(f"log-every expected a whole number of at least 1, got {every!r}")
    folder = command_line.report_folder(parser, options.report)
    return train(Trainer(setting, Network), every, folder)


def dataset_name(text: str) -> str:
    """The name of the data set that is meant, however it is capitalised; the text itself if there is none."""
    return next((name for name in minitorch.datasets if name.lower() == text.lower()), text)


def train(trainer: Trainer, every: int, folder: Path | None) -> int:
    """Train until done or interrupted, print the log, and write the report of what was done.

    Args:
        trainer: What to train.
        every: How many epochs lie between two printed lines.
        folder: For the report, if one is wanted.

    Returns:
        The exit status.
    """
    status = 0
    try:
        with command_line.progress_bar(trainer.setting.epochs) as advance:
            while not trainer.done:
                trainer.run_epoch()
                advance()
                if trainer.epoch % every == 0 or trainer.done:
                    print(log_line(trainer, every), flush=True)
        print(report.summary(trainer))
    except (KeyboardInterrupt, BrokenPipeError):  # Ctrl-C, or the reader of the log has gone
        print(f"run_scalar.py: stopped. {report.summary(trainer)}", file=sys.stderr)
        status = command_line.INTERRUPTED
    if folder:
        path = report.write(trainer, folder, every)
        print(f"Report: {path}", file=sys.stderr if status else sys.stdout)
    return status


def log_line(trainer: Trainer, every: int) -> str:
    """The latest epoch as one line."""
    epoch, loss, correct, seconds = report.entry(trainer, trainer.epoch, every)
    done = f"{epoch:>{len(str(trainer.setting.epochs))}}/{trainer.setting.epochs}"
    right = f"{correct:>{len(str(trainer.graph.N))}}/{trainer.graph.N}"
    return f"epoch {done}  loss {loss:9.4f}  correct {right}  {seconds:.4f} s an epoch"


if __name__ == "__main__":
    command_line.run("run_scalar.py", main)
