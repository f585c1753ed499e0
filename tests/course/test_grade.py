"""Grading: what earns marks, what does not cost marks, and that unearned marks are impossible."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from course.staff.grading import marking
from course.staff.grading.bases import complete_workspace
from course.staff.grading.grading_env import GradingEnv
from course.staff.grading.marking import mark_submission, mark_task
from course.staff.grading.own_tests import OwnTest
from course.staff.grading.reference import Reference
from course.staff.grading.results import FAIL, NOT_HANDED_IN, NOT_RUN, PART, PASS, TaskResult
from course.staff.grading.submissions import Submission
from course.staff.probes import PUBLISHED, check
from course.staff.probes.compare import check_equal
from course.staff.proofs.answers import WrongAnswer
from course.staff.sandbox.sandbox import Sandbox

from . import miniature

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

OPERATORS, TESTS, SCALAR = "minitorch/operators.py", "tests/test_operators.py", "minitorch/scalar.py"

NUMBER = 7


# The miniature course: one sandbox and its own probes


def relu_is_right(p: Any, x: float) -> check.Check:
    (got,) = yield [p.find("minitorch.operators:relu")(x)]
    check_equal(got, max(x, 0.0))


INPUTS: dict[str, Any] = {"examples": [(2.0,), (0.5,)], "inputs": {}, "count": 0, "seconds": 5.0}
PROBES = [
    check.Probe("0.1", "relu(x) is x where x > 0", 3, relu_is_right, **INPUTS),
    check.Probe("0.1", "relu(x) is 0 where x < 0", 1, relu_is_right, **{**INPUTS, "examples": [(-2.0,)]}),
]

PATCH = {"minitorch.operators:relu": "def relu(x):\n    return x if x > 0 else x / 8"}
LEAKS = WrongAnswer("own", "relu_leaks", "relu gives x / 8 below 0.", PATCH)
OWN = [OwnTest("0.2", "tests.test_operators:test_own", 1.0, (LEAKS,))]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    """The reference of the miniature course."""
    root, manifest = miniature.write(tmp_path_factory.mktemp("miniature"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "_probes", {"0.1": PROBES})
        yield Reference(root, manifest, GradingEnv(Sandbox(), NUMBER), tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def right_files(reference: Reference) -> dict[str, str]:
    """Correct files of Module 0."""
    files = complete_workspace(reference.root, reference.manifest, reference.manifest.task("0.2"))
    return {path: str(files[path]) for path in (OPERATORS, TESTS)}


BODY = "return x if x > 0 else 0.0"


@pytest.fixture
def mark_files(reference: Reference, right_files: dict[str, str]) -> Callable[..., TaskResult]:
    """Grades a submission in one task; it is right except for another body of relu, or other files."""

    def mark(id: str, body: str = BODY, **changed: str) -> TaskResult:
        files = {**right_files, OPERATORS: right_files[OPERATORS].replace(BODY, body.replace("\n", "\n    ")), **changed}
        submission = Submission("ann", {path: text.encode() for path, text in files.items()})
        return mark_task(reference, submission, reference.manifest.task(id), [test for test in OWN if test.task == id])

    return mark


def outcomes(result: TaskResult) -> dict[str, str]:
    return {test.id.rpartition("::")[2]: test.outcome for test in result.visible}


def test_a_right_answer_earns_all_points(mark_files: Callable[..., TaskResult]) -> None:
    result = mark_files("0.1")
    assert (result.verdict, result.mark, result.points) == (PASS, 10, 10)
    assert outcomes(result) == {"test_relu": "passed"}
    assert [probe.passed for probe in result.probes] == [True, True]
    assert (result.reason, result.note, result.disagrees, result.flaky, result.nearest) == ("", "", False, False, None)


def test_a_partial_answer_earns_the_weight_of_its_probes_and_no_inputs_are_revealed(mark_files: Callable[..., TaskResult]) -> None:
    result = mark_files("0.1", "return x")
    assert (result.verdict, result.mark) == (PART, 7.5)
    assert outcomes(result) == {"test_relu": "failed"}
    assert "expected 0.0\nyours -2.0" in result.visible[0].message
    assert result.reason == "these requirements are not met: relu(x) is 0 where x < 0"
    assert (result.disagrees, result.flaky) == (False, False)


def test_unwritten_code_is_not_run(mark_files: Callable[..., TaskResult], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GradingEnv, "visible", None)
    result = mark_files("0.1", 'raise NotImplementedError("Need to implement for Task 0.1")')
    assert (result.verdict, result.mark, result.reason) == (FAIL, 0, "not written: relu")
    assert outcomes(result) == {"test_relu": "failed"}
    assert [probe.reason for probe in result.probes] == ["it is not written"] * 2


def test_visible_tests_that_contradict_the_probes_are_flagged_and_keep_the_mark(mark_files: Callable[..., TaskResult]) -> None:
    result = mark_files("0.1", f"import sys\nassert 'pytest' not in sys.modules\n{BODY}")
    assert (result.verdict, result.mark, result.disagrees) == (PASS, 10, True)
    assert result.note.startswith(f"all probes pass, but not {TESTS}::test_relu; look at the code: ")


def double_is_right(p: Any) -> check.Check:
    (got,) = yield [p.find("minitorch.scalar:Scalar")(2.0).double().data]
    check_equal(got, 4.0)


def test_code_that_passes_in_the_student_s_workspace_passes_in_grading(reference: Reference, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = "def twice(x):\n    return x + x\n"  # in a file of another task
    check_code_of_another_task(helper, "twice", reference, monkeypatch)


def check_code_of_another_task(helper: str, double: str, reference: Reference, monkeypatch: pytest.MonkeyPatch) -> None:
    """A student's Scalar that calls a function of another task's file passes."""
    monkeypatch.setitem(check._probes, "1.1", [check.Probe("1.1", "double doubles", 1, double_is_right, {}, [], 0, 5.0)])
    files = complete_workspace(reference.root, reference.manifest, reference.manifest.task("1.1"))
    operators = str(files[OPERATORS]).replace("relu(x: float)", "relu(x: float, times: int = 1)")
    operators = operators.replace(BODY, "return max(x, 0.0) * times")
    scalar = str(files[SCALAR]).replace("self.data + self.data", f"({double})(self.data)")
    imported = "from minitorch.operators import twice\n" if helper else "from minitorch.operators import relu\n"
    scalar = scalar.replace('"""Stage 1."""\n', f'"""Stage 1."""\n\n{imported}')
    submission = Submission("ann", {OPERATORS: f"{operators}\n\n{helper}".encode(), SCALAR: scalar.encode()})
    result = mark_task(reference, submission, reference.manifest.task("1.1"), [])
    assert (result.verdict, result.reason) == (PASS, "")


def test_a_task_without_probes_is_reported_as_not_run(mark_files: Callable[..., TaskResult]) -> None:
    result = mark_files("1.1")
    assert (result.verdict, result.mark, result.reason) == (NOT_RUN, 0, "not graded: there are no hidden probes for this task")


def test_a_task_whose_right_answer_fails_on_this_machine_is_not_run(reference: Reference, right_files: Any, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(check._probes, "0.1", [replace(PROBES[0], examples=[("no number",)])])
        other = Reference(reference.root, reference.manifest, reference.env, tmp_path)
        result = mark_task(other, Submission("ann", {OPERATORS: right_files[OPERATORS].encode()}), other.manifest.task("0.1"), [])
    assert (result.verdict, result.mark) == (NOT_RUN, 0)
    assert result.reason == "not graded: even a correct answer does not pass on this machine"
    assert result.note.startswith("a correct answer does not pass the probes on this machine: relu(x) is x where x > 0: ")


def test_grading_of_a_slow_submission_stops_and_says_so(reference: Reference, right_files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marking, "MAX_SECONDS", -60.0)  # as if it had taken longer
    submission = Submission("ann", {path: text.encode() for path, text in right_files.items()})
    (found,) = mark_submission(reference, submission, [reference.manifest.task("0.1")], []).tasks
    assert (found.verdict, found.mark, found.points) == (NOT_RUN, 0.0, 10)
    assert found.reason == "not graded: the earlier tasks took more than -1 minutes"


# Hand-ins of the original course

STUB = 'raise NotImplementedError("Need to implement for Task 0.1")'


@pytest.mark.parametrize(
    ("here", "own", "expected"),
    [
        (STUB, None, (NOT_HANDED_IN, 0, False)),
        (STUB, STUB, (NOT_HANDED_IN, 0, False)),
        (STUB, BODY, (PASS, 10, True)),
        (BODY, "return x", (PASS, 10, False)),
        ("return x", BODY, (PASS, 10, True)),
        ("return -1.0", "return x", (PART, 7.5, True)),
        (STUB, "raise CudaSupportError\n\n\nclass CudaSupportError(Exception): pass", (NOT_RUN, 0, True)),
    ],
)
def test_the_better_of_a_hand_in_in_its_own_package_and_in_ours_counts(
    reference: Reference, right_files: dict[str, str], here: str, own: str | None, expected: tuple[str, float, bool]
) -> None:
    published = Reference(reference.root, reference.manifest, replace(reference.env, profile=PUBLISHED), reference.home)
    files = {**right_files, OPERATORS: right_files[OPERATORS].replace(BODY, here)}
    if own is not None:
        files |= {f"original/module-0/{OPERATORS}": f"def relu(x):\n    {own}\n", "original/module-0/minitorch/__init__.py": ""}
    submission = Submission("ann", {path: text.encode() for path, text in files.items()})
    result = mark_task(published, submission, reference.manifest.task("0.1"), [])
    assert (result.verdict, result.mark, result.own_package) == expected
