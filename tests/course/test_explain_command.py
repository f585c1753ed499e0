"""What `course explain` says when it finds no wrong call."""

import os
import subprocess
import sys

import pytest

from course.explain import command
from course.manifest import ROOT, course
from course.runner.failure_report import Card
from course.runner.progress import Process

CARD = Card("tests/test_operators.py::test_relu", "0.1")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("TypingError: Untyped global name 'reversed'", "As plain Python this code is right, but numba cannot compile it."),
        ("UnsupportedBytecodeError: Use of unsupported opcode", "As plain Python this code is right, but numba cannot compile it."),
        (
            "AssertionError: expected 1, got 2",
            "The test passes when its kernels run as plain Python in one thread: the mistake shows only in",
        ),
        ("ValueError: expected 1 dimension, got 2", "The test passes when its kernels run as plain Python in one thread: the mistake"),
    ],
)
def test_explain_tells_a_compiler_error_from_a_race(error: str, expected: str) -> None:
    assert command._reason({"passed": True, "calls": 0}, {"NUMBA_DISABLE_JIT": "1"}, Card("", error=error)).startswith(expected)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("import numpy", "course explain compares calls with NumPy, which is not installed here; install it: make app"),
        (
            "print('loading\\nno space left on device')",
            "The process that reran the test ended without a result; its last line: no space",
        ),
        ("pass", "The process that reran the test ended without a result."),
    ],
)
def test_explain_says_why_the_rerun_of_a_test_has_no_result(monkeypatch, program: str, expected: str) -> None:
    def launch(arguments, root, env):
        alone = [sys.executable, "-I", "-S", "-c", program]  # without installed packages
        return Process(alone, cwd=root, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    monkeypatch.setattr(command, "launch", launch)
    found = command.explain_failure(ROOT, course().task("0.1"), CARD, 5)
    assert found.finding is None
    assert found.reason.startswith(expected)
