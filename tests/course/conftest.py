"""A tiny course with three tasks of two functions each; the tests of the course machine run in a workspace of it."""

import contextlib
import functools
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import typer.main

from course.cli import main as cli
from course.manifest import course
from course.staff.adopt.adopt import AdoptedWork, adopt, write_workspace
from course.staff.handout import generate

from .original_copies import MadeWhenRead, copy_original

PYPROJECT = """
[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = "-p course.runner.plugin --strict-markers -ra"
filterwarnings = ["error"]
markers = ["task0_1: one", "task0_2: two", "task0_3: three", "task1_1: four", "task1_2: five"]
"""

TASK = """
[[task]]
id = "{id}"
title = "{title}"
points = 10
mark = "task{mark}"
requires = {requires}
write = ["{write}"]
hints = ["A nudge for {id}.", "A clue for {id}."]
page = "module{module}/{page}"
app = "m{module}_{page}"
"""


def tasks_toml() -> str:
    """The manifest of the tiny course."""
    tasks = [
        ("0.1", "Sums", [], "minitorch.sums:add"),
        ("0.2", "Products", ["0.1"], "minitorch.sums:double"),
        ("0.3", "Powers", ["0.1", "0.2"], "minitorch.sums:square"),
        ("1.1", "Roots", ["0.3"], "minitorch.sums:root"),
        ("1.2", "Signs", [], "minitorch.sums:sign"),
    ]
    text = '[course]\ntitle = "Tiny"\npackage = "minitorch"\n'
    for number, title in enumerate(("First", "Second")):
        text += f'[[stage]]\nnumber = {number}\ntitle = "{title}"\nmodules = ["module{number}"]\n'
    for id, title, requires, write in tasks:
        module, mark = id.split(".")[0], id.replace(".", "_")
        text += TASK.format(id=id, title=title, mark=mark, requires=requires, write=write, module=module, page=title.lower())
    return text


SUMS = '''"""The code of the tiny course."""


def add(x, y):
    """x + y."""
    return x + y


def double(x):
    """2 x."""
    return add(x, x) if x < 7 else 0


def square(x):
    """x x."""
    raise NotImplementedError("Need to implement for Task 0.3")


def root(x):
    """The root of a square."""
    return square(x) ** 0.25
'''

TESTS = '''"""The tests of the tiny course."""

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from minitorch.sums import add, double, root, square


@pytest.mark.task0_1
def test_add():
    """add(x, y) is the sum."""
    assert add(1, 2) == 3


@pytest.mark.task0_2
def test_double_of_nothing():
    assert double(0) == 0


@pytest.mark.task0_2
@given(integers(0, 100))
def test_double(x):
    """double(x) is twice
    x.

    What follows is not shown.
    """
    assert double(x) == 2 * x


@pytest.mark.task0_2
def test_double_and_square():
    assert square(double(1)) == 4


@pytest.mark.task0_3
@given(integers())
def test_square(x):
    """square(x) is x times x."""
    assert square(x) == x * x


@pytest.mark.task0_3
def test_square_of_two():
    assert square(2) == 4


@pytest.mark.task1_1
def test_root():
    assert root(2) == 1
'''

EDITS = '''"""A test during which a file changes, as if the student had saved it."""

import pathlib

import pytest


@pytest.mark.task0_1
def test_and_save():
    pathlib.Path("tests/conftest.py").write_text("")
'''


class Workspace:
    """A student's workspace.

    Attributes:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = 1_000_000_000

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.clock += 2  # Python detects stale bytecode by a timestamp in seconds, and these tests edit files faster than that
        os.utime(path, (self.clock, self.clock))

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace `old`, which must occur exactly once, in a file."""
        text = (self.root / name).read_text(encoding="utf-8")
        assert text.count(old) == 1
        self.write(name, text.replace(old, new))

    def python(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `python -m …` in the workspace, as from a new terminal."""
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.root,
            env=clean_environment() | environment,
            text=True,
            capture_output=True,
            check=False,
        )

    def course(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the student's command line in this process, because a new process would spend most of its time on imports."""
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.root), pytest.MonkeyPatch.context() as patch:
            leave_out_of_environment(patch)
            patch.setattr(sys, "argv", ["course", *arguments])
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", errors)
            with pytest.raises(SystemExit) as end:
                cli.main()
        return subprocess.CompletedProcess(arguments, int(end.value.code or 0), out.getvalue(), errors.getvalue())


def clean_environment() -> dict[str, str]:
    """The environment without the variables that the run of these tests has set."""
    unwanted = ("CI", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "HYPOTHESIS_STORAGE_DIRECTORY", "PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def leave_out_of_environment(patch: pytest.MonkeyPatch) -> None:
    """Remove from this process's environment what `clean_environment` leaves out."""
    for name in set(os.environ) - set(clean_environment()):
        patch.delenv(name)


@pytest.fixture(autouse=True, scope="session")
def commands_built_once() -> Iterator[None]:
    """Build each command line once; a process, which runs only one command, builds it at every start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session")
def new_workspace(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Workspace]:
    """A function that makes a new workspace: Task 0.1 is done, 0.2 has an error, 0.3 is not written, 1.1 needs it, and 1.2 has no tests."""

    def make() -> Workspace:
        workspace = Workspace(tmp_path_factory.mktemp("workspace"))
        workspace.write("pyproject.toml", PYPROJECT)
        workspace.write("course/tasks.toml", tasks_toml())
        workspace.write("minitorch/__init__.py", '"""Tiny."""\n')
        workspace.write("minitorch/sums.py", SUMS)
        workspace.write("tests/__init__.py", "")
        workspace.write("tests/test_sums.py", TESTS)
        return workspace

    return make


@pytest.fixture
def workspace(new_workspace: Callable[[], Workspace]) -> Workspace:
    """A new workspace."""
    return new_workspace()


@pytest.fixture(scope="module")
def clean_process_environment() -> Iterator[None]:
    """A clean environment, for tests whose code under test starts processes."""
    with pytest.MonkeyPatch.context() as patch:
        leave_out_of_environment(patch)
        yield


@pytest.fixture(scope="session")
def adoptions(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, AdoptedWork]:
    """The hand-ins of the original MiniTorch course as adopted, by style; tests must not edit them."""
    return MadeWhenRead(lambda style: adopt(copy_original(style, tmp_path_factory.mktemp(style)), course()))


@pytest.fixture(scope="session")
def adopted_workspaces(adoptions: Mapping[str, AdoptedWork], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The workspaces written from them, by style; a test that edits one restores it."""

    def write(style: str) -> Path:
        folder = tmp_path_factory.mktemp(f"workspace-{style}") / "work"
        with pytest.MonkeyPatch.context() as patch:  # the search for solutions in a handout takes most of the time
            patch.setattr(generate, "handout_files", functools.partial(generate.handout_files, search=False))
            write_workspace(adoptions[style], course(), folder)
        return folder

    return MadeWhenRead(write)
