"""The book: its pages, task boxes, code cells, and the commands that it shows."""

import functools
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from course.manifest import ROOT, course
from tests.test_docs import DOCS, FENCE, PAGES, page_name


def shown_commands(page: Path) -> list[str]:
    """The commands on a page, in blocks and inline."""
    text = page.read_text(encoding="utf-8")
    words = ("make ", "course ", "pytest ", "python ")
    blocks = [body.splitlines() for _, kind, body in FENCE.findall(text) if kind == "text"]
    shown = [line for block in blocks if block[0].startswith(words) for line in block]
    quoted = [code for code in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)) if code.startswith(words)]
    return shown + quoted


@functools.cache
def help_text(*command: str) -> str:
    """The help texts of the programs."""
    return subprocess.run([sys.executable, *command, "--help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_commands_on_pages_exist(page) -> None:
    workspaces = ROOT / "course" / "staff" / "handout" / "templates" / "Makefile.jinja"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8") + workspaces.read_text(encoding="utf-8")
    for command in shown_commands(page):
        program, *arguments = shlex.split(command, comments=True)
        flags = [argument for argument in arguments if argument.startswith("-")]
        if program == "make":
            assert re.search(rf"^{arguments[0]}:", makefile, re.MULTILINE), f"{command}: no such target in the Makefile"
        elif program == "course":
            assert arguments[0] in help_text("-m", "course"), f"{command}: no such command"
            known_flags = help_text("-m", "course", arguments[0])
            if arguments[0] == "programs" and flags:  # what follows a program's name is for the program, which imports PyTorch
                known_flags = (ROOT / "project" / "torch_programs" / f"{arguments[1]}.py").read_text(encoding="utf-8")
            for flag in flags:
                assert flag in known_flags, f"{command}: no such flag"
            known = {task.id for task in course().tasks}
            assert {argument for argument in arguments if re.fullmatch(r"\d\.\d", argument)} <= known, f"{command}: no such task"
        elif program == "pytest":
            marks = [arguments[i + 1] for i, argument in enumerate(arguments) if argument == "-m"]
            assert set(marks) <= {task.mark for task in course().tasks}, f"{command}: no such mark"
        elif program == "python":
            programs = [i for i, argument in enumerate(arguments) if argument.endswith(".py")]
            if arguments[0] == "-m" and arguments[1].endswith("distributed.run") and programs:  # a program has the flags behind its path
                module, of_launcher, arguments = arguments[1], arguments[2 : programs[0]], arguments[programs[0] :]
                assert all(flag in help_text("-m", module) for flag in of_launcher if flag.startswith("-")), command
                flags = [argument for argument in arguments if argument.startswith("-")]
            shown = 1 if arguments[0] != "-m" else 2 if arguments[1].startswith("benchmarks.") else 3
            script = arguments[:shown]
            for flag in [flag for flag in flags if flag not in script]:
                assert flag in help_text(*script), f"{command}: no such flag"


def test_the_first_hour_shows_current_numbers() -> None:
    text = (DOCS / "first_hour.md").read_text(encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "task0_1", "tests/test_operators.py"]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    count = sum("::" in line for line in collected.splitlines())
    assert str(count) in re.findall(r"Of (\d+) tests", text)
    lines = (ROOT / "tests" / "test_operators.py").read_text(encoding="utf-8").splitlines()
    (shown,) = re.findall(r"tests/test_operators\.py:(\d+)\n +(.+)", text)
    assert lines[int(shown[0]) - 1].strip() == shown[1]
