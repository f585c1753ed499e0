"""The manifest: what it may contain, and that the course's own manifest is consistent."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from course.manifest import ROOT, Manifest, ManifestError, course, load

from .conftest import tasks_toml


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A valid manifest for the tests to break."""
    path = tmp_path / "tasks.toml"
    path.write_text(tasks_toml(), encoding="utf-8")
    return path


def error_after_edit(path: Path, old: str, new: str) -> str:
    """The error message for a manifest in which the first `old` is replaced."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ManifestError) as caught:
        load(path)
    return str(caught.value)


def defined_names(file: Path) -> list[str]:
    """The qualified names of all functions in a file."""
    names: list[str] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                if isinstance(child, ast.FunctionDef):
                    names.append(prefix + child.name)
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse(file.read_text(encoding="utf-8")), "")
    return names


def test_a_manifest_is_read(path: Path) -> None:
    manifest = load(path)
    assert (manifest.title, manifest.package) == ("Tiny", "minitorch")
    assert [(each.number, each.title, each.modules) for each in manifest.stages] == [
        (0, "First", ("module0",)),
        (1, "Second", ("module1",)),
    ]
    assert manifest.modules == ("module0", "module1")
    task = manifest.task("0.2")
    assert (task.title, task.points, task.mark, task.requires, task.stage) == ("Products", 10, "task0_2", ("0.1",), 0)
    assert (task.write, task.files) == (("minitorch.sums:double",), ("minitorch/sums.py",))
    assert (task.hints, task.page, task.app) == (("A nudge for 0.2.", "A clue for 0.2."), "module0/products", "m0_products")


def test_a_missing_manifest_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        load(tmp_path / "tasks.toml")
    assert str(caught.value) == f"no manifest at {tmp_path / 'tasks.toml'}; run this in a MiniTorch workspace"


def test_invalid_toml_is_reported(path: Path) -> None:
    assert error_after_edit(path, "[course]", "[course").startswith(f"{path} is not valid TOML: ")


def test_a_missing_entry_is_reported(path: Path) -> None:
    assert error_after_edit(path, "points = 10\n", "") == f"{path}: task 0.1 lacks points"


def test_an_unknown_entry_is_reported(path: Path) -> None:
    message = error_after_edit(path, "points = 10\n", "points = 10\npoint = 10\n")
    assert message.startswith(f"{path}: task 0.1 has unknown point; it may have app, extra, gpu, hints, id, ")


def test_a_task_that_is_defined_twice_is_reported(path: Path) -> None:
    assert error_after_edit(path, 'id = "0.2"', 'id = "0.1"') == f"{path}: task 0.1 is defined twice"


def test_a_requirement_that_does_not_exist_is_reported(path: Path) -> None:
    assert error_after_edit(path, "requires = ['0.1']", "requires = ['0.9']") == f"{path}: task 0.2 requires 0.9, which does not exist"


def test_a_requirement_that_comes_later_is_reported(path: Path) -> None:
    assert error_after_edit(path, "requires = []", 'requires = ["0.2"]') == f"{path}: task 0.1 requires 0.2, which does not come before it"


def test_a_task_without_a_stage_is_reported(path: Path) -> None:
    for id in ("7.1", "0.0", "0.100", "0.1B", "01"):
        path.write_text(tasks_toml(), encoding="utf-8")
        message = f"{path}: task {id} expected an id such as 0.1 in one of the stages 0, 1"
        assert error_after_edit(path, 'id = "0.1"', f'id = "{id}"') == message


def test_a_mark_that_does_not_match_the_id_is_reported(path: Path) -> None:
    assert error_after_edit(path, '"task0_1"', '"task0_11"') == f"{path}: task 0.1 expected the mark task0_1, got task0_11"


@pytest.mark.parametrize("points", ['"10"', "0", "1.5", "true"])
def test_points_that_are_not_an_integer_are_reported(path: Path, points: str) -> None:
    shown = repr(tomllib.loads(f"x = {points}")["x"])
    message = f"{path}: task 0.1 expected a whole number of points, at least 1, got {shown}"
    assert error_after_edit(path, "points = 10", f"points = {points}") == message


def test_a_task_may_state_how_many_minutes_it_takes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("points = 10\n", "points = 10\nminutes = 45\n", 1), encoding="utf-8")
    assert [(task.minutes, task.time) for task in load(path).tasks[:2]] == [(45, "45 minutes"), (None, "")]


@pytest.mark.parametrize(("minutes", "time"), [(59, "59 minutes"), (60, "1 hour"), (75, "1.25 hours"), (180, "3 hours")])
def test_the_time_of_a_task_is_stated_in_minutes_or_hours(path: Path, minutes: int, time: str) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("points = 10\n", f"points = 10\nminutes = {minutes}\n", 1), encoding="utf-8")
    assert load(path).tasks[0].time == time


@pytest.mark.parametrize("minutes", ['"45"', "0", "1.5", "true"])
def test_invalid_minutes_are_rejected(path: Path, minutes: str) -> None:
    shown = repr(tomllib.loads(f"x = {minutes}")["x"])
    message = f"{path}: task 0.1 expected a whole number of minutes, at least 1, got {shown}"
    assert error_after_edit(path, "points = 10\n", f"points = 10\nminutes = {minutes}\n") == message


def test_a_string_instead_of_a_list_is_reported(path: Path) -> None:
    message = f"{path}: task 0.1 expected a list of strings for requires, got '0.2'"
    assert error_after_edit(path, "requires = []", 'requires = "0.2"') == message


def test_a_task_may_leave_functions_out(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("points = 10\n", 'points = 10\nleave_out = ["minitorch.sums:_trick"]\n', 1), encoding="utf-8")
    manifest = load(path)
    assert manifest.task("0.1").leave_out == ("minitorch.sums:_trick",)
    assert manifest.task("0.2").leave_out == ()


def test_a_string_instead_of_the_list_leave_out_is_reported(path: Path) -> None:
    message = f"{path}: task 0.1 expected a list of strings for leave_out, got 'f'"
    assert error_after_edit(path, "points = 10\n", 'points = 10\nleave_out = "f"\n') == message


def test_a_task_may_need_a_gpu(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("points = 10\n", "points = 10\ngpu = true\n", 1), encoding="utf-8")
    assert [task.gpu for task in load(path).tasks[:2]] == [True, False]


@pytest.mark.parametrize("name", ["gpu", "extra"])
def test_a_value_that_is_not_a_boolean_is_reported(path: Path, name: str) -> None:
    message = f"{path}: task 0.1 expected true or false for {name}, got 'yes'"
    assert error_after_edit(path, "points = 10\n", f'points = 10\n{name} = "yes"\n') == message


def test_a_task_with_a_letter_may_be_worth_extra_points(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace('id = "0.3"', 'id = "0.2b"\nextra = true').replace('"task0_3"', '"task0_2b"')
    path.write_text(text.replace("requires = ['0.3']", "requires = []"), encoding="utf-8")
    tasks = load(path).tasks
    assert [(task.id, task.stage, task.extra, task.worth) for task in tasks[1:3]] == [
        ("0.2", 0, False, "10 points"),
        ("0.2b", 0, True, "10 extra points"),
    ]


def test_a_stage_of_extra_tasks_is_not_required(path: Path) -> None:
    assert load(path).required_stages == (0, 1)
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'(id = "1\.\d")', r"\1\nextra = true", text), encoding="utf-8")
    assert load(path).required_stages == (0,)
    path.write_text(re.sub(r'(id = "1\.[2-9]")', r"\1\nextra = true", text), encoding="utf-8")
    assert load(path).required_stages == (0, 1), "one of its tasks is not extra"


def test_a_module_may_be_in_a_folder_of_the_package(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('modules = ["module1"]', 'modules = ["nn.layers", "module1", "nn.losses"]'), encoding="utf-8")
    manifest = load(path)
    assert [manifest.path(module) for module in manifest.modules] == [
        "minitorch/module0.py",
        "minitorch/nn/layers.py",
        "minitorch/module1.py",
        "minitorch/nn/losses.py",
    ]
    assert [manifest.folders(last) for last in (0, 1)] == [{"": 0}, {"": 0, "nn": 1}]


def test_an_unknown_task_is_reported(path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        load(path).task("9.9")
    assert str(caught.value) == "there is no task '9.9'; the tasks are 0.1, 0.2, 0.3, 1.1, 1.2"


# The course's own manifest


@pytest.fixture(scope="module")
def course_manifest() -> Manifest:
    return course()


def test_every_name_to_write_or_leave_out_exists_once(course_manifest: Manifest) -> None:
    for task in course_manifest.tasks:
        for entry in task.write + task.leave_out:
            module, _, name = entry.partition(":")
            if not name:  # a whole module
                assert entry in task.leave_out, entry
                assert (ROOT / (module.replace(".", "/") + ".py")).is_file(), entry
                continue
            found = defined_names(ROOT / (module.replace(".", "/") + ".py")).count(name)
            assert found == 1, f"task {task.id}: {entry} was found {found} times"


def test_no_name_belongs_to_two_tasks(course_manifest: Manifest) -> None:
    names = [name for task in course_manifest.tasks for name in task.write + task.leave_out]
    assert len(names) == len(set(names))


def test_marks_match_the_ids_and_are_registered_with_pytest(course_manifest: Manifest) -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        markers = tomllib.load(file)["tool"]["pytest"]["ini_options"]["markers"]
    assert [f"{task.mark}: {task.title}" for task in course_manifest.tasks] == [marker for marker in markers if marker.startswith("task")]
    assert all(task.mark == "task" + task.id.replace(".", "_") for task in course_manifest.tasks)


def test_a_task_requires_only_earlier_ones(course_manifest: Manifest) -> None:
    order = [task.id for task in course_manifest.tasks]
    for task in course_manifest.tasks:
        assert all(order.index(other) < order.index(task.id) for other in task.requires)


def test_the_hints_of_a_task_begin_with_a_question_are_short_and_hold_no_code(course_manifest: Manifest) -> None:
    for task in course_manifest.tasks:
        assert 3 <= len(task.hints) <= 9, task.id
        assert "?" in task.hints[0], f"{task.id}: the first hint asks nothing"
        for hint in task.hints:
            assert len(hint.split()) <= 40, f"{task.id}: {hint}"
            assert not re.search(r"\bdef \w|\blambda\b|==|\bfor \w+ in \w+:|`|\n", hint), f"{task.id}: code in {hint!r}"


def test_every_task_is_worth_points_and_stages_with_tasks_come_first(course_manifest: Manifest) -> None:
    assert all(task.points > 0 for task in course_manifest.tasks)
    stages = sorted({task.stage for task in course_manifest.tasks})
    assert stages == [stage.number for stage in course_manifest.stages][: len(stages)]


def test_every_task_states_how_long_it_takes(course_manifest: Manifest) -> None:
    assert [task.id for task in course_manifest.tasks if not task.minutes] == []


def test_all_modules_of_the_manifest_exist(course_manifest: Manifest) -> None:
    assert all((ROOT / course_manifest.path(module)).is_file() for module in course_manifest.modules)
