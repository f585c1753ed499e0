"""`course-staff grade`: every submission of a class graded, by several processes or on a cluster, and continued where it was stopped."""

from __future__ import annotations

import base64
import hashlib
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.manifest import ROOT, Manifest, Task, load
from course.staff import RequestError, StaffError
from course.staff.grading.grading_env import Desk
from course.staff.grading.journal import Interrupted, Journal
from course.staff.grading.marking import mark_submission
from course.staff.grading.own_tests import load_own_tests
from course.staff.grading.reference import Reference, fingerprint, home_of
from course.staff.grading.results import Result, write_result
from course.staff.grading.submissions import Submission, find, read
from course.staff.grading.workers import Ended, Job, run_jobs
from course.staff.sandbox.sandbox import Sandbox


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

    def __post_init__(self) -> None:
        self.paths: dict[str, Path] = {}
        self.ungraded: dict[str, str] = {}
        self.begun = time.monotonic()
        self.fresh = 0

    def jobs(self) -> Iterator[Job]:
        """What is to be graded yet; each submission is read when its turn comes."""
        for name, place in self.found.items():
            submission = read(name, place, self.manifest)
            path = self.journal.path(submission, self.conditions)
            if self.journal.find(path) is not None:
                self.kept(name, path)
            elif submission.refused:
                self.refuse(submission, submission.refused, path)
            else:
                yield Job(name, {"path": str(path), **packed(submission)})

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
        why = f"grading it has ended its process three times, the last time with: {end.killed}; look at it by hand"
        self.refuse(unpacked(end.job.data), why, path)

    def told(self, job: Job, news: Mapping[str, Any]) -> None:
        """A worker is at something."""
        left = (time.monotonic() - self.begun) / self.fresh * (len(self.found) - len(self.paths)) if self.fresh else None
        self.progress(Progress(len(self.paths), len(self.found), left, f"{job.name}: {news.get('now', '')}"))


def grade(
    submissions: Sequence[Path],
    out: Path,
    *,
    tasks: Sequence[str] = (),
    workers: int | None = None,
    seed: int | None = None,
    no_sandbox: bool = False,
    scale: str = "",
    progress: Callable[[Progress], object] = lambda state: None,
    root: Path = ROOT,
) -> list[Result]:
    """Grade submissions; what is graded already is not graded again.

    Args:
        submissions: Folders, archives, git bundles, or folders full of them.
        out: The folder of the results; the same one continues an earlier run.
        tasks: Ids of the tasks that count; all if left out.
        workers: How many processes grade; one a core if left out.
        seed: The number of the class, for runs that must be the same elsewhere.
        no_sandbox: Whether to do without a sandbox where there is none.
        scale: A cluster that grades instead of this machine, "dask://host:port".
        progress: Called whenever there is something to tell.
        root: The reference.

    Returns:
        The results in the order of the submissions' names.

    Raises:
        RequestError: If something that was asked for is not there.
        StaffError: If the reference does not fit its manifest, or submissions could not be graded because the sandbox failed.
        Interrupted: At Ctrl-C; its `next` continues.
    """
    manifest = load(root / "course" / "tasks.toml")
    chosen = _chosen(manifest, tasks)
    if workers is not None and workers < 1:
        raise RequestError(f"--workers expected at least 1, got {workers}", "course-staff grade --help")
    found = find(submissions, manifest)
    sandbox = Sandbox(no_sandbox=no_sandbox)
    journal = Journal(out)
    with journal.locked():
        number = journal.number(seed)
        home = home_of(root, manifest, sandbox.level)
        ids = [task.id for task in chosen]
        conditions = [home.name, fingerprint(), sandbox.level, str(number), *ids]
        run = Class(found, manifest, journal, conditions, sandbox.level, number, progress)
        settings = {"root": str(root), "home": str(home), "level": sandbox.level, "number": number, "tasks": ids}
        progress(Progress(0, len(found), warning=sandbox.warning))
        try:
            if scale:
                from course.staff.grading.cluster import grade_on_cluster

                grade_on_cluster(scale, run, settings)
            else:
                _grade_here(run, settings, chosen, workers or os.cpu_count() or 1)
        except KeyboardInterrupt:
            options = ["--scale", scale] if scale else []
            options += ["--no-sandbox"] if no_sandbox else []
            command = ["course-staff", "grade", *map(str, submissions), "--out", str(out), *options, *(f"--task={id}" for id in tasks)]
            raise Interrupted(f"stopped; {len(run.paths)} of {len(found)} are graded, and stay so", shlex.join(command)) from None
    if run.ungraded:
        name, why = next(iter(run.ungraded.items()))
        raise StaffError(f"{len(run.ungraded)} of {len(found)} could not be graded, {name} for one, because the sandbox failed: {why}")
    results = [journal.find(run.paths[name]) for name in sorted(run.paths)]
    return [result for result in results if result is not None]


def _chosen(manifest: Manifest, ids: Sequence[str]) -> list[Task]:
    """The tasks with these ids; all for none."""
    if unknown := set(ids) - {task.id for task in manifest.tasks}:
        known = ", ".join(task.id for task in manifest.tasks)
        raise RequestError(f"there is no task {', '.join(sorted(unknown))}; the tasks are {known}", "course-staff grade --help")
    return [task for task in manifest.tasks if not ids or task.id in ids]


def _grade_here(run: Class, settings: Mapping[str, Any], tasks: Sequence[Task], workers: int) -> None:
    """Grade with processes of this machine; first let them find out what must be known of the tasks."""
    home = Path(settings["home"])
    unknown = [task for task in tasks if not (home / task.id / "about.json").is_file()]
    scratch = Path(tempfile.gettempdir()) / f"course-staff-grade-{hashlib.sha256(str(run.journal.out.resolve()).encode()).hexdigest()[:12]}"
    shutil.rmtree(scratch, ignore_errors=True)  # of a run that was killed
    scratch.mkdir(mode=0o700)
    try:
        first = iter([Job(f"Task {task.id}", {"prepare": task.id}) for task in unknown])
        worker = "course.staff.grading.grade:Grader"
        if any(
            run.journal.find(run.journal.path(read(name, path, run.manifest), run.conditions)) is None for name, path in run.found.items()
        ):
            for end in run_jobs(first, workers, worker, settings, lambda job: False, run.told, scratch):
                if end.killed is not None or end.trouble:
                    raise StaffError(f"{end.job.name} could not be made ready: {end.killed or end.trouble}")
        run.begun = time.monotonic()
        for end in run_jobs(run.jobs(), workers, worker, settings, lambda job: Path(job.data["path"]).is_file(), run.told, scratch):
            run.ended(end)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class Grader:
    """What a worker does.

    Args:
        settings: `root`, `home`, the sandbox's `level`, `number`, and the ids of `tasks`.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.manifest = load(Path(settings["root"]) / "course" / "tasks.toml")
        self.tasks = [self.manifest.task(id) for id in settings["tasks"]]
        self.own_tests = load_own_tests(self.manifest)
        desk = Desk(Sandbox(settings["level"]), settings["number"])
        self.reference = Reference(Path(settings["root"]), self.manifest, desk, Path(settings["home"]))

    def __call__(self, job: Mapping[str, Any], tell: Callable[..., object]) -> None:
        """Do a job: get a task ready, or grade a submission and write its result."""
        if "prepare" in job:
            tell("news", now="finding out what a right answer does here")
            self.reference.prepared(self.manifest.task(job["prepare"]))
        else:
            write_result(Path(job["path"]), self.grade(job, tell))

    def grade(self, job: Mapping[str, Any], tell: Callable[..., object]) -> Result:
        """Grade a submission."""
        submission = unpacked(job)
        return mark_submission(
            self.reference, submission, self.tasks, self.own_tests, lambda result: tell("news", now=f"Task {result.task} {result.verdict}")
        )


def packed(submission: Submission) -> dict[str, Any]:
    """A submission as JSON."""
    files = {path: base64.b64encode(content).decode() for path, content in submission.files.items()}
    return {"name": submission.name, "files": files, "left_out": list(submission.left_out)}


def unpacked(data: Mapping[str, Any]) -> Submission:
    """A submission from what `packed` made of it."""
    files = {path: base64.b64decode(content) for path, content in data["files"].items()}
    return Submission(data["name"], files, tuple(data["left_out"]))
