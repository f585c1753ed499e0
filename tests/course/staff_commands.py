"""Helpers for the tests of the teacher's commands: running them, replacing grading, and checking policies."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from course.manifest import course
from course.staff import RequestError, cli
from course.staff.term.policy import FILE, parse_policy

from .conftest import clean_environment


def command_in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """A function that runs `course-staff` in this process and a folder; it returns the exit code and all of the output."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(folder)
        monkeypatch.setattr("sys.argv", ["course-staff", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out + printed.err

    return run


def command_in_process(repository: Path, cache: Path) -> Callable[..., str]:
    """A function that runs `course-staff` from a repository in a new process, which must succeed, and returns all of the output.

    Args:
        repository: The folder with the course.
        cache: The folder in which grading stores what it knows about the reference.
    """
    environment = clean_environment() | {"XDG_CACHE_HOME": str(cache), "NO_COLOR": "1", "COLUMNS": "200"}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "course.staff", *arguments]
        done = subprocess.run(command, cwd=repository, env=environment, text=True, capture_output=True, timeout=900, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def replace_grading(monkeypatch: pytest.MonkeyPatch, grade: Callable[..., Any]) -> None:
    """Make the commands call this function to grade submissions."""
    monkeypatch.setitem(sys.modules, "course.staff.grading.grade", SimpleNamespace(grade=grade))  # type: ignore[arg-type]  # all it needs


def assert_policy_refused(text: str, old: str, new: str, message: str) -> None:
    """Fail unless a policy in which `old` is replaced by `new` is refused with this message."""
    assert old in text
    with pytest.raises(RequestError) as error:
        parse_policy(text.replace(old, new), Path(FILE), course())
    assert message in str(error.value)
