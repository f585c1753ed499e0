"""Submissions that try to get marks without earning them, graded like any other, and right submissions for comparison."""

import pytest

from benchmarks.course_class import fooled
from course.manifest import ROOT, course
from course.staff.grading.grading_env import GradingEnv
from course.staff.grading.marking import mark_task
from course.staff.grading.own_tests import load_own_tests
from course.staff.grading.reference import Reference
from course.staff.grading.results import PASS
from course.staff.grading.submissions import Submission
from course.staff.proofs.answers import WrongAnswer, apply_patch, load_answers
from course.staff.sandbox.sandbox import Sandbox

OWN_TESTS = load_own_tests(course())

FORGERS = load_answers(ROOT / "tests" / "course" / "forgers", course().tasks)[::6]
"""A selection; `benchmarks.course` grades all of them."""


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """The reference of the course."""
    return Reference(ROOT, course(), GradingEnv(Sandbox(), 7), tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("forger", FORGERS, ids=lambda forger: forger.key)
def test_a_forger_gets_only_earned_marks(forger: WrongAnswer, reference: Reference) -> None:
    task = course().task(forger.task)
    right = dict(reference.prepare(task).right)
    files = {path: str(text).encode() for path, text in apply_patch(forger, right).items()}
    result = mark_task(reference, Submission("eve", files), task, [test for test in OWN_TESTS if test.task == task.id])
    assert not fooled(result, forger), result


@pytest.mark.parametrize("id", sorted({forger.task for forger in FORGERS} | {test.task for test in OWN_TESTS}))
def test_a_right_answer_gets_all_marks_and_right_tests_catch_all_wrong_code(id: str, reference: Reference) -> None:
    task, own = course().task(id), [test for test in OWN_TESTS if test.task == id]
    right = {path: text.encode() for path, text in reference.prepare(task).right.items()}
    result = mark_task(reference, Submission("ann", right), task, own)
    assert result.verdict in (PASS, f"{PASS} (sim)"), result  # Tasks 3.3 and 3.4 run in the simulator without a GPU
    assert not result.flagged, result
