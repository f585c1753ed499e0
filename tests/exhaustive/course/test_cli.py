"""The student's command line: most commands run in this process, and tests of the terminal run in a process of their own."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from course.manifest import load
from course.workspace import pristine
from course.workspace.activity import make_current
from course.workspace.record import note_tries, read_record
from tests.course.conftest import EDITS, Workspace, clean_environment
from tests.course.test_cli import shared_workspace


def test_list_shows_known_states(shared_workspace: Workspace) -> None:
    shown = shared_workspace.course("list").stdout
    states = [line.split()[-1] for line in shown.splitlines() if "points" in line]
    assert states == ["passed", "failing", "todo", "0.3", "failing"]
    assert "Unknown:" not in shown
    assert "Stale:" not in shown


def next_tasks(workspace: Workspace) -> set[str]:
    """The tasks that the commands name as the next one; `course next` comes last because it runs tests."""
    commands = (["list"], ["test", "0.1"], ["list"], ["next", "--json"], ["list"], ["status"])
    shown = [workspace.course(*command).stdout for command in commands]
    found = re.findall(r"^Next: Task (\S+)", "\n".join(shown), re.MULTILINE)
    assert len(found) == 5, shown
    return {*found, *(row["id"] for row in json.loads(shown[3]))}


def test_every_command_names_the_same_next_task_after_a_change_of_a_shared_file(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "add(x, x) if x < 7 else 0", "add(x, x)")
    workspace.edit("tests/test_sums.py", "    assert square(double(1)) == 4", "    assert square")
    for id in ("0.1", "0.2"):
        assert workspace.course("test", id).returncode == 0
    workspace.course("start", "0.3")
    workspace.edit("minitorch/sums.py", '"""2 x."""', '"""Twice x."""')  # 0.1 and 0.2 are stale now
    assert next_tasks(workspace) == {"0.3"}
    workspace.edit("minitorch/sums.py", 'raise NotImplementedError("Need to implement for Task 0.3")', "return x * x")
    assert workspace.course("test", "0.3").returncode == 0
    workspace.edit("minitorch/sums.py", '"""Twice x."""', '"""Two times x."""')
    workspace.course("test", "1.1")
    assert next_tasks(workspace) == {"1.1"}


def test_an_incompatible_signature_is_named_below_the_card(workspace: Workspace) -> None:
    sums = workspace.root / "minitorch/sums.py"
    packed = pristine.pack({"minitorch/sums.py": sums.read_bytes()}, ["minitorch/sums.py"])
    (workspace.root / pristine.PATH).write_bytes(packed)
    workspace.edit("minitorch/sums.py", "def add(x, y):", "def add(x):")
    output = workspace.course("test", "0.1").stdout
    assert "\nNote: minitorch/sums.py, line 4: the course calls add(x, y), which your add(x) does not accept\n" in output
    workspace.edit("minitorch/sums.py", "def add(x):", "def add(x, y, carry=0):")
    assert "Note" not in workspace.course("test", "0.2").stdout


@pytest.mark.parametrize("arguments", [("--time-limit", "2", "test", "0.1"), ("test", "0.1", "--time-limit", "2")])
def test_the_time_limit_may_precede_or_follow_the_command(arguments: tuple[str, ...], workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    while True:\n        pass")
    text = " ".join(workspace.course(*arguments).stdout.split())
    found = re.search(r"after ([\d.]+) seconds, in a loop that does not end, minitorch/sums\.py:6: it has no break and no return", text)
    assert found
    assert float(found[1]) >= 2  # and a slow machine has more


def test_no_hint_is_offered_before_it_is_available(workspace: Workspace) -> None:
    assert "hint" not in workspace.course("test", "0.2").stdout
    note_tries(workspace.root, [load(workspace.root / "course/tasks.toml").task("0.2")])
    workspace.edit("minitorch/sums.py", "else 0", "else 1")
    assert "\nHint: course hint 0.2\n" in workspace.course("test", "0.2").stdout


def test_an_unwritten_task_says_which_tasks_come_first(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return square(x) ** 0.25", '    raise NotImplementedError("Need to implement for Task 1.1")')
    lines = workspace.course("test", "1.1").stdout.splitlines()
    assert lines[2:4] == ["First           Task 0.3, which this one needs: course test 0.3", "Write           minitorch/sums.py:21  root"]
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:square"]', 'write = ["minitorch.lost:square"]')
    assert workspace.course("test", "1.1").stdout.splitlines()[2] == lines[3]


def test_a_file_that_cannot_be_imported_blocks_tasks_of_other_files_and_its_line_is_named(workspace: Workspace) -> None:
    workspace.edit("course/tasks.toml", 'write = ["minitorch.sums:sign"]', 'write = ["minitorch.signs:sign"]')
    test = "import pytest\n\nfrom minitorch.sums import add\n\n\n@pytest.mark.task1_2\ndef test_sign():\n    assert add(1, 2) == 3\n"
    workspace.write("tests/test_signs.py", test)
    workspace.edit("minitorch/sums.py", "    return x + y", "    return x +")
    done = workspace.course("test", "1.2")
    assert done.stdout.startswith("‖ Task 1.2")
    assert "\nminitorch/sums.py, line 6, cannot be loaded: SyntaxError: invalid syntax\nNext: course test 0.1\n" in done.stdout
    assert workspace.course("test", "0.1").stdout.startswith("✗ Task 0.1")


def test_a_failing_task_points_to_the_failing_one_that_it_needs(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    return x")
    assert workspace.course("status").returncode == 0
    done = workspace.course("test", "0.2")
    assert done.stdout.endswith("\nTask 0.1, which this one needs, is failing. Start there: course test 0.1\n")


def test_stale_tasks_count_as_passed_until_all_others_have_passed(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "add(x, x) if x < 7 else 0", "add(x, x)")
    workspace.edit("minitorch/sums.py", "** 0.25", "** 0.0")
    workspace.course("test", "0.1")
    workspace.edit("minitorch/sums.py", 'raise NotImplementedError("Need to implement for Task 0.3")', "return x * x")
    assert workspace.course("test", "0.2").stdout.endswith("Next: Task 0.3 Powers, docs/module0/powers.md\n      course test 0.3\n")
    for id in ("0.3", "1.1"):
        workspace.course("test", id)
    workspace.write("tests/test_signs.py", "import pytest\n\n\n@pytest.mark.task1_2\ndef test_sign():\n    assert True\n")
    done = workspace.course("test", "1.2")
    assert done.stdout.endswith("Every task has passed, but 1 task before your last change. To run the tests again: course status\n")
    done = workspace.course("next")  # this command runs them
    assert done.stdout == "Every task has passed. Well done.\n"
    assert json.loads(workspace.course("next", "--json").stdout) == []


def test_status_says_why_tasks_are_unknown_after_a_full_run(workspace: Workspace) -> None:
    workspace.write("tests/test_signs.py", EDITS)
    lines = workspace.course("status").stdout.splitlines()
    assert lines[-3] == "Unknown: a file changed while the tests ran; run: course test 0.1"


def test_next_keeps_the_task_until_it_passes_and_then_moves_on(workspace: Workspace) -> None:
    make_current(workspace.root, load(workspace.root / "course" / "tasks.toml").task("0.2"))
    assert [row["id"] for row in json.loads(workspace.course("next", "--json").stdout)] == ["0.2"]
    workspace.edit("minitorch/sums.py", "add(x, x) if x < 7 else 0", "add(x, x)")
    workspace.edit("tests/test_sums.py", "    assert square(double(1)) == 4", "    assert square")
    done = workspace.course("next")
    assert done.stdout.splitlines()[0] == "Task 0.3 Powers, 10 points: now the current task"
    assert "Write           minitorch/sums.py:14  square" in done.stdout.splitlines()
    assert read_record(workspace.root).current == "0.3"


def test_ctrl_c_ends_the_command_and_its_tests(workspace: Workspace) -> None:
    endless = "    open('pid', 'w').write(str(__import__('os').getpid()))\n    while True: pass"
    workspace.edit("minitorch/sums.py", "    return x + y", endless)
    command = [sys.executable, "-m", "course", "test", "0.1"]
    process = subprocess.Popen(command, cwd=workspace.root, env=clean_environment(), stdout=-1, stderr=-1, text=True)
    pid_file = workspace.root / "pid"
    while not (pid_file.exists() and pid_file.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_modified_given_tests_are_named(workspace: Workspace) -> None:
    tests = workspace.root / "tests/test_sums.py"
    (workspace.root / pristine.PATH).write_bytes(pristine.pack({"tests/test_sums.py": tests.read_bytes()}, ["tests/test_sums.py"]))
    assert "Note" not in workspace.course("test", "0.1").stdout
    workspace.edit("tests/test_sums.py", "assert add(1, 2) == 3", "assert add(1, 2)")
    message = "Note: tests/test_sums.py is not as handed out, and grading uses the given tests; to restore them: course reset tests\n"
    for command in (["test", "0.1"], ["test", "0.2"], ["status"]):
        assert workspace.course(*command).stdout.endswith(message)
    assert workspace.course("reset", "tests").stdout.startswith("The given tests are restored, in tests/test_sums.py.\n")
    assert "assert add(1, 2) == 3" in tests.read_text(encoding="utf-8")


def test_a_debugger_works_in_the_terminal(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "    return x + y", "    breakpoint()\n    return x + y")
    command = [sys.executable, "-m", "course", "test", "0.1", "--debug"]
    session = subprocess.run(command, cwd=workspace.root, env=clean_environment(), input="p x * 41\nc\n", text=True, capture_output=True)
    assert "(Pdb) 41" in session.stdout
    assert session.returncode == 0
    done = workspace.course("test", "--debug")
    assert (done.returncode, done.stderr) == (2, "--debug expected a task, got none; run: course test ID --debug\n")


def test_color_can_be_turned_off(shared_workspace: Workspace) -> None:
    assert "\x1b[" in shared_workspace.python("course", "status", FORCE_COLOR="1").stdout
    assert "\x1b[3" not in shared_workspace.python("course", "status", FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b" not in shared_workspace.python("course", "status").stdout
