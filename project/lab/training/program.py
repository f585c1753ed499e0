"""Shared by the programs that train on points: options, training, the log and the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from project.lab.training import command_line, loop, report
from project.lab.training.settings import with_setting
from project.lab.training.trainer import Setting, Trainer

AnySetting = TypeVar("AnySetting", bound=Setting)

ReportFolder = Annotated[Path | None, typer.Option(metavar="DIR", readable=False, help="folder for report.md, boundary.png and curves.png")]


def main(
    description: str | None, default: AnySetting, make_trainer: Callable[[AnySetting], Trainer], arguments: Sequence[str] | None = None
) -> int:
    """Run a training program with the options of a command line.

    Args:
        description: What the program does, for --help.
        default: Names the program, and contains the default value of every option.
        make_trainer: Creates the trainer from the setting.
        arguments: The command line; that of the process if omitted.

    Returns:
        The exit status.
    """

    def command(given: dict[str, Any], log_every: loop.LogEvery = 10, report: ReportFolder = None) -> int:
        try:
            setting = replace(default, **given)
        except ValueError as error:
            raise command_line.UsageError(str(error)) from None
        folder = command_line.report_folder(report)
        return train(make_trainer(setting), log_every, folder)

    return command_line.call(f"{default.program}.py", with_setting(default, command), arguments, description)


def train(trainer: Trainer, every: int, folder: Path | None) -> int:
    """Train until done or interrupted, print the log, and write the report.

    Args:
        trainer: The trainer.
        every: Number of epochs from one printed line to the next.
        folder: Folder for the report; None for no report.

    Returns:
        The exit status.
    """
    status = loop.train(trainer, _Log(trainer, every), unit="epoch")
    if status:
        command_line.print_stopped(f"{trainer.setting.program}.py", report.summary(trainer))
    if folder:
        path = report.write(trainer, folder, every)
        command_line.print_report(path, status)
    return status


class _Log(loop.Log):
    """A line every few epochs, and the result."""

    def __init__(self, trainer: Trainer, every: int) -> None:
        self.trainer, self.every, self.epoch = trainer, every, trainer.epoch

    def is_due(self) -> bool:
        """Whether the step ended an epoch for which a line is printed."""
        ended, self.epoch = self.trainer.epoch > self.epoch, self.trainer.epoch
        return ended and (self.epoch % self.every == 0 or self.trainer.done)

    def step(self, due: bool) -> None:
        """Print the line of the epoch."""
        if due:
            print(log_line(self.trainer, self.every), flush=True)

    def end(self) -> None:
        """Print the result."""
        print(report.summary(self.trainer), flush=True)


def log_line(trainer: Trainer, every: int) -> str:
    """Format the latest epoch as one line."""
    epoch, loss, correct, seconds = report.entry(trainer, trainer.epoch, every)
    done = f"{epoch:>{len(str(trainer.setting.epochs))}}/{trainer.setting.epochs}"
    right = f"{correct:>{len(str(trainer.graph.N))}}/{trainer.graph.N}"
    return f"epoch {done}  loss {loss:9.4f}  correct {right}  {seconds:.4f} s an epoch"
