"""What the course remembers about a student's progress: the current task, tries and hints."""

import pytest

from course.cli.hints import Hint, HintClosed, open_hint
from course.manifest import load
from course.runner.progress import run_tasks
from course.workspace.activity import make_current
from course.workspace.record import Record, code_of, note_tries, read_record
from tests.errors import raises

pytest_plugins = "tests.course.forks"


@pytest.fixture
def task(workspace):
    return load(workspace.root / "course" / "tasks.toml").task("0.1")


def try_twice(workspace, task):
    note_tries(workspace.root, [task])
    workspace.edit("minitorch/sums.py", "    return x + y", "    return x - y")
    note_tries(workspace.root, [task])


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("    return x + y", "    # a comment\n    return (x + y)", True),
        ("    return add(x, x) if x < 7 else 0", "    return 1", True),  # belongs to another task
        ("    return x + y", "    return y + x", False),
        ("    return x + y", "    return x +", False),  # not valid Python
    ],
)
def test_a_try_is_a_run_of_changed_code_of_the_task(workspace, task, old, new, same):
    before = code_of(task, workspace.root)
    workspace.edit("minitorch/sums.py", old, new)
    assert (code_of(task, workspace.root) == before) == same


def test_running_the_same_code_again_is_one_try(workspace, task):
    for _ in range(3):
        note_tries(workspace.root, [task])
    assert len(read_record(workspace.root).tries["0.1"]) == 1


@pytest.mark.usefixtures("clean_process_environment", "forked_processes")
def test_a_run_counts_as_a_try_unless_nothing_was_written(workspace):
    run_tasks(["0.1", "0.3"], workspace.root)  # Task 0.3 is a stub
    assert {id: len(tries) for id, tries in read_record(workspace.root).tries.items()} == {"0.1": 1}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99}', '{"schema": 1, "colour": 1}', '{"schema": 1, "tries": {"0.1": 5}}'])
def test_a_damaged_record_counts_as_none(workspace, text):
    workspace.write(".course/record.json", text)
    assert read_record(workspace.root) == Record()


def test_a_read_only_workspace_remembers_nothing(workspace, task):
    workspace.write(".course", "a file where the folder should be")
    make_current(workspace.root, task)
    assert read_record(workspace.root) == Record()


@pytest.mark.parametrize(("tries", "missing"), [(0, "2 more tries, each with different code"), (1, "1 more try, with different code")])
def test_no_hint_is_available_before_two_tries(workspace, task, tries, missing):
    for _ in range(tries):
        note_tries(workspace.root, [task])
    with pytest.raises(HintClosed) as closed:
        open_hint(workspace.root, task)
    message = f"the hints of task 0.1 open after 2 tries, got {tries}: {missing}; run: course test 0.1"
    assert (str(closed.value), closed.value.missing_tries) == (message, 2 - tries)


def test_the_hint_about_the_function_that_fails_opens_first(workspace, task):
    workspace.edit("course/tasks.toml", "A clue for 0.1.", "What does add return?")
    for before, after in (("x + y", "x - y"), ("x - y", "x * y")):
        workspace.edit("minitorch/sums.py", f"    return {before}", f"    return {after}")
        workspace.course("test", "0.1")
    task = load(workspace.root / "course" / "tasks.toml").task("0.1")
    assert [(hint.level, hint.next) for hint in (open_hint(workspace.root, task) for _ in range(3))] == [(2, 1), (1, 0), (2, 0)]


def test_the_number_of_open_hints_in_an_older_record_still_counts(workspace, task):
    try_twice(workspace, task)
    path = workspace.root / ".course" / "record.json"
    path.write_text(path.read_text().replace('"hints": {}', '"hints": {"0.1": 1}'))
    assert open_hint(workspace.root, task).level == 2


def test_hints_become_available_one_by_one_and_start_over_when_the_record_is_deleted(workspace, task):
    try_twice(workspace, task)
    with raises(HintClosed, "hint 2 of task 0.1 opens after hint 1; run: course hint 0.1 1"):
        open_hint(workspace.root, task, 2)
    assert open_hint(workspace.root, task) == Hint("0.1", 1, 2, "A nudge for 0.1.")
    assert open_hint(workspace.root, task, 1).level == 1
    assert [open_hint(workspace.root, task).level for _ in range(3)] == [2, 2, 2]
    (workspace.root / ".course" / "record.json").unlink()
    with pytest.raises(HintClosed):
        open_hint(workspace.root, task, 1)
