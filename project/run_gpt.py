"""Train a small GPT on a text, character by character, and let it go on with a beginning."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from project.lab.training import checkpoint, command_line, text_trainer
from project.lab.training.checkpoint import CheckpointError
from project.lab.training.text_trainer import Run, Setting, checked

PROGRAM = f"{text_trainer.PROGRAM}.py"

SAVED_EVERY = 30.0
"""Seconds from one checkpoint to the next between two lines of the log; there is one at every line too."""

BEGINNING = "The "
"""What the network goes on with unless a flag says otherwise, where the text has these characters."""


@dataclass(frozen=True)
class Options:
    """What a run leaves behind, and what it writes at the end.

    Attributes:
        text: File of the text; None for the course's book.
        every: How many steps lie between two lines of the log.
        checkpoint: File of the checkpoint.
        beginning: What to go on with at the end.
        length: How many characters to add to it.
        temperature: How daring these are.
    """

    text: Path | None
    every: int
    checkpoint: Path | None
    beginning: str
    length: int
    temperature: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line says; returns the exit status."""
    parser = command_line.Parser(PROGRAM, __doc__)
    for field in fields(Setting):
        kind = command_line.decimal if isinstance(field.default, float) else command_line.number
        parser.add_argument(f"--{field.name}", type=kind, default=field.default, metavar="X", help=field.metadata["help"])
    parser.add_argument("--text", type=Path, metavar="FILE", help="what to learn, in UTF-8; None for the course's book")
    parser.add_argument("--log-every", type=command_line.number, default=50, metavar="N", help="steps from one printed line to the next")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="keep in this file all that --resume needs")
    parser.add_argument("--resume", action="store_true", help="go on with the run of --checkpoint, by its settings")
    parser.add_argument(
        "--beginning", metavar="TEXT", help=f"what to go on with; None for {BEGINNING!r}, or for the text's first character"
    )
    parser.add_argument("--length", type=command_line.number, default=300, metavar="N", help="how many characters to add to it")
    parser.add_argument(
        "--temperature", type=command_line.decimal, default=0.8, metavar="X", help="how daring these are; 0: the likeliest each time"
    )
    names = [field.name for field in fields(Setting)]
    found = vars(parser.parse_args(arguments, argparse.Namespace(**dict.fromkeys(names))))  # what stays None was not given
    given = {name: found.pop(name) for name in names if found[name] is not None}
    try:
        run, options = _prepared(parser, given, found)
    except (ValueError, OSError) as error:
        parser.refuse(str(error))
    status = train(run, options)
    return status or tell(run, options)


def _prepared(parser: command_line.Parser, given: dict[str, Any], found: dict[str, Any]) -> tuple[Run, Options]:
    """The run, new or from its checkpoint, and what to do with it."""
    checked("log-every", found["log_every"], 1, 1, 1_000_000)
    checked("length", found["length"], 1, 0, 1_000_000)
    checked("temperature", found["temperature"], 1.0, 0.0, 1000.0)
    path, resume = found["checkpoint"], found["resume"]
    if resume and not path:
        parser.refuse("--resume expected the file to go on from, got none; add --checkpoint FILE")
    if path and not path.parent.is_dir():
        parser.refuse(f"--checkpoint expected a file in a folder that is there, got {str(path)!r}; make {str(path.parent)!r} first")
    if path and path.exists() and not resume:
        parser.refuse(f"--checkpoint expected a new file, got {str(path)!r}, which is there; add --resume to go on with it, or delete it")
    saved, setting = checkpoint.load(path) if resume else None, Setting(**given)
    if saved is not None:
        _check_resumed(given, saved, path)
    text = text_trainer.book() if found["text"] is None else text_trainer.read(found["text"])
    run = Run(setting, text) if saved is None else Run.restored(saved, text, str(path))
    beginning = found["beginning"]
    if beginning is None:
        beginning = BEGINNING if set(BEGINNING) <= set(run.text.characters) else text[0]
    run.text.numbers(beginning)  # refused now, not after training
    return run, Options(found["text"], found["log_every"], path, beginning, found["length"], found["temperature"])


def _check_resumed(given: dict[str, Any], saved: checkpoint.Checkpoint, path: Path) -> None:
    """That a checkpoint is of this program, and that no flag asks for something else.

    Raises:
        CheckpointError: If it is not so.
    """
    if saved.about.get("program") != text_trainer.PROGRAM:
        raise CheckpointError(f"{path} is a checkpoint of {saved.about.get('program')}.py; resume it there")
    kept = saved.about["setting"]
    differing = [f"--{name} {value} (there {kept.get(name)})" for name, value in given.items() if value != kept.get(name)]
    if differing:
        raise CheckpointError(
            f"--resume goes on by the settings of {path}, got {', '.join(differing)}; leave these flags out, or begin anew"
        )


def train(run: Run, options: Options) -> int:
    """Train until done or interrupted, print the log and keep the checkpoint.

    Returns:
        The exit status.
    """
    orderly, status = False, 0
    try:
        with (
            command_line.ctrl_c_at_a_good_moment() as interrupted,
            command_line.progress_bar(run.setting.steps, "step", run.step) as advance,
        ):
            print(_beginning(run, options), flush=True)
            saved, mark = time.monotonic(), (run.step, run.seconds)
            while not run.done and not interrupted():
                loss = run.advance()
                advance()
                told = run.done or run.step % options.every == 0
                valid = run.validation_loss() if told else 0.0
                if not math.isfinite(loss + valid):
                    status = 1
                    break
                line = _line(run, valid, mark) if told else ""
                if options.checkpoint and (told or time.monotonic() - saved >= SAVED_EVERY):
                    checkpoint.save(options.checkpoint, run.checkpoint())  # before the line is told: what is told is safe
                    saved = time.monotonic()
                if told:
                    print(line, flush=True)
                    mark = run.step, run.seconds
        orderly = not status
        if orderly and not run.done:
            status = command_line.INTERRUPTED
    except BrokenPipeError:  # the reader of the log has gone, between two steps
        orderly, status = True, command_line.INTERRUPTED
    except KeyboardInterrupt:  # the second Ctrl-C, within a step
        status = command_line.INTERRUPTED
    if status == 1:
        what = f"the loss is infinite or not a number after step {run.step}"
        print(f"{PROGRAM}: {what}; begin anew with a --rate below {run.setting.rate:g}", file=sys.stderr)
    elif status:
        print(f"{PROGRAM}: stopped. {_summary(run)}", file=sys.stderr)
        _keep(run, options, orderly)
    return status


def _keep(run: Run, options: Options, orderly: bool) -> None:
    """Save a run that was interrupted, between two steps if it was orderly, and say how to go on."""
    if not options.checkpoint:
        return
    if orderly:
        checkpoint.save(options.checkpoint, run.checkpoint())
    if options.checkpoint.exists():
        text = f" --text {shlex.quote(str(options.text))}" if options.text else ""
        command = f"python project/{PROGRAM}{text} --checkpoint {shlex.quote(str(options.checkpoint))} --resume"
        print(f"Go on with: {command}", file=sys.stderr)


def _beginning(run: Run, options: Options) -> str:
    """What is trained on what, and where a run goes on."""
    text, size = run.text, sum(parameter.value.size for parameter in run.model.parameters())
    name = options.text or "the course's book"
    lines = [
        f"{name}: {len(text.train):,} characters to train on, {len(text.valid):,} to validate with, {len(text.characters)} different",
        f"GPT: {size:,} parameters",
    ]
    if run.step:
        lines.append(f"Going on after step {run.step} of {run.setting.steps}.")
    return "\n".join(lines)


def _line(run: Run, valid: float, mark: tuple[int, float]) -> str:
    """A line of the log, on the steps since the one before; mark is how many steps were done then, and in how many seconds."""
    step, seconds = mark
    train = math.fsum(run.losses) / len(run.losses)
    run.losses.clear()
    a_step = (run.seconds - seconds) / (run.step - step)
    return f"step {run.step}/{run.setting.steps}  loss {train:.4f}  valid {valid:.4f}  {a_step:.3f} s a step"


def _summary(run: Run) -> str:
    """The outcome in a sentence."""
    if not run.step:
        return f"No step of {run.setting.steps} was finished."
    return f"{run.step} of {run.setting.steps} steps in {run.seconds:.1f} s ({run.seconds / run.step:.3f} s a step)."


def tell(run: Run, options: Options) -> int:
    """Print the outcome, and the beginning with what the network adds to it.

    Returns:
        The exit status.
    """
    print(f"{_summary(run)}\n\n{_shown(options.beginning)}", end="", flush=True)
    for character in run.sample(options.beginning, options.length, options.temperature):
        print(_shown(character), end="", flush=True)
    print()
    return 0


def _shown(text: str) -> str:
    """Characters that can be printed; others may be orders to the terminal."""
    return "".join(character if character.isprintable() or character in "\n\t" else "\N{REPLACEMENT CHARACTER}" for character in text)


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
