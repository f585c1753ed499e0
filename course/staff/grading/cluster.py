"""Grading on a Dask cluster: `course-staff grade … --scale dask://host:port`.

Every node has this repository, its requirements, and Dask's package distributed. Each node prepares the tasks itself, in its own sandbox;
results are written on this machine.
"""

from __future__ import annotations

import importlib
import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course.manifest import ROOT, load
from course.staff import RequestError, StaffError
from course.staff.grading.grader import ClassRun, Grader
from course.staff.grading.reference import cache_folder
from course.staff.grading.workers import MAX_DEATHS, MAX_TROUBLES, Job, JobResult
from course.staff.sandbox.monitor import SandboxError

JOBS_PER_WORKER = 3
"""Number of jobs sent ahead for each worker."""

CONNECT_SECONDS = 10
"""Time limit for connecting to the scheduler."""

_graders: dict[str, Grader] = {}
"""On a node: graders by their settings."""


def grade_on_cluster(address: str, run: ClassRun, settings: Mapping[str, Any]) -> None:
    """Grade a class on a cluster.

    Args:
        address: The scheduler, as "dask://host:port".
        run: The class.
        settings: As for `Grader`; the folders are those of this machine.

    Raises:
        RequestError: If the address is invalid, distributed is not installed here, or no scheduler answers.
        StaffError: If a node has another version of the course.
    """
    match = re.fullmatch(r"dask://([\w.:\[\]-]+:\d+)", address)
    if match is None:
        raise RequestError(f"--scale expected dask://host:port, got {address}", "course-staff grade --help")
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise RequestError("--scale dask:// needs Dask, which is not installed here", "pip install distributed") from None
    try:
        client = distributed.Client(f"tcp://{match[1]}", timeout=CONNECT_SECONDS)
    except OSError as error:
        raise RequestError(f"no Dask scheduler answers at {match[1]}: {error}", "course-staff grade --help") from None
    with client:
        jobs = run.jobs()
        sent: dict[Any, Job] = {}
        queue = distributed.as_completed()

        def send(job: Job | None) -> None:
            if job is not None:
                future = client.submit(
                    grade_on_node, {**settings, "root": "", "home": ""}, Path(settings["home"]).name, dict(job.data), pure=False
                )
                sent[future] = job
                queue.add(future)

        for _ in range(JOBS_PER_WORKER * max(1, len(client.scheduler_info()["workers"]))):
            send(next(jobs, None))
        for future in queue:
            job = sent.pop(future)
            again = _handle_future(job, future, run, distributed.KilledWorker)
            send(job if again else next(jobs, None))


def _handle_future(job: Job, future: Any, run: ClassRun, killed: type[Exception]) -> bool:
    """Handle the result of a job; returns whether the job must be sent again."""
    try:
        answer = future.result()
    except killed as error:  # raised after Dask has tried several workers
        run.finish(JobResult(job, killed=str(error)))
        return False
    except Exception as error:  # any exception from the node
        job.deaths += 1
        if job.deaths < MAX_DEATHS:
            return True
        run.finish(JobResult(job, killed=f"{type(error).__name__}: {error}"))
        return False
    if "error" in answer:
        raise StaffError(answer["error"])
    if "trouble" in answer:
        job.troubles += 1
        if job.troubles < MAX_TROUBLES:
            return True
        run.finish(JobResult(job, trouble=answer["trouble"]))
        return False
    path = Path(job.data["path"])
    path.with_suffix(".part").write_text(answer["result"], encoding="utf-8")
    path.with_suffix(".part").replace(path)
    run.finish(JobResult(job))
    return False


def grade_on_node(settings: Mapping[str, Any], course: str, job: Mapping[str, Any]) -> dict[str, str]:
    """Grade one submission on a node.

    Args:
        settings: As for `Grader`, without folders.
        course: The digest of the course on the grading machine.
        job: The submission.

    Returns:
        The document of the result under "result"; or the reason for a failure of the sandbox under "trouble", or for any other failure
        under "error".
    """
    try:
        key = json.dumps(settings, sort_keys=True)
        if key not in _graders:
            home = cache_folder(ROOT, load(ROOT / "course" / "tasks.toml"), settings["level"])
            if home.name != course:
                return {"error": "a cluster node has another version of the course, Python or a package; install the same versions"}
            _graders[key] = Grader({**settings, "root": str(ROOT), "home": str(home)})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result.json"
            _graders[key]({**job, "path": str(path)}, lambda kind, **words: None)
            return {"result": path.read_text(encoding="utf-8")}
    except SandboxError as error:
        return {"trouble": str(error)}
    except StaffError as error:
        return {"error": str(error)}
