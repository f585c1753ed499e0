"""A run of a training program, as a page follows it: started, stopped at any moment, and gone on with from its checkpoint."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from project.lab.training.jobs import Job

OF_AN_EPOCH = ("epoch", "loss", "train_accuracy", "valid_accuracy", "seconds")
"""What every line on an epoch has; what else stands there are details."""

LATEST = 5
"""Epochs whose mean time says how long the rest will take."""


class Run:
    """A run in a process of its own, which tells what it does in lines of JSON.

    Its checkpoint lies in a folder that goes when nobody holds this object any more; so does the process.

    Args:
        setting: A ClassifierSetting.
        made_from: A digest of the files that it is made from.

    Attributes:
        setting, made_from: As given; `setting.epochs` may grow when the run is gone on with.
        facts: The first line: the command, the number of parameters and of examples; empty before it has come.
        history: The lines on the finished epochs.
        details: What the latest of them had to say beside its numbers.
        step: How many steps of the current epoch are done, as far as it was told.
        steps: How many an epoch has.
        summary: The outcome; "" before the end.
    """

    def __init__(self, setting: Any, made_from: str = "") -> None:
        self.setting, self.made_from = setting, made_from
        self.facts: dict[str, Any] = {}
        self.history: list[dict[str, Any]] = []
        self.details: dict[str, Any] = {}
        self.step, self.steps, self.summary = 0, 0, ""
        self._folder = Path(tempfile.mkdtemp(prefix="minitorch-run-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._job: Job | None = None
        self._taken = 0

    @property
    def checkpoint(self) -> Path:
        """The file that the run keeps its state in; it is there from the end of the first epoch on."""
        return self._folder / "run.safetensors"

    @property
    def running(self) -> bool:
        """Whether the program is at work."""
        return self._job is not None and self._job.running

    def start(self, epochs: int | None = None) -> None:
        """Begin, or go on after the last checkpoint.

        Args:
            epochs: How many there shall be in all; as before if left out.
        """
        self.stop()
        if epochs is not None:
            self.setting = replace(self.setting, epochs=epochs)
        given = {name: value for name, value in asdict(self.setting).items() if value is not None}
        flags = [text for name, value in given.items() for text in (f"--{name.replace('_', '-')}", str(value))]
        if self.checkpoint.exists():
            flags = ["--resume", "--epochs", str(self.setting.epochs)]
        self.step, self.summary, self._taken = 0, "", 0
        self._job = Job(f"{self.setting.program}.py", "--json", "--checkpoint", str(self.checkpoint), *flags)

    def stop(self) -> None:
        """End the program now; what it has told stays, and what it has learned since its last checkpoint is lost."""
        if self._job is not None:
            self._job.read()
            self._take()
            self._job.stop()
            self.step = 0

    def read(self) -> bool:
        """Take in what it has told since, and say whether more may come.

        Raises:
            NotImplementedError, Failed: As `Job.read`.
        """
        if self._job is None:
            return False
        try:
            return self._job.read()
        finally:
            self._take()

    def made_by(self, setting: Any) -> bool:
        """Whether it trains what a setting says; it may train longer or shorter."""
        own, other = (asdict(each) | {"epochs": None} for each in (self.setting, setting))  # a saved file makes new classes
        return own == other and self.setting.program == setting.program

    def resumable(self, setting: Any) -> bool:
        """Whether it can be gone on with to what a setting asks for."""
        return self.made_by(setting) and not self.running and self.checkpoint.exists() and len(self.history) < setting.epochs

    @property
    def progress(self) -> float:
        """The share of the work that is done, from 0 to 1."""
        return min((len(self.history) + (self.step / self.steps if self.steps else 0)) / self.setting.epochs, 1.0)

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take, by the time of the latest epochs; None before the first is finished."""
        if not self.history:
            return None
        an_epoch = fmean(line["seconds"] for line in self.history[-LATEST:])
        return an_epoch * self.setting.epochs * (1 - self.progress)

    def _take(self) -> None:
        """Sort the new lines."""
        assert self._job
        new, self._taken = self._job.lines[self._taken :], len(self._job.lines)
        for line in new:
            if "setting" in line:
                self.facts, self.history = line, []  # a run that is gone on with tells again of the epochs before
            elif "summary" in line:
                self.summary = line["summary"]
            elif "loss" in line:
                self.history.append(line)
                self.step = 0
                self.details = {name: value for name, value in line.items() if name not in OF_AN_EPOCH} or self.details
            else:
                self.step, self.steps = line["step"], line["steps"]
