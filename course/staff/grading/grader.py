"""Grading of one class: what is still to be graded, what a worker does with each submission, and what has come of it."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from course.manifest import Manifest, load
from course.staff.grading.grading_env import Desk
from course.staff.grading.journal import Journal
from course.staff.grading.marking import mark_submission
from course.staff.grading.own_tests import load_own_tests
from course.staff.grading.reference import Reference
from course.staff.grading.results import Result, TaskResult, write_result
from course.staff.grading.submissions import Submission, read
from course.staff.grading.workers import Ended, Job
from course.staff.probes import PUBLISHED
from course.staff.sandbox.sandbox import Sandbox
from course.staff.variants.variant import Variant, from_document


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes:
        done: Submissions that are graded, those of earlier runs included.
        total: All submissions.
        left: Seconds that it will take yet; None where nothing tells.
        now: What has just been done, "ann: Task 0.1".
        warning: What the teacher must know; told once, at the beginning.
    """

    done: int
    total: int
    left: float | None = None
    now: str = ""
    warning: str = ""


@dataclass
class Class:
    """A run over a class.

    Attributes:
        found: The submissions by name.
        manifest: The course.
        journal: Where results are kept.
        conditions: What decides a result besides the submission.
        level: Of the sandbox.
        number: Of the class.
        progress: Told of all that happens.
        variants: The variants of students, by the submission's name; none if the course has none.
        paths: Where results are, by the submission's name.
        ungraded: Why submissions could not be graded, by name: the sandbox failed.
    """

    found: Mapping[str, Path]
    manifest: Manifest
    journal: Journal
    conditions: Sequence[str]
    level: str
    number: int
    progress: Callable[[Progress], object]
    variants: Mapping[str, Variant] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.paths: dict[str, Path] = {}
        self.ungraded: dict[str, str] = {}
        self.begun = time.monotonic()
        self.fresh = 0

    def jobs(self) -> Iterator[Job]:
        """What is to be graded yet; each submission is read when its turn comes."""
        for name, place in self.found.items():
            submission = read(name, place, self.manifest)
            path = self.path(submission)
            if self.journal.find(path) is not None:
                self.kept(name, path)
            elif submission.refused:
                self.refuse(submission, submission.refused, path)
            else:
                yield Job(name, {"path": str(path), **packed(submission), **self._variant(name)})

    def path(self, submission: Submission) -> Path:
        """Where the result of a submission belongs: another place for another variant."""
        variant = self._variant(submission.name)
        return self.journal.path(submission, [*self.conditions, *([json.dumps(variant, sort_keys=True)] if variant else [])])

    def _variant(self, name: str) -> dict[str, Any]:
        """The variant that a submission is graded by, for its job."""
        return {"variant": self.variants[name].document} if name in self.variants else {}

    def kept(self, name: str, path: Path) -> None:
        """A result is there."""
        self.paths[name] = path
        left = (time.monotonic() - self.begun) / self.fresh * (len(self.found) - len(self.paths)) if self.fresh else None
        self.progress(Progress(len(self.paths), len(self.found), left, name))

    def refuse(self, submission: Submission, why: str, path: Path) -> None:
        """Write the result of a submission of which nothing can be graded."""
        result = Result(submission.name, submission.hash, why, (), submission.left_out, self.level, self.number, 0.0)
        self.journal.keep(path, result)
        self.kept(submission.name, path)

    def ended(self, end: Ended) -> None:
        """A job has ended."""
        name, path = end.job.name, Path(end.job.data["path"])
        if end.trouble:
            self.ungraded[name] = end.trouble
            return
        self.fresh += 1
        if end.killed is None and (result := self.journal.find(path)) is not None:
            self.journal.keep(path, result)
            self.kept(name, path)
            return
        why = f"it ended the grading process three times, the last time with: {end.killed}; look at it by hand"
        self.refuse(unpacked(end.job.data), why, path)

    def told(self, job: Job, news: Mapping[str, Any]) -> None:
        """A worker is at something."""
        left = (time.monotonic() - self.begun) / self.fresh * (len(self.found) - len(self.paths)) if self.fresh else None
        self.progress(Progress(len(self.paths), len(self.found), left, f"{job.name}: {news.get('now', '')}"))


class Grader:
    """What a worker does.

    Args:
        settings: `root`, `home`, the sandbox's `level`, `number`, the `profile`, and the ids of `tasks`.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.manifest = load(Path(settings["root"]) / "course" / "tasks.toml")
        self.tasks = [self.manifest.task(id) for id in settings["tasks"]]
        self.own_tests = load_own_tests(self.manifest)
        if settings["profile"] == PUBLISHED:  # the original course runs them, and no more
            self.own_tests = [replace(test, notices=()) for test in self.own_tests]
        desk = Desk(Sandbox(settings["level"]), settings["number"], settings["profile"])
        self.reference = Reference(Path(settings["root"]), self.manifest, desk, Path(settings["home"]))

    def __call__(self, job: Mapping[str, Any], tell: Callable[..., object]) -> None:
        """Do a job: get a task ready, or grade a submission and write its result."""
        if "prepare" in job:
            tell("news", now="checking that a right answer passes here")
            self.reference.prepared(self.manifest.task(job["prepare"]))
        else:
            write_result(Path(job["path"]), self.grade(job, tell))

    def grade(self, job: Mapping[str, Any], tell: Callable[..., object]) -> Result:
        """Grade a submission."""
        submission = unpacked(job)
        variant = from_document(job["variant"]) if "variant" in job else None

        def done(result: TaskResult) -> None:
            tell("news", now=f"Task {result.task} {result.verdict}")

        return mark_submission(self.reference, submission, self.tasks, self.own_tests, done, variant)


def packed(submission: Submission) -> dict[str, Any]:
    """A submission as JSON."""
    files = {path: base64.b64encode(content).decode() for path, content in submission.files.items()}
    return {"name": submission.name, "files": files, "left_out": list(submission.left_out)}


def unpacked(data: Mapping[str, Any]) -> Submission:
    """A submission from what `packed` made of it."""
    files = {path: base64.b64decode(content) for path, content in data["files"].items()}
    return Submission(data["name"], files, tuple(data["left_out"]))
