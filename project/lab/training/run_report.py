"""The report of a run, as the page offers it for download: the program's log, a Markdown page with the log, and the curves."""

from __future__ import annotations

import io
import math
import tempfile
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from project.lab.charts import charts
from project.lab.training import log as training_report
from project.lab.training.classifier import Epoch
from project.lab.training.job import Run


def record(run: Run) -> Any:
    """Return the run with the attributes of a trainer that the log and the curves need."""
    history = [
        Epoch(math.nan if line["loss"] is None else line["loss"], line["train_accuracy"], line["valid_accuracy"], line["seconds"])
        for line in run.history
    ]
    parameters = SimpleNamespace(value=SimpleNamespace(size=run.facts["parameters"]))
    return SimpleNamespace(
        setting=run.setting,
        history=history,
        epoch=len(history),
        best=1 + max(range(len(history)), key=lambda i: history[i].valid, default=-1),
        examples=(run.facts["train"], run.facts["valid"]),
        about=run.facts["about"],
        network=SimpleNamespace(parameters=lambda: [parameters]),
        compiling=0.0,
    )


def curves(run: Run, most: int = 200) -> dict[str, Any]:
    """Return the loss and the accuracies per epoch as a Vega-Lite specification."""
    history = record(run).history
    losses, train, valid = ([getattr(epoch, name) for epoch in history] for name in ("loss", "train", "valid"))
    return charts.learning(losses, train, valid, most)


def markdown(run: Run) -> str:
    """Return the Markdown page: the result, the command, the picture and the log."""
    kept = record(run)
    return "\n".join(
        [
            f"# Training on {run.setting.dataset}",
            "",
            f"**{run.summary or training_report.summary(kept)}**",
            "",
            "```",
            run.setting.command(),
            "```",
            "",
            "![Loss, training accuracy and validation accuracy per epoch](curves.png)",
            "",
            "```",
            training_report.text(kept, 1).rstrip(),
            "```",
            "",
        ]
    )


def packed(run: Run) -> bytes:
    """Return a zip file of report.md, curves.png and the log, under the same name as the program's log."""
    content = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        picture = Path(folder) / "curves.png"
        charts.save(curves(run, training_report.MOST_EPOCHS), picture)
        archive.write(picture, "curves.png")
        archive.writestr("report.md", markdown(run))
        archive.writestr(run.setting.log, training_report.text(record(run), 1))
    return content.getvalue()
