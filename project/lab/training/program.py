"""What the training programs do: read their flags, train, print the log, and write the report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import minitorch
from project.lab.training import command_line, report
from project.lab.training.trainer import Setting, Trainer

AnySetting = TypeVar("AnySetting", bound=Setting)


def main(
    description: str | None, default: AnySetting, make_trainer: Callable[[AnySetting], Trainer], arguments: Sequence[str] | None = None
) -> int:
    """Train as the command line says.

    Args:
        description: What the program does, for --help.
        default: Names the program, and holds the value of every flag that is not given.
        make_trainer: Makes the trainer from the setting.
        arguments: The flags; those of the process if left out.

    Returns:
        The exit status.
    """
    parser = command_line.Parser(f"{default.program}.py", description)
    names = ", ".join(minitorch.datasets)
    parser.add_argument("--dataset", type=dataset_name, default=default.dataset, metavar="NAME", help=f"one of {names}")
    parser.add_argument("--points", type=command_line.number, default=default.points, metavar="N", help="how many points")
    parser.add_argument("--hidden", type=command_line.number, default=default.hidden, metavar="N", help="size of each hidden layer")
    parser.add_argument("--rate", type=command_line.decimal, default=default.rate, metavar="X", help="learning rate")
    parser.add_argument("--epochs", type=command_line.number, default=default.epochs, metavar="N", help="how often to go through the data")
    parser.add_argument("--seed", type=command_line.number, default=default.seed, metavar="N", help="for the points and the first weights")
    if backend := getattr(default, "backend", None):
        parser.add_argument("--backend", type=str.lower, default=backend, metavar="NAME", help="what computes: cpu or gpu")
    parser.add_argument("--log-every", type=command_line.number, default=10, metavar="N", help="epochs from one printed line to the next")
    parser.add_argument("--report", metavar="DIR", help="folder for report.md, boundary.png and curves.png")
    options = vars(parser.parse_args(arguments))
    every, folder = options.pop("log_every"), options.pop("report")
    try:
        setting = replace(default, **options)
    except ValueError as error:
        parser.refuse(str(error))
    if not isinstance(every, int) or every < 1:
        parser.refuse(f"log-every expected a whole number of at least 1, got {every!r}")
    folder = command_line.report_folder(parser, folder)
    return train(make_trainer(setting), every, folder)


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
        print(f"{trainer.setting.program}.py: stopped. {report.summary(trainer)}", file=sys.stderr)
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
