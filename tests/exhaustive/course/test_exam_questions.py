"""Exam questions with the numbers of further students, and those that compile kernels."""

import pytest

from tests.course.test_exam_questions import BY_ID, COMPILED, STUDENTS, check_answers


@pytest.mark.parametrize("id", BY_ID)
def test_answers_agree_with_minitorch(id: str) -> None:
    check_answers(id, STUDENTS if id in COMPILED else STUDENTS[1:])
