"""Resumable runs: their command-line options, the checks of these options, and the message after an interruption."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from project.lab.training import checkpoint, command_line
from project.lab.training.checkpoint import Checkpoint, CheckpointError

CheckpointFile = Annotated[Path | None, typer.Option(metavar="FILE", help="keep in this file all that --resume needs")]
Resume = Annotated[bool, typer.Option("--resume", help="resume the run of --checkpoint, by its settings")]


class Resumable(Protocol):
    """A run that can stop after any step."""

    def checkpoint(self) -> Checkpoint:
        """Return everything that is needed to resume after this step as if nothing had happened."""
        ...


def saver(run: Resumable, path: Path | None) -> Callable[[], None] | None:
    """Return a function that saves a checkpoint of the run; None without a file."""
    return None if path is None else lambda: checkpoint.save(path, run.checkpoint())


def print_stopped(program: str, summary: str, path: Path | None = None, options: str = "") -> None:
    """Print to standard error that a run was interrupted, its result so far, and how to resume it.

    Args:
        program: Name of the file in project/.
        summary: The result so far.
        path: File of the checkpoint; None for none.
        options: Further options that the command needs, with a leading space.
    """
    command_line.print_stopped(program, summary)
    if path and path.exists():
        command = f"python project/{program}{options} --checkpoint {shlex.quote(str(path))} --resume"
        print(f"Resume with: {command}", file=sys.stderr)


def check_resumable(path: Path | None, resume: bool) -> None:
    """Refuse to overwrite a checkpoint, and to resume without one, before any training.

    Raises:
        UsageError: If the options do not match the state of the file.
    """
    if resume and not path:
        raise command_line.UsageError("--resume expected the file to resume from, got none; add --checkpoint FILE")
    if path:
        check_new_file("--checkpoint", path, resume, "add --resume to resume it, or delete it")


def check_new_file(option: str, path: Path, may_exist: bool, remedy: str) -> None:
    """Refuse a file in no folder, and one that exists unless it may, before any training.

    Raises:
        UsageError: If it is refused.
    """
    if not path.parent.is_dir():
        expected = f"{option} expected a file in an existing folder, got {str(path)!r}"
        raise command_line.UsageError(f"{expected}; make {str(path.parent)!r} first")
    if path.exists() and not may_exist:
        raise command_line.UsageError(f"{option} expected a new file, got {str(path)!r}, which exists; {remedy}")


def check_same_setting(program: str, given: dict[str, Any], saved: Checkpoint, path: Path) -> None:
    """Refuse a checkpoint of another program, and options that differ from those of its run.

    Args:
        program: The file in project/ that resumes, without .py.
        given: The fields of the setting for which the command line gives a value.
        saved: The checkpoint.
        path: Its file.

    Raises:
        CheckpointError: If it does not match.
    """
    if saved.about.get("program") != program:
        raise CheckpointError(f"{path} is a checkpoint of {saved.about.get('program')}.py; resume it there")
    if differing := differing_options(given, saved.about["setting"]):
        raise CheckpointError(f"--resume expected the settings of {path}, got {differing}; leave these options out, or begin a new run")


def differing_options(given: Mapping[str, Any], kept: Mapping[str, Any]) -> str:
    """The given options whose values differ from those that were kept, with both values; "" if there are none."""
    differing = {name: value for name, value in given.items() if value != kept.get(name)}
    return ", ".join(f"--{name.replace('_', '-')} {value} (there {kept.get(name)})" for name, value in differing.items())
