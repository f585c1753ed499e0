"""Train a small GPT on a text or on synthetic stories, in bytes or byte-pair tokens, and let it continue a prompt."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from minitorch.language import save_adapters
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
Base = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="train adapters for this checkpoint, whose weights stay as they are")
]
Adapter = Annotated[Path | None, typer.Option(metavar="FILE", help="write the adapters to this file, for chat.py --adapter")]
Beginning = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help=f"what to continue; {BEGINNING!r} if left out, or a new story"),
]
LogEvery = Annotated[int, command_line.whole(1, "steps from one line of the log to the next")]
Length = Annotated[int, command_line.whole(0, "how many tokens to sample")]
Distributed = Annotated[bool, typer.Option("--distributed", help="train in all processes of a job, as the launcher has started them")]
Temperature = Annotated[float, command_line.between(0, 1000, "of the softmax that is sampled from; 0: the likeliest token")]


@dataclass(frozen=True)
class Options:
    """What a run saves, and what it prints at the end.

    Attributes:
        text: File of the text; None for the course's book.
        every: Number of steps between two lines of the log.
        checkpoint: File of the checkpoint.
        adapter: File of the adapters; None if there are none.
        beginning: The prompt to continue at the end.
        length: Number of tokens to sample.
        temperature: Temperature of the sampling.
    """

    text: Path | None
    every: int
    checkpoint: Path | None
    adapter: Path | None
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
    base: Base = None,
    adapter: Adapter = None,
    beginning: Beginning = None,
    length: Length = 300,
    temperature: Temperature = 0.8,
    distributed: Distributed = False,
) -> int:
    """Train with these options and print a sample of the model; returns the exit status."""
    resuming.check_resumable(checkpoint, resume)
    _check_adapter(given, base, adapter, checkpoint)
    job = _job() if distributed else None
    try:
        run = _run(job.ParallelRun if job else Run, given, text, checkpoint if resume else None, base)
        run.files = {option: path for option, path in (("--text", text), ("--from", base), ("--adapter", adapter)) if path}
        beginning = ("\n" if run.setting.stories else BEGINNING) if beginning is None else beginning
        run.text.numbers(beginning)  # check it now, not after training
    except (ValueError, OSError) as error:
        raise command_line.UsageError(str(error)) from None
    options = Options(text, log_every, checkpoint, adapter, beginning, length, temperature)
    if job:
        return job.lead_or_follow(run, lambda: train(run, options) or print_sample(run, options))
    return train(run, options) or print_sample(run, options)


def _check_adapter(given: dict[str, Any], base: Path | None, adapter: Path | None, checkpoint: Path | None) -> None:
    """Refuse options of adapters that do not go together, before any training.

    Raises:
        UsageError: If an option is missing or too many, or the file of the adapters exists.
    """
    if not base:
        if option := "--adapter" if adapter else "--rank" if "rank" in given else "":
            raise command_line.UsageError(f"{option} expected a checkpoint to train adapters for, got none; add --from FILE")
        return
    if not adapter:
        raise command_line.UsageError("--from expected a file for the adapters, got none; add --adapter FILE")
    if checkpoint:
        raise command_line.UsageError("--checkpoint expected a run that trains all weights, got one with --from; leave one of them out")
    resuming.check_new_file("--adapter", adapter, False, "name another one, or delete it")


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


def _run(kind: type[Run], given: dict[str, Any], file: Path | None, saved_in: Path | None, base: Path | None) -> Run:
    """Return a new run of a class, or the run of a checkpoint, or one that trains adapters for the model of a checkpoint.

    Raises:
        ValueError: If a value is not allowed, or the text or the checkpoint does not match.
        OSError: If a file cannot be read.
    """
    language = language_model.load(base) if base else None
    setting = text_trainer.adapter_setting(language, given, str(base)) if language else Setting(**given)
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
    return kind(setting, text, language) if saved is None else kind.restored(saved, text, str(saved_in))


def train(run: Run, options: Options) -> int:
    """Train until done or interrupted, print the log and save the checkpoint.

    Returns:
        The exit status.
    """
    try:
        save = partial(save_adapters, run.model, options.adapter) if options.adapter else resuming.saver(run, options.checkpoint)
        status = loop.train(run, _Log(run, options), save=save)
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
        values = [parameter.value for parameter in run.model.parameters()]
        size, trained = (sum(value.numel() for value in some) for some in (values, [value for value in values if value.requires_grad]))
        name = f"{run.setting.stories:,} stories" if run.setting.stories else self.options.text or "the course's book"
        sizes = f"{len(text.train):,} tokens to train on, {len(text.valid):,} to validate with, {len(text.tokenizer)} different"
        print(f"{name}: {sizes}\nGPT: {size:,} parameters{f', of which {trained:,} are trained' if run.setting.rank else ''}", flush=True)
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
    return f"{shares}, {score.sums:.1%} of {sums} sums are right.{f' Wrong: {command_line.printable(wrong)}' if wrong else ''}"


def print_sample(run: Run, options: Options) -> int:
    """Print the result, and the prompt with the model's continuation.

    Returns:
        The exit status.
    """
    grammar = f"\n{_grammar(run, options.temperature)}" if run.setting.stories else ""
    print(f"{_summary(run)}{grammar}\n\n{command_line.printable(options.beginning)}", end="", flush=True)
    for character in run.sample(options.beginning, options.length, options.temperature):
        print(command_line.printable(character), end="", flush=True)
    print()
    if options.adapter:
        files = run.files["--from"], options.adapter
        print("\nChat with the adapters: python project/chat.py {} --adapter {}".format(*(shlex.quote(str(path)) for path in files)))
    return 0


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
