"""Grading: what earns marks, what does not cost marks, and that unearned marks are impossible."""

from dataclasses import replace
from typing import Any

import pytest

from course.staff.grading.grading_env import GradingEnv
from course.staff.grading.marking import mark_submission
from course.staff.grading.reference import Reference
from course.staff.grading.results import FAIL, PART, PASS
from course.staff.grading.submissions import Submission
from course.staff.probes import check
from tests.course.test_grade import (  # fixtures
    BODY,
    NUMBER,
    OPERATORS,
    OWN,
    TESTS,
    check_code_of_another_task,
    mark_files,
    outcomes,
    reference,
    right_files,
)


def test_the_errors_of_many_tests_are_reported_however_long_their_tracebacks_are(mark_files: Any) -> None:
    result = mark_files("0.1", "raise NameError('x is not defined ' + 'and so on ' * 20_000)")
    assert "NameError: x is not defined" in result.visible[0].message
    assert result.visible[0].cause.startswith("NameError: x is not defined")


def test_the_student_s_signature_is_used_and_an_incompatible_one_is_reported(mark_files: Any, right_files: Any) -> None:
    renamed = right_files[OPERATORS].replace("relu(x: float)", "relu(number, seen=None)").replace(BODY, BODY.replace("x", "number"))
    assert mark_files("0.1", **{OPERATORS: renamed}).verdict == PASS
    short = mark_files("0.1", **{OPERATORS: right_files[OPERATORS].replace("relu(x: float)", "relu()").replace(BODY, "return 0.0")})
    assert (short.verdict, short.mark) == (FAIL, 0)
    assert short.reason.endswith("the course calls relu(x), which your relu() does not accept")


def test_an_invalid_python_file_costs_only_its_own_tasks(mark_files: Any) -> None:
    broken = {OPERATORS: "def relu(:\n"}
    result = mark_files("0.1", **broken)
    assert (result.verdict, result.mark) == (FAIL, 0)
    assert result.reason == f"{OPERATORS}, line 1: not valid Python: invalid syntax"
    assert mark_files("0.2", **broken).verdict == PASS


@pytest.mark.parametrize(
    ("body", "visible"),
    [
        ("import os\nos._exit(0)", "missing"),
        ("import pytest\npytest.skip('not today')", "missing"),
        ("from _pytest.reports import TestReport as R\nR.passed, R.failed, R.outcome = True, False, 'passed'\nreturn 7.0", "missing"),
        ("class Same(float):\n    __eq__ = lambda self, other: True\nreturn Same(7.0)", "passed"),
        ("import course.runner.report_file as p\np.write_json = lambda path, d: path.write_text('{\"tests\": []}')\nreturn 7.0", "missing"),
    ],
    ids=["exits", "skips", "patches the reports", "equals everything", "writes another report"],
)
def test_a_forged_outcome_earns_nothing_and_is_flagged(body: str, visible: str, mark_files: Any) -> None:
    result = mark_files("0.1", body)
    assert (result.verdict, result.mark) == (FAIL, 0)
    assert outcomes(result) == {"test_relu": visible}
    forged = "_pytest" in body
    assert "write_json" not in body or result.unusual == (
        "relu imports course",
        "relu changes p.write_json",
    )  # an empty report accuses nobody
    assert result.disagrees == (forged or visible == "passed")
    assert ("the run of the visible tests forged its report" in result.note) == forged


def test_a_second_run_with_another_outcome_is_flagged_and_the_worse_one_counts(mark_files: Any, monkeypatch: Any) -> None:
    asked, ask = [], GradingEnv.probes

    def other_the_second_time(*words: Any, **more: Any) -> list[check.Outcome]:
        asked.append(1)
        return [replace(outcome, passed=outcome.passed and len(asked) == 1) for outcome in ask(*words, **more)]

    monkeypatch.setattr(GradingEnv, "probes", other_the_second_time)
    result = mark_files("0.1", "return x")
    assert (result.verdict, result.mark, result.flaky) == (FAIL, 0, True)
    assert result.note == "a second run had a different outcome"


def test_an_endless_loop_fails_its_probe_and_the_other_probes_run(mark_files: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("course.staff.grading.marking.MIN_SECONDS", {False: (60.0, 1.0), True: (60.0, 1.0)})
    result = mark_files("0.1", "while x < 0:\n    pass\nreturn x")
    assert (result.verdict, result.mark) == (PART, 7.5)
    assert outcomes(result) == {"test_relu": "failed"}
    assert result.visible[0].message == "it exceeded its time limit; look for a loop that never ends"


def test_a_student_s_test_must_pass_with_right_code_and_fail_with_wrong_code(mark_files: Any, right_files: Any) -> None:
    assert mark_files("0.2").mark == 10
    for assertion, reason in (("True", "it also passes with this mistake"), ("relu(x) > 100", "it fails with correct code: ")):
        result = mark_files("0.2", **{TESTS: right_files[TESTS].replace("relu(x) >= 0", assertion)})
        assert (result.verdict, result.mark) == (FAIL, 0)
        assert [probe.says for probe in result.probes] == ["test_own detects: relu gives x / 8 below 0."]
        assert result.probes[0].reason.startswith(reason)


def test_a_submission_is_graded_in_all_tasks_and_a_refused_one_in_none(reference: Reference, right_files: dict[str, str]) -> None:
    tasks = [reference.manifest.task(id) for id in ("0.1", "0.2")]
    submission = Submission("ann", {path: text.encode() for path, text in right_files.items()}, ("notes.txt",))
    seen: list[str] = []
    result = mark_submission(reference, submission, tasks, OWN, lambda task: seen.append(task.task))
    assert (result.mark, result.points, result.number, result.left_out) == (20, 20, NUMBER, ("notes.txt",))
    assert (seen, result.level, result.hash) == (["0.1", "0.2"], reference.env.sandbox.level, submission.hash)
    refused = mark_submission(reference, Submission("ben", refused="it is a bomb"), tasks, OWN)
    assert (refused.refused, refused.tasks, refused.mark) == ("it is a bomb", (), 0)


def test_a_function_of_another_task_may_require_more_than_the_course_s(reference: Reference, monkeypatch: pytest.MonkeyPatch) -> None:
    check_code_of_another_task("", "lambda x: relu(x, 2)", reference, monkeypatch)
