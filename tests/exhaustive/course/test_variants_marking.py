"""Marking submissions by their students' variants, and reporting copies to the teacher: `course-staff mark` and `grade --term`."""

import pytest

from course.staff.grading.results import PART, PASS
from course.staff.variants.grading import matching_students
from tests.course.test_variants_marking import MINE, THEIRS, mark_added, reference, solution

STUB = """

def scaled(x):
    raise NotImplementedError("Need to implement for Task 0.1")
"""


@pytest.mark.parametrize("added", [STUB, ""])
def test_an_unwritten_function_of_the_variant_is_named(added, mark_added):
    result = mark_added(added)
    assert (result.verdict, result.mark) == (PART, 7.5)
    assert "not written: scaled" in result.reason
    assert matching_students(result, {"ben": THEIRS}) == ()


def test_without_a_variant_the_function_is_an_ordinary_addition(mark_added):
    result = mark_added(solution(2.5), None)
    assert (result.verdict, result.mark, result.variant) == (PASS, 10.0, {})
    assert [test.id for test in result.visible] == ["tests/test_operators.py::test_relu"]


def test_another_student_s_variant_loses_the_variant_s_share_and_is_recognized(mark_added):
    result = mark_added(solution(3.5))
    assert (result.verdict, result.mark) == (PART, 7.5)
    assert [test.outcome for test in result.visible] == ["passed", "failed"]
    assert matching_students(result, {"ann": MINE, "ben": THEIRS}) == ("ben",)
