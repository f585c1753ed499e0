"""`course solution`: opens when the task has passed, needs a release, and compares definitions."""

import io
import json

import pytest
from rich.console import Console

from course.cli import solution
from course.manifest import course, load
from course.staff.handout.released import read_lessons
from course.workspace import released

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

ADD = 'def add(x, y):\n    """The sum."""\n    # an addition\n    return x + y\n'
DOUBLE = "def double(x):\n    return 2 * x\n"
LESSON = "Addition commutes."
SUM = 'def add(x, y):\n    """x + y."""\n    return x + y\n'


@pytest.fixture
def released_workspace(workspace):
    """The tiny course with its first module released; task 0.1 passes, 0.2 fails."""
    bodies = {"minitorch.sums:add": ADD, "minitorch.sums:double": DOUBLE, "minitorch.sums:square": "def square(x):\n    return x**2\n"}
    document = {"schema": released.SCHEMA, "stage": 0, "bodies": bodies, "lessons": {"0.1": LESSON}}
    workspace.write("course/released/stage0.json", json.dumps(document))
    return workspace


def task_of(workspace, id):
    return load(workspace.root / "course" / "tasks.toml").task(id)


def printed(workspace, id, bodies, width):
    """What is printed of a task in a terminal of this width."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    task = task_of(workspace, id)
    solution._print(console, task, solution.compare(workspace.root, task, bodies), LESSON)
    return console.file.getvalue()


def test_a_definition_that_differs_only_in_comments_docstring_and_layout_is_the_same_until_an_edit_makes_the_task_fail(released_workspace):
    done = released_workspace.course("solution", "0.1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Task 0.1 Sums\n\nThe same as the reference: add\n\n{LESSON}\n"
    document = json.loads(released_workspace.course("solution", "0.1", "--json").stdout)
    assert (document["task"], document["lesson"]) == ("0.1", LESSON)
    (function,) = document["functions"]
    assert (function["file"], function["name"], function["same"]) == ("minitorch/sums.py", "add", True)
    assert function["reference"] == ADD.strip()
    released_workspace.edit("minitorch/sums.py", "    return x + y", "    return x - y")
    done = released_workspace.course("solution", "0.1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "the solution of Task 0.1 opens once the task has passed, it is failing; run: course test 0.1\n"


def test_what_has_not_been_released_is_not_shown(workspace):
    done = workspace.course("solution", "0.1")
    assert (done.returncode, done.stdout) == (2, "")
    message = "your teacher has not released Module 0: there is no course/released/stage0.json; run: course test 0.3\n"
    assert done.stderr == message


def test_a_later_release_contains_the_earlier_tasks(released_workspace):
    path = released_workspace.root / "course" / "released" / "stage0.json"
    document = json.loads(path.read_text(encoding="utf-8")) | {"stage": 1}
    path.unlink()
    released_workspace.write("course/released/stage1.json", json.dumps(document))
    assert released_workspace.course("solution", "0.1").stdout.endswith(f"{LESSON}\n")


def test_a_release_without_lessons_or_without_the_function_is_read_or_refused(released_workspace):
    document = {"schema": released.SCHEMA, "stage": 0, "bodies": {"minitorch.sums:add": ADD}}
    released_workspace.write("course/released/stage0.json", json.dumps(document))
    assert released_workspace.course("solution", "0.1").stdout == "Task 0.1 Sums\n\nThe same as the reference: add\n"
    released_workspace.write("course/released/stage0.json", json.dumps(document | {"bodies": {}}))
    done = released_workspace.course("solution", "0.1")
    assert (done.returncode, done.stdout) == (3, "")
    missing = "course/released/stage0.json has no body for minitorch.sums:add of Task 0.1"
    assert done.stderr == f"{missing}; ask your teacher for another, or run: course list\n"


def test_a_wide_terminal_shows_the_two_side_by_side_and_a_narrow_one_below_each_other(released_workspace):
    bodies = {"minitorch.sums:double": DOUBLE}
    wide = printed(released_workspace, "0.2", bodies, 140).splitlines()
    assert any('"""2 x."""' in line and "return 2 * x" in line for line in wide)
    narrow = printed(released_workspace, "0.2", bodies, 80)
    yours = ["yours", "def double(x):", '"""2 x."""', "return add(x, x) if x < 7 else 0"]
    lines = ["Task 0.2 Products", "minitorch/sums.py  double", *yours, "reference", "def double(x):", "return 2 * x", LESSON]
    assert [line.strip() for line in narrow.splitlines() if line.strip()] == lines


def test_a_name_that_is_bound_without_def_is_shown_as_such(released_workspace):
    released_workspace.edit("minitorch/sums.py", SUM, "from operator import add\n")
    done = released_workspace.course("solution", "0.1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "# no def of add: an assignment or an import binds the name" in done.stdout
    assert "return x + y" in done.stdout


def test_a_nested_function_under_another_name_is_shown_with_the_function_around_it():
    outer = "def tensor_map(fn):\n    def kernel(out):\n        out[0] = fn(out[0])\n\n    return kernel\n"
    assert solution._own_definition("tensor_map._map", {"tensor_map": outer, "tensor_map.kernel": "def kernel(out): ..."}) == outer


def test_every_task_has_a_lesson_of_a_few_sentences():
    lessons = read_lessons()
    assert list(lessons) == [task.id for task in course().tasks]
    for id, text in lessons.items():
        assert 15 <= len(text.split()) <= 80, id
