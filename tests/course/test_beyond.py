"""Tests that check more than the original course asks for: the list of them, their effect in an adopted workspace, and in feedback."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from course.cli.board import summary
from course.manifest import ROOT, course
from course.runner.progress import TaskState, run_tasks
from course.staff.adopt import adopt as adoption
from course.staff.grading.beyond import beyond_rules, with_beyond
from course.staff.grading.results import BEYOND, PART, PASS, HiddenProbe, Result, TaskResult, VisibleTest
from course.staff.handout import generate
from course.staff.outputs.feedback import feedback
from course.workspace.published import PATH, BeyondRule, is_beyond, read_rules

from .original_copies import copy_original
from .prepared import course_files

pytest_plugins = "tests.course.forks"
pytestmark = pytest.mark.usefixtures("forked_processes")

IS_FLOAT = "tests/test_operators.py::test_every_result_is_a_float[lt(2.0, 3.0)]"
"""A test that comparisons with True as their result fail, which the original course accepts."""


# The list


def test_every_rule_names_tests_that_exist() -> None:
    for rule in beyond_rules():
        assert rule.why
        assert rule.tests
        for start in rule.tests:
            file, _, name = start.partition("::")
            found = re.findall(r"^def (test_\w+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
            wanted = name.partition("[")[0]
            assert [one for one in found if (one == wanted if "[" in name else one.startswith(wanted))], start


def test_a_rule_for_all_tests_of_a_file_says_how_they_may_fail() -> None:
    assert [
        rule for rule in beyond_rules() if not rule.failure and any("[" not in t and t.endswith(("::", "::test_")) for t in rule.tests)
    ] == []


@pytest.mark.parametrize(
    ("id", "message", "expected"),
    [
        ("tests/test_nn.py::test_max[1]", "x = 0.0\nwrong", True),
        ("tests/test_nn.py::test_max[1]", "x = 10.0\nwrong", False),
        ("tests/test_nn.py::test_min[1]", "x = 0.0\nwrong", False),
    ],
)
def test_a_test_is_listed_by_the_beginning_of_its_id_and_by_its_failure(id: str, message: str, expected: bool) -> None:
    assert is_beyond([BeyondRule(("tests/test_nn.py::test_max",), r"^x = 0\.0$", "why")], id, message) is expected


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"beyond": [{"tests": "a"}]}', '{"beyond": [{"tests": ["a"], "failure": "(", "why": ""}]}']
)
def test_a_damaged_list_is_ignored(text: str, tmp_path: Path) -> None:
    (tmp_path / PATH.parent).mkdir()
    (tmp_path / PATH).write_text(text)
    assert read_rules(tmp_path) == ()


# In a workspace


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Module 0 of a hand-in of the original course, as an adopted workspace; a test that edits it restores it."""
    folder = tmp_path_factory.mktemp("adopted")
    manifest = replace(course(), tasks=tuple(task for task in course().tasks if task.stage == 0))
    with pytest.MonkeyPatch.context() as patch:
        for module in (adoption, generate):
            patch.setattr(module, "handout_files", lambda *arguments, **more: course_files(0))
        adoption.write_workspace(adoption.adopt(copy_original("typed", folder), manifest), manifest, folder / "work")
    return folder / "work"


def test_a_workspace_has_the_list_and_its_profile(adopted: Path) -> None:
    assert read_rules(adopted) == beyond_rules()
    assert json.loads((adopted / PATH).read_text())["profile"] == "published"
    assert read_rules(ROOT) == ()


def test_right_answers_of_the_original_course_pass_in_an_adopted_workspace_and_fail_without_the_list(adopted: Path) -> None:
    state = run_tasks(["0.4"], adopted)["0.4"]
    assert (state.state, state.passed, state.total, state.beyond) == ("passed", 14, 14, 3)
    text = (adopted / PATH).read_text()
    (adopted / PATH).unlink()
    state = run_tasks(["0.4"], adopted)["0.4"]
    (adopted / PATH).write_text(text)
    assert (state.state, state.failing, state.beyond) == ("failing", 3, 0)


def test_the_summary_of_a_task_counts_them_separately() -> None:
    state = TaskState("0.1", "passed", passed=73, total=73, beyond=7)
    assert str(summary(course().task("0.1"), state)).endswith(
        ": passed. Of 73 tests, 73 pass. 7 more fail; they check more than the original course asks for."
    )
    one = TaskState("0.1", "passed", passed=1, total=1, beyond=1)
    assert str(summary(course().task("0.1"), one)).endswith("1 passes. 1 more fails; it checks more than the original course asks for.")


# In feedback


PASSES, FAILS = VisibleTest("tests/test_x.py::test_a", "passed"), VisibleTest("tests/test_x.py::test_b", "failed", "wrong")
LISTED, MISSING = VisibleTest(IS_FLOAT, "failed", "wrong"), VisibleTest("tests/test_x.py::test_c[<lambda>]", "missing")


@pytest.mark.parametrize(
    ("tests", "passed", "outcomes"),
    [
        ([PASSES, FAILS, MISSING], True, ["passed", BEYOND, BEYOND]),
        ([PASSES, FAILS, MISSING], False, ["passed", "failed", "missing"]),
        ([LISTED, FAILS], False, [BEYOND, "failed"]),
    ],
    ids=["a task with all points", "a task with lost points", "a listed test"],
)
def test_a_failing_test_is_beyond_the_contract_if_it_is_listed_or_its_task_has_all_points(
    tests: list[VisibleTest], passed: bool, outcomes: list[str]
) -> None:
    expected = tuple(replace(test, outcome=outcome) for test, outcome in zip(tests, outcomes, strict=True))
    assert with_beyond(tuple(tests), passed=passed) == expected


def test_feedback_does_not_list_tests_that_cost_nothing() -> None:
    beyond = (VisibleTest(IS_FLOAT, BEYOND, "expected float"), VisibleTest("tests/test_operators.py::test_mul", "passed"))
    lost = (*beyond, VisibleTest("tests/test_operators.py::test_neg", "failed", "expected -1.0"))
    tasks = (
        TaskResult("0.1", PASS, 10, 10, visible=beyond),
        TaskResult("0.3", PART, 10, 5, visible=lost, probes=(HiddenProbe("neg(x) is -x", 1, False),)),
    )
    page = feedback(Result("zoe", "z9", "", tasks, (), "bubblewrap", 7, 1.0, "published"))
    assert "Passed: 0.1." in page
    assert "test_every_result_is_a_float" not in page
    assert "1 of 2 tests in your workspace pass. The first one that fails: tests/test_operators.py::test_neg" in page
    assert "2 tests of this course that do not pass check more than the original course asks for. This cost no points." in page
    one = feedback(Result("zoe", "z9", "", tasks[:1], (), "bubblewrap", 7, 1.0, "published"))
    assert "1 test of this course that does not pass checks more than the original course asks for. This cost no points." in one
