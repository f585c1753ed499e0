"""Tasks that are known to be todo without running tests: the shortcut agrees with a run."""

import random

import pytest

from course.runner import progress
from course.runner.progress import TaskState, cached_states, run_tasks
from course.workspace import pristine
from course.workspace.unwritten import unbegun_tasks, untouched_tasks

from .conftest import PYPROJECT, TASK, Workspace

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("clean_process_environment", "forked_processes")

WRITE = {"0.1": ["one:f", "one:g"], "0.2": ["two:h"], "0.3": ["one:j", "three:k"], "1.1": ["three:m"]}
FUNCTIONS = [(task, name) for task, names in WRITE.items() for name in names]
STUB = 'def {name}(x):\n    """2 x."""\n    raise NotImplementedError("Need to implement for Task {task}")\n'
WRITTEN = 'def {name}(x):\n    """2 x."""\n    return 2 * x\n'
TESTS = """import pytest

from minitorch.one import f, g, j
from minitorch.three import k, m
from minitorch.two import h

@pytest.mark.parametrize("function", [pytest.param(each, marks=getattr(pytest.mark, mark)) for each, mark in (
    (f, "task0_1"), (g, "task0_1"), (j, "task0_3"), (k, "task0_3"), (m, "task1_1"))])
def test_twice(function):
    assert function(2) == 4

@pytest.mark.task0_2
def test_four_times():
    assert h(f(1)) == 4
"""


def source(module, written):
    """A file of the course in which some functions are written."""
    mine = [(task, name) for task, name in FUNCTIONS if name.startswith(f"{module}:")]
    return "\n\n".join((WRITTEN if name in written else STUB).format(name=name.partition(":")[2], task=task) for task, name in mine)


def write(workspace, written):
    for module in ("one", "two", "three"):
        workspace.write(f"minitorch/{module}.py", source(module, written))


@pytest.fixture
def new_handout(tmp_path):
    """A workspace as handed out: four tasks with six functions in three files."""
    workspace = Workspace(tmp_path)
    manifest = '[course]\ntitle = "Tiny"\npackage = "minitorch"\n'
    for number in (0, 1):
        manifest += f'[[stage]]\nnumber = {number}\ntitle = "Stage"\nmodules = ["module{number}"]\n'
    for id, names in WRITE.items():
        requires, mark = (["0.1"] if id == "0.2" else []), id.replace(".", "_")
        names = [f"minitorch.{name}" for name in names]
        text = TASK.format(id=id, title="Task", mark=mark, requires=requires, write="NAMES", module=id[0], page="page")
        manifest += text.replace('["NAMES"]', str(names).replace("'", '"'))
    workspace.write("course/tasks.toml", manifest)
    workspace.write("pyproject.toml", PYPROJECT)
    workspace.write("minitorch/__init__.py", "")
    workspace.write("tests/__init__.py", "")
    workspace.write("tests/test_all.py", "# task0_1 task0_2 task0_3 task1_1\n" + TESTS)
    write(workspace, set())
    files = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.py")}
    (tmp_path / pristine.PATH).write_bytes(pristine.pack(files, files))
    return workspace


def states_of(states):
    return {id: (state.state, state.blocked_by) for id, state in states.items()}


def states_by_running(root, tasks, monkeypatch):
    """The states without the shortcut."""
    with monkeypatch.context() as patch:
        patch.setattr(progress, "untouched_tasks", lambda root, manifest: set())
        return run_tasks(tasks, root)


def test_a_new_workspace_is_todo_without_a_run(new_handout, monkeypatch):
    monkeypatch.setattr(progress, "launch", None)
    todo = {id: TaskState(id, "todo") for id in WRITE}
    assert cached_states(new_handout.root) == todo
    assert run_tasks(WRITE, new_handout.root) == todo


def check_subset(workspace, written, monkeypatch):
    write(workspace, written)
    assert states_of(run_tasks(WRITE, workspace.root)) == states_of(states_by_running(workspace.root, list(WRITE), monkeypatch))
    files = {name.partition(":")[0] for name in written}
    untouched = {id for id, names in WRITE.items() if not {name.partition(":")[0] for name in names} & files}
    assert untouched_tasks(workspace.root, progress._manifest(workspace.root)) == untouched


def check_random_subset(new_handout, monkeypatch, seed):
    choice = random.Random(seed)
    check_subset(new_handout, {name for _, name in FUNCTIONS if choice.random() < 0.4}, monkeypatch)


def test_the_shortcut_agrees_with_a_run(new_handout, monkeypatch):
    check_random_subset(new_handout, monkeypatch, 3)


def test_a_task_with_one_written_function_runs(new_handout):
    write(new_handout, {"one:f"})
    assert states_of(run_tasks(WRITE, new_handout.root)) == dict.fromkeys(WRITE, ("todo", ()))
    assert run_tasks(["0.1"], new_handout.root)["0.1"].passed == 1


@pytest.mark.parametrize("line", ["import nothing_of_that_name\n", "def broken(:\n", "# a comment\n"])
def test_any_change_in_a_file_makes_its_tasks_run(new_handout, line):
    new_handout.write("minitorch/one.py", line + source("one", set()))
    assert untouched_tasks(new_handout.root, progress._manifest(new_handout.root)) == {"0.2", "1.1"}


def test_line_endings_do_not_count_as_a_change_but_a_missing_file_does(new_handout):
    path = new_handout.root / "minitorch" / "one.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert untouched_tasks(new_handout.root, progress._manifest(new_handout.root)) == set(WRITE)
    (new_handout.root / "minitorch" / "two.py").unlink()
    assert untouched_tasks(new_handout.root, progress._manifest(new_handout.root)) == {"0.1", "0.3", "1.1"}


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"PK")])
def test_without_the_record_of_original_files_tasks_run(new_handout, damage):
    damage(new_handout.root / pristine.PATH)
    assert untouched_tasks(new_handout.root, progress._manifest(new_handout.root)) == set()
    assert cached_states(new_handout.root)["0.1"] == TaskState("0.1")


def test_a_task_is_started_once_one_of_its_functions_differs_from_the_handout(new_handout):
    task = progress._manifest(new_handout.root).task("0.1")
    write(new_handout, {"one:j"})  # of another task
    assert unbegun_tasks(new_handout.root, [task]) == {"0.1"}
    above = source("one", set()).replace("    raise", "    return x\n    raise", 1)
    for text in (source("one", {"one:g"}), above, source("one", set()).replace("def g", "def h"), "def f(:\n"):
        new_handout.write("minitorch/one.py", text)
        assert unbegun_tasks(new_handout.root, [task]) == set()


def test_a_function_with_code_above_the_stub_is_judged_by_its_tests(new_handout):
    new_handout.write("minitorch/two.py", source("two", set()).replace("    raise", "    return 7\n    raise"))
    new_handout.write("minitorch/one.py", source("one", {"one:f", "one:g"}))
    assert run_tasks(["0.2"], new_handout.root)["0.2"].state == "failing"


def test_an_unstarted_task_is_todo_although_its_tests_fail_in_another_task(new_handout):
    half_written = source("one", {"one:g"}).replace('raise NotImplementedError("Need to implement for Task 0.1")', "1 / 0")
    new_handout.write("minitorch/one.py", half_written)
    new_handout.write("minitorch/two.py", "import math\n\n\n" + source("two", set()))
    assert states_of(run_tasks(["0.1", "0.2"], new_handout.root)) == {"0.1": ("failing", ()), "0.2": ("todo", ())}
    new_handout.write("minitorch/two.py", "import nothing_of_that_name\n\n\n" + source("two", set()))
    assert run_tasks(["0.2"], new_handout.root)["0.2"].state == "failing"
