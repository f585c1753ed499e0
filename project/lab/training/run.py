"""Shared by the programs that train classifiers: options, training, the log, checkpoints and the report."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from project.lab.cards import raised_in_task
from project.lab.training import checkpoint, command_line, job_errors, loop, resuming
from project.lab.training import log as training_report
from project.lab.training.checkpoint import Checkpoint, CheckpointError
from project.lab.training.classifier import ClassifierSetting, ClassifierTrainer
from project.lab.training.settings import with_setting

STEPS_PRINTED_EVERY = 0.2
"""Seconds from one line of JSON to the next within an epoch."""

ReportFolder = Annotated[Path | None, typer.Option(metavar="DIR", readable=False, help="folder for the log, curves.png and curves.svg")]
AsJson = Annotated[bool, typer.Option("--json", help="print lines of JSON instead of the log")]

AnySetting = TypeVar("AnySetting", bound=ClassifierSetting)


@dataclass(frozen=True)
class Options:
    """The output of a run.

    Attributes:
        every: Number of epochs from one line of the log to the next.
        report: Folder for the report.
        checkpoint: File of the checkpoint.
        json: Whether to print lines of JSON, for another program to read.
    """

    every: int = 1
    report: Path | None = None
    checkpoint: Path | None = None
    json: bool = False


def main(
    description: str | None,
    default: AnySetting,
    make_trainer: Callable[[AnySetting], ClassifierTrainer],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run a training program with the options of a command line.

    Args:
        description: What the program does, for --help.
        default: The setting with the default value of every option.
        make_trainer: Creates the trainer from the setting.
        arguments: The command line; that of the process if omitted.

    Returns:
        The exit status.
    """

    def command(
        given: dict[str, Any],
        log_every: loop.LogEvery = 1,
        report: ReportFolder = None,
        checkpoint: resuming.CheckpointFile = None,
        resume: resuming.Resume = False,
        json: AsJson = False,
    ) -> int:
        resuming.check_resumable(checkpoint, resume)
        options = Options(log_every, command_line.report_folder(report), checkpoint, json)
        with job_errors.reported(json):
            return train(open_trainer(default, given, make_trainer, checkpoint if resume else None), options)

    return command_line.call(f"{default.program}.py", with_setting(default, command), arguments, description)


def open_trainer(
    default: AnySetting, given: dict[str, Any], make_trainer: Callable[[AnySetting], ClassifierTrainer], path: Path | None
) -> ClassifierTrainer:
    """Return a new trainer, or one restored from a checkpoint.

    Args:
        default: The setting with the default value of every option.
        given: The options of the command line.
        make_trainer: Creates the trainer from the setting.
        path: The checkpoint, if the run is resumed.

    Raises:
        UsageError: If an option, the data or the checkpoint is wrong. An error in a file of a task is a mistake of its code and propagates.
    """
    try:
        if path is None:
            return make_trainer(replace(default, **given))
        saved = checkpoint.load(path)
        trainer = make_trainer(_resumed(default, given, saved, path))
        trainer.restore(saved)
        return trainer
    except (ValueError, OSError) as error:  # OSError: data files are missing
        if raised_in_task(error):
            raise
        raise command_line.UsageError(str(error)) from None


def _resumed(default: AnySetting, given: dict[str, Any], saved: Checkpoint, path: Path) -> AnySetting:
    """Return the setting of a checkpoint's run. Only the number of epochs can be changed.

    Raises:
        CheckpointError: If it belongs to another program, or if the options differ or ask for fewer epochs than are finished.
    """
    kept = saved.about["setting"]
    resuming.check_same_setting(default.program, {name: value for name, value in given.items() if name != "epochs"}, saved, path)
    finished, epochs = len(saved.about["history"]), given.get("epochs", kept["epochs"])
    if isinstance(epochs, int) and epochs < finished:
        raise CheckpointError(
            f"epochs expected at least the {finished} that are finished in {path}, got {epochs}; a finished epoch cannot be undone"
        )
    return replace(default, **kept | {"epochs": epochs})


def train(trainer: ClassifierTrainer, options: Options) -> int:
    """Train until done or interrupted, print the log, save checkpoints, and write the report.

    Returns:
        The exit status.
    """
    log = _Log(trainer, options)
    status = loop.train(trainer, log, save=resuming.saver(trainer, options.checkpoint))
    if status:
        resuming.print_stopped(f"{trainer.setting.program}.py", training_report.summary(trainer), options.checkpoint)
    if options.report:
        path = training_report.write(trainer, options.report, options.every, log.closing)
        command_line.print_report(path, status or options.json)
    return status


class _Log(loop.Log):
    """The log, as text or as lines of JSON."""

    def __init__(self, trainer: ClassifierTrainer, options: Options) -> None:
        self.trainer, self.options, self.closing, self.printed = trainer, options, "", 0.0

    def begin(self) -> None:
        """Print a description of the run and, if it is resumed, its position."""
        trainer = self.trainer
        if self.options.json:
            parameters = sum(parameter.value.size for parameter in trainer.network.parameters())
            train, valid = trainer.examples
            setting = {"program": trainer.setting.program} | asdict(trainer.setting)
            sizes = {"parameters": parameters, "train": train, "valid": valid}
            self._print(setting=setting, command=trainer.setting.command(), about=trainer.about, **sizes)
            for epoch in range(1, trainer.epoch + 1):
                self._epoch(epoch)
            return
        if trainer.about:
            print(trainer.about, flush=True)
        if trainer.epoch or trainer.step:
            print(f"Resuming after epoch {trainer.epoch}, step {trainer.step} of {trainer.steps}.", flush=True)

    def is_due(self) -> bool:
        """Whether the step ended an epoch."""
        return self.trainer.step == 0

    def step(self, due: bool) -> None:
        """Print the epoch that the step ended; as JSON, also print a step from time to time."""
        trainer = self.trainer
        if due and self.options.json:
            self._epoch(trainer.epoch, trainer.details())
        elif due and (trainer.epoch % self.options.every == 0 or trainer.done):
            print(training_report.log_line(trainer, trainer.epoch), flush=True)
        elif not due and self.options.json and time.monotonic() - self.printed >= STEPS_PRINTED_EVERY:
            self.printed = time.monotonic()
            self._print(epoch=trainer.epoch + 1, step=trainer.step, steps=trainer.steps)

    def end(self) -> None:
        """Print the result."""
        self.closing = self.trainer.closing()
        summary = training_report.summary(self.trainer, self.closing)
        if self.options.json:
            self._print(summary=summary, best=self.trainer.best)
        else:
            print(summary, flush=True)

    def _epoch(self, epoch: int, details: dict[str, Any] | None = None) -> None:
        entry = self.trainer.history[epoch - 1]
        accuracies = {"train_accuracy": entry.train, "valid_accuracy": entry.valid}
        self._print(
            epoch=epoch, loss=entry.loss if math.isfinite(entry.loss) else None, **accuracies, seconds=entry.seconds, **details or {}
        )

    def _print(self, **line: Any) -> None:
        print(json.dumps(line), flush=True)
