"""A grading run over a class: its jobs, what a worker does with a job, and the results."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from course.manifest import Manifest, load
from course.staff.grading.grading_env import GradingEnv
from course.staff.grading.journal import Journal
from course.staff.grading.marking import mark_submission
from course.staff.grading.own_tests import load_own_tests
from course.staff.grading.reference import Reference
from course.staff.grading.results import Result, TaskResult, write_result
from course.staff.grading.submissions import Submission, read
from course.staff.grading.workers import Job, JobResult
from course.staff.probes import PUBLISHED
from course.staff.sandbox.sandbox import Sandbox
from course.staff.variants.variant import Variant, from_document


@dataclass(frozen=True)
class Progress:
    """Progress of a run.

    Attributes:
        done: Number of graded submissions, including those of earlier runs.
        total: Number of submissions.
        left: Estimated seconds until the end; None if there is no estimate yet.
        now: The latest step, such as "ann: Task 0.1".
        warning: A warning for the teacher; set only once, at the beginning.
    """

    done: int
    total: int
    left: float | None = None
    now: str = ""
    warning: str = ""


@dataclass
class ClassRun:
    """A grading run over a class.

    Attributes:
        found: The submissions by name.
        manifest: The course.
        journal: Stores the results.
        conditions: Everything besides the submission that determines a result.
        level: The level of the sandbox.
        number: The seed of the hidden probes.
        progress: Called with the progress after each step.
        variants: The students' variants, by the submission's name; empty if the course has none.
        paths: Paths of the results, by the submission's name.
        ungraded: Why the sandbox failed, by the submission's name.
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
        self.start = time.monotonic()
        self.newly_graded = 0

    def jobs(self) -> Iterator[Job]:
        """Yield a job for each submission without a result. A submission is read only when its job is requested."""
        for name, place in self.found.items():
            submission = read(name, place, self.manifest)
            path = self.path(submission)
            if self.journal.find(path) is not None:
                self.record(name, path)
            elif submission.refused:
                self.refuse(submission, submission.refused, path)
            else:
                yield Job(name, {"path": str(path), **submission_to_json(submission), **self._variant(name)})

    def path(self, submission: Submission) -> Path:
        """The path of a submission's result; it depends on the student's variant."""
        variant = self._variant(submission.name)
        return self.journal.path(submission, [*self.conditions, *([json.dumps(variant, sort_keys=True)] if variant else [])])

    def _variant(self, name: str) -> dict[str, Any]:
        """The variant of a submission, as an entry of its job."""
        return {"variant": self.variants[name].document} if name in self.variants else {}

    def record(self, name: str, path: Path) -> None:
        """Record that a submission has a result."""
        self.paths[name] = path
        left = (time.monotonic() - self.start) / self.newly_graded * (len(self.found) - len(self.paths)) if self.newly_graded else None
        self.progress(Progress(len(self.paths), len(self.found), left, name))

    def refuse(self, submission: Submission, why: str, path: Path) -> None:
        """Write the result of a submission that cannot be graded."""
        result = Result(submission.name, submission.hash, why, (), submission.left_out, self.level, self.number, 0.0)
        self.journal.save(path, result)
        self.record(submission.name, path)

    def finish(self, outcome: JobResult) -> None:
        """Handle the end of a job."""
        name, path = outcome.job.name, Path(outcome.job.data["path"])
        if outcome.trouble:
            self.ungraded[name] = outcome.trouble
            return
        self.newly_graded += 1
        if outcome.killed is None and (result := self.journal.find(path)) is not None:
            self.journal.save(path, result)
            self.record(name, path)
            return
        why = f"it crashed the grading process three times, the last time with: {outcome.killed}; inspect it by hand"
        self.refuse(submission_from_json(outcome.job.data), why, path)

    def report(self, job: Job, message: Mapping[str, Any]) -> None:
        """Report a worker's message as progress."""
        left = (time.monotonic() - self.start) / self.newly_graded * (len(self.found) - len(self.paths)) if self.newly_graded else None
        self.progress(Progress(len(self.paths), len(self.found), left, f"{job.name}: {message.get('now', '')}"))


class Grader:
    """Does the jobs of a worker process.

    Args:
        settings: `root`, `home`, `level` of the sandbox, `number`, `profile`, and the ids of `tasks`.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.manifest = load(Path(settings["root"]) / "course" / "tasks.toml")
        self.tasks = [self.manifest.task(id) for id in settings["tasks"]]
        self.own_tests = load_own_tests(self.manifest)
        if settings["profile"] == PUBLISHED:  # the original course only runs these tests
            self.own_tests = [replace(test, notices=()) for test in self.own_tests]
        env = GradingEnv(Sandbox(settings["level"]), settings["number"], settings["profile"])
        self.reference = Reference(Path(settings["root"]), self.manifest, env, Path(settings["home"]))

    def __call__(self, job: Mapping[str, Any], tell: Callable[..., object]) -> None:
        """Prepare a task, or grade a submission and write its result."""
        if "prepare" in job:
            tell("news", now="checking that a correct answer passes here")
            self.reference.prepare(self.manifest.task(job["prepare"]))
        else:
            write_result(Path(job["path"]), self.grade(job, tell))

    def grade(self, job: Mapping[str, Any], tell: Callable[..., object]) -> Result:
        """Grade a submission and return its result."""
        submission = submission_from_json(job)
        variant = from_document(job["variant"]) if "variant" in job else None

        def done(result: TaskResult) -> None:
            tell("news", now=f"Task {result.task} {result.verdict}")

        return mark_submission(self.reference, submission, self.tasks, self.own_tests, done, variant)


def submission_to_json(submission: Submission) -> dict[str, Any]:
    """A submission as JSON data."""
    files = {path: base64.b64encode(content).decode() for path, content in submission.files.items()}
    return {"name": submission.name, "files": files, "left_out": list(submission.left_out)}


def submission_from_json(data: Mapping[str, Any]) -> Submission:
    """A submission from the result of `submission_to_json`."""
    files = {path: base64.b64decode(content) for path, content in data["files"].items()}
    return Submission(data["name"], files, tuple(data["left_out"]))
