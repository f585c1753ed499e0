"""Train a small GPT on a text or on synthetic stories, in bytes or byte-pair tokens, and let it continue a prompt."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from minitorch.language.training import NonFiniteGradients
from project.lab import language_model
from project.lab.training import checkpoint, command_line, loop, resuming, story_samples, text_trainer
from project.lab.training.settings import with_setting
from project.lab.training.text_trainer import Run, Setting

PROGRAM = f"{Setting.program}.py"

BEGINNING = "The "
"""What the model continues unless an option says otherwise."""

SAMPLES, LAST_SAMPLES = 8, 64
"""The numbers of stories that are scored for each line of the log, and at the end."""

TextFile = Annotated[Path | None, typer.Option(metavar="FILE", help="what to learn, in UTF-8; the course's book if left out")]
Beginning = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help=f"what to continue; {BEGINNING!r} if left out, or a new story"),
]
LogEvery = Annotated[int, command_line.whole(1, "steps from one line of the log to the next")]
Length = Annotated[int, command_line.whole(0, "how many tokens to sample")]
Distributed = Annotated[bool, typer.Option("--distributed", help="train in all processes of a job, as the launcher has started them")]
Temperature = Annotated[
    Any, typer.Option(parser=command_line.decimal, metavar="X", help="of the softmax that is sampled from; 0: the likeliest one")
]


@dataclass(frozen=True)
class Options:
    """What a run saves, and what it prints at the end.

    Attributes:
        text: File of the text; None for the course's book.
        every: Number of steps between two lines of the log.
        checkpoint: File of the checkpoint.
        beginning: The prompt to continue at the end.
        length: Number of tokens to sample.
        temperature: Temperature of the sampling.
    """

    text: Path | None
    every: int
    checkpoint: Path | None
    beginning: str
    length: int
    temperature: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Train with the options of the command line; returns the exit status."""
    return command_line.call(PROGRAM, with_setting(Setting(), command), arguments, __doc__)


def command(
    given: dict[str, Any],
    text: TextFile = None,
    log_every: LogEvery = 50,
    checkpoint: resuming.CheckpointFile = None,
    resume: resuming.Resume = False,
    beginning: Beginning = None,
    length: Length = 300,
    temperature: Temperature = 0.8,
    distributed: Distributed = False,
) -> int:
    """Train with these options and print a sample of the model; returns the exit status."""
    if not isinstance(temperature, float) or not 0 <= temperature <= 1000:
        raise command_line.UsageError(f"temperature expected a number from 0 to 1000, got {temperature!r}")
    job = _job() if distributed else None
    resuming.check_resumable(checkpoint, resume)
    try:
        run = _run(job.ParallelRun if job else Run, given, text, checkpoint if resume else None)
        run.file = text
        beginning = ("\n" if run.setting.stories else BEGINNING) if beginning is None else beginning
        run.text.numbers(beginning)  # check it now, not after training
    except (ValueError, OSError) as error:
        raise command_line.UsageError(str(error)) from None
    options = Options(text, log_every, checkpoint, beginning, length, temperature)
    if job:
        return job.lead_or_follow(run, lambda: train(run, options) or print_sample(run, options))
    return train(run, options) or print_sample(run, options)


def _job() -> Any:
    """Join the processes of the job, and return the module that trains in several processes.

    Raises:
        UsageError: If there is none, as in a workspace of the course.
    """
    try:
        job = import_module("project.lab.distributed_text")
    except ModuleNotFoundError as error:
        raise command_line.UsageError(f"--distributed expected the library after the course; leave it out ({error})") from None
    job.begin()
    return job


def _run(kind: type[Run], given: dict[str, Any], file: Path | None, saved_in: Path | None) -> Run:
    """Return a new run of a class, or the run of a checkpoint.

    Raises:
        ValueError: If a value is not allowed, or the text or the checkpoint does not match.
        OSError: If a file cannot be read.
    """
    setting = Setting(**given)
    saved = checkpoint.load(saved_in) if saved_in else None
    if saved is not None and saved_in is not None:
        resuming.check_same_setting(Setting.program, given, saved, saved_in)
        setting = text_trainer.saved_setting(saved, str(saved_in))
    if file is not None and setting.stories:
        raise ValueError(f"--stories expected no text, got --text {file}; leave one of them out")
    if setting.stories:
        text = story_samples.stories(setting.stories)
    else:
        text = text_trainer.book() if file is None else text_trainer.read(file)
    return kind(setting, text) if saved is None else kind.restored(saved, text, str(saved_in))


def train(run: Run, options: Options) -> int:
    """Train until done or interrupted, print the log and save the checkpoint.

    Returns:
        The exit status.
    """
    try:
        status = loop.train(run, _Log(run, options), save=resuming.saver(run, options.checkpoint))
    except (Diverged, NonFiniteGradients) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 1
    if status:
        text = f" --text {shlex.quote(str(options.text))}" if options.text else ""
        resuming.print_stopped(PROGRAM, _summary(run), options.checkpoint, text)
    return status


class Diverged(ArithmeticError):
    """A loss that is infinite or not a number."""


class _Log(loop.Log):
    """Prints a line every few steps, with the loss on the validation text."""

    def __init__(self, run: Run, options: Options) -> None:
        self.run, self.options, self.line = run, options, ""
        self.last = run.step, run.seconds

    def begin(self) -> None:
        """Print the text, the size of the model, and where a resumed run continues."""
        run, text = self.run, self.run.text
        size = sum(parameter.value.numel() for parameter in run.model.parameters())
        name = f"{run.setting.stories:,} stories" if run.setting.stories else self.options.text or "the course's book"
        sizes = f"{len(text.train):,} tokens to train on, {len(text.valid):,} to validate with, {len(text.tokenizer)} different"
        print(f"{name}: {sizes}\nGPT: {size:,} parameters", flush=True)
        if run.step:
            print(f"Resuming after step {run.step} of {run.total}.", flush=True)

    def is_due(self) -> bool:
        """Whether the log has a line for this step; if so, compute it, with the loss on the validation text.

        Raises:
            Diverged: If a loss is infinite or not a number.
        """
        run = self.run
        due = run.done or run.step % self.options.every == 0
        valid = run.validation_loss() if due else 0.0
        if not math.isfinite(run.losses[-1] + valid):
            what = f"the loss is infinite or not a number after step {run.step}"
            raise Diverged(f"{what}; begin a new run with a --rate below {run.setting.rate:g}")
        if due:
            self.line = self._line(valid)
        return due

    def step(self, due: bool) -> None:
        """Print the line, if there is one."""
        if due:
            print(self.line, flush=True)

    def _line(self, valid: float) -> str:
        """Return a line about the steps since the last one."""
        run, (step, seconds) = self.run, self.last
        loss = math.fsum(run.losses) / len(run.losses)
        run.losses.clear()
        self.last = run.step, run.seconds
        per_step = (run.seconds - seconds) / (run.step - step)
        grammar = f"  grammar {run.grammar(SAMPLES, self.options.temperature).sentences:.1%}" if run.setting.stories else ""
        return f"step {run.step}/{run.total}  loss {loss:.4f}  valid {valid:.4f}{grammar}  {per_step:.3f} s a step"


def _summary(run: Run) -> str:
    """Summarize the result in a sentence."""
    if not run.step:
        return f"No step of {run.setting.steps} was finished."
    return f"{run.step} of {run.setting.steps} steps in {run.seconds:.1f} s ({run.seconds / run.step:.3f} s a step)."


def _grammar(run: Run, temperature: float) -> str:
    """Summarize how right stories are that the model writes, with some mistakes."""
    score = run.grammar(LAST_SAMPLES, temperature)
    (sentences, pronouns, sums), wrong = score.counts, "; ".join(score.mistakes[:3])
    shares = f"The grammar accepts {score.sentences:.1%} of {sentences} sentences, {score.pronouns:.1%} of {pronouns} pronouns agree"
    return f"{shares}, {score.sums:.1%} of {sums} sums are right.{f' Wrong: {language_model.printable(wrong)}' if wrong else ''}"


def print_sample(run: Run, options: Options) -> int:
    """Print the result, and the prompt with the model's continuation.

    Returns:
        The exit status.
    """
    gain = f"\n{run.gain()}" if run.gain() else ""
    grammar = f"\n{_grammar(run, options.temperature)}" if run.setting.stories else ""
    print(f"{_summary(run)}{gain}{grammar}\n\n{language_model.printable(options.beginning)}", end="", flush=True)
    for character in run.sample(options.beginning, options.length, options.temperature):
        print(language_model.printable(character), end="", flush=True)
    print()
    return 0


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
