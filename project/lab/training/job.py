"""A run of a training program for a page, which can start it, stop it at any moment, and resume it from its checkpoint."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from project.lab.training import kernel_events
from project.lab.training.jobs import Job

OF_AN_EPOCH = ("epoch", "loss", "train_accuracy", "valid_accuracy", "seconds")
"""The keys in every line about an epoch; all other keys are details."""

LATEST = 5
"""Number of recent epochs whose mean time predicts the remaining time."""


class Run:
    """A training run in a separate process, which reports its progress as lines of JSON.

    Its checkpoint is in a temporary folder. The folder and the process are removed when this object is no longer referenced.

    Args:
        setting: A ClassifierSetting.
        made_from: A digest of the source files.

    Attributes:
        setting, made_from: As given; `setting.epochs` may grow when the run is resumed.
        facts: The first line: the command, and the numbers of parameters and of examples; empty until it arrives.
        history: The lines about finished epochs.
        details: The details of the latest epoch.
        step: Number of finished steps in the current epoch, according to the latest line.
        steps: Number of steps in an epoch.
        summary: The summary of the finished run; "" before the end.
        kernel: The number of the kernel that is being compiled, or loaded from disk, before the first step; 0 for none.
        kernel_name: What it computes.
    """

    def __init__(self, setting: Any, made_from: str = "") -> None:
        self.setting, self.made_from = setting, made_from
        self.facts: dict[str, Any] = {}
        self.history: list[dict[str, Any]] = []
        self.details: dict[str, Any] = {}
        self.step, self.steps, self.summary = 0, 0, ""
        self.kernel, self.kernel_name = 0, ""
        self._folder = Path(tempfile.mkdtemp(prefix="minitorch-run-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._job: Job | None = None
        self._taken = 0

    @property
    def checkpoint(self) -> Path:
        """The file of the checkpoint; it exists by the end of the first epoch."""
        return self._folder / "run.safetensors"

    @property
    def running(self) -> bool:
        """Whether the program is running."""
        return self._job is not None and self._job.running

    def start(self, epochs: int | None = None) -> None:
        """Start, or resume from the last checkpoint.

        Args:
            epochs: The total number of epochs; unchanged if omitted.
        """
        self.stop()
        if epochs is not None:
            self.setting = replace(self.setting, epochs=epochs)
        flags = self.setting.flags()
        if self.checkpoint.exists():
            flags = ["--resume", "--epochs", str(self.setting.epochs)]
        self.step, self.summary, self._taken, self.kernel = 0, "", 0, 0
        self._job = Job(kernel_events.PROGRAM, f"{self.setting.program}.py", "--json", "--checkpoint", str(self.checkpoint), *flags)

    def stop(self) -> None:
        """Kill the program. Its reports are kept; training since its last checkpoint is lost."""
        if self._job is not None:
            self._job.read()
            self._take()
            self._job.stop()
            self.step = 0

    def read(self) -> bool:
        """Read the new output, and return whether more may follow.

        Raises:
            NotImplementedError, Failed: See `Job.read`.
        """
        if self._job is None:
            return False
        try:
            return self._job.read()
        finally:
            self._take()

    def made_by(self, setting: Any) -> bool:
        """Whether the run was made with a setting; the number of epochs may differ."""
        own, other = (asdict(each) | {"epochs": None} for each in (self.setting, setting))  # saving a source file creates new classes
        return own == other and self.setting.program == setting.program

    def resumable(self, setting: Any) -> bool:
        """Whether the run can be resumed to complete a setting."""
        return self.made_by(setting) and not self.running and self.checkpoint.exists() and len(self.history) < setting.epochs

    @property
    def progress(self) -> float:
        """The fraction of the work that is finished, from 0 to 1."""
        return min((len(self.history) + (self.step / self.steps if self.steps else 0)) / self.setting.epochs, 1.0)

    @property
    def kernels(self) -> int | None:
        """About how many kernels the program needs; None if unknown, or if it has needed more."""
        count = kernel_events.COUNTS.get(self.setting.program)
        return count if count is not None and self.kernel <= count else None

    @property
    def preparing(self) -> bool:
        """Whether the program compiles its kernels, before its first step."""
        return self.kernel > 0 and not self.step and not self.history

    @property
    def seconds_left(self) -> float | None:
        """The remaining time, estimated from the latest epochs; None before the first is finished."""
        if not self.history:
            return None
        an_epoch = fmean(line["seconds"] for line in self.history[-LATEST:])
        return an_epoch * self.setting.epochs * (1 - self.progress)

    def _take(self) -> None:
        """Process the new lines."""
        assert self._job
        new, self._taken = self._job.lines[self._taken :], len(self._job.lines)
        for line in new:
            if "kernel" in line:
                self.kernel, self.kernel_name = line["kernel"], line["name"]
            elif "setting" in line:
                self.facts, self.history = line, []  # a resumed run reports its earlier epochs again
            elif "summary" in line:
                self.summary = line["summary"]
            elif "loss" in line:
                self.history.append(line)
                self.step = 0
                self.details = {name: value for name, value in line.items() if name not in OF_AN_EPOCH} or self.details
            else:
                self.step, self.steps = line["step"], line["steps"]
