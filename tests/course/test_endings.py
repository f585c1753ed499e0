"""Every way in which a student's code can end, crash, corrupt or silence the process of its tests."""

import json
import time

import pytest

from course.runner.progress import run_tasks
from course.runner.report_file import read_report

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("clean_process_environment", "forked_processes")

SUMS = """
import gc, os, signal, sys, threading, time

class Odd(Exception):
    def __str__(self):
        raise ValueError

class Silent:
    def __repr__(self):
        raise ValueError

class Late:
    def __init__(self):
        self.itself = self
    def __del__(self):
        raise ValueError("too late")

def add(x, y):
    {body}
"""

TESTS = """
import pytest
from minitorch.sums import add

@pytest.mark.task0_1
def test_before(): pass

@pytest.mark.task0_1
def test_add():
    assert add(1, 2) == 3

@pytest.mark.task0_1
def test_after(): pass
"""


def state_with(workspace, body):
    """The state of Task 0.1, whose second test calls a function with this body."""
    workspace.write("minitorch/sums.py", SUMS.format(body=body))
    for path in (workspace.root / "tests").glob("test_*.py"):
        path.unlink()
    workspace.write("tests/test_sums.py", TESTS)
    return run_tasks(["0.1"], workspace.root)["0.1"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("os._exit(0)", "the run ended during this test; a call such as os._exit, or a crash"),
        ("os.abort()", "the run ended during this test; "),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the run ended during this test; a call such as os._exit, or a crash"),
        (
            "pytest = sys.modules['pytest']; pytest.exit('enough')",
            "the run ended during this test; it last printed: _pytest.outcomes.Exit: enough",
        ),
    ],
)
def test_code_that_ends_the_process_fails_and_the_other_tests_did_not_run(workspace, body, error):
    state = state_with(workspace, body)
    assert (state.state, state.passed, state.failing, state.total) == ("failing", 1, 1, 3)
    assert (state.card.nodeid, state.card.says) == ("tests/test_sums.py::test_add", "Add.")
    assert state.card.error.startswith(error)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("raise Odd", "Odd: its message cannot be shown, because __str__ raises ValueError"),
        ("sys.exit(0)", "SystemExit: 0"),
        ("return Silent()", None),
        ("return add(x, y)", "RecursionError: maximum recursion depth exceeded"),
        ("sys.stdout = sys.stderr = None; return 4", None),
        ("sys.modules.clear(); return 4", None),
    ],
)
def test_code_that_fails_in_an_odd_way_fails_alone(workspace, body, error):
    state = state_with(workspace, body)
    assert (state.state, state.failing, state.total) == ("failing", 1, 3)
    assert state.card.nodeid == "tests/test_sums.py::test_add"
    assert (state.card.error or "").startswith(error or "")


@pytest.mark.parametrize("body", ["threading.Thread(target=time.sleep, args=(60,)).start(); return 3", "Late(); return 3"])
def test_what_happens_after_the_tests_loses_no_result(workspace, body):
    start = time.monotonic()
    state = state_with(workspace, body)
    assert (state.state, state.passed, state.total) == ("passed", 3, 3)
    assert time.monotonic() - start < 30, "the run waited for a thread"


def test_a_journal_with_a_last_line_that_is_cut_off_is_read(tmp_path):
    rows = [{"nodeid": "a::test_one", "task": "0.1", "state": "passed", "needs": None, "card": None, "order": 0}]
    lines = [
        json.dumps({"collected": [["a::test_one", "0.1", 0], ["a::test_two", "0.1", 1], ["a::test_three", "0.2", 2]]}),
        *map(json.dumps, rows),
    ]
    (tmp_path / "report.json.journal").write_text("\n".join([*lines, '{"nodeid": "a::test_t']), encoding="utf-8")
    report = read_report(tmp_path / "report.json", "one\n\n")
    assert [(row["nodeid"], row["state"]) for row in report["tests"]] == [
        ("a::test_one", "passed"),
        ("a::test_two", "failing"),
        ("a::test_three", "not run"),
    ]
    assert report["tests"][1]["card"]["error"] == "the run ended during this test; it last printed: one"
    assert read_report(tmp_path / "report.json", killed=True)["interrupted"]["nodeid"] == "a::test_two"


def test_a_run_without_a_journal_has_no_rows(tmp_path):
    assert read_report(tmp_path / "report.json")["tests"] == []
    assert (
        read_report(tmp_path / "report.json", killed=True)["interrupted"]["error"]
        == "stopped when it did not answer; look for a loop that does not end"
    )
