"""Progress: the states that a test run gives, and their cache, with real processes."""

import re

import pytest

from course.runner import progress
from course.runner.progress import run_tasks
from tests.course.test_progress import *


@pytest.fixture(scope="module")
def forked_processes():
    """Runs start new processes."""


@pytest.mark.parametrize("shares", [2, 5])
def test_tests_distributed_over_several_processes_give_the_same_states(workspace_with_results, shares):
    workspace, states = workspace_with_results
    assert run_tasks(ALL, workspace.root, shares=shares) == states


HANGS = "@pytest.mark.task1_2\ndef test_that_hangs():\n    while True:\n        pass\n"


def test_a_test_that_hangs_in_one_of_several_processes_fails_its_task(workspace):
    workspace.write("tests/test_signs.py", f"import pytest\n\n\n@pytest.mark.task1_2\ndef test_sign():\n    pass\n\n\n{HANGS}")
    state = run_tasks(["1.2"], workspace.root, 2, shares=2)["1.2"]
    assert (state.state, state.passed, state.failing, state.total) == ("failing", 1, 1, 2)
    assert state.card.nodeid == "tests/test_signs.py::test_that_hangs"


def test_an_endless_test_fails_its_task_and_the_other_tasks_still_get_a_state(workspace):
    endless = "    while x is not None:\n        pass\n    raise NotImplementedError("
    workspace.edit("minitorch/sums.py", "    raise NotImplementedError(", endless)
    states = run_tasks(["0.1", "0.2", "0.3"], workspace.root, time_limit=4)
    assert states["0.1"].state == "passed"
    assert re.fullmatch(
        r"stopped while it was running, after [\d.]+ seconds, in a loop that does not end, minitorch/sums\.py:16: "
        r"nothing that could end it changed in \d+ iterations \(x = -?\d+\)",
        states["0.3"].card.error,
    )
    assert (states["0.3"].card.place.file, states["0.3"].card.place.function) == ("minitorch/sums.py", "square")
    assert [states[id].state for id in ("0.2", "0.3")] == ["failing", "failing"]


def test_a_failure_before_a_hanging_test_is_the_one_shown(workspace):
    workspace.write("tests/test_signs.py", f"import pytest\n\n\n@pytest.mark.task1_2\ndef test_sign():\n    assert 1 == 2\n\n\n{HANGS}")
    state = state_of(workspace, "1.2", time_limit=2)
    assert (state.state, state.failing, state.total) == ("failing", 2, 2)
    assert (state.card.nodeid, state.card.yours) == ("tests/test_signs.py::test_sign", "1")


@pytest.mark.parametrize("shares", [1, 2])
def test_the_card_shows_the_first_failing_test_even_if_the_first_to_run_hangs(workspace, shares):
    workspace.write("tests/test_signs.py", FAILS_IN_ORDER.replace("assert 1 == 3", "while True: pass"))
    state = run_tasks(["1.2"], workspace.root, 1, first=HARD, shares=shares)["1.2"]
    assert state.card.nodeid == "tests/test_signs.py::test_simple"
    assert (state.failing, state.total) == (2, 2)


@pytest.mark.parametrize("shares", [1, 2])
def test_a_hanging_test_comes_before_a_failure_after_it(workspace, shares):
    workspace.write("tests/test_signs.py", FAILS_IN_ORDER.replace("assert 1 == 2", "while True: pass"))
    state = run_tasks(["1.2"], workspace.root, 1, shares=shares)["1.2"]
    assert (state.card.nodeid, state.card.error.split(",")[0]) == ("tests/test_signs.py::test_simple", "stopped while it was running")


def test_the_card_does_not_depend_on_the_other_tasks_of_the_run(workspace):
    for task, files in {"1.1": ["one", "two"], "1.2": ["two", "one"]}.items():
        names = ", ".join(f'"minitorch.{file}:f"' for file in files)
        workspace.edit("course/tasks.toml", f'write = ["minitorch.sums:{ {"1.1": "root", "1.2": "sign"}[task] }"]', f"write = [{names}]")
    both = "import pytest\n\n\n@pytest.mark.task1_1\n@pytest.mark.parametrize('x', [1])\ndef test_a(x):\n    assert 1 == 2\n"
    for name in ("one", "two"):
        workspace.write(f"tests/test_{name}.py", both + both.replace("task1_1", "task1_2").replace("test_a", "test_b"))
    assert run_tasks(["1.1", "1.2"], workspace.root)["1.2"].card.nodeid == "tests/test_two.py::test_b[1]"
    assert run_tasks(["1.2"], workspace.root)["1.2"].card.nodeid == "tests/test_two.py::test_b[1]"


def test_the_time_limit_applies_to_each_test(workspace):
    works = "    end = time.process_time() + 2\n    while time.process_time() < end:\n        pass\n"
    slow = f"@pytest.mark.task1_2\n@pytest.mark.parametrize('n', [1, 2])\ndef test_sign(n):\n{works}"
    workspace.write("tests/test_signs.py", f"import time\n\nimport pytest\n\n\n{slow}")
    assert state_of(workspace, "1.2", time_limit=3.5).state == "passed"


@pytest.mark.parametrize(("seconds", "state"), [(4, "passed"), (60, "failing")])
def test_time_spent_waiting_counts_a_quarter(workspace, seconds, state):
    test = f"import time\n\nimport pytest\n\n\n@pytest.mark.task1_2\ndef test_sign():\n    time.sleep({seconds})\n"
    workspace.write("tests/test_signs.py", test)
    assert state_of(workspace, "1.2", time_limit=2).state == state


def test_code_that_hangs_at_import_fails(workspace):
    workspace.edit("minitorch/sums.py", '"""The code of the tiny course."""', "while True:\n    pass")
    state = state_of(workspace, "0.1", time_limit=0.5)
    assert state.card.error.startswith("stopped while the tests were loading, after ")
    assert (state.card.place.file, state.card.place.line) in (("minitorch/sums.py", 1), ("minitorch/sums.py", 2))


def test_code_that_cannot_be_stopped_is_killed(workspace, monkeypatch):
    stubborn = "    while True:\n        try:\n            while True: pass\n        except BaseException: pass"
    workspace.edit("minitorch/sums.py", "    return x + y", stubborn)
    monkeypatch.setattr(progress, "RUN_LIMIT", 2)
    monkeypatch.setattr(progress, "GRACE", 0.2)
    error = state_of(workspace, "0.1", time_limit=2).card.error
    assert re.fullmatch("stopped (while it was running|when it did not answer); look for a loop that does not end", error)
