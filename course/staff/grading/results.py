"""What grading says of a submission: one document, from which all outputs are made."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from course.staff import StaffError
from course.workspace.atomic_files import write_json

SCHEMA = 1
"""Version of the document's format."""

PASS, PASS_GPU, PASS_SIM, PART, FAIL, NOT_RUN = "PASS", "PASS (gpu)", "PASS (sim)", "PART", "FAIL", "NOT RUN"
"""The verdicts of a task: the whole mark, on a GPU or in numba's simulator of one; a part of it; none; not graded, for a reason."""


@dataclass(frozen=True)
class VisibleTest:
    """One of the tests that students have too, as it ended in the sandbox.

    Attributes:
        id: pytest's, such as "tests/test_operators.py::test_relu".
        outcome: "passed", "failed", or "missing": skipped, deselected, or the run ended before it.
        message: Why, in a few lines; empty if it passed.
        cause: The exception and the line of the student's that it comes from, the same text for all tests that it ended; empty if unknown.
    """

    id: str
    outcome: str
    message: str = ""
    cause: str = ""


@dataclass(frozen=True)
class HiddenProbe:
    """One probe.

    Attributes:
        says: What it asks for, in words that may be shown.
        weight: Its share of the task's mark, relative to the other probes.
        passed: Whether the answer was right.
        reason: Why not.
    """

    says: str
    weight: float
    passed: bool
    reason: str = ""


@dataclass(frozen=True)
class Nearest:
    """The known wrong answer whose failures are most like those of a task.

    Attributes:
        key: Its task and name, "2.3/sum_not_keepdims".
        mistake: What is wrong with it, in a sentence that a student may read.
        likeness: From 0 to 1, where 1 is the same failures.
    """

    key: str
    mistake: str
    likeness: float


@dataclass(frozen=True)
class TaskResult:
    """How a submission fared in one task.

    Attributes:
        task: Its id.
        verdict: One of those above.
        points: What the task is worth.
        mark: Of these, what was earned.
        reason: Why it is not the whole, in words that the student may read; empty for a pass.
        visible: The tests that students have too, for feedback.
        probes: The hidden probes, for the mark.
        disagrees: Whether the visible tests and the probes say different things: somebody should look.
        flaky: Whether a second run in a fresh sandbox ended otherwise; the mark is that of the worse run.
        nearest: The known wrong answer that it is most like; None for a pass, or where none is near.
        seconds: What grading it took, by the clock.
        extra: Whether its points come on top of those that make up the whole.
        note: Why somebody should look at the task: the visible tests and the probes disagree, a run was flaky, or code is unusual; for the
            teacher.
        variant: The student's variant of the task, and what its functions returned; empty without one.
        carries: The students whose variant the answers have while they are wrong for the student's own; for the teacher.
        unusual: What the code does that no right answer needs; see `code_review`.
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

    @property
    def flagged(self) -> bool:
        """Whether the task needs attention."""
        return self.disagrees or self.flaky or bool(self.unusual) or bool(self.carries)

    @property
    def passed(self) -> bool:
        """Whether it earned the whole mark."""
        return self.verdict.startswith(PASS)


@dataclass(frozen=True)
class Result:
    """How a submission fared.

    Attributes:
        submission: Its name: the student's, or the archive's.
        hash: Of the files that were taken from it.
        refused: Why nothing of it could be graded; empty if it was.
        tasks: In the manifest's order; empty if it was refused.
        left_out: Files in it that are not the student's to write, and were not taken.
        level: Of the sandbox that it ran in.
        number: The seed of the hidden probes; the same for the whole class.
        seconds: What grading took, by the clock.
        profile: What was marked: this course's tasks, or what the original course demands of them.
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
        """What the tasks are worth together, without extra ones."""
        return sum(task.points for task in self.tasks if not task.extra)

    @property
    def mark(self) -> float:
        """What was earned, extra points included."""
        return round(sum(task.mark for task in self.tasks), 2)


def write_result(path: Path, result: Result) -> None:
    """Write a result; either all of it is there or nothing.

    Raises:
        StaffError: If it cannot be written, because the disk is full, for example.
    """
    try:
        write_json(path, {"schema": SCHEMA, **asdict(result)}, durable=True)
    except OSError as error:
        raise StaffError(
            f"{path} cannot be written ({error.strerror}); all earlier results are kept: make room, then run the same command again"
        ) from None


def read_result(path: Path) -> Result:
    """Read a result.

    Raises:
        StaffError: If the file is not one, or one of another version.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.pop("schema") != SCHEMA:
            raise ValueError
        return Result(**{**document, "tasks": tuple(map(_task, document["tasks"])), "left_out": tuple(document["left_out"])})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StaffError(f"{path} is not a result of this version of the course; delete it, and grade again") from None


def _task(data: dict[str, Any]) -> TaskResult:
    visible = tuple(VisibleTest(**entry) for entry in data["visible"])
    probes = tuple(HiddenProbe(**entry) for entry in data["probes"])
    nearest = Nearest(**data["nearest"]) if data["nearest"] else None
    more = {name: tuple(data.get(name, ())) for name in ("carries", "unusual")}
    return TaskResult(**{**data, "visible": visible, "probes": probes, "nearest": nearest, **more})
