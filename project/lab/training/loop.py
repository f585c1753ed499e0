"""The training loop of every program: steps until done or interrupted, checkpoints, a log, a progress bar, and the file of the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

from project.lab.training import command_line, run_files
from project.lab.training.training_run import TrainingRun

SAVED_EVERY = 30.0
"""Seconds from one checkpoint to the next between two lines of the log; there is one before every line too."""

LogEvery = Annotated[int, command_line.whole(1, "epochs from one line of the log to the next")]


class Log:
    """The output of a program during training. A subclass overrides the methods that it needs."""

    def begin(self) -> None:
        """Print a description of the run."""

    def is_due(self) -> bool:
        """Whether to print a line after this step. A checkpoint is saved first, so that no printed result is lost."""
        return False

    def step(self, due: bool) -> None:
        """Print the output of a step."""

    def end(self) -> None:
        """Print the result of a finished run."""


def train(run: TrainingRun, log: Log, unit: str = "step", save: Callable[[], None] | None = None) -> int:
    """Train until the run is done or interrupted, and keep its record as a file, see `run_files`.

    The first Ctrl-C ends the run after the current step. The second interrupts the step, and the last checkpoint remains.

    Args:
        run: The training run.
        log: The output.
        unit: The unit of the progress bar.
        save: Saves a checkpoint; None to save none.

    Returns:
        The exit status: 0, or INTERRUPTED after Ctrl-C or if the reader of the log has closed the pipe.
    """
    between_steps, status = False, command_line.INTERRUPTED
    run_files.begin(run)
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
                    run_files.keep(run, saved=True)  # a page ends a program without warning
                    saved = time.monotonic()
                log.step(due)
        between_steps = True
        if run.done:
            log.end()
            status = 0
    except BrokenPipeError:  # the reader closed the pipe: a line was being printed, so no step was interrupted
        between_steps = True
    except KeyboardInterrupt:  # the second Ctrl-C, within a step
        pass
    except BaseException as error:
        run_files.keep(run, "failed", f"{type(error).__name__}: {error}")
        raise
    saving = save if status and between_steps else None
    if saving:
        saving()
    run_files.keep(run, saved=saving is not None)
    return status
