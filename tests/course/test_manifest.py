"""The manifest: what it may contain, and that the course's own manifest is consistent."""

import ast
import re
import tomllib
from functools import cache

import pytest

from course.manifest import ROOT, ManifestError, course, load
from tests.errors import raises

from .conftest import tasks_toml


@pytest.fixture
def path(tmp_path):
    """A valid manifest for the tests to break."""
    path = tmp_path / "tasks.toml"
    path.write_text(tasks_toml(), encoding="utf-8")
    return path


def load_after_edit(path, old, new):
    """The manifest in which the first `old` is replaced."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return load(path)


@cache
def defined_names(file):
    """The qualified names of all functions in a file."""
    names = []

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                if isinstance(child, ast.FunctionDef):
                    names.append(prefix + child.name)
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse(file.read_text(encoding="utf-8")), "")
    return names


def test_a_manifest_is_read_and_a_task_that_it_lacks_reported(path):
    manifest = load(path)
    assert (manifest.title, manifest.package) == ("Tiny", "minitorch")
    stages = [(each.number, each.title, each.modules) for each in manifest.stages]
    assert stages == [(0, "First", ("module0",)), (1, "Second", ("module1",))]
    assert manifest.modules == ("module0", "module1")
    task = manifest.task("0.2")
    assert (task.title, task.points, task.mark, task.requires, task.stage) == ("Products", 10, "task0_2", ("0.1",), 0)
    assert (task.write, task.files) == (("minitorch.sums:double",), ("minitorch/sums.py",))
    assert (task.hints, task.page, task.app) == (("A nudge for 0.2.", "A clue for 0.2."), "module0/products", "m0_products")
    with raises(ManifestError, "there is no task '9.9'; the tasks are 0.1, 0.2, 0.3, 1.1, 1.2"):
        load(path).task("9.9")


def test_a_missing_manifest_is_reported(tmp_path):
    with raises(ManifestError, f"no manifest at {tmp_path / 'tasks.toml'}; run this in a MiniTorch workspace"):
        load(tmp_path / "tasks.toml")


POINTS, MINUTES = ("task 0.1 expected a whole number of " + what + ", at least 1, got " for what in ("points", "minutes"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("points = 10\n", "", "task 0.1 lacks points"),
        ('id = "0.2"', 'id = "0.1"', "task 0.1 is defined twice"),
        ("requires = ['0.1']", "requires = ['0.9']", "task 0.2 requires 0.9, which does not exist"),
        ("requires = []", 'requires = ["0.2"]', "task 0.1 requires 0.2, which does not come before it"),
        *(
            ('id = "0.1"', f'id = "{id}"', f"task {id} expected an id such as 0.1 in one of the stages 0, 1")
            for id in ("7.1", "0.0", "0.100", "0.1B", "01")
        ),
        ('"task0_1"', '"task0_11"', "task 0.1 expected the mark task0_1, got task0_11"),
        *(
            ("points = 10\n", text, message + shown)
            for value, shown in (('"10"', "'10'"), ("0", "0"), ("1.5", "1.5"), ("true", "True"))
            for text, message in ((f"points = {value}\n", POINTS), (f"points = 10\nminutes = {value}\n", MINUTES))
        ),
        ("requires = []", 'requires = "0.2"', "task 0.1 expected a list of strings for requires, got '0.2'"),
        ("points = 10\n", 'points = 10\nleave_out = "f"\n', "task 0.1 expected a list of strings for leave_out, got 'f'"),
        ("points = 10\n", 'points = 10\ngpu = "yes"\n', "task 0.1 expected true or false for gpu, got 'yes'"),
        ("points = 10\n", 'points = 10\nextra = "yes"\n', "task 0.1 expected true or false for extra, got 'yes'"),
    ],
)
def test_an_invalid_entry_is_reported(path, old, new, message):
    with raises(ManifestError, f"{path}: {message}"):
        load_after_edit(path, old, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[course]", "[course", " is not valid TOML: "),
        ("points = 10\n", "points = 10\npoint = 10\n", ": task 0.1 has unknown point; it may have app, extra, gpu, hints, id, "),
    ],
)
def test_invalid_toml_and_an_unknown_entry_are_reported(path, old, new, message):
    with pytest.raises(ManifestError, match=f"^{re.escape(str(path) + message)}"):
        load_after_edit(path, old, new)


@pytest.mark.parametrize(
    ("minutes", "time"), [(45, "45 minutes"), (59, "59 minutes"), (60, "1 hour"), (75, "1.25 hours"), (180, "3 hours")]
)
def test_a_task_may_state_its_time_which_is_shown_in_minutes_or_hours(path, minutes, time):
    tasks = load_after_edit(path, "points = 10\n", f"points = 10\nminutes = {minutes}\n").tasks
    assert [(task.minutes, task.time) for task in tasks[:2]] == [(minutes, time), (None, "")]


def test_a_task_may_leave_functions_out_need_a_gpu_and_with_a_letter_be_worth_extra_points(path):
    tasks = load_after_edit(path, "points = 10\n", 'points = 10\nleave_out = ["minitorch.sums:_trick"]\ngpu = true\n').tasks
    assert [(task.leave_out, task.gpu) for task in tasks[:2]] == [(("minitorch.sums:_trick",), True), ((), False)]
    text = tasks_toml().replace('id = "0.3"', 'id = "0.2b"\nextra = true').replace('"task0_3"', '"task0_2b"')
    path.write_text(text.replace("requires = ['0.3']", "requires = []"), encoding="utf-8")
    found = [(task.id, task.stage, task.extra, task.worth) for task in load(path).tasks[1:3]]
    assert found == [("0.2", 0, False, "10 points"), ("0.2b", 0, True, "10 extra points")]


def test_a_stage_of_extra_tasks_is_not_required(path):
    assert load(path).required_stages == (0, 1)
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'(id = "1\.\d")', r"\1\nextra = true", text), encoding="utf-8")
    assert load(path).required_stages == (0,)
    path.write_text(re.sub(r'(id = "1\.[2-9]")', r"\1\nextra = true", text), encoding="utf-8")
    assert load(path).required_stages == (0, 1), "one of its tasks is not extra"


def test_a_module_may_be_in_a_folder_of_the_package(path):
    manifest = load_after_edit(path, 'modules = ["module1"]', 'modules = ["nn.layers", "module1", "nn.losses"]')
    files = ["minitorch/module0.py", "minitorch/nn/layers.py", "minitorch/module1.py", "minitorch/nn/losses.py"]
    assert [manifest.path(module) for module in manifest.modules] == files
    assert [manifest.folders(last) for last in (0, 1)] == [{"": 0}, {"": 0, "nn": 1}]


# The course's own manifest


def test_every_name_to_write_or_leave_out_exists_and_belongs_to_one_task():
    for task in course().tasks:
        for entry in task.write + task.leave_out:
            module, _, name = entry.partition(":")
            if not name:  # a whole module
                assert entry in task.leave_out, entry
                assert (ROOT / (module.replace(".", "/") + ".py")).is_file(), entry
                continue
            found = defined_names(ROOT / (module.replace(".", "/") + ".py")).count(name)
            assert found == 1, f"task {task.id}: {entry} was found {found} times"
    names = [name for task in course().tasks for name in task.write + task.leave_out]
    assert len(names) == len(set(names))


def test_marks_match_the_ids_and_are_registered_with_pytest():
    with (ROOT / "pyproject.toml").open("rb") as file:
        markers = tomllib.load(file)["tool"]["pytest"]["ini_options"]["markers"]
    assert [f"{task.mark}: {task.title}" for task in course().tasks] == [marker for marker in markers if marker.startswith("task")]
    assert all(task.mark == "task" + task.id.replace(".", "_") for task in course().tasks)


def test_the_hints_of_a_task_begin_with_a_question_are_short_and_hold_no_code():
    for task in course().tasks:
        assert 3 <= len(task.hints) <= 9, task.id
        assert "?" in task.hints[0], f"{task.id}: the first hint asks nothing"
        for hint in task.hints:
            assert len(hint.split()) <= 40, f"{task.id}: {hint}"
            assert not re.search(r"\bdef \w|\blambda\b|==|\bfor \w+ in \w+:|`|\n", hint), f"{task.id}: code in {hint!r}"


def test_every_task_states_how_long_it_takes_stages_with_tasks_come_first_and_all_modules_exist():
    assert [task.id for task in course().tasks if not task.minutes] == []
    stages = sorted({task.stage for task in course().tasks})
    assert stages == [stage.number for stage in course().stages][: len(stages)]
    assert all((ROOT / course().path(module)).is_file() for module in course().modules)
