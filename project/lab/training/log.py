"""The log of a classifier's training run: a line for each epoch, a summary, and the files of the report."""

from __future__ import annotations

import os
import platform
from datetime import datetime
from pathlib import Path
from statistics import fmean

import minitorch
from project.lab.charts import charts
from project.lab.training.classifier import ClassifierTrainer

MOST_EPOCHS = 2000
"""Of longer runs the curves leave epochs out."""


def log_line(trainer: ClassifierTrainer, epoch: int) -> str:
    """Format a finished epoch, counted from 1, as one line."""
    entry, epochs, valid = trainer.history[epoch - 1], trainer.setting.epochs, trainer.examples[1]
    done = f"{epoch:>{len(str(epochs))}}/{epochs}"
    right = f"{round(entry.valid * valid):>{len(str(valid))}}/{valid}"
    return f"epoch {done}  loss {entry.loss:.4f}  train {entry.train:6.2%}  valid {entry.valid:6.2%} ({right})  {entry.seconds:.2f} s"


def summary(trainer: ClassifierTrainer, closing: str = "") -> str:
    """Summarize the result in one or two sentences.

    Args:
        trainer: The trainer, whether its run is complete or not.
        closing: A sentence to append.
    """
    if not trainer.epoch:
        return f"No epoch of {trainer.setting.epochs} was finished."
    seconds = [epoch.seconds for epoch in trainer.history]
    last, best, valid = trainer.history[-1], trainer.history[trainer.best - 1], trainer.examples[1]
    compiled = f" Compiling took {trainer.compiling:.1f} s before." if trainer.compiling >= 1 else ""
    return (
        f"{trainer.epoch} of {trainer.setting.epochs} epochs in {sum(seconds):.1f} s ({fmean(seconds):.2f} s an epoch): "
        f"loss {last.loss:.4f}, training {last.train:.2%}, validation {last.valid:.2%}. "
        f"Best validation: {best.valid:.2%} ({round(best.valid * valid)} of {valid}) after epoch {trainer.best}.{compiled}"
        f"{' ' if closing else ''}{closing}"
    )


def text(trainer: ClassifierTrainer, every: int, closing: str = "") -> str:
    """Return the log as it is written to a file.

    Args:
        trainer: The trainer, whether its run is complete or not.
        every: Number of epochs from one line to the next.
        closing: See `summary`.
    """
    parameters = sum(parameter.value.size for parameter in trainer.network.parameters())
    train, valid = trainer.examples
    epochs = [epoch for epoch in range(1, trainer.epoch + 1) if epoch % every == 0 or epoch == trainer.epoch]
    return "\n".join(
        [
            f"$ {trainer.setting.command()}",
            f"{trainer.setting.dataset}: {train} training and {valid} validation examples; {parameters} parameters",
            *([trainer.about] if trainer.about else []),
            f"made {datetime.now().astimezone():%Y-%m-%d %H:%M %z} by MiniTorch {minitorch.__version__}, "
            f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}, "
            f"{os.cpu_count()} cores",
            "",
            *[log_line(trainer, epoch) for epoch in epochs],
            "",
            summary(trainer, closing),
            "",
        ]
    )


def write(trainer: ClassifierTrainer, folder: Path, every: int, closing: str = "") -> Path:
    """Write the log, curves.png and curves.svg to a folder, overwriting those of an earlier run.

    Args:
        trainer: The trainer, whether its run is complete or not.
        folder: The folder; created if it is missing.
        every: Number of epochs from one line of the log to the next.
        closing: See `summary`.

    Returns:
        The path of the log, which is written last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    losses, train, valid = ([getattr(epoch, name) for epoch in trainer.history] for name in ("loss", "train", "valid"))
    curves = charts.learning(losses, train, valid, MOST_EPOCHS)
    for name in ("curves.png", "curves.svg"):
        charts.save(curves, folder / name)
    path = folder / trainer.setting.log
    charts.write(path, text(trainer, every, closing).encode())
    return path
