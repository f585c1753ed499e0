"""The training loop of every program: steps until done or interrupted, checkpoints, a log, and a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Protocol

from project.lab.training import command_line

SAVED_EVERY = 30.0
"""Seconds from one checkpoint to the next between two lines of the log; there is one before every line too."""

LogEvery = Annotated[int, command_line.whole(1, "epochs from one line of the log to the next")]


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


def train(run: Run, log: Log, unit: str = "step", save: Callable[[], None] | None = None) -> int:
    """Train until done or interrupted.

    The first Ctrl-C ends the run after the current step; the second interrupts the step, and the last checkpoint stays.

    Args:
        run: What to train.
        log: What to print.
        unit: What the progress bar counts.
        save: Saves a checkpoint; None for none.

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
                if save and (due or time.monotonic() - saved >= SAVED_EVERY):
                    save()
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
    if status and save and between_steps:
        save()
    return status
