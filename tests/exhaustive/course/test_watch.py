"""`course` in a terminal: the effects of a save, a key and the end of a run, and the state of the terminal afterwards."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course.runner import watch
from course.workspace.record import read_record
from tests.course.conftest import EDITS, clean_environment
from tests.course.test_watch import PATIENCE, check_terminal, terminal

pytestmark = pytest.mark.usefixtures("clean_process_environment")


def test_the_first_failure_is_shown_while_other_tests_are_running(workspace, terminal):
    waits = "import pathlib, time\n\n\ndef wait():\n    while not pathlib.Path('go').exists():\n        time.sleep(0.02)\n\n\n"
    workspace.write("tests/waiting.py", waits)
    workspace.edit("tests/test_sums.py", "def test_double_of_nothing():\n", "def test_double_of_nothing():\n    wait()\n")
    workspace.edit("tests/test_sums.py", "from minitorch.sums", "from tests.waiting import wait\nfrom minitorch.sums")
    workspace.write("go", "")
    seen = terminal("0.2")
    assert "Smallest input  x = 7\n" in seen.settle()
    (workspace.root / "go").unlink()
    workspace.edit("minitorch/sums.py", "x < 7", "x < 9")  # test_double fails as before, but comes after the waiting test
    seen.wait(lambda: seen.watcher.early, "the failure is not shown")
    screen = seen.screen()
    assert screen.startswith("✗ Task 0.2 Products: failing.\n")
    assert "Smallest input  x = 9\n" in screen
    assert "Running the tests of Task 0.2 …\n" in screen
    workspace.write("go", "")
    assert seen.settle().startswith("✗ Task 0.2 Products: failing. Of 3 tests, 1 passes, 1 fails, 1 waits for another task.\n")
    assert seen.watcher.early is None


SIMPLE_AND_HARD = """import pytest

from minitorch.sums import sign


@pytest.mark.task1_2
def test_simple():
    assert sign(0) == 0


@pytest.mark.task1_2
def test_hard():
    assert sign(-1) == -1
"""


def test_a_simpler_failure_is_shown_although_the_last_failing_test_runs_first(workspace, terminal):
    sums = (workspace.root / "minitorch/sums.py").read_text(encoding="utf-8")
    workspace.write("tests/test_signs.py", SIMPLE_AND_HARD)
    workspace.write("minitorch/sums.py", sums + "\n\ndef sign(x):\n    return abs(x)\n")
    seen = terminal("1.2")
    assert "pytest tests/test_signs.py::test_hard\n" in seen.settle()
    workspace.write("minitorch/sums.py", sums + "\n\ndef sign(x):\n    return abs(x) + 1\n")
    screen = seen.wait_for_save()
    assert "pytest tests/test_signs.py::test_simple\n" in screen
    assert "test_hard" not in screen
    assert "pytest tests/test_signs.py::test_simple\n" in workspace.course("test", "1.2").stdout


@pytest.fixture
def no_idle_time(monkeypatch):
    """Background runs begin without waiting for the student to pause."""
    monkeypatch.setattr(watch, "IDLE", 0)


def wait_for_background(seen):
    """Wait until a background run has begun and ended; returns the screen."""
    seen.wait(lambda: seen.watcher.background, "no background run begins")
    begun = seen.screen()
    seen.wait(lambda: seen.watcher.background is None, "the background run does not end")
    return begun


@pytest.mark.usefixtures("no_idle_time")
def test_stale_tasks_rerun_in_the_background_and_regressions_are_named(workspace, terminal):
    workspace.course("test", "0.1")
    workspace.edit("minitorch/sums.py", "    return x + y", "    return x + y + (x > 99)")
    seen = terminal("0.2")
    screen = seen.settle()
    assert "1 of 5 tasks passed" in screen  # a stale task counts until it runs again
    card = screen[: screen.index("█")].rstrip()
    assert "Smallest input  x = 7\n" in card
    begun = wait_for_background(seen)
    assert begun.startswith(card)
    assert "Checking Task 0.1 again, which passed before the last change …\n" in begun
    assert seen.watcher.states["0.1"].state == "passed"
    assert seen.screen().startswith(card)

    workspace.edit("minitorch/sums.py", "    return x + y + (x > 99)", "    return x + y - 1")
    seen.wait_for_save()
    wait_for_background(seen)
    screen = seen.screen()
    assert "Task 0.1 Sums no longer passes: course test 0.1\n" in screen
    assert "0 of 5 tasks passed" in screen
    assert screen.startswith("✗ Task 0.2 Products: failing.")
    assert read_record(workspace.root).current == "0.2"

    workspace.edit("minitorch/sums.py", "    return x + y - 1", "    return y + x")
    seen.wait_for_save()
    wait_for_background(seen)
    assert "no longer passes" not in seen.screen()


@pytest.mark.usefixtures("no_idle_time")
def test_a_save_stops_the_background_run(workspace, terminal):
    workspace.course("test", "0.1")
    workspace.edit("minitorch/sums.py", "    return x + y", "    while x == 1: pass\n    return x + y")
    seen = terminal("0.3")
    seen.settle()
    seen.wait(lambda: seen.watcher.background, "no background run begins")
    first = seen.watcher.background
    workspace.edit("minitorch/sums.py", "    while x == 1: pass\n", "")
    assert seen.wait_for_save().startswith("○ Task 0.3 Powers: todo.")
    assert seen.watcher.background is not first
    first.join(PATIENCE)
    assert not first.is_alive()
    assert first.states == {}


@pytest.mark.usefixtures("no_idle_time")
def test_a_file_that_changes_during_a_background_run_does_not_cause_endless_runs(workspace, terminal, monkeypatch):
    workspace.course("test", "0.1")
    workspace.write("tests/test_signs.py", EDITS.replace('write_text("")', 'write_text(str(__import__("time").time()))'))
    seen = terminal("0.3")
    seen.settle()
    monkeypatch.setattr(seen.watcher.changes, "happened", lambda: False)
    wait_for_background(seen)
    assert seen.watcher.states["0.1"].state == "stale"
    for _ in range(5):
        seen.watcher.step("")
    assert seen.watcher.background is None


def test_after_the_last_task_stale_tasks_rerun_and_failing_ones_become_current(workspace, terminal):
    workspace.write("tests/test_signs.py", "import pytest\n\n\n@pytest.mark.task1_2\ndef test_sign():\n    assert True\n")
    workspace.edit("minitorch/sums.py", "add(x, x) if x < 7 else 0", "add(x, x)")
    workspace.edit("minitorch/sums.py", 'raise NotImplementedError("Need to implement for Task 0.3")', "return x * x")
    workspace.edit("minitorch/sums.py", "** 0.25", "** 0.0")
    assert workspace.course("status").stdout.endswith("Every task has passed. Well done.\n")
    seen = terminal("1.2")
    seen.settle()
    assert "Every task has passed. Well done.\n" in seen.press("n")
    workspace.edit("minitorch/sums.py", "    return add(x, x)", "    return add(x, x) if x < 7 else 0")
    assert seen.wait_for_save().startswith("✓ Task 1.2 Signs: passed.")
    screen = seen.press("n")
    assert "Smallest input  x = 7\n" in screen
    assert "Task 0.2 is failing, so it comes first." in screen
    assert read_record(workspace.root).current == "0.2"


def test_the_waiting_process_has_imported_pytest_and_no_student_code(workspace):
    for name in ("minitorch/__init__.py", "tests/conftest.py"):
        workspace.write(name, f"import pathlib\npathlib.Path({name!r} + '.loaded').write_text('')\n")
    command = [sys.executable, "-X", "importtime", "-m", "course.runner.prefork"]
    done = subprocess.run(
        command, cwd=workspace.root, env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"pytest", "hypothesis", "hypothesis.internal.conjecture.engine"} <= loaded
    assert done.stdout == ""
    assert not list(workspace.root.rglob("*.loaded"))
    workspace.python("pytest", "-q")
    assert len(list(workspace.root.rglob("*.loaded"))) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (None, 0)])
def test_the_terminal_is_restored(workspace, number, code):
    check_terminal(workspace, number, code)
