"""`course-staff grade`: grades every submission of a class, in several processes or on a cluster, and resumes interrupted runs."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from course.manifest import ROOT, Manifest, Task, load
from course.staff import RequestError, StaffError
from course.staff.grading.cluster import grade_on_cluster
from course.staff.grading.grader import ClassRun, Progress
from course.staff.grading.journal import Interrupted, Journal
from course.staff.grading.reference import cache_folder, fingerprint, version_of
from course.staff.grading.results import Result
from course.staff.grading.submissions import find, read
from course.staff.grading.workers import Job, run_jobs
from course.staff.probes import FULL, PUBLISHED
from course.staff.sandbox.sandbox import Sandbox
from course.staff.variants.variant import Variant


def grade(
    submissions: Sequence[Path] | Mapping[str, Path],
    out: Path,
    *,
    tasks: Sequence[str] = (),
    workers: int | None = None,
    seed: int | None = None,
    no_sandbox: bool = False,
    scale: str = "",
    profile: str = FULL,
    variants: Mapping[str, Variant] | None = None,
    progress: Callable[[Progress], object] = lambda state: None,
    root: Path = ROOT,
) -> list[Result]:
    """Grade submissions. Submissions that already have a result are skipped.

    Args:
        submissions: Folders, archives, git bundles, or folders of them; or submissions by name.
        out: The output folder; the same folder resumes an earlier run.
        tasks: Ids of the tasks to grade; all if empty.
        workers: Number of grading processes; one per core if None.
        seed: Seed of the hidden probes; pass one to reproduce the probes of another run.
        no_sandbox: Whether to continue if this machine has no sandbox.
        scale: A cluster that grades instead of this machine, "dask://host:port".
        profile: Grading profile: this course's tasks, or what the original course asks for.
        variants: The students' variants, by the submission's name.
        progress: Called with the progress after each step.
        root: The reference.

    Returns:
        The results, sorted by the submission's name.

    Raises:
        RequestError: If an argument is invalid or a path does not exist.
        StaffError: If the reference does not match its manifest, or the sandbox failed for some submissions.
        Interrupted: On Ctrl-C; its `next` is the command that resumes the run.
    """
    manifest = load(root / "course" / "tasks.toml")
    chosen = _select_tasks(manifest, tasks, profile)
    if workers is not None and workers < 1:
        raise RequestError(f"--workers expected at least 1, got {workers}", "course-staff grade --help")
    found = dict(submissions) if isinstance(submissions, Mapping) else find(submissions, manifest)
    sandbox = Sandbox(no_sandbox=no_sandbox)
    journal = Journal(out)
    with journal.lock():
        number = journal.number(seed)
        home = cache_folder(root, manifest, sandbox.level)
        ids = [task.id for task in chosen]
        conditions = [
            version_of(root, manifest, chosen),
            fingerprint(),
            sandbox.level,
            str(number),
            *ids,
            *([] if profile == FULL else [profile]),
        ]
        run = ClassRun(found, manifest, journal, conditions, sandbox.level, number, progress, variants or {})
        settings = {"root": str(root), "home": str(home), "level": sandbox.level, "number": number, "profile": profile, "tasks": ids}
        progress(Progress(0, len(found), warning=sandbox.warning))
        try:
            if scale:
                grade_on_cluster(scale, run, settings)
            else:
                _grade_locally(run, settings, chosen, workers or os.cpu_count() or 1)
        except KeyboardInterrupt:
            options = ["--scale", scale] if scale else []
            options += ["--no-sandbox"] if no_sandbox else []
            options += [] if profile == FULL else ["--profile", profile]
            command = [
                "course-staff",
                "grade",
                *map(str, found.values() if isinstance(submissions, Mapping) else submissions),
                "--out",
                str(out),
                *options,
                *(f"--task={id}" for id in tasks),
            ]
            raise Interrupted(
                f"stopped; {len(run.paths)} of {len(found)} are graded, and their results are kept", shlex.join(command)
            ) from None
    if run.ungraded:
        name, why = next(iter(run.ungraded.items()))
        raise StaffError(f"{len(run.ungraded)} of {len(found)} could not be graded because the sandbox failed, among them {name}: {why}")
    results = [journal.find(run.paths[name]) for name in sorted(run.paths)]
    return [result for result in results if result is not None]


def _select_tasks(manifest: Manifest, ids: Sequence[str], profile: str) -> list[Task]:
    """The tasks with these ids; all if there are none. The original course has no extra tasks."""
    if unknown := set(ids) - {task.id for task in manifest.tasks}:
        known = ", ".join(task.id for task in manifest.tasks)
        raise RequestError(f"there is no task {', '.join(sorted(unknown))}; the tasks are {known}", "course-staff grade --help")
    return [task for task in manifest.tasks if task.id in ids or not (ids or (task.extra and profile == PUBLISHED))]


def _grade_locally(run: ClassRun, settings: Mapping[str, Any], tasks: Sequence[Task], workers: int) -> None:
    """Grade with processes on this machine; first, have them prepare the tasks."""
    home = Path(settings["home"])
    unknown = [task for task in tasks if not (home / task.id / "about.json").is_file()]
    scratch = Path(tempfile.gettempdir()) / f"course-staff-grade-{hashlib.sha256(str(run.journal.out.resolve()).encode()).hexdigest()[:12]}"
    shutil.rmtree(scratch, ignore_errors=True)  # left by a killed run
    scratch.mkdir(mode=0o700)
    try:
        first = iter([Job(f"Task {task.id}", {"prepare": task.id}) for task in unknown])
        worker = "course.staff.grading.grader:Grader"
        if any(run.journal.find(run.path(read(name, path, run.manifest))) is None for name, path in run.found.items()):
            for outcome in run_jobs(first, workers, worker, settings, lambda job: False, run.report, scratch):
                if outcome.killed is not None or outcome.trouble:
                    raise StaffError(f"{outcome.job.name} could not be prepared: {outcome.killed or outcome.trouble}")
        run.start = time.monotonic()
        for outcome in run_jobs(run.jobs(), workers, worker, settings, lambda job: Path(job.data["path"]).is_file(), run.report, scratch):
            run.finish(outcome)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
