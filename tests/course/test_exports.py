"""What other systems take: every file of ours against their published formats, and back again after an import from the same system."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from course.staff.classroom import autograder
from course.staff.grading.results import FAIL, Result, TaskResult, VisibleTest
from course.staff.outputs import classroom, gradescope, junit

from .formats import CLASSROOM, GRADESCOPE, junit_errors
from .graded import ADA, BEN, CLASS, EVE, NOT_DONE, PARTLY

NASTY = "Zoë 🦆 \"quoted\", 'single'; <b>&amp;\x00\x1b[31m\ud800\r\n=1+1"
"""What may stand in a name or a message."""

EXTREMES = [
    *CLASS,
    replace(ADA, tasks=(NOT_DONE,)),
    replace(EVE, refused=NASTY),
    Result(
        NASTY, "h", "", (replace(PARTLY, reason=NASTY, visible=(VisibleTest(f"t.py::{NASTY}", "failed", NASTY),)),), (NASTY,), "", 7, 0.0
    ),
    Result("big", "h", "", (TaskResult("0.1", FAIL, 1e6, 1 / 3, seconds=123456.789),), (), "", 7, 1e6),
    Result("none", "h", "", (), (), "", 7, 0.0),
]
"""Results at the edges."""


@pytest.mark.parametrize("result", EXTREMES, ids=range(len(EXTREMES)))
def test_gradescope_takes_every_results_json(result: Result, tmp_path: Path) -> None:
    gradescope.write_gradescope([result], tmp_path)
    [file] = tmp_path.rglob("results.json")
    jsonschema.validate(json.loads(file.read_text(encoding="utf-8")), GRADESCOPE)


def test_gradescope_takes_what_is_said_of_a_submission_that_could_not_be_graded() -> None:
    jsonschema.validate(autograder.ungraded(), GRADESCOPE)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"tests": []},
        {"tests": [{"name": "no score"}]},
        {"score": "10"},
        {"score": 1, "tests": [{"status": "error"}]},
        {"score": 1, "visibility": "public"},
        {"score": 1, "tests": [{"number": 1.1}]},
        {"score": 1, "leaderboard": [{"name": "Time"}]},
    ],
)
def test_the_schema_of_gradescope_refuses_what_gradescope_does(document: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, GRADESCOPE)


@pytest.mark.parametrize("result", EXTREMES, ids=range(len(EXTREMES)))
def test_the_reporter_of_github_classroom_takes_every_line(result: Result) -> None:
    line = classroom.line_of_output(result)
    key, _, encoded = line.partition("=")
    assert (key, line.count("\n"), line[-1]) == ("result", 1, "\n")
    document = json.loads(base64.b64decode(encoded))
    jsonschema.validate(document, CLASSROOM)
    assert sum(test["score"] for test in document["tests"]) == pytest.approx(result.mark, abs=0.01)


def test_the_environment_of_the_reporter_has_room_for_a_result_with_long_messages() -> None:
    """An environment variable of Linux holds 128 KiB at most."""
    tasks = tuple(replace(PARTLY, task=f"0.{number}", visible=(VisibleTest("t.py::t", "failed", "x" * 5000),)) for number in range(30))
    assert len(classroom.line_of_output(replace(ADA, tasks=tasks))) < 128 * 1024 - len("COURSE_RESULTS=")


@pytest.mark.parametrize("result", EXTREMES, ids=range(len(EXTREMES)))
def test_jenkins_takes_every_junit_file(result: Result, tmp_path: Path) -> None:
    junit.write_junit([BEN, result], tmp_path / "junit.xml")
    assert junit_errors(ElementTree.parse(tmp_path / "junit.xml").getroot()) == []


def test_the_schema_of_junit_refuses_what_jenkins_does() -> None:
    text = '<testsuites skipped="0"><testsuite name="a" tests="1"><testcase time="1e3"/>text<case/></testsuite></testsuites>'
    assert junit_errors(ElementTree.fromstring(text)) == [
        "<testsuites> may not have skipped",
        "<testsuite> lacks failures",
        "<testsuite> lacks errors",
        "<testsuite> may not hold <case>",
        "<testcase> lacks name",
        "<testcase> has the time 1e3",
        "<case> is unknown",
    ]
