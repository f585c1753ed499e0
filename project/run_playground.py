"""Train a network of the playground: any layers, inputs, activation, optimizer and regularization, on points in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from project.lab.playground.setting import PlaygroundSetting
from project.lab.playground.trainer import Trainer
from project.lab.playground.trainers import make_trainer
from project.lab.training import command_line, loop
from project.lab.training.settings import with_setting


def main(arguments: Sequence[str] | None = None) -> int:
    """Train with the options of the command line; returns the exit status."""

    def command(given: dict[str, Any], log_every: loop.LogEvery = 10) -> int:
        try:
            trainer = make_trainer(PlaygroundSetting(**given))
        except (ValueError, OSError) as error:
            raise command_line.UsageError(str(error)) from None
        status = loop.train(trainer, _Log(trainer, log_every), unit="epoch")
        if status:
            command_line.print_stopped("run_playground.py", summary(trainer))
        return status

    return command_line.call("run_playground.py", with_setting(PlaygroundSetting(), command), arguments, __doc__)


class _Log(loop.Log):
    """A line every few epochs, and the result."""

    def __init__(self, trainer: Trainer, every: int) -> None:
        self.trainer, self.every, self.epoch = trainer, every, 0

    def is_due(self) -> bool:
        """Whether the update ended an epoch for which a line is printed."""
        ended, self.epoch = self.trainer.epoch > self.epoch, self.trainer.epoch
        return ended and (self.epoch % self.every == 0 or self.trainer.done)

    def step(self, due: bool) -> None:
        """Print the line of the epoch."""
        if due:
            print(log_line(self.trainer), flush=True)

    def end(self) -> None:
        """Print the result."""
        print(summary(self.trainer), flush=True)


def log_line(trainer: Trainer) -> str:
    """Format the latest epoch as one line."""
    train, tests = (len(trainer.points.numbers(test)) for test in (False, True))
    test = f"  test loss {trainer.test_losses[-1]:.4f}  correct {trainer.test_correct[-1]}/{tests}" if tests else ""
    epoch = f"epoch {trainer.epoch:>{len(str(trainer.total))}}/{trainer.total}"
    return f"{epoch}  loss {trainer.losses[-1]:.4f}  correct {trainer.correct[-1]}/{train}{test}"


def summary(trainer: Trainer) -> str:
    """Summarize the result in one sentence."""
    if not trainer.epoch:
        return f"No epoch of {trainer.total} was finished."
    _, *results = log_line(trainer).split("  ")
    return f"{trainer.epoch} of {trainer.total} epochs in {sum(trainer.seconds):.1f} s: {', '.join(results)}."


if __name__ == "__main__":
    command_line.run("run_playground.py", main)
