"""What the programs that train classifiers do: read flags, train, print the log, keep a checkpoint, go on from one, write a report."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from project.lab.training import checkpoint, command_line
from project.lab.training import log as training_report
from project.lab.training.checkpoint import Checkpoint, CheckpointError
from project.lab.training.classifier import ClassifierSetting, ClassifierTrainer

SAVED_EVERY = 30.0
"""Seconds from one checkpoint to the next within an epoch; there is one after every epoch too."""

TOLD_EVERY = 0.2
"""Seconds from one line of JSON to the next within an epoch."""

AnySetting = TypeVar("AnySetting", bound=ClassifierSetting)


@dataclass(frozen=True)
class Options:
    """What a run leaves behind.

    Attributes:
        every: How many epochs lie between two lines of the log.
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
    """Train as the command line says.

    Args:
        description: What the program does, for --help.
        default: Holds the value of every flag that is not given.
        make_trainer: Makes the trainer from the setting.
        arguments: The flags; those of the process if left out.

    Returns:
        The exit status.
    """
    parser = command_line.Parser(f"{default.program}.py", description)
    for field in dataclasses.fields(default):
        value = getattr(default, field.name)
        kind = _name_among(field.metadata["choices"]) if isinstance(value, str) else _number(value)
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=value, metavar="X", help=field.metadata["help"])
    parser.add_argument("--log-every", type=command_line.number, default=1, metavar="N", help="epochs from one printed line to the next")
    parser.add_argument("--report", metavar="DIR", help=f"folder for {default.log}, curves.png and curves.svg")
    parser.add_argument("--checkpoint", metavar="FILE", help="keep in this file all that --resume needs")
    parser.add_argument("--resume", action="store_true", help="go on with the run of --checkpoint, by its settings")
    parser.add_argument("--json", action="store_true", help="print lines of JSON instead of the log")
    given, options, resume = _parsed(parser, default, arguments)
    try:
        saved = checkpoint.load(options.checkpoint) if resume and options.checkpoint else None
        setting = replace(default, **given) if saved is None else _resumed(default, given, saved, options.checkpoint)
        trainer = make_trainer(setting)
        if saved is not None:
            trainer.restore(saved)
    except (ValueError, OSError) as error:  # OSError: files of data that are not there
        parser.refuse(str(error))
    return train(trainer, options)


def _parsed(
    parser: command_line.Parser, default: ClassifierSetting, arguments: Sequence[str] | None
) -> tuple[dict[str, Any], Options, bool]:
    """The settings that were given, what the run leaves behind, and whether it goes on with an earlier one."""
    names = [field.name for field in dataclasses.fields(default)]
    nothing = argparse.Namespace(**dict.fromkeys(names))  # what stays None was not given
    found = vars(parser.parse_args(arguments, nothing))
    given = {name: found[name] for name in names if found[name] is not None}
    every, path, resume = found["log_every"], found["checkpoint"] and Path(found["checkpoint"]), found["resume"]
    if not isinstance(every, int) or every < 1:
        parser.refuse(f"log-every expected a whole number of at least 1, got {every!r}")
    if resume and not path:
        parser.refuse("--resume expected the file to go on from, got none; add --checkpoint FILE")
    if path and not path.parent.is_dir():
        parser.refuse(f"--checkpoint expected a file in a folder that is there, got {str(path)!r}; make {str(path.parent)!r} first")
    if path and path.exists() and not resume:
        parser.refuse(f"--checkpoint expected a new file, got {str(path)!r}, which is there; add --resume to go on with it, or delete it")
    return given, Options(every, command_line.report_folder(parser, found["report"]), path, found["json"]), resume


def _resumed(default: AnySetting, given: dict[str, Any], saved: Checkpoint, path: Path | None) -> AnySetting:
    """The setting of the run that a checkpoint was made of; only its epochs may be given anew.

    Raises:
        CheckpointError: If it was made by another program, or flags ask for something else or for fewer epochs than are done.
    """
    program, kept = saved.about["program"], saved.about["setting"]
    if program != default.program:
        raise CheckpointError(f"{path} is a checkpoint of {program}.py; resume it there")
    differing = [f"--{name.replace('_', '-')} {value} (there {kept.get(name)})" for name, value in given.items() if value != kept.get(name)]
    differing = [words for words in differing if not words.startswith("--epochs ")]
    if differing:
        raise CheckpointError(
            f"--resume goes on by the settings of {path}, got {', '.join(differing)}; leave these flags out, or begin anew"
        )
    done, epochs = len(saved.about["history"]), given.get("epochs", kept["epochs"])
    if isinstance(epochs, int) and epochs < done:
        raise CheckpointError(
            f"epochs expected at least the {done} that {path} has behind it, got {epochs}; a finished epoch cannot be taken back"
        )
    return replace(default, **kept | {"epochs": epochs})


def train(trainer: ClassifierTrainer, options: Options) -> int:
    """Train until done or interrupted, print the log, keep the checkpoint, and write the report of what was done.

    Returns:
        The exit status.
    """
    program, total = trainer.setting.program, trainer.setting.epochs * trainer.steps
    tell = _Teller(trainer, options)
    orderly, status, closing = False, 0, ""
    try:
        with (
            command_line.ctrl_c_at_a_good_moment() as interrupted,
            command_line.progress_bar(total, "step", trainer.epoch * trainer.steps + trainer.step) as advance,
        ):
            tell.beginning()
            saved = time.monotonic()
            while not trainer.done and not interrupted():
                trainer.step_once()
                advance()
                if options.checkpoint and (trainer.step == 0 or time.monotonic() - saved >= SAVED_EVERY):
                    checkpoint.save(options.checkpoint, trainer.checkpoint())  # before the epoch is told of: what is told is safe
                    saved = time.monotonic()
                tell.step()
        orderly = True
        if trainer.done:
            closing = trainer.closing()
            tell.end(closing)
        else:
            status = command_line.INTERRUPTED
    except BrokenPipeError:  # the reader of the log has gone, between two steps
        orderly, status = True, command_line.INTERRUPTED
    except KeyboardInterrupt:  # the second Ctrl-C, within a step
        status = command_line.INTERRUPTED
    if status:
        print(f"{program}.py: stopped. {training_report.summary(trainer)}", file=sys.stderr)
    if options.checkpoint and status:
        if orderly:
            checkpoint.save(options.checkpoint, trainer.checkpoint())
        if options.checkpoint.exists():
            print(f"Go on with: python project/{program}.py --checkpoint {shlex.quote(str(options.checkpoint))} --resume", file=sys.stderr)
    if options.report:
        path = training_report.write(trainer, options.report, options.every, closing)
        print(f"Report: {path}", file=sys.stderr if status or options.json else sys.stdout)
    return status


class _Teller:
    """Prints what happens: lines for people, or lines of JSON."""

    def __init__(self, trainer: ClassifierTrainer, options: Options) -> None:
        self.trainer, self.options, self.told = trainer, options, 0.0

    def beginning(self) -> None:
        """What is trained, and for people where a run goes on."""
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
            print(f"Going on after epoch {trainer.epoch}, step {trainer.step} of {trainer.steps}.", flush=True)

    def step(self) -> None:
        """The latest step, if it is time to tell of one, or else the epoch that it ended."""
        trainer = self.trainer
        if trainer.step == 0 and self.options.json:
            self._epoch(trainer.epoch, trainer.details())
        elif trainer.step == 0 and (trainer.epoch % self.options.every == 0 or trainer.done):
            print(training_report.log_line(trainer, trainer.epoch), flush=True)
        elif trainer.step and self.options.json and time.monotonic() - self.told >= TOLD_EVERY:
            self.told = time.monotonic()
            self._print(epoch=trainer.epoch + 1, step=trainer.step, steps=trainer.steps)

    def end(self, closing: str) -> None:
        """The outcome."""
        summary = training_report.summary(self.trainer, closing)
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


def _name_among(choices: Sequence[str]) -> Callable[[str], str]:
    """Reads a name, however it is capitalised where there are choices."""
    return lambda text: next((choice for choice in choices if choice.lower() == text.lower()), text)


def _number(default: Any) -> Callable[[str], Any]:
    """Reads a number of the default's kind."""
    return command_line.decimal if isinstance(default, float) else command_line.number
