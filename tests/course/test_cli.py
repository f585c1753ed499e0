"""The student's command line: most commands run in this process, and tests of the terminal run in a process of their own."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from course.cli import main
from course.cli.problem import Problem
from course.manifest import load
from course.runner.failure_report import Card, Place, render, rerun_commands, sentence
from course.workspace import pristine
from course.workspace.record import note_tries, read_record

from .conftest import EDITS, Workspace

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

CARD = """\
The test says   double(x) is twice x.
Smallest input  x = 7
Expected        14
Yours           0
Test line       tests/test_sums.py:29
                    assert double(x) == 2 * x
Your code       minitorch/sums.py:9  double
Run again       course test 0.2
                pytest tests/test_sums.py::test_double
"""


@pytest.fixture(scope="module")
def shared_workspace(new_workspace: Callable[[], Workspace]) -> Workspace:
    """A workspace whose states are known; tests must not edit it."""
    workspace = new_workspace()
    assert workspace.course("status").returncode == 0
    return workspace


def test_list_shows_all_tasks_and_runs_nothing(workspace: Workspace) -> None:
    done = workspace.course("list")
    assert done.returncode == 0
    assert [line.split() for line in done.stdout.splitlines()][:4] == [
        ["Module", "0", "First"],
        ["0.1", "Sums", "10", "points", "?", "unknown"],
        ["0.2", "Products", "10", "points", "?", "unknown"],
        ["0.3", "Powers", "10", "points", "?", "unknown"],
    ]
    assert done.stdout.splitlines()[-3:] == [
        "Unknown: not tested since the last change. To run the tests: course status",
        "Next: Task 0.1 Sums, docs/module0/sums.md",
        "      course test 0.1",
    ]
    assert not (workspace.root / ".course").exists()


def test_a_task_that_passed_before_a_change_is_stale_until_it_runs_again(workspace: Workspace) -> None:
    workspace.course("test", "0.1")
    workspace.edit("minitorch/sums.py", "    return x + y", "    return y + x")
    done = workspace.course("list")
    assert done.stdout.splitlines()[1].split() == ["0.1", "Sums", "10", "points", "↻", "stale"]
    assert "\nStale: passed before the last change. To run the tests: course status\n" in done.stdout
    assert [row["state"] for row in json.loads(workspace.course("list", "--json").stdout)] == ["stale", *["unknown"] * 4]
    workspace.edit("minitorch/sums.py", "    return y + x", "    return x")
    status = workspace.course("status")
    assert "0.1  Sums" in status.stdout
    assert json.loads(workspace.course("status", "--json").stdout)[0]["state"] == "failing"


def test_a_regression_comes_before_unwritten_tasks(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "add(x, x) if x < 7 else 0", "add(x, x)")
    workspace.edit("tests/test_sums.py", "    assert square(double(1)) == 4", "    assert square")
    workspace.course("start", "0.2")
    assert workspace.course("status").stdout.splitlines()[-1].split()[-1] == "0.3"
    workspace.edit("minitorch/sums.py", "add(x, x)", "2 * x")
    workspace.edit("minitorch/sums.py", "    return x + y", "    return x")
    assert workspace.course("status").stdout.splitlines()[-1].split()[-1] == "0.1"
    assert [row["id"] for row in json.loads(workspace.course("next", "--json").stdout)] == ["0.1"]


def test_status_shows_points_tests_states_and_the_next_task(shared_workspace: Workspace) -> None:
    done = shared_workspace.course("status")
    assert done.returncode == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines == [
        "Module 0 First ██████░░░░░░░░░░░░░░ 10 of 30 points",
        "0.1 Sums 1 of 1 tests ✓ passed",
        "0.2 Products 1 of 3 tests ✗ failing",
        "0.3 Powers 0 of 2 tests ○ todo",
        "Module 1 Second ░░░░░░░░░░░░░░░░░░░░ 0 of 20 points",
        "1.1 Roots 0 of 1 tests ‖ blocked by 0.3",
        "1.2 Signs 0 of 0 tests ✗ failing",
        "Next: Task 0.2 Products, docs/module0/products.md",
        "course test 0.2",
    ]


def test_extra_points_are_shown_apart_and_added_on_top(workspace: Workspace) -> None:
    for id in ("0.1", "1.1", "1.2"):
        workspace.edit("course/tasks.toml", f'id = "{id}"\n', f'id = "{id}"\nextra = true\n')
    assert workspace.course("list").stdout.splitlines()[1].split()[:5] == ["0.1", "Sums", "10", "extra", "points"]
    assert [" ".join(line.split()) for line in workspace.course("status").stdout.splitlines() if line.startswith("Module")] == [
        "Module 0 First ██████████░░░░░░░░░░ 10 of 20 points",
        "Module 1 Second ░░░░░░░░░░░░░░░░░░░░ 0 of 20 extra points",
    ]


def test_status_runs_nothing_when_nothing_has_changed(shared_workspace: Workspace) -> None:
    cache = shared_workspace.root / ".course" / "results.json"
    before = cache.stat().st_mtime_ns
    shared_workspace.course("status")
    assert cache.stat().st_mtime_ns == before


FAILURE = "✗ Task 0.2 Products: failing. Of 3 tests, 1 passes, 1 fails, 1 waits for another task.\n\n"


@pytest.mark.parametrize(
    ("arguments", "code", "output"),
    [
        (["test", "0.2"], 1, f"{FAILURE}{CARD}\nTraceback: course test 0.2 -v\n"),
        (
            [],
            1,
            f"{FAILURE}{CARD}\nTraceback: course test 0.2 -v\n"
            "\nThis is not a terminal, so the tests ran once. To watch, run in a terminal: course\n",
        ),
        (
            ["test", "0.1"],
            0,
            "✓ Task 0.1 Sums: passed. Of 1 test, 1 passes.\nNext: Task 0.2 Products, docs/module0/products.md\n      course test 0.2\n",
        ),
        (
            ["test", "0.3"],
            1,
            "○ Task 0.3 Powers: todo. Of 2 tests, 2 wait for your code.\n\n"
            "Write           minitorch/sums.py:16  square\n"
            "Read            docs/module0/powers.md\n"
            "Then run        course test 0.3\n",
        ),
        (
            ["test", "1.1"],
            1,
            "‖ Task 1.1 Roots: blocked. Of 1 test, 1 waits for another task.\n\n"
            "It needs the code of Task 0.3, which is not written yet. Next: course test 0.3\n",
        ),
    ],
    ids=["a failing property", "without a command and a terminal", "a passing task", "an unwritten task", "a blocked task"],
)
def test_a_state_is_shown_with_what_to_do_next(shared_workspace: Workspace, arguments: list[str], code: int, output: str) -> None:
    done = shared_workspace.course(*arguments)
    assert (done.returncode, done.stdout) == (code, output)


def test_the_arguments_of_a_students_own_test_are_free(workspace: Workspace) -> None:
    tests = workspace.root / "tests/test_sums.py"
    (workspace.root / pristine.PATH).write_bytes(pristine.pack({"tests/test_sums.py": tests.read_bytes()}, ["tests/test_sums.py"]))
    workspace.edit("course/tasks.toml", '"minitorch.sums:double"', '"minitorch.sums:double", "tests.test_sums:test_double_of_nothing"')
    workspace.edit("tests/test_sums.py", "def test_double_of_nothing():", "@given(integers(0, 0))\ndef test_double_of_nothing(x):")
    assert "which your" not in workspace.course("test", "0.2").stdout


def test_the_first_open_task_is_the_default(shared_workspace: Workspace) -> None:
    done = shared_workspace.course("test")
    assert (done.returncode, CARD in done.stdout) == (1, True)


def test_verbose_shows_the_traceback(shared_workspace: Workspace) -> None:
    done = shared_workspace.course("test", "0.2", "-v")
    assert "E   assert 0 == (2 * 7)" in done.stdout
    assert "Traceback: course test" not in done.stdout


def test_all_failing_tests_are_listed_one_per_line(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "return add(x, x) if x < 7 else 0", "return 1")
    done = workspace.course("test", "0", "--all")
    assert done.returncode == 1
    assert "\ntests/test_sums.py::test_double_of_nothing  expected 0, got 1\n" in done.stdout
    assert "\ntests/test_sums.py::test_double  expected 0, got 1\n" in done.stdout
    assert "The test says" not in done.stdout
    assert "\nAll failing tests: course test 0.2 --all\n" in workspace.course("test", "0.2").stdout


def test_a_task_without_tests_says_so(shared_workspace: Workspace) -> None:
    done = shared_workspace.course("test", "1.2")
    assert done.returncode == 1
    assert "✗ Task 1.2 Signs: failing.\n" in done.stdout
    assert "Error           no test under tests/ carries the mark task1_2\n" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_whole_module_can_be_tested(shared_workspace: Workspace) -> None:
    done = shared_workspace.course("test", "0")
    assert done.returncode == 1
    assert [line[:10] for line in done.stdout.splitlines()[:3]] == ["✓ Task 0.1", "✗ Task 0.2", "○ Task 0.3"]
    assert CARD in done.stdout


def test_a_student_works_through_a_task(workspace: Workspace) -> None:
    workspace.edit("minitorch/sums.py", "add(x, x) if x < 7 else 0", "add(x, x)")
    assert "✗" not in workspace.course("test", "0.2").stdout
    workspace.edit("minitorch/sums.py", 'raise NotImplementedError("Need to implement for Task 0.3")', "return x * x")
    assert workspace.course("test", "0.3").returncode == 0
    assert workspace.course("test", "0.2").returncode == 0
    workspace.write("tests/test_signs.py", "import pytest\n\n\n@pytest.mark.task1_2\ndef test_sign():\n    assert True\n")
    workspace.edit("minitorch/sums.py", "** 0.25", "** 0.0")
    done = workspace.course("test")
    assert done.returncode == 0
    assert done.stdout.endswith("Every task has passed. Well done.\n")


@pytest.mark.parametrize("arguments", [["0.1"], []])
def test_a_file_that_changed_during_the_run_is_reported(workspace: Workspace, arguments: list[str]) -> None:
    workspace.write("tests/test_signs.py", EDITS)
    done = workspace.course("test", *arguments)
    lines = ["? Task 0.1 Sums: unknown.", "", "a file changed while the tests ran; run: course test 0.1"]
    assert (done.returncode, done.stdout.splitlines()) == (1, lines)


def test_hints_become_available_one_by_one_after_two_tries(workspace: Workspace) -> None:
    task = load(workspace.root / "course" / "tasks.toml").task("0.1")
    closed = workspace.course("hint", "0.1", "--json")
    assert (closed.returncode, json.loads(closed.stdout)) == (2, {"task": "0.1", "text": None, "missing_tries": 2})
    message = "the hints of task 0.1 open after 2 tries, got 0: 2 more tries, each with different code; run: course test 0.1\n"
    assert closed.stderr == message
    note_tries(workspace.root, [task])
    workspace.edit("minitorch/sums.py", "    return x + y", "    return x - y")
    note_tries(workspace.root, [task])
    first, last = workspace.course("hint", "0.1"), workspace.course("hint", "0.1")
    assert first.returncode == last.returncode == 0
    assert first.stdout == "Hint 1 of 2 for Task 0.1 Sums\nA nudge for 0.1.\nNext hint: course hint 0.1 2\n"
    assert last.stdout == "Hint 2 of 2 for Task 0.1 Sums\nA clue for 0.1.\nThis is the last hint. Chapter: docs/module0/sums.md\n"
    shown = json.loads(workspace.course("hint", "0.1", "1", "--json").stdout)
    assert shown == {"task": "0.1", "level": 1, "last": 2, "text": "A nudge for 0.1.", "next": 0}


def test_start_selects_a_task_and_says_what_to_read_and_write(workspace: Workspace) -> None:
    done = workspace.course("start", "1")
    assert done.returncode == 0
    assert done.stdout == (
        "Task 1.1 Roots, 10 points: now the current task\n"
        "First           Task 0.3, which this one needs: course start 0.3\n"
        "Read            docs/module1/roots.md\n"
        "Write           minitorch/sums.py:19  root\n"
        "Then run        course test 1.1, or course to watch\n"
        "Stuck           course hint 1.1, which opens after two tries\n"
    )
    assert read_record(workspace.root).current == "1.1"


def test_in_the_reference_the_commands_say_that_every_task_is_solved_before_they_run_tests(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = "Every task is solved here, in the reference. For a workspace without the solutions, run: make workspace"
    (workspace.root / "course" / "staff").mkdir()
    for arguments in ([], ["next"], ["next", "--json"], ["test"], ["programs"], ["programs", "adding"]):
        done = workspace.course(*arguments)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{note}\n")
    assert not (workspace.root / ".course").exists()
    assert workspace.course("list").stdout.splitlines()[-1] == note
    assert workspace.course("test", "0.1").stdout.splitlines()[-1] == note
    assert workspace.course("start", "0.1").stdout.splitlines()[-1] == f"Note            {note}"

    def run_tests(*arguments: object) -> None:
        raise Problem("tests run", 3)

    monkeypatch.setattr(main, "up_to_date_states", run_tests)
    assert workspace.course("status").stdout == f"{note}\n"
    assert workspace.course("status", "--json").stdout == ""


def test_an_unreleased_solution_cannot_be_taken(workspace: Workspace) -> None:
    done = workspace.course("start", "1", "--staff", "0")
    assert (done.returncode, done.stdout) == (2, "")
    message = "your teacher has not released Module 0: there is no course/released/stage0.json; run: course test 0.3\n"
    assert done.stderr == message
    assert read_record(workspace.root).current is None


def test_a_released_solution_is_taken_after_a_backup(workspace: Workspace) -> None:
    file = workspace.root / "minitorch" / "sums.py"
    before = expected = file.read_text(encoding="utf-8")
    bodies = {}
    for name, arguments, mine, given in (
        ("add", "x, y", "return x + y", "return y + x"),
        ("double", "x", "return add(x, x) if x < 7 else 0", "return 2 * x"),
        ("square", "x", 'raise NotImplementedError("Need to implement for Task 0.3")', "return x**2"),
    ):
        bodies[f"minitorch.sums:{name}"] = f"def {name}({arguments}):\n    {given}\n"
        expected = expected.replace(f"    {mine}\n", f"    {given}\n")
    workspace.write("course/released/stage0.json", json.dumps({"schema": 1, "stage": 0, "bodies": bodies}))
    done = workspace.course("start", "1", "--staff", "0")
    assert done.returncode == 0, done.stderr
    assert file.read_text(encoding="utf-8") == expected
    says = "All tasks up to Module 0 have your teacher's solutions. Your files are backed up. To restore them: course reset --restore "
    assert done.stdout.splitlines()[0].startswith(says)
    assert workspace.course("reset", "--restore", done.stdout.splitlines()[0].split()[-1]).returncode == 0
    assert file.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("command", ["list", "status"])
def test_commands_that_only_read_can_print_json(shared_workspace: Workspace, command: str) -> None:
    rows = json.loads(shared_workspace.course(command, "--json").stdout)
    assert [(row["id"], row["module"], row["points"], row["state"]) for row in rows] == [
        ("0.1", 0, 10, "passed"),
        ("0.2", 0, 10, "failing"),
        ("0.3", 0, 10, "todo"),
        ("1.1", 1, 10, "blocked"),
        ("1.2", 1, 10, "failing"),
    ]


def test_the_test_command_can_print_json(shared_workspace: Workspace) -> None:
    done = shared_workspace.course("test", "0.2", "--json")
    assert done.returncode == 1
    (row,) = json.loads(done.stdout)
    assert (row["id"], row["card"]["inputs"], row["card"]["expected"], row["card"]["yours"]) == ("0.2", {"x": "7"}, "14", "0")


NO_TASK = "there is no task '9.9'; the tasks are 0.1, 0.2, 0.3, 1.1, 1.2; run: course list"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *((f"{command} 9.9", NO_TASK) for command in ("test", "hint", "start", "explain")),
        ("reset", "expected one of TASK, --restore NAME and --list; run: course reset --list"),
        ("hint 0.1 3", "task 0.1 expected a hint from 1 to 2, got 3; run: course hint 0.1 2"),
        ("hint 0.1 0", "task 0.1 expected a hint from 1 to 2, got 0; run: course hint 0.1 1"),
        ("hint", "Missing argument 'ID'; run: course --help"),
        ("tset", "No such command 'tset'; run: course --help"),
        ("test --fast", "No such option: --fast; run: course --help"),
    ],
)
def test_a_usage_error_is_one_line_with_the_next_command(shared_workspace: Workspace, arguments: str, message: str) -> None:
    done = shared_workspace.course(*arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert re.sub(r"\. Did you mean .+\?", "", done.stderr) == f"{message}\n"


def test_outside_a_workspace_the_command_says_so(tmp_path: Path) -> None:
    done = Workspace(tmp_path).course("status")
    assert done.returncode == 3
    assert done.stderr == f"expected a MiniTorch workspace, a folder with course/tasks.toml, got {tmp_path}; run: cd WORKSPACE\n"


def test_a_broken_manifest_is_reported(workspace: Workspace) -> None:
    workspace.write("course/tasks.toml", "[[task]\n")
    done = workspace.course("list")
    assert done.returncode == 3
    assert done.stderr.startswith(f"{workspace.root}/course/tasks.toml is not valid TOML: ")
    assert done.stderr.endswith("; run: git diff course/tasks.toml\n")


def test_commands_work_from_a_subfolder(shared_workspace: Workspace) -> None:
    assert Workspace(shared_workspace.root / "minitorch").course("list").stdout == shared_workspace.course("list").stdout


def test_help_lists_the_commands(shared_workspace: Workspace) -> None:
    done = shared_workspace.course("--help")
    assert done.returncode == 0
    for command in ["start", "status", "list", "test", "hint", "next", "reset", "update", "diff", "doctor", "app", "report", "submit"]:
        assert f" {command} " in done.stdout


def test_a_terminal_without_unicode_gets_ascii_signs(shared_workspace: Workspace) -> None:
    done = shared_workspace.python("course", "status", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "? passed" in done.stdout


# The card


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_card_fits_its_width_but_keeps_its_commands_whole(width: int) -> None:
    nodeid = "tests/test_sums.py::test_something_with_a_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on[1.0-2.0]"
    card = Card(
        nodeid=nodeid,
        task="0.1",
        says="What the test says takes quite a few words. " * 5,
        case="x = 1.0, y = 2.0",
        inputs={"xs": str(list(range(100)))},
        error="ValueError: " + "long " * 40,
        place=Place("minitorch/sums.py", 6, "return x + y" * 20, "add", in_task=True),
    )
    lines = render(card, width).plain.splitlines()
    assert all(len(line) <= width for line in lines[:-1])
    assert lines[-1].split(maxsplit=1) == ["pytest", f"'{nodeid}'"]
    assert [line for line in lines if line.startswith("Your line")] == ["Your line       minitorch/sums.py:6"]


@pytest.mark.parametrize(
    ("place", "label"),
    [
        (Place("minitorch/sums.py", 6, in_task=True), "Your line"),
        (Place("minitorch/sums.py", 6), "Line"),
        (Place("tests/test_sums.py", 6, in_task=True), "Test line"),
    ],
)
def test_a_card_labels_a_line_as_the_students_if_a_task_asks_for_it(place: Place, label: str) -> None:
    assert f"{label:<16}{place.file}:6" in render(Card("", place=place)).plain.splitlines()


def test_output_of_a_test_is_cut_after_twenty_lines_unless_all_is_requested() -> None:
    card = Card("tests/test_a.py::test_a", "0.1", "A.", printed="\n".join(f"line {number}" for number in range(25)))
    folded = render(card).plain
    assert "It printed      line 0\n                line 1\n" in folded
    assert "line 19\n                … 5 more lines; to see all: course test 0.1 -v\n" in folded
    assert "line 20" not in folded
    assert "line 24\n" in render(card, verbose=True).plain


def test_a_card_prints_brackets_literally() -> None:
    assert "xs = [bold]" in render(Card("", inputs={"xs": "[bold]"})).plain


def test_commands_are_quoted_for_the_shell() -> None:
    assert rerun_commands(Card("tests/test_a.py::test[1 x]", "0.1")) == ["course test 0.1", "pytest 'tests/test_a.py::test[1 x]'"]
    assert rerun_commands(Card("")) == []


@pytest.mark.parametrize(("name", "words"), [("test_relu_is_zero[x-1]", "Relu is zero."), ("test_x", "X."), ("test_", "")])
def test_a_test_name_is_shown_as_a_sentence(name: str, words: str) -> None:
    assert sentence(name) == words
