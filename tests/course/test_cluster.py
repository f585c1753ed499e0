"""Grading on a cluster: a stub replaces the small part of Dask's interface that is used here; `test_grade_class` runs Dask itself."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from course.staff import RequestError, StaffError
from course.staff.grading import cluster
from course.staff.grading.cluster import grade_on_cluster
from course.staff.grading.workers import Job, JobResult
from tests.errors import raises

SETTINGS = {"root": "/here", "home": "/here/abc", "level": "bubblewrap", "number": 7, "tasks": ["0.1"]}


class Run:
    """A class of jobs, each with scripted answers."""

    def __init__(self, folder: Path, **answers: list[Any]) -> None:
        self.folder = folder
        self.answers = answers
        self.ends: dict[str, JobResult] = {}

    def jobs(self) -> Iterator[Job]:
        for name in self.answers:
            yield Job(name, {"name": name, "path": str(self.folder / f"{name}.json")})

    def finish(self, end: JobResult) -> None:
        assert end.job.name not in self.ends
        self.ends[end.job.name] = end


class KilledWorker(Exception):
    """Stands for Dask's exception of this name."""


class Future:
    """A pending result."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def result(self) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Completed(deque[Future]):
    """Like Dask's as_completed: futures may be added during the iteration."""

    add = deque.append

    def __iter__(self) -> Iterator[Future]:
        while self:
            yield self.popleft()


@pytest.fixture
def dask(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], list[tuple]]:
    """Replaces `distributed` by a stub that answers for a run; returns the list of submitted jobs."""

    def install(run: Run) -> list[tuple]:
        sent: list[tuple] = []

        class Client:
            def __init__(self, address: str, timeout: float) -> None:
                sent.append((address,))
                if address.endswith(":1"):
                    raise OSError("nobody is there")

            def __enter__(self) -> Client:
                return self

            def __exit__(self, *error: object) -> None:
                pass

            def scheduler_info(self) -> dict[str, Any]:
                return {"workers": {"one": {}}}

            def submit(self, function: Callable[..., Any], settings: Mapping, course: str, job: Mapping, pure: bool) -> Future:
                assert (function, course, pure) == (cluster.grade_on_node, "abc", False)
                assert settings == {**SETTINGS, "root": "", "home": ""}
                sent.append((job["name"],))
                return Future(run.answers[job["name"]].pop(0))

        module = ModuleType("distributed")
        module.Client, module.as_completed, module.KilledWorker = Client, Completed, KilledWorker  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "distributed", module)
        return sent

    return install


def test_every_submission_is_sent_and_its_result_written(dask: Callable[[Run], list[tuple]], tmp_path: Path) -> None:
    names = [f"s{i}" for i in range(8)]
    run = Run(tmp_path, **{name: [{"result": json.dumps(name)}] for name in names})
    sent = dask(run)
    grade_on_cluster("dask://host:8786", run, SETTINGS)  # type: ignore[arg-type]
    assert sent == [("tcp://host:8786",), *((name,) for name in names)]
    assert sorted(run.ends) == names
    assert [json.loads((tmp_path / f"{name}.json").read_text()) for name in names] == names
    assert all((end.killed, end.trouble) == (None, "") for end in run.ends.values())


def test_a_job_that_kills_nodes_is_abandoned_and_a_failed_transfer_is_repeated(dask: Callable[[Run], list[tuple]], tmp_path: Path) -> None:
    good = {"result": "{}"}
    run = Run(
        tmp_path,
        bomb=[KilledWorker("it killed 4 workers")],
        lost=[OSError("lost"), OSError("lost"), good],
        broken=[ZeroDivisionError("0")] * 3,
        tried=[{"trouble": "no sandbox"}, {"trouble": "no sandbox"}, good],
        boxed=[{"trouble": "no sandbox"}] * 3,
    )
    dask(run)
    grade_on_cluster("dask://host:8786", run, SETTINGS)  # type: ignore[arg-type]
    killed = {"bomb": "it killed 4 workers", "broken": "ZeroDivisionError: 0"}
    assert {name: end.killed for name, end in run.ends.items()} == dict.fromkeys(("lost", "tried", "boxed")) | killed
    assert {name for name, end in run.ends.items() if end.trouble} == {"boxed"}


def test_a_node_with_another_course_ends_the_run(dask: Callable[[Run], list[tuple]], tmp_path: Path) -> None:
    run = Run(tmp_path, ann=[{"error": "a node has another course"}])
    dask(run)
    with raises(StaffError, "a node has another course"):
        grade_on_cluster("dask://host:8786", run, SETTINGS)  # type: ignore[arg-type]


def test_a_missing_cluster_is_reported(dask: Callable[[Run], list[tuple]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path)
    dask(run)
    for address, message in (
        ("ray://host:1", "--scale expected dask://host:port, got ray://host:1"),
        ("dask://host", "--scale expected dask://host:port, got dask://host"),
        ("dask://host:1", "no Dask scheduler answers at host:1: nobody is there"),
    ):
        with raises(RequestError, message) as error:
            grade_on_cluster(address, run, SETTINGS)  # type: ignore[arg-type]
        assert error.value.next == "course-staff grade --help"
    monkeypatch.setitem(sys.modules, "distributed", None)
    with raises(RequestError, "--scale dask:// needs Dask, which is not installed here") as error:
        grade_on_cluster("dask://host:2", run, SETTINGS)  # type: ignore[arg-type]
    assert error.value.next == "pip install distributed"
