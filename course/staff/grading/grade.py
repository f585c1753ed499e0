"""`course-staff grade`: every submission of a class graded, by several processes or on a cluster, and continued where it was stopped."""

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
from course.staff.grading.grader import Class, Progress
from course.staff.grading.journal import Interrupted, Journal
from course.staff.grading.reference import fingerprint, home_of, version_of
from course.staff.grading.results import Result
from course.staff.grading.submissions import find, read
from course.staff.grading.workers import Job, run_jobs
from course.staff.probes import FULL
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
    """Grade submissions; what is graded already is not graded again.

    Args:
        submissions: Folders, archives, git bundles, or folders full of them; or submissions by the names that they shall have.
        out: The folder of the results; the same one continues an earlier run.
        tasks: Ids of the tasks that count; all if left out.
        workers: How many processes grade; one a core if left out.
        seed: The number of the class, for runs that must be the same elsewhere.
        no_sandbox: Whether to do without a sandbox where there is none.
        scale: A cluster that grades instead of this machine, "dask://host:port".
        profile: What is marked: this course's tasks, or what the original course demands of them.
        variants: The variants of students, by the submission's name.
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
    found = dict(submissions) if isinstance(submissions, Mapping) else find(submissions, manifest)
    sandbox = Sandbox(no_sandbox=no_sandbox)
    journal = Journal(out)
    with journal.locked():
        number = journal.number(seed)
        home = home_of(root, manifest, sandbox.level)
        ids = [task.id for task in chosen]
        conditions = [
            version_of(root, manifest, chosen),
            fingerprint(),
            sandbox.level,
            str(number),
            *ids,
            *([] if profile == FULL else [profile]),
        ]
        run = Class(found, manifest, journal, conditions, sandbox.level, number, progress, variants or {})
        settings = {"root": str(root), "home": str(home), "level": sandbox.level, "number": number, "profile": profile, "tasks": ids}
        progress(Progress(0, len(found), warning=sandbox.warning))
        try:
            if scale:
                grade_on_cluster(scale, run, settings)
            else:
                _grade_here(run, settings, chosen, workers or os.cpu_count() or 1)
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
        worker = "course.staff.grading.grader:Grader"
        if any(run.journal.find(run.path(read(name, path, run.manifest))) is None for name, path in run.found.items()):
            for end in run_jobs(first, workers, worker, settings, lambda job: False, run.told, scratch):
                if end.killed is not None or end.trouble:
                    raise StaffError(f"{end.job.name} could not be prepared: {end.killed or end.trouble}")
        run.begun = time.monotonic()
        for end in run_jobs(run.jobs(), workers, worker, settings, lambda job: Path(job.data["path"]).is_file(), run.told, scratch):
            run.ended(end)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
