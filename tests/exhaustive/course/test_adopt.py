"""Work from the original MiniTorch course: how it is found, translated, and graded by that course's requirements."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from course.manifest import ROOT, course
from course.staff.adopt.adopt import AdoptedWork, adopt, write_submission
from course.staff.adopt.recognize import is_original
from course.staff.cli import app
from course.staff.grading.bases import right_answer
from course.staff.grading.submissions import read, student_files
from course.staff.handout.generate import BARE, GUIDED, write_files
from course.staff.probes import FULL, PUBLISHED, plain_launcher, run_probes, share
from tests.course.handouts import handout
from tests.course.original_copies import STYLES, copy_original


@pytest.mark.parametrize("style", [GUIDED, BARE])
@pytest.mark.parametrize("last", range(5))
def test_no_handout_is_taken_for_the_original_course(last: int, style: str) -> None:
    files = {path: str(handout(last, style)[path]).encode() for path in student_files(course()) if path in handout(last, style)}
    assert not is_original(handout(last, style), files)
    assert not any(is_original([path], {path: text}) for path, text in files.items())


def test_neither_the_reference_nor_adopted_work_is_taken_for_the_original_course(adoptions: Mapping[str, AdoptedWork]) -> None:
    reference = {path: (ROOT / path).read_bytes() for path in student_files(course())}
    adopted = [{path: text.encode() for path, text in adoptions[style].files.items()} for style in STYLES]
    for files in (reference, right_answer(ROOT, course()), *adopted):
        assert not is_original(files, files)
        assert [path for path, text in files.items() if path.startswith("minitorch/") and is_original([path], {path: text})] == []


def adopt_with_helpers(folder: Path, operators: str, helpers: str, **more: str) -> AdoptedWork:
    """Adopt a module whose operators.py uses a file that the student added."""
    files = {"operators.py": operators, "helpers.py": helpers, "module.py": "class Module:\n    pass\n"}
    write_files(folder, {f"minitorch/{name}": text for name, text in (files | {f"{name}.py": text for name, text in more.items()}).items()})
    return adopt(folder, course())


@pytest.mark.parametrize(
    ("operators", "helpers", "call", "expected"),
    [
        (
            "from .helpers import SCALE\n\n\ndef mul(x, y):\n    return SCALE * x * y\n",
            "import math\n\nSCALE = math.floor(1.5)\n",
            "mul(2.0, 3.0)",
            6.0,
        ),
        (
            "from .helpers import twice\n\n\ndef id(x):\n    return x\n\n\ndef mul(x, y):\n    return twice(x) * y / 2\n",
            "from . import operators\nfrom .more import add_up\n\n\ndef twice(x):\n    return add_up(operators.id(x), x)\n",
            "mul(5.0, 3.0)",
            15.0,
        ),
        (
            "from .helpers import EPS\n\n\ndef max(x, y):\n    return x if x + EPS > y else y\n",
            "EPS = 2.0\n",
            "max(3.0, 4.0), max(3.0, 6.0), EPS",
            (3.0, 6.0, 1e-6),
        ),
    ],
    ids=["a computed constant", "files that import each other", "a name that this course gives to another number"],
)
def test_an_added_file_is_copied(operators: str, helpers: str, call: str, expected: object, tmp_path: Path) -> None:
    more = "def add_up(x: 'Missing', y) -> 'Missing':\n    return x + y\n\n\nif __name__ == '__main__':\n    print(add_up(1, 2))\n"
    found = adopt_with_helpers(tmp_path, operators, helpers, more=more)
    assert found.errors == ()
    scope: dict[str, Any] = {"__name__": "minitorch.operators"}
    exec(found.files["minitorch/operators.py"], scope)
    assert eval(call, scope) == expected


@pytest.mark.parametrize(
    ("helpers", "why"),
    [
        ("def product(x, y):\n    return x * y\n\n\ndef id(x):\n    return 1\n", "both files define id"),
        ("def product(x, y)\n", "it is not valid Python, or too large"),
        ("EPS = 2.0\n\n\ndef product(x, EPS):\n    return EPS\n", "this course has another EPS"),
    ],
)
def test_an_added_file_that_cannot_be_copied_is_named_with_the_reason(helpers: str, why: str, tmp_path: Path) -> None:
    operators = "from .helpers import product\n\n\ndef id(x):\n    return x\n\n\ndef mul(x, y):\n    return product(x, y)\n"
    assert adopt_with_helpers(tmp_path, operators, helpers).errors == (
        f"{tmp_path}: minitorch/operators.py uses minitorch/helpers.py, a file that the student added and that is not converted: {why}; "
        "move what it uses into minitorch/operators.py there and run course-staff adopt again",
    )


def test_adopt_names_statements_that_run_on_import(tmp_path: Path) -> None:
    operators = "TABLE = {}\nTABLE['a'] = 2.0\n\n\ndef mul(x, y):\n    return TABLE['a'] * x * y\n"
    assert adopt_with_helpers(tmp_path, operators, "").errors == (
        f"{tmp_path}: minitorch/operators.py runs TABLE['a'] = 2.0 on import, which is not converted; "
        "write it as an assignment to a name there, or move it into a function, and run course-staff adopt again",
    )


def test_a_program_may_import_a_file_beside_it(tmp_path: Path) -> None:
    program = (
        "import minitorch\nimport layers\n\n\nclass Network(minitorch.Module):\n    def __init__(self, hidden_layers):\n"
        "        super().__init__()\n        self.layer1 = layers.make(2, hidden_layers, Linear)\n"
    )
    files = {
        "minitorch/scalar.py": "",
        "project/run_scalar.py": program,
        "project/layers.py": "def make(n, k, kind):\n    return kind(n, k)\n",
    }
    write_files(tmp_path, files)
    found = adopt(tmp_path, course())
    assert found.errors == ()
    assert "self.layer1 = make(2, hidden_layers, Linear)" in found.files["project/run_scalar.py"]
    assert "def make(n, k, kind):" in found.files["project/run_scalar.py"]


@pytest.mark.parametrize("stages", [range(3), range(3, 5)], ids=["plain Python", "compiled kernels and networks"])
@pytest.mark.parametrize("style", STYLES)
def test_right_work_of_the_original_course_gets_full_marks(
    style: str, stages: range, adoptions: Mapping[str, AdoptedWork], adopted_workspaces: Mapping[str, Path]
) -> None:
    for task in course().tasks:
        if task.id in adoptions[style].written and task.stage in stages:
            outcomes = run_probes(task, plain_launcher(adopted_workspaces[style]), profile=PUBLISHED)
            assert [(task.id, outcome.says, outcome.reason) for outcome in outcomes if not outcome.passed] == []


def test_a_class_of_the_original_course_is_graded_in_the_sandbox(adoptions: Mapping[str, AdoptedWork], tmp_path: Path) -> None:
    from course.staff.grading.grade import grade

    for style in STYLES:
        write_submission(adoptions[style], tmp_path / "class" / style)
    tasks = ["0.1", "0.2", "0.3", "1.2", "1.4", "2.1", "2.3", "2.4"]
    results = grade([tmp_path / "class"], tmp_path / "graded", tasks=tasks, seed=1, profile=PUBLISHED)
    assert [(result.submission, result.mark, result.points, result.profile) for result in results] == [
        (style, result.points, result.points, PUBLISHED) for style, result in zip(STYLES, results, strict=True)
    ], [(task.task, task.reason) for result in results for task in result.tasks if not task.passed]


def test_a_mistake_loses_marks_under_either_profile(adopted_workspaces: Mapping[str, Path], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    shutil.copytree(adopted_workspaces["typed"], wrong)
    file = wrong / "minitorch" / "operators.py"
    file.write_text(file.read_text().replace("return -d / x ** 2", "return d / x ** 2").replace("return -d / (x**2)", "return d / (x**2)"))
    for profile in (FULL, PUBLISHED):
        outcomes = run_probes(course().task("0.1"), plain_launcher(wrong), profile=profile)
        assert "inv_back(x, d) is -d / x²" in [outcome.says for outcome in outcomes if not outcome.passed]


def test_the_reference_gets_full_marks_under_the_profile_of_the_original_course() -> None:
    for task in course().tasks:
        if task.stage < 3:
            assert share(run_probes(task, plain_launcher(ROOT), profile=PUBLISHED) or [FULL_MARKS]) == 1, task.id


class FULL_MARKS:
    weight, passed = 1.0, True


def test_the_command_says_what_it_recognized_and_what_to_do_next(tmp_path: Path) -> None:
    folder = copy_original("terse", tmp_path)
    result = CliRunner().invoke(app, ["adopt", str(folder), "--out", str(tmp_path / "handed")])
    assert result.exit_code == 0, result.output
    for module in range(4):
        assert f"mod{module}-terse: the original course, Module {module}" in result.stdout
    assert f"next: course-staff grade {tmp_path / 'handed'} --out graded --profile published" in result.stdout
    assert read("terse", tmp_path / "handed", course()).refused == ""
    again = CliRunner().invoke(app, ["adopt", str(folder), "--out", str(tmp_path / "handed")])
    assert "exists already; name a new folder" in str(again.exception)


def test_a_workspace_with_one_pasted_file_of_the_original_course_is_graded() -> None:
    files = {path: str(handout(1)[path]).encode() for path in student_files(course()) if path in handout(1)}
    assert not is_original([], files | {"minitorch/scalar.py": b"from .autodiff import Context\n"})


def test_a_workspace_ends_with_the_last_module_that_is_written(adopted_workspaces: Mapping[str, Path]) -> None:
    assert (adopted_workspaces["terse"] / "minitorch" / "fast_ops.py").is_file()
    assert not (adopted_workspaces["terse"] / "minitorch" / "fast_conv.py").exists()


@pytest.mark.parametrize("style", STYLES)
def test_all_written_functions_are_taken(style: str, adoptions: Mapping[str, AdoptedWork]) -> None:
    one = adoptions[style]
    assert one.errors == ()
    without = {"typed": {"0.5", "3.5", "3.6", "3.7", "4.5", "4.4b"}, "terse": {"0.5", "3.3", "3.4", "3.6", "3.7"}}
    assert set(one.written) == {task.id for task in course().tasks if task.stage < (5 if style == "typed" else 4)} - without[style]
