"""The report of a training run: a Markdown log and two pictures, as the training tasks require them."""

from __future__ import annotations

import os
import platform
from datetime import datetime
from pathlib import Path
from statistics import fmean

import minitorch
from project.lab.charts import charts
from project.lab.training.trainer import Trainer

CELLS = 30
"""Cells along each side of the picture of the boundary."""

MOST_EPOCHS = 5000
"""Of longer runs the curves leave epochs out."""


def entry(trainer: Trainer, epoch: int, every: int) -> tuple[int, float, int, float]:
    """Return one row of the log.

    Args:
        trainer: The trainer, whether its run is complete or not.
        epoch: A finished epoch, counted from 1.
        every: Number of epochs from one row to the next.

    Returns:
        The epoch, its loss, its number of correct points, and the mean seconds per epoch since the previous row.
    """
    since = (epoch - 1) // every * every
    return epoch, trainer.losses[epoch - 1], trainer.correct[epoch - 1], fmean(trainer.seconds[since:epoch])


def summary(trainer: Trainer) -> str:
    """Summarize the result in one sentence."""
    if not trainer.epoch:
        return f"No epoch of {trainer.setting.epochs} was finished."
    times = f"{sum(trainer.seconds):.1f} s ({fmean(trainer.seconds):.4f} s an epoch)"
    outcome = f"loss {trainer.losses[-1]:.4f}, {trainer.correct[-1]} of {trainer.graph.N} points right"
    compiled = f" Compiling took {trainer.compiling:.1f} s before." if trainer.compiling else ""
    return f"{trainer.epoch} of {trainer.setting.epochs} epochs in {times}: {outcome}.{compiled}"


def markdown(trainer: Trainer, every: int) -> str:
    """Return the log as Markdown.

    Args:
        trainer: The trainer, whether its run is complete or not.
        every: Number of epochs from one row of the table to the next.
    """
    setting = trainer.setting
    epochs = list(range(every, trainer.epoch + 1, every))
    if trainer.epoch % every:
        epochs.append(trainer.epoch)
    rows = [entry(trainer, epoch, every) for epoch in epochs]
    parameters = sum(getattr(parameter.value, "size", 1) for parameter in trainer.network.parameters())  # a Tensor has many elements
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return "\n".join(
        [
            f"# Training on {setting.dataset}",
            "",
            f"**{summary(trainer)}**",
            "",
            "```",
            setting.command(),
            "```",
            "",
            f"* Network: 2 → {setting.hidden} → {setting.hidden} → 1, {parameters} parameters.",
            f"* Made: {datetime.now().astimezone():%Y-%m-%d %H:%M %z}, MiniTorch {minitorch.__version__}, "
            f"{platform.python_implementation()} {platform.python_version()}, {machine}.",
            "",
            "![The probability of label 1 over the unit square, and the points](boundary.png)",
            "",
            "![Loss and share of points right over the epochs](curves.png)",
            "",
            "| epoch | loss | correct | seconds an epoch |",
            "| ---: | ---: | ---: | ---: |",
            *[f"| {epoch} | {loss:.4f} | {correct} | {seconds:.4f} |" for epoch, loss, correct, seconds in rows],
            "",
        ]
    )


def write(trainer: Trainer, folder: Path, every: int) -> Path:
    """Write report.md, boundary.png and curves.png to a folder, overwriting those of an earlier run.

    Args:
        trainer: The trainer, whether its run is complete or not.
        folder: The folder; created if it is missing.
        every: Number of epochs from one row of the table to the next.

    Returns:
        The path of report.md, which is written last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    charts.save(charts.boundary(trainer.grid(CELLS), trainer.graph, trainer.setting.dataset), folder / "boundary.png")
    charts.save(charts.curves(trainer.losses, trainer.correct, trainer.graph.N, MOST_EPOCHS), folder / "curves.png")
    path = folder / "report.md"
    charts.write(path, markdown(trainer, every).encode())
    return path
