"""Tier 1: the visible tests, which students have too, run in the sandbox for feedback.

They share a process with the submission, which can change what pytest reports. So the list of tests that count comes from the
reference, and canary tests run among them, one of which must fail: a report in which it passes is discarded. Marks never come from
this tier.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from course.manifest import Task
from course.runner.failure_report import card_from
from course.staff.grading.results import VisibleTest
from course.staff.probes.sandboxed import SIMULATED_THREADS, STACKS
from course.staff.sandbox.sandbox import PYTHON, Limits, RunResult, Sandbox

CANARY = '''"""Canaries: whether the report of this run is trustworthy."""

import pytest


@pytest.mark.{mark}
def test_that_passes():
    pass


@pytest.mark.{mark}
def test_that_fails():
    raise AssertionError("this test must fail")
'''

CANARIES = ("tests/test_{token}_begin.py", "tests/test_{token}_end.py")
"""The canary files; they run first and last."""

THREADS = {"NUMBA_NUM_THREADS": "2"}
"""A race needs two threads, and every submission gets the same number."""

NO_SHARED_LOCK = "Could not obtain multiprocessing lock"
"""The beginning of a warning of numba, which needs no lock between processes. Landlock does not let programs write to /dev/shm."""

MAX_LINES, CHARACTERS = 6, 600
"""The most lines and characters of a message."""

LIMIT_MESSAGES = {
    "time": "the run of the tests exceeded its time limit; look for a loop that never ends",
    "memory": "the run of the tests exceeded its memory limit",
    "output": "the run of the tests exceeded its limit on output",
    "files": "the run of the tests exceeded its limit on files",
    "processes": "the run of the tests exceeded its limit on processes",
}
"""Why a test has no outcome, by the limit that the run exceeded."""


@dataclass(frozen=True)
class VisibleRun:
    """Outcomes of one run of the visible tests.

    Attributes:
        outcomes: Outcome by test id.
        skipped: Reason by test id.
        forged: Whether the report is inconsistent with the canaries.
        missing: Why the remaining tests have no outcome.
        seconds: Wall time of the run.
        hung: Whether a test, or the whole run, exceeded its time limit.
    """

    outcomes: Mapping[str, VisibleTest]
    skipped: Mapping[str, str]
    forged: bool
    missing: str
    seconds: float
    hung: bool = False

    def of(self, ids: Sequence[str]) -> tuple[VisibleTest, ...]:
        """The outcomes of these tests; a test that was skipped or did not run is missing."""
        if self.forged:
            return tuple(VisibleTest(id, "missing", "the run forged its report, which is discarded") for id in ids)
        return tuple(self.outcomes.get(id) or VisibleTest(id, "missing", self._missing_reason(id)) for id in ids)

    def _missing_reason(self, id: str) -> str:
        return f"skipped: {self.skipped[id]}" if id in self.skipped else self.missing


def canaries(task: Task, token: str) -> dict[str, str]:
    """The canary test files, by names that a submission cannot know in advance."""
    return {name.format(token=token): CANARY.format(mark=task.mark) for name in CANARIES}


def run_visible(
    sandbox: Sandbox,
    folder: Path,
    task: Task,
    select: Iterable[str],
    *,
    token: str,
    seconds: float,
    each: float,
    environment: Mapping[str, str],
    cache: Path | None = None,
) -> VisibleRun:
    """Run the tests of a task.

    Args:
        sandbox: The sandbox.
        folder: The graft, including the canaries.
        task: The task.
        select: Test files or test ids.
        token: The token in the canaries' names.
        seconds: Time limit of the run.
        each: Limit on the computing time of one test.
        environment: Further environment variables.
        cache: numba's cache.

    Returns:
        The outcomes.

    Raises:
        SandboxError: If the sandbox cannot be set up.
    """
    first, last = (name.format(token=token) for name in CANARIES)
    limits = Limits(seconds=seconds)
    if "NUMBA_ENABLE_CUDASIM" in environment:
        limits = replace(limits, processes=SIMULATED_THREADS, mapped=STACKS)
    command = command_for(task, [first, *select, last], each)
    run = sandbox.run(command, files=folder, limits=limits, environment=run_environment(environment), collect="report.json", cache=cache)
    return _parse_report(run, [f"{file}::test_that_{how}" for file in (first, last) for how in ("passes", "fails")])


def command_for(task: Task, select: Iterable[str], each: float) -> list[str]:
    """The command that runs tests of a task and writes report.json to the private folder."""
    options = [
        "-p",
        "_hypothesis_pytestplugin",
        "-q",
        "--tb=no",  # a basic mistake fails hundreds of tests, and nobody would read their tracebacks
        "-rN",
        "-p",
        "no:cacheprovider",
        "-W",
        f"ignore:{NO_SHARED_LOCK}",
        "--continue-on-collection-errors",
        "--course-report={tmp}/report.json",
        f"--course-limit={each:g}",
        "-m",
        task.mark,
    ]
    return [PYTHON, "-s", "-m", "pytest", *options, *select]


def run_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of a run.

    Plugins that happen to be installed are not loaded: loading them in every process, and rewriting the assertions of their packages, took
    longer than most tests.
    """
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return {**THREADS, **alone, "CI": "1", "NO_COLOR": "1", "HYPOTHESIS_STORAGE_DIRECTORY": "{tmp}/hypothesis", **environment}


def _parse_report(run: RunResult, canary_ids: Sequence[str]) -> VisibleRun:
    """Parse the report and compare it with the canaries."""
    outcomes: dict[str, VisibleTest] = {}
    skipped: dict[str, str] = {}
    why = LIMIT_MESSAGES.get(run.reason, "the run ended before it")
    try:
        document = json.loads(run.collected or b"{}")
        for row in document.get("tests", []):
            id, state = str(row["nodeid"]), str(row["state"])
            if state == "skipped":
                skipped[id] = str(row.get("reason", ""))[:CHARACTERS]
            else:
                passed = state == "passed"
                outcomes[id] = VisibleTest(id, "passed") if passed else VisibleTest(id, "failed", _message(row), _cause(row))
                if "::" not in id:
                    why = outcomes[id].message
        if interrupted := document.get("interrupted"):
            why = "the run was stopped before it, at a test that took too long"
            id = str(interrupted["nodeid"])
            outcomes[id] = VisibleTest(id, "failed", "it exceeded its time limit; look for a loop that never ends")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return VisibleRun({}, {}, True, why, run.seconds)
    if run.collected is None:
        return VisibleRun({}, {}, False, why, run.seconds, run.reason == "time")
    expected = {id: "passed" if id.endswith("passes") else "failed" for id in canary_ids}
    found = {id: outcomes[id].outcome if id in outcomes else "missing" for id in expected}
    complete = not interrupted and document.get("exitstatus") in (0, 1)  # else pytest itself failed, which is no fraud
    excused = set() if complete else {"missing"}
    forged = any(found[id] != outcome and found[id] not in excused for id, outcome in expected.items())
    return VisibleRun(outcomes, skipped, forged, why, run.seconds, bool(interrupted) or run.reason == "time")


def _cause(row: Mapping[str, Any]) -> str:
    """The exception that ended a test and the student's line that raised it, without inputs; empty for a failed assertion."""
    card = card_from(row["card"])
    if row["state"] != "failing" or not card.error or card.yours is not None or card.place is None or card.place.file.startswith("tests/"):
        return ""
    return f"{card.error.splitlines()[0]}, {card.place.file}, line {card.place.line}"[:CHARACTERS]


def _message(row: Mapping[str, Any]) -> str:
    """The message of a failed test, in a few lines."""
    if row["state"] in ("todo", "blocked"):
        return f"Task {row['needs']} is not written"[:CHARACTERS]
    card = card_from(row["card"])
    lines = [card.says, *(f"{name} = {value}" for name, value in card.inputs.items())]
    if card.expected is not None:
        lines += [f"expected {card.expected}", f"yours {card.yours}"]
    lines += (card.error or "").splitlines()[:2]
    return (
        "\n".join(str(line) for line in lines if line)[:CHARACTERS]
        if len(lines) <= MAX_LINES
        else "\n".join([*lines[:MAX_LINES], "…"])[:CHARACTERS]
    )
