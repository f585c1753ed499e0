"""Grading of the original course's hand-ins in their own package: what is asked there, and hand-ins in other styles."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from course.manifest import course
from course.staff.adopt.original import find_original, repositories
from course.staff.grading.own_package import is_absent_here, packages
from course.staff.grading.results import NOT_HANDED_IN, NOT_RUN, PASS, HiddenProbe, Result, TaskResult
from course.staff.grading.submissions import read
from course.staff.handout.generate import write_files
from course.staff.outputs.words import flags, kind
from course.staff.probes import PUBLISHED, probes_of
from course.staff.probes.own_package import NAMES, SUPPORT, use_own_package

from .original_styles import MISTAKES, STYLES, Change, style_files, write_style
from .own_packages import lost

CHEAP = {
    "plain": "0.1 0.4 1.4 2.1 2.4 2.5",
    "reduce_start_list": "0.3",
    "reduce_list_start": "0.3",
    "reduce_list": "0.3",
    "chain_rule_by_hand": "1.3",
    "is_close_tensors": "2.3b",
    "layer_names": "1.5 2.5",
    "functional": "0.3 1.1",
    "numpy": "2.1 2.3",
}
"""Styles, and tasks of theirs that need no compiler."""


@pytest.mark.parametrize("style", CHEAP)
def test_a_right_hand_in_earns_everything_in_its_own_package(style: str, tmp_path: Path) -> None:
    assert lost(write_style(style, tmp_path), *CHEAP[style].split()) == {}


@pytest.mark.parametrize(
    ("task", "mistake"),
    [
        ("2.2", Change("minitorch/tensor_data.py", "    offset = len(big_shape) - len(shape)\n", "    offset = 0\n")),
        ("4.4", Change("minitorch/nn.py", "    if ignore:\n        return input\n", "")),
        ("4.4", Change("minitorch/nn.py", "    if ignore:\n", "    if ignore or rate == 1.0:\n")),
        ("1.2", Change("minitorch/scalar.py", "Add.apply(self, Neg.apply(b))", "Add.apply(self, Neg.apply(Scalar(b.data)))")),
    ],
    ids=["dimensions are aligned from the left", "ignore is ignored", "rate 1 keeps everything", "a number cannot be subtracted"],
)
def test_a_mistake_that_the_published_tests_catch_costs_something(task: str, mistake: Change, tmp_path: Path) -> None:
    assert list(lost(write_style("plain", tmp_path, mistake), task)) == [task]


@pytest.mark.parametrize("style", STYLES)
def test_the_changes_of_a_style_apply_and_its_files_compile(style: str) -> None:
    files = style_files(style)
    for path, text in files.items():
        ast.parse(text, path)
    assert (files == style_files("plain")) == (style == "plain")


def test_every_task_of_the_original_course_is_probed_in_its_own_package() -> None:
    graded = {task.id for task in course().tasks if not task.extra} - {"0.2", "0.5"}  # students write tests, and look at a picture
    with use_own_package():
        assert {task.id for task in course().tasks if not task.extra and probes_of(task.id, PUBLISHED)} == graded
    assert set(MISTAKES) == graded - {"2.3b"}


def test_names_that_stand_for_others_exist() -> None:
    defined = {node.name for node in ast.walk(ast.parse(SUPPORT.read_text())) if isinstance(node, ast.FunctionDef)}
    assigned = {
        node.id for node in ast.walk(ast.parse(SUPPORT.read_text())) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert set(NAMES.values()) <= defined | assigned | {"SimpleBackend", "FastBackend"}


def test_the_repositories_of_a_hand_in_are_kept_in_the_submission_and_read_from_it(tmp_path: Path) -> None:
    write_style("plain", tmp_path / "ann")
    files = repositories(find_original(tmp_path / "ann", course()))
    assert {"original/module-4/minitorch/nn.py", "original/module-4/project/run_scalar.py"} <= set(files)
    write_files(tmp_path / "in" / "ann", {"minitorch/operators.py": "def mul(x, y):\n    return x * y\n", **files})
    submission = read("ann", tmp_path / "in" / "ann", course())
    assert (submission.refused, submission.left_out) == ("", ())
    assert {path: content for path, content in submission.files.items() if path.startswith("original/")} == files


def hand_in(**modules: str) -> dict[str, bytes]:
    """Submitted files with `operators.py` of some modules, such as module_0."""
    return {f"original/{module.replace('_', '-')}/minitorch/operators.py": text.encode() for module, text in modules.items()}


WRITTEN, STUB = "def mul(x, y):\n    return x * y\n", 'def mul(x, y):\n    raise NotImplementedError("Need to implement for Task 0.1")\n'


def test_a_task_is_graded_in_the_repository_of_its_module_and_in_the_last_one_in_which_it_is_written() -> None:
    task = course().task("0.1")
    submitted = hand_in(module_0=WRITTEN, module_1=WRITTEN + "#\n", module_2=WRITTEN, module_3=STUB)
    assert [files["minitorch/operators.py"] for files in packages(task, submitted)] == [WRITTEN.encode()] * 2
    assert packages(task, hand_in(module_0=STUB, module_4=STUB)) == []
    assert packages(course().task("2.1"), hand_in(module_4=WRITTEN)) == []
    assert packages(task, hand_in(module_0="def mul(x, y:\n", module_1=WRITTEN)) == [{"minitorch/operators.py": WRITTEN.encode()}]


def test_a_task_that_is_not_run_is_left_out_of_the_sum_and_one_that_is_not_handed_in_is_not() -> None:
    tasks = [TaskResult("0.1", PASS, 10, 10), TaskResult("0.3", NOT_HANDED_IN, 10, 0), TaskResult("0.5", NOT_RUN, 10, 0)]
    result = Result("ann", "", "", tuple(tasks), (), "none", 0, 1.0)
    assert (result.mark, result.points) == (10, 20)
    assert [kind(task) for task in tasks] == ["pass", "not-run", "not-run"]
    assert [flags(task) for task in tasks] == [[], [], ["not run"]]


@pytest.mark.parametrize(
    ("reason", "absent"),
    [
        ("x: it raised CudaSupportError: Error at driver init", True),
        ("could not be imported: it raised ModuleNotFoundError: No module named 'torch'", True),
        ("could not be imported: it raised ModuleNotFoundError: No module named 'minitorch.nn'", False),
        ("x: it raised ModuleNotFoundError: No module named 'torch'", False),
        ("expected 1.0, got 2.0", False),
    ],
)
def test_what_the_machine_lacks_is_no_mistake(reason: str, absent: bool) -> None:
    assert is_absent_here([HiddenProbe("it works", 1.0, False, reason)]) is absent
