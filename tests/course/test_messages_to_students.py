"""What feedback says about a task: only what helps, and once."""

import pytest

from course.staff.grading.results import FAIL, NOT_RUN, Nearest, TaskResult
from course.staff.outputs import words


@pytest.mark.parametrize(("likeness", "shown"), [(1.0, True), (0.8, True), (0.79, False), (0.5, False)])
def test_a_known_mistake_is_shown_only_if_it_fails_much_the_same(likeness, shown):
    task = TaskResult("0.1", FAIL, 10, 0, nearest=Nearest("0.1/one", "Begins with 1.", likeness))
    assert ("A known mistake that fails in the same way: Begins with 1." in words.messages(task)) == shown


def test_a_task_that_was_not_graded_says_so_once():
    task = TaskResult("0.1", NOT_RUN, 10, 0, reason="not graded: there are no hidden probes for this task")
    assert words.messages(task) == ["Not graded: there are no hidden probes for this task"]
