"""The same work on a Dask cluster: `course-staff grade … --scale dask://host:port`.

Every node has this repository and its requirements, and dask's distributed beside them. A node finds out for itself what a right answer
does there, in its own sandbox; results are written here.
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
from course.staff.grading.grader import Class, Grader
from course.staff.grading.reference import home_of
from course.staff.grading.workers import DEATHS, TROUBLES, Ended, Job
from course.staff.sandbox.monitor import SandboxError

AHEAD = 3
"""So many jobs for each worker are sent at a time."""

PATIENCE = 10
"""Seconds that the scheduler may take to answer."""

_graders: dict[str, Grader] = {}
"""On a node: what it has found out, by the settings."""


def grade_on_cluster(address: str, run: Class, settings: Mapping[str, Any]) -> None:
    """Grade a class on a cluster.

    Args:
        address: "dask://host:port".
        run: The class.
        settings: As for `Grader`; the folders are those of this machine.

    Raises:
        RequestError: If distributed is not installed here, or nobody answers at the address.
        StaffError: If a node has another course.
    """
    match = re.fullmatch(r"dask://([\w.:\[\]-]+:\d+)", address)
    if match is None:
        raise RequestError(f"--scale expected dask://host:port, got {address}", "course-staff grade --help")
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise RequestError("--scale dask:// needs Dask, which is not installed here", "pip install distributed") from None
    try:
        client = distributed.Client(f"tcp://{match[1]}", timeout=PATIENCE)
    except OSError as error:
        raise RequestError(f"no Dask scheduler answers at {match[1]}: {error}", "course-staff grade --help") from None
    with client:
        jobs = run.jobs()
        sent: dict[Any, Job] = {}
        queue = distributed.as_completed()

        def send(job: Job | None) -> None:
            if job is not None:
                future = client.submit(
                    grade_there, {**settings, "root": "", "home": ""}, Path(settings["home"]).name, dict(job.data), pure=False
                )
                sent[future] = job
                queue.add(future)

        for _ in range(AHEAD * max(1, len(client.scheduler_info()["workers"]))):
            send(next(jobs, None))
        for future in queue:
            job = sent.pop(future)
            again = _received(job, future, run, distributed.KilledWorker)
            send(job if again else next(jobs, None))


def _received(job: Job, future: Any, run: Class, killed: type[Exception]) -> bool:
    """Take what a node has sent; returns whether the job must be sent again."""
    try:
        answer = future.result()
    except killed as error:  # by then Dask has given it to several
        run.ended(Ended(job, killed=str(error)))
        return False
    except Exception as error:  # whatever the node has raised
        job.deaths += 1
        if job.deaths < DEATHS:
            return True
        run.ended(Ended(job, killed=f"{type(error).__name__}: {error}"))
        return False
    if "error" in answer:
        raise StaffError(answer["error"])
    if "trouble" in answer:
        job.troubles += 1
        if job.troubles < TROUBLES:
            return True
        run.ended(Ended(job, trouble=answer["trouble"]))
        return False
    path = Path(job.data["path"])
    path.with_suffix(".part").write_text(answer["result"], encoding="utf-8")
    path.with_suffix(".part").replace(path)
    run.ended(Ended(job))
    return False


def grade_there(settings: Mapping[str, Any], course: str, job: Mapping[str, Any]) -> dict[str, str]:
    """On a node: grade one submission, and return the document of its result.

    Args:
        settings: As for `Grader`, without folders.
        course: The digest of the course that grades.
        job: The submission.
    """
    try:
        key = json.dumps(settings, sort_keys=True)
        if key not in _graders:
            home = home_of(ROOT, load(ROOT / "course" / "tasks.toml"), settings["level"])
            if home.name != course:
                return {"error": "a node of the cluster has another course, Python or other packages; install the same there"}
            _graders[key] = Grader({**settings, "root": str(ROOT), "home": str(home)})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result.json"
            _graders[key]({**job, "path": str(path)}, lambda kind, **words: None)
            return {"result": path.read_text(encoding="utf-8")}
    except SandboxError as error:
        return {"trouble": str(error)}
    except StaffError as error:
        return {"error": str(error)}
