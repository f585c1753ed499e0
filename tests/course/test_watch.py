"""`course` in a terminal: the effects of a save, a key and the end of a run, and the state of the terminal afterwards."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict

import pytest
from rich.console import Console

from course.manifest import load
from course.runner import prefork, watch
from course.runner.failure_report import Card
from course.runner.progress import TaskState
from course.runner.watch import Watcher, progress_line
from course.workspace.activity import make_current
from course.workspace.atomic_files import write_json
from course.workspace.file_changes import Changes
from course.workspace.record import read_record

from .conftest import clean_environment, tasks_toml

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("clean_process_environment", "forked_processes", "single_process")

PATIENCE = 120


class Terminal:
    """A watcher in a workspace, with a first current task; tests press its keys and read its screen."""

    def __init__(self, root, task):
        options = {"force_terminal": True, "no_color": True, "highlight": False, "emoji": False}
        self.console = Console(file=io.StringIO(), record=True, width=80, **options)
        manifest = load(root / "course" / "tasks.toml")
        self.watcher = Watcher(root, manifest, self.console, manifest.task(task), 30)

    def wait(self, happened, what):
        """Step until something has happened."""
        end = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < end, what
            self.watcher.step("")
            time.sleep(0.02)

    def settle(self):
        """Wait until no test run is active; returns the screen."""
        self.wait(lambda: self.watcher.running is None, "the run does not end")
        return self.screen()

    def press(self, *keys):
        """Press keys, and wait for what they start."""
        for key in keys:
            assert self.watcher.step(key)
        return self.settle()

    def wait_for_save(self):
        """Wait until a save is noticed and its run has ended."""
        self.wait(lambda: self.watcher.running is not None, "the save was not noticed")
        return self.settle()

    def screen(self):
        """The current screen."""
        self.watcher._draw()
        self.console.export_text()
        self.watcher._draw()
        return self.console.export_text()


@pytest.fixture(scope="module")
def single_process():
    """A run is not divided among several processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefork, "MAX_PROCESSES", 1)
        yield


@pytest.fixture
def terminal(workspace):
    """Opens the watcher in a simulated terminal."""
    opened = []

    def open_it(task):
        opened.append(Terminal(workspace.root, task))
        return opened[-1]

    yield open_it
    for each in opened:
        each.watcher.close()


@pytest.fixture(scope="module")
def settled(new_workspace, clean_process_environment, forked_processes, single_process):
    """A terminal in which the tests of Task 0.2 have run; tests change no file of its workspace."""
    terminal = Terminal(new_workspace().root, "0.2")
    terminal.settle()
    yield terminal
    terminal.watcher.close()


def test_a_save_runs_the_current_task_and_does_not_move_on(workspace, terminal):
    seen = terminal("0.2")
    screen = seen.settle()
    keys, place = "h hint  l list  c check all  x reset  q quit", "minitorch/sums.py:9  double"
    assert "Smallest input  x = 7\n" in screen
    assert screen.splitlines()[-3:] == ["░" * 40 + "  0 of 5 tasks passed", place, keys]
    assert "Task 0.2 has not passed yet." in seen.press("n")
    workspace.edit("minitorch/sums.py", "add(x, x) if x < 7 else 0", "add(x, x)")
    workspace.edit("minitorch/sums.py", 'raise NotImplementedError("Need to implement for Task 0.3")', "return x * x")
    screen = seen.wait_for_save()
    assert screen.startswith("✓ Task 0.2 Products: passed. Of 3 tests, 3 pass.\n")
    assert screen.splitlines()[-3:] == ["█" * 8 + "░" * 32 + "  1 of 5 tasks passed", place, f"n next  {keys}"]
    screen = seen.press("n")  # Tasks 0.1 and 0.3 run and pass
    assert screen.startswith("✗ Task 1.1 Roots: failing.")
    assert "3 of 5 tasks passed" in screen
    assert read_record(workspace.root).current == "1.1"
    assert not seen.watcher.step("q")


def test_only_changes_in_dependencies_run_the_task_again(workspace, terminal):
    seen = terminal("0.1")
    seen.settle()
    for name in ("minitorch/module1.py", "tests/test_signs.py", "notes.py", "tests/.hidden"):
        workspace.write(name, "# task1_2\n")
    seen.watcher._notice()
    assert seen.watcher.running is None
    workspace.write("tests/conftest.py", "")
    seen.watcher._notice()
    assert seen.watcher.running is not None


def test_the_next_save_cancels_a_run(workspace, terminal):
    endless = "    open('pid', 'w').write(str(__import__('os').getpid()))\n    while True: pass"
    workspace.edit("minitorch/sums.py", "    return x + y", endless)
    seen = terminal("0.1")
    pid = workspace.root / "pid"
    seen.wait(lambda: pid.exists() and pid.read_text(), "the test does not begin")
    first = seen.watcher.running
    workspace.edit("minitorch/sums.py", endless, "    return y + x")
    seen.wait(lambda: seen.watcher.running is not first, "the save was not noticed")
    assert seen.settle().startswith("✓ Task 0.1 Sums: passed.")
    first.join()
    assert first.states == {}
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_the_simplest_failure_so_far_is_shown_while_other_tests_are_running(workspace):
    run = watch.Run(workspace.root, [load(workspace.root / "course" / "tasks.toml").task("0.1")], None, watch.launch)
    assert run.simplest_failure() is None
    for number, order in enumerate((5, 3)):
        path = workspace.root / f"{number}.json.first"
        write_json(path, {"order": order, "card": asdict(Card(f"test_{order}"))})
        run.early.append(path)
    run.early.append(workspace.root / "2.json.first")  # nothing has failed in this process
    assert run.simplest_failure().nodeid == "test_3"


# In the background


def test_no_background_run_starts_while_the_student_is_active(workspace, terminal):
    workspace.course("test", "0.1")
    workspace.edit("minitorch/sums.py", "    return x + y", "    return y + x")
    seen = terminal("0.3")
    seen.settle()
    seen.press("l")
    assert seen.watcher.background is None
    seen.watcher.active -= watch.IDLE
    seen.watcher.step("")
    assert seen.watcher.background is not None


def test_keys_show_hints_the_list_and_all_states(workspace, terminal):
    seen = terminal("0.1")
    seen.settle()
    assert "open after 2 tries, got 1: 1 more try" in " ".join(seen.press("h").split())
    workspace.edit("minitorch/sums.py", "    return x + y", "    return y + x")
    seen.wait_for_save()
    assert "Hint 1 of 2\nA nudge for 0.1.\n" in seen.press("h")
    assert "Hint 2 of 2\nA clue for 0.1.\n" in seen.press("h")
    assert "0.3  Powers" in seen.press("l")
    assert "0.3  Powers" not in seen.press("l")
    assert "‖ blocked by 0.3" in seen.press("c")


def test_a_changed_manifest_is_read_while_the_watcher_runs_and_a_broken_one_is_reported(workspace, terminal):
    seen = terminal("0.1")
    seen.settle()
    more = tasks_toml().rpartition("[[task]]")[2].replace("1.2", "1.3").replace("task1_2", "task1_3")
    workspace.write("course/tasks.toml", f"{tasks_toml()}[[task]]{more}")
    seen.watcher._notice()
    assert "1 of 6 tasks passed" in seen.settle()
    workspace.write("course/tasks.toml", "[[task]\n")
    seen.watcher._notice()
    assert "is not valid TOML" in " ".join(seen.screen().split())
    assert seen.watcher.note.endswith("; run: git diff course/tasks.toml")
    assert "is not valid TOML" in " ".join(seen.press("c").split())


def test_the_watcher_fits_a_narrow_terminal(settled, monkeypatch):
    monkeypatch.setattr(settled.console, "width", 40)
    screen = settled.screen()
    assert "░" * 18 + "  0 of 5 tasks passed" in screen
    assert "h hint" in screen.splitlines()[-2]


def test_reset_asks_for_confirmation_and_any_other_key_cancels(settled, monkeypatch):
    done = []
    monkeypatch.setattr(watch.reset, "reset", lambda root, manifest, id: done.append(id) or "NAME")
    assert "y: yes" in settled.press("x")
    assert "Nothing was reset." in settled.press("n")
    assert done == []
    assert "course reset --restore NAME" in " ".join(settled.press("x", "y").split())
    assert done == ["0.2"]


@pytest.mark.parametrize(("width", "line"), [(80, "█" * 20 + "░" * 20 + "  1 of 2 tasks passed"), (10, "1 of 2 tasks passed")])
def test_the_progress_bar_fills_the_available_width(width, line):
    assert progress_line({"0.1": TaskState("0.1", "passed"), "0.2": TaskState("0.2")}, width).plain == line


def test_a_saved_file_is_noticed_once(workspace, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)  # as if watchdog were not installed
    changes = Changes(workspace.root)
    changes.pause = 0
    assert not changes.happened()
    workspace.write("minitorch/sums.py", "")
    assert changes.happened()
    assert not changes.happened()


def test_file_system_events_report_a_save(workspace):
    pytest.importorskip("watchfiles", reason="watchfiles is not installed, so that files are only looked at")
    changes = Changes(workspace.root)
    changes.pause = 1e9
    end = time.monotonic() + PATIENCE
    number = 0
    while not changes.happened():  # the observer may start a little later
        assert time.monotonic() < end
        number += 1
        workspace.write("minitorch/sums.py", f"# {number}\n")
        time.sleep(0.1)
    changes.close()


# In a real terminal


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_the_terminal_is_restored(workspace):
    check_terminal(workspace, signal.SIGINT, 130)


def check_terminal(workspace, number, code):
    """Start the watcher in a new process, end it by a signal or a key, and look at the terminal."""
    import pty
    import termios

    make_current(workspace.root, load(workspace.root / "course" / "tasks.toml").task("0.3"))
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    environment = clean_environment() | {"TERM": "xterm", "COLUMNS": "80"}
    ends = {"stdin": slave, "stdout": slave, "stderr": slave}
    with subprocess.Popen([sys.executable, "-m", "course"], cwd=workspace.root, env=environment, **ends) as process:
        shown = b""
        while not re.search(rb"x reset  q quit.*x reset  q quit", shown, re.DOTALL):  # drawn when the run begins, and when it ends
            shown += os.read(master, 4096)
        assert termios.tcgetattr(slave)[3] != before[3]
        if number is None:
            os.write(master, b"q")
        else:
            process.send_signal(number)
        process.wait(PATIENCE)
    assert process.returncode == code
    assert termios.tcgetattr(slave) == before
    assert b"Write           minitorch/sums.py:16  square" in re.sub(rb"\x1b\[[0-9;]*m", b"", shown)
    os.close(master)
    os.close(slave)
