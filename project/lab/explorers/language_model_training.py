"""Training of a small model for a page: a program that reports its progress as lines of JSON, and the process that runs it."""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from minitorch.language.training import NonFiniteGradients
from project.lab.charts import vega
from project.lab.charts.palette import BLUE, ORANGE
from project.lab.training import checkpoint, job_errors, text_trainer
from project.lab.training.jobs import Job
from project.lab.training.text_trainer import Setting

PROGRAM = "lab/explorers/language_model_training.py"
"""The path of this program in `project/`."""

EVERY = 20
"""Number of steps from one report, and one checkpoint, to the next."""

LETTERS, WORD, TIMES, LINES = "abcdefghijklmnop", 4, 4, 3000


def repeated_words() -> str:
    """Return lines such as "cafe cafe cafe cafe": random words, each several times. After its first word, a line can be predicted."""
    words = np.random.default_rng(0).choice(list(LETTERS), (LINES, WORD))
    return "".join(" ".join(["".join(word)] * TIMES) + "\n" for word in words)


TEXTS: dict[str, Callable[[], str]] = {"repeated words": repeated_words, "the course's book": text_trainer.book}
"""The texts to learn."""

BEGINNINGS = {"repeated words": "cafe cafe ca", "the course's book": "The gradient of a tensor"}
"""A text to look at first, for each of them."""


class Training:
    """A training run in a separate process. The process and the checkpoint are removed when this object is no longer referenced.

    Args:
        setting: The settings.
        text: A name in TEXTS.

    Attributes:
        setting, text: As given.
        parameters: The number of parameters of the model; 0 until the program has begun.
    """

    def __init__(self, setting: Setting, text: str) -> None:
        self.setting, self.text, self.parameters = setting, text, 0
        self._folder = Path(tempfile.mkdtemp(prefix="minitorch-gpt-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._job = Job(PROGRAM, text, json.dumps(asdict(setting)), str(self.checkpoint))

    @property
    def checkpoint(self) -> Path:
        """The file of the latest checkpoint; it exists from the first report on."""
        return self._folder / "gpt.safetensors"

    @property
    def running(self) -> bool:
        """Whether the program is running."""
        return self._job.running

    @property
    def reports(self) -> list[dict[str, Any]]:
        """The reports so far: step, loss, loss on the validation text, seconds per step."""
        return [line for line in self._job.lines if "step" in line]

    @property
    def progress(self) -> float:
        """The fraction of the work that is finished, from 0 to 1."""
        return self.reports[-1]["step"] / self.setting.steps if self.reports else 0.0

    def read(self) -> bool:
        """Read the new output, and return whether more may follow.

        Raises:
            NotImplementedError, StudentCodeFailed, Failed: See `Job.read`.
        """
        more = self._job.read()
        self.parameters = next((line["parameters"] for line in self._job.lines if "parameters" in line), 0)
        return more

    def stop(self) -> None:
        """Kill the program; the latest checkpoint is kept."""
        if self.running:
            self._job.read()
            self._job.stop()

    def status(self) -> str:
        """Return what the program is doing."""
        if not self.reports:
            return "Starting. The first step compiles the kernels, which may take half a minute."
        last = self.reports[-1]
        left = (self.setting.steps - last["step"]) * last["seconds"]
        return f"Step {last['step']} of {self.setting.steps}; about {max(left, 1):.0f} s left"

    def in_words(self) -> str:
        """Describe the result so far."""
        first, last = self.reports[0], self.reports[-1]
        return (
            f"{self.parameters:,} parameters. After {last['step']} of {self.setting.steps} steps, the loss on text that was not trained on "
            f"is {last['valid']:.2f} (after {first['step']} steps: {first['valid']:.2f}). A loss of {last['valid']:.2f} means that the "
            f"model is as uncertain as between {math.exp(last['valid']):.1f} equally likely tokens."
        )

    def chart(self) -> vega.Spec:
        """Return the losses as curves over the steps."""
        names = {"loss": "training", "valid": "validation"}
        rows = [{"step": line["step"], "loss": line[key], "text": name} for key, name in names.items() for line in self.reports]
        encoding = {
            "x": vega.quantitative("step", "step", scale={"domain": [0, self.setting.steps]}, axis={"tickCount": 5}),
            "y": vega.quantitative("loss", "loss (nats per token)", scale={"zero": True, "nice": True}),
            "color": vega.nominal("text", list(names.values()), [BLUE, ORANGE]),
            "strokeDash": vega.nominal("text", list(names.values()), [[1, 0], [4, 3]]),
        }
        return vega.chart(self.in_words(), [vega.layer("line", encoding, point=len(self.reports) == 1)], width=250, height=150, values=rows)


def train(text: str, setting: Setting, file: Path) -> None:
    """Train; save a checkpoint and print a line every few steps.

    Args:
        text: A name in TEXTS.
        setting: The settings.
        file: The checkpoint, readable by `run_gpt.py --resume` if the text is the course's book.

    Raises:
        SystemExit: If the loss or a gradient is infinite or not a number.
    """
    run = text_trainer.Run(setting, TEXTS[text]())
    parameters = sum(parameter.value.numel() for parameter in run.model.parameters())
    print(json.dumps({"parameters": parameters}), flush=True)
    while not run.done:
        try:
            run.advance()
        except NonFiniteGradients as error:
            raise SystemExit(str(error)) from None
        if run.finished % EVERY and not run.done:
            continue
        report = {"step": run.finished, "loss": fmean(run.losses), "valid": run.validation_loss(), "seconds": run.seconds / run.finished}
        if not math.isfinite(report["loss"] + report["valid"]):
            raise SystemExit(f"the loss is infinite or not a number after step {run.finished}; choose a lower learning rate")
        run.losses.clear()
        checkpoint.save(file, run.checkpoint())
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    with job_errors.reported():
        train(sys.argv[1], Setting(**json.loads(sys.argv[2])), Path(sys.argv[3]))
