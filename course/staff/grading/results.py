"""The result of grading a submission, a document from which all outputs are generated."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from course.staff import StaffError
from course.workspace.atomic_files import write_json

SCHEMA = 1
"""Version of the document's format."""

BEYOND = "beyond"
"""Outcome of a visible test that does not pass, but checks more than the original course asks for, in the profile of that course."""

PASS, PASS_GPU, PASS_SIM, PART, FAIL, NOT_RUN = "PASS", "PASS (gpu)", "PASS (sim)", "PART", "FAIL", "NOT RUN"
"""Verdicts of a task: all points, with variants for a GPU and for numba's CUDA simulator; part of the points; none; not graded."""

NOT_HANDED_IN = "NOT HANDED IN"
"""Verdict of a task of the original course of which nothing is written."""


@dataclass(frozen=True)
class VisibleTest:
    """The outcome of a test that students have too.

    Attributes:
        id: The test id in pytest, such as "tests/test_operators.py::test_relu".
        outcome: "passed", "failed", "beyond" (BEYOND), or "missing" if it was skipped, deselected or not reached.
        message: Why it did not pass, in a few lines; empty if it passed.
        cause: The exception and the student's line that raised it, identical for all tests that failed there; empty if unknown.
    """

    id: str
    outcome: str
    message: str = ""
    cause: str = ""


@dataclass(frozen=True)
class HiddenProbe:
    """The outcome of a probe.

    Attributes:
        says: What it requires, as a sentence that students may read.
        weight: Its share of the task's mark, relative to the other probes; 0 if students are only told that they fail it.
        passed: Whether the answer was correct.
        reason: Why it failed; empty if it passed.
    """

    says: str
    weight: float
    passed: bool
    reason: str = ""

    @property
    def costs(self) -> bool:
        """Whether its failure costs points."""
        return not self.passed and self.weight > 0

    @property
    def is_told(self) -> bool:
        """Whether students are told of its failure, which costs no points."""
        return not self.passed and self.weight == 0


SHOWN = 0.8
"""The likeness from which a known mistake is shown to students and teachers."""


@dataclass(frozen=True)
class Nearest:
    """The known wrong answer whose failures are most similar to those of a task.

    Attributes:
        key: Its task and name, such as "2.3/sum_not_keepdims".
        mistake: A description of its mistake that students may read.
        likeness: From 0 to 1, where 1 means identical failures.
    """

    key: str
    mistake: str
    likeness: float

    @property
    def is_shown(self) -> bool:
        """Whether it is similar enough to be a hint and not a guess."""
        return self.likeness >= SHOWN


@dataclass(frozen=True)
class TaskResult:
    """The result of one task of a submission.

    Attributes:
        task: The task's id.
        verdict: One of the verdicts above.
        points: What the task is worth.
        mark: The points earned.
        reason: Why points are missing, for the student; empty if none are.
        visible: Outcomes of the visible tests, for feedback.
        probes: Outcomes of the hidden probes, for the mark.
        disagrees: Whether the visible tests and the probes contradict each other.
        flaky: Whether a second run in a fresh sandbox had a different outcome; the mark is that of the worse run.
        nearest: The most similar known wrong answer; None if the task passed or no wrong answer is similar.
        seconds: Wall time of grading.
        extra: Whether its points are extra points.
        note: Why the teacher should look at the task: contradicting tests and probes, flaky runs, or unusual code.
        variant: The student's variant of the task, and what its functions returned; empty without a variant.
        carries: Students whose variant the answers match although they are wrong for the student's own variant; for the teacher.
        unusual: What the code does that no correct answer needs; see `code_review`.
        own_package: Whether the mark is that of a hand-in of the original course in its own package.
    """

    task: str
    verdict: str
    points: float
    mark: float
    reason: str = ""
    visible: tuple[VisibleTest, ...] = ()
    probes: tuple[HiddenProbe, ...] = ()
    disagrees: bool = False
    flaky: bool = False
    nearest: Nearest | None = None
    seconds: float = 0.0
    extra: bool = False
    note: str = ""
    variant: dict[str, Any] = field(default_factory=dict)
    carries: tuple[str, ...] = ()
    unusual: tuple[str, ...] = ()
    own_package: bool = False

    @property
    def flagged(self) -> bool:
        """Whether a teacher should look at the task."""
        return self.disagrees or self.flaky or bool(self.unusual) or bool(self.carries)

    @property
    def ran(self) -> bool:
        """Whether it was graded: it was handed in, and this machine could run it."""
        return self.verdict not in (NOT_RUN, NOT_HANDED_IN)

    @property
    def passed(self) -> bool:
        """Whether it earned all points."""
        return self.verdict.startswith(PASS)


@dataclass(frozen=True)
class Result:
    """The result of a submission.

    Attributes:
        submission: Its name: the student's, or the archive's.
        hash: A hash of the files that were graded.
        refused: Why it could not be graded; empty if it was.
        tasks: In the manifest's order; empty if it was refused.
        left_out: Other files in it, which were ignored.
        level: The level of the sandbox.
        number: The seed of the hidden probes; the same for the whole class.
        seconds: Wall time of grading.
        profile: Grading profile: this course's tasks, or what the original course asks for.
    """

    submission: str
    hash: str
    refused: str
    tasks: tuple[TaskResult, ...]
    left_out: tuple[str, ...]
    level: str
    number: int
    seconds: float
    profile: str = "full"

    @property
    def points(self) -> float:
        """What the tasks that ran are worth together, without extra points; these count only if there are no others."""
        counted = [task for task in self.tasks if task.verdict != NOT_RUN]
        return sum(task.points for task in counted if not task.extra) or sum(task.points for task in counted)

    @property
    def mark(self) -> float:
        """The points earned, including extra points."""
        return round(sum(task.mark for task in self.tasks), 2)


def write_result(path: Path, result: Result) -> None:
    """Write a result atomically.

    Raises:
        StaffError: If the file cannot be written, for example because the disk is full.
    """
    try:
        write_json(path, {"schema": SCHEMA, **asdict(result)}, durable=True)
    except OSError as error:
        raise StaffError(
            f"{path} cannot be written ({error.strerror}); all earlier results are kept: free some space, then run the same command again"
        ) from None


def read_result(path: Path) -> Result:
    """Read a result.

    Raises:
        FileNotFoundError: If there is no such file.
        StaffError: If the file is not a result, or has another version of the format.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.pop("schema") != SCHEMA:
            raise ValueError
        return Result(**{**document, "tasks": tuple(map(_task, document["tasks"])), "left_out": tuple(document["left_out"])})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StaffError(f"{path} is not a result of this version of the course; delete it and grade again") from None


def _task(data: dict[str, Any]) -> TaskResult:
    visible = tuple(VisibleTest(**entry) for entry in data["visible"])
    probes = tuple(HiddenProbe(**entry) for entry in data["probes"])
    nearest = Nearest(**data["nearest"]) if data["nearest"] else None
    more = {name: tuple(data.get(name, ())) for name in ("carries", "unusual")}
    return TaskResult(**{**data, "visible": visible, "probes": probes, "nearest": nearest, **more})
