"""What `course explain` says when it finds no wrong call."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from course.explain import command
from course.manifest import ROOT, course
from course.runner.failure_report import Card
from course.runner.progress import Process

pytest_plugins = "tests.course.forks"

TWO_TESTS = """
import pathlib

import pytest

from minitorch.sums import add

@pytest.mark.task0_1
def test_add():
    assert add(1, 2) == 3

@pytest.mark.task0_1
def test_other():
    with pathlib.Path("ran").open("a") as file:
        file.write("x")
"""

CARD = Card("tests/test_operators.py::test_relu", "0.1")

FINDING = {"task": "0.1", "function": "relu", "file": "minitorch/operators.py", "line": 1, "calls": 0}
FINDING["wrong"] = {"place": "the value", "rows": [], "oracle": "NumPy"}


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


def test_explain_says_that_an_index_function_must_compile() -> None:
    """A test of Module 2 that compiles fails with the compiler off as well."""
    card = Card("", error="TypingError: Untyped global name 'reversed'")
    assert command._reason({"passed": False, "calls": 0}, {}, card).startswith("numba cannot compile this code, which a kernel of Module 3")


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


def test_a_rerun_may_take_longer_on_a_slow_machine(monkeypatch) -> None:
    limits = []

    class Endless:
        def communicate(self, timeout):
            limits.append(timeout)
            raise subprocess.TimeoutExpired("", timeout)

        def wait(self):
            pass

    monkeypatch.setattr(command, "launch", lambda *_: Endless())
    monkeypatch.setattr(command, "kill_tree", lambda process: None)
    for slowness, seconds in ((1.0, 100), (3.0, 300)):
        monkeypatch.setattr(command, "slowness", lambda slowness=slowness: slowness)
        found = command.explain_failure(ROOT, course().task("0.1"), CARD, 5)
        assert found.reason == f"The test did not end within {seconds} seconds while its calls were recorded."
    assert limits == [100, 300]


def test_after_a_change_only_the_test_that_failed_last_runs_again(workspace, monkeypatch, forked_processes):
    workspace.write("minitorch/sums.py", "def add(x, y):\n    return x * y\n")
    workspace.write("tests/test_sums.py", TWO_TESTS)
    for path in (workspace.root / "tests").glob("test_*.py"):
        if path.name != "test_sums.py":
            path.unlink()
    ran = workspace.root / "ran"
    assert workspace.course("explain", "0.1").returncode == 1
    assert ran.read_text() == "x"
    workspace.edit("minitorch/sums.py", "x * y", "x * y * 1")
    done = workspace.course("explain", "0.1")
    assert (done.returncode, ran.read_text()) == (1, "x"), "the other test did not run"
    assert done.stdout.startswith("✗ Task 0.1 Sums: failing")
    workspace.edit("minitorch/sums.py", "x * y * 1", "x + y")
    done = workspace.course("explain", "0.1")
    assert (done.returncode, ran.read_text()) == (0, "xx")
    assert "No test fails, so there is nothing to explain." in done.stdout


@pytest.mark.parametrize(
    ("error", "finding", "function", "reason"),
    [
        ("AssertionError", FINDING, "relu", ""),
        ("AssertionError", None, "", "Recording its calls takes longer than the test itself, which may end."),
        ("stopped while it was running, after 5 seconds", FINDING, "", "    while True:"),
    ],
)
def test_a_test_that_takes_too_long_only_while_it_is_recorded_is_not_called_endless(monkeypatch, error, finding, function, reason):
    hang = {"file": "minitorch/operators.py", "line": 1, "source": "while True:", "function": "relu", "iterations": []}
    about = {"passed": False, "calls": 1, "finding": finding, "warnings": [], "details": "", "hang": hang}

    def launch(arguments, root, env):
        for argument in arguments:
            name, _, path = argument.partition("=")
            if name in ("--course-divergence", "--course-report"):
                pathlib.Path(path).write_text(json.dumps(about | {"tests": []}), encoding="utf-8")
        return Process([sys.executable, "-I", "-S", "-c", "pass"], cwd=root, env=os.environ, stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(command, "launch", launch)
    monkeypatch.setattr(command, "read_report", lambda path: {"tests": []})
    found = command.explain_failure(ROOT, course().task("0.1"), Card("tests/test_operators.py::test_relu", "0.1", error=error), 5)
    assert (found.finding.function if found.finding else "", found.reason.splitlines()[-1:]) == (function, [reason] if reason else [])
