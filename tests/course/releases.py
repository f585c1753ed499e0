"""A release of a course with three tasks, and workspaces made from it, for the tests of reset, update, diff and submit."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from course.manifest import Manifest, load
from course.workspace import pristine

TASK = """
[[task]]
id = "{id}"
title = "A task"
points = 10
mark = "task{mark}"
requires = []
write = [{write}]
hints = ["A nudge."]
page = "module0/page"
app = "m0_page"
"""


def tasks_toml(**write: str) -> str:
    """A manifest; `write` gives the names that students write, by task (t0_1)."""
    text = '[course]\ntitle = "Released"\npackage = "minitorch"\n[[stage]]\nnumber = 0\ntitle = "One"\nmodules = ["sums"]\n'
    for key, names in write.items():
        mark = key.removeprefix("t")
        text += TASK.format(id=mark.replace("_", "."), mark=mark, write=", ".join(f'"{name}"' for name in names.split()))
    return text


SUMS = '''"""Sums."""

from __future__ import annotations

import math


def add(x, y):
    """x + y."""
    raise NotImplementedError("Need to implement for Task 0.1")


def given(x):
    """x."""
    return x


class Box:
    """A box."""

    def double(self, x):
        """2 x."""
        raise NotImplementedError("Need to implement for Task 0.2")

    def half(self, x):
        """x / 2."""
        raise NotImplementedError("Need to implement for Task 0.2")
'''

TESTS = '''"""Tests."""

import pytest

from minitorch.sums import add


@pytest.mark.task0_1
def test_add():
    assert add(1, 2) == 3


@pytest.mark.task0_3
def test_own():
    """A test of one's own."""
    raise NotImplementedError("Need to implement for Task 0.3")
'''

FILES = {
    "course/tasks.toml": tasks_toml(
        t0_1="minitorch.sums:add", t0_2="minitorch.sums:Box.double minitorch.sums:Box.half", t0_3="tests.test_sums:test_own"
    ),
    "minitorch/__init__.py": "",
    "minitorch/sums.py": SUMS,
    "minitorch/other.py": "OTHER = 1\n",
    "tests/test_sums.py": TESTS,
    "README.md": "# Read me\n",
}
"""The first release."""


def release(files: Mapping[str, str] = FILES) -> dict[str, bytes]:
    """All files of a handout."""
    written = [path for path in files if path in ("minitorch/sums.py", "tests/test_sums.py", "minitorch/totals.py")]
    contents = {path: text.encode() for path, text in files.items()}
    return contents | {pristine.PATH: pristine.pack(contents, written), ".handout.json": b"{}\n"}


def write(root: Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a folder."""
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


class Student:
    """A workspace, and a console that records its output.

    Attributes:
        root: The workspace.
    """

    def __init__(self, root: Path) -> None:
        self.root = write(root, release())
        self.console = Console(file=io.StringIO(), width=80, highlight=False)

    @property
    def manifest(self) -> Manifest:
        """The current manifest of the workspace."""
        return load(self.root / "course" / "tasks.toml")

    @property
    def output(self) -> str:
        """The output since the last access."""
        file = self.console.file
        assert isinstance(file, io.StringIO)
        text = file.getvalue()
        file.seek(0)
        file.truncate()
        return text

    def text(self, path: str) -> str:
        """The content of a file."""
        return (self.root / path).read_bytes().decode()

    def edit(self, path: str, *changes: tuple[str, str]) -> None:
        """Replace pieces of a file, each of which must occur exactly once."""
        text = self.text(path)
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (self.root / path).write_bytes(text.encode())

    def snapshot(self) -> dict[str, bytes]:
        """All files except those in .course."""
        found = sorted(path for path in self.root.rglob("*") if path.is_file())
        names = {path.relative_to(self.root).as_posix(): path.read_bytes() for path in found}
        return {name: data for name, data in names.items() if not name.startswith(".course/")}
