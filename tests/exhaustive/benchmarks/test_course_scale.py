"""The estimate for a large class: the schedule, the order of the queue, and submissions of every kind."""

import ast

from benchmarks import course_scale


def test_the_mixed_class_is_valid_python_and_no_two_submissions_are_the_same():
    submissions = course_scale.mixed_class()
    assert len(submissions) == 20
    assert len({tuple(files.values()) for files in submissions.values()}) == 20
    for files in submissions.values():
        for text in files.values():
            ast.parse(text)
