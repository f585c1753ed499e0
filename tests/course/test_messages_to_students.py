"""What feedback says about a task: only what helps, and once."""

import pytest

from course.staff.grading.marking import Attempt
from course.staff.grading.results import FAIL, NOT_RUN, PASS_SIM, HiddenProbe, Nearest, Result, TaskResult
from course.staff.outputs import words
from course.staff.outputs.feedback import feedback
from course.staff.probes import FULL, PUBLISHED, probes_of


@pytest.mark.parametrize(("likeness", "shown"), [(1.0, True), (0.8, True), (0.79, False), (0.5, False)])
def test_a_known_mistake_is_shown_only_if_it_fails_much_the_same(likeness, shown):
    task = TaskResult("0.1", FAIL, 10, 0, nearest=Nearest("0.1/one", "Begins with 1.", likeness))
    assert ("A known mistake that fails in the same way: Begins with 1." in words.messages(task)) == shown


def test_a_task_that_was_not_graded_says_so_once():
    task = TaskResult("0.1", NOT_RUN, 10, 0, reason="not graded: there are no hidden probes for this task")
    assert words.messages(task) == ["Not graded: there are no hidden probes for this task"]


TOLD = HiddenProbe("a thread reads past the end", 0, False, "expected nothing, got 7")


def test_what_is_only_told_costs_no_points_and_is_no_requirement_that_failed():
    right, wrong = HiddenProbe("sums", 2, True), HiddenProbe("multiplies", 2, False, "expected 6, got 5")
    assert [Attempt((), probes).share for probes in [(right, TOLD), (right, wrong, TOLD), (right, wrong), (wrong, TOLD)]] == [
        1.0,
        0.5,
        0.5,
        0.0,
    ]
    task = TaskResult("3.3", PASS_SIM, 20, 20, probes=(right, TOLD))
    assert words.messages(task) == ["This costs no points: a thread reads past the end"]
    assert words.failed_requirements(TaskResult("3.3", FAIL, 20, 0, probes=(wrong, TOLD))) == ["multiplies"]
    page = feedback(Result("ann", "", "", (task,), (), "none", 7, 1.0, PUBLISHED))
    assert "## Task 3.3: PASS (sim), 20 of 20\n\nThis costs no points: a thread reads past the end\n" in page


def test_a_missing_guard_of_sum_practice_is_told_in_the_profile_of_the_original_course_only():
    told = [probe.says for probe in probes_of("3.3", PUBLISHED) if not probe.weight]
    assert [says.partition(".")[0] for says in told] == ["a thread of sum_practice accesses an element past the end of its arrays"]
    assert not set(told) & {probe.says for probe in probes_of("3.3", FULL)}
