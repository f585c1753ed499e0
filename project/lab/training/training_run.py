"""What every training run has in common, for the training loop, the pages and the files of runs."""

from __future__ import annotations

import time
from typing import Any


class TrainingRun:
    """A training run, which can stop after any step and continue.

    Attributes:
        setting: Its settings.
        unit: What its curves count: "epoch" or "step".
        seconds: For each finished epoch, its duration.
        changed: Whether settings, points or weights were changed during the run, so that the setting does not repeat it.
        run_file: What `run_files.begin` noted at its start; None before.
    """

    setting: Any
    seconds: Any
    unit = "epoch"
    changed = False
    run_file: Any = None

    # Defined by a subclass

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        raise NotImplementedError(f"{type(self).__name__} has no epoch; define the property epoch in the class")

    def advance(self) -> object:
        """Train one step."""
        raise NotImplementedError(f"{type(self).__name__} has no advance; define advance(self) in the class")

    def curves(self) -> dict[str, list[Any]]:
        """The values at `positions`, by names such as "loss" and "valid_accuracy"."""
        raise NotImplementedError(f"{type(self).__name__} has no curves; define curves(self) in the class")

    # Called by programs and pages

    @property
    def finished(self) -> int:
        """Number of finished epochs or steps, of `total`."""
        return self.epoch

    @property
    def total(self) -> int:
        """Total number of epochs or steps."""
        return self.setting.epochs

    @property
    def done(self) -> bool:
        """Whether the run is finished."""
        return self.finished >= self.total

    def positions(self) -> list[int]:
        """The epochs or steps, counted from 1, of the points of its curves."""
        return list(range(1, self.epoch + 1))

    def time_spent(self) -> float:
        """Seconds spent on training; a checkpoint preserves them exactly."""
        return sum(self.seconds)

    def command(self) -> str:
        """The command line that repeats the run."""
        return self.setting.command()

    def run_epoch(self) -> None:
        """Train to the end of the current epoch; do nothing if all are done."""
        target = min(self.epoch + 1, self.setting.epochs)
        while self.epoch < target:
            self.advance()

    def run_for(self, seconds: float) -> None:
        """Train until the time is up or the run is finished; a step in progress is completed."""
        end = time.perf_counter() + seconds
        while not self.done and time.perf_counter() < end:
            self.advance()
