"""The training loop of every program: steps until done or interrupted, checkpoints, a log, and a progress bar."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from project.lab.training import checkpoint, command_line
from project.lab.training.checkpoint import Checkpoint, CheckpointError

SAVED_EVERY = 30.0
"""Seconds from one checkpoint to the next between two lines of the log; there is one before every line too."""

LogEvery = Annotated[int, command_line.whole(1, "epochs from one line of the log to the next")]
CheckpointFile = Annotated[Path | None, typer.Option(metavar="FILE", help="keep in this file all that --resume needs")]
Resume = Annotated[bool, typer.Option("--resume", help="resume the run of --checkpoint, by its settings")]


class Run(Protocol):
    """What the loop trains; it may stop after any step."""

    @property
    def finished(self) -> int:
        """How many epochs or steps are finished."""
        ...

    @property
    def total(self) -> int:
        """How many there are in all."""
        ...

    @property
    def done(self) -> bool:
        """Whether all are finished."""
        ...

    def advance(self) -> object:
        """Train one step."""
        ...

    def checkpoint(self) -> Checkpoint:
        """All that is needed to resume after this step as if nothing had happened; asked for only if it is to be saved."""
        ...


class Log:
    """What a program prints while it trains. A subclass overrides what it needs."""

    def begin(self) -> None:
        """Print what is trained."""

    def is_due(self) -> bool:
        """Whether a line is due after this step. A checkpoint is saved first: what has been printed is never lost."""
        return False

    def step(self, due: bool) -> None:
        """Print what there is to print after a step."""

    def end(self) -> None:
        """Print the outcome of a finished run."""


def train(run: Run, log: Log, unit: str = "step", path: Path | None = None) -> int:
    """Train until done or interrupted.

    The first Ctrl-C ends the run after the current step; the second interrupts the step, and the last checkpoint stays.

    Args:
        run: What to train.
        log: What to print.
        unit: What the progress bar counts.
        path: File of the checkpoint; None for none.

    Returns:
        The exit status: 0, or INTERRUPTED after Ctrl-C or if the reader of the log has gone.
    """
    between_steps, status = False, command_line.INTERRUPTED
    try:
        with (
            command_line.ctrl_c_after_the_step() as interrupted,
            command_line.progress_bar(run.total, unit, run.finished) as show,
        ):
            log.begin()
            saved = time.monotonic()
            while not run.done and not interrupted():
                run.advance()
                show(run.finished)
                due = log.is_due()
                if path and (due or time.monotonic() - saved >= SAVED_EVERY):
                    checkpoint.save(path, run.checkpoint())
                    saved = time.monotonic()
                log.step(due)
        between_steps = True
        if run.done:
            log.end()
            status = 0
    except BrokenPipeError:  # the reader of the log has gone: something was printed, so no step was interrupted
        between_steps = True
    except KeyboardInterrupt:  # the second Ctrl-C, within a step
        pass
    if status and path and between_steps:
        checkpoint.save(path, run.checkpoint())
    return status


def print_stopped(program: str, summary: str, path: Path | None = None, options: str = "") -> None:
    """Say on standard error that a run was interrupted, how far it came, and how to resume it.

    Args:
        program: Name of the file in project/.
        summary: The outcome so far.
        path: File of the checkpoint; None for none.
        options: Options, with a space before them, that the command needs besides.
    """
    print(f"{program}: stopped. {summary}", file=sys.stderr)
    if path and path.exists():
        command = f"python project/{program}{options} --checkpoint {shlex.quote(str(path))} --resume"
        print(f"Resume with: {command}", file=sys.stderr)


def check_resumable(path: Path | None, resume: bool) -> None:
    """Refuse to overwrite a checkpoint, and to resume without one, before the time for training is spent.

    Raises:
        UsageError: If the file of the checkpoint does not fit.
    """
    if resume and not path:
        raise command_line.UsageError("--resume expected the file to resume from, got none; add --checkpoint FILE")
    if path and not path.parent.is_dir():
        expected = f"--checkpoint expected a file in an existing folder, got {str(path)!r}"
        raise command_line.UsageError(f"{expected}; make {str(path.parent)!r} first")
    if path and path.exists() and not resume:
        expected = f"--checkpoint expected a new file, got {str(path)!r}, which exists"
        raise command_line.UsageError(f"{expected}; add --resume to resume it, or delete it")


def check_same_setting(program: str, given: dict[str, Any], saved: Checkpoint, path: Path) -> None:
    """Refuse a checkpoint of another program, and options that differ from those of its run.

    Args:
        program: The file in project/ that resumes, without .py.
        given: The fields of the setting for which the command line gives a value.
        saved: The checkpoint.
        path: Its file.

    Raises:
        CheckpointError: If it does not fit.
    """
    if saved.about.get("program") != program:
        raise CheckpointError(f"{path} is a checkpoint of {saved.about.get('program')}.py; resume it there")
    kept = saved.about["setting"]
    if differing := [
        f"--{name.replace('_', '-')} {value} (there {kept.get(name)})" for name, value in given.items() if value != kept.get(name)
    ]:
        raise CheckpointError(
            f"--resume expected the settings of {path}, got {', '.join(differing)}; leave these options out, or begin a new run"
        )
