"""The same work on a cluster: Dask's small interface stands in for it here; `test_grade_class` has it itself."""

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

SETTINGS = {"root": "/here", "home": "/here/abc", "level": "bubblewrap", "number": 7, "tasks": ["0.1"]}


class Run:
    """A class of jobs, each of which answers as it is told."""

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
    """As Dask's."""


class Future:
    """What will come back."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def result(self) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Completed:
    """As Dask's as_completed: more may be added while it is gone through."""

    def __init__(self) -> None:
        self.futures: deque[Future] = deque()

    def add(self, future: Future) -> None:
        self.futures.append(future)

    def __iter__(self) -> Iterator[Future]:
        while self.futures:
            yield self.futures.popleft()


@pytest.fixture
def dask(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], list[tuple]]:
    """Puts a stub in the place of distributed, which answers for a run; returns the list of what is sent."""

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


def test_what_kills_nodes_is_given_up_and_what_fails_by_the_way_is_sent_again(dask: Callable[[Run], list[tuple]], tmp_path: Path) -> None:
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
    assert {name: end.killed for name, end in run.ends.items()} == {
        "bomb": "it killed 4 workers",
        "lost": None,
        "broken": "ZeroDivisionError: 0",
        "tried": None,
        "boxed": None,
    }
    assert {name for name, end in run.ends.items() if end.trouble} == {"boxed"}


def test_a_node_with_another_course_ends_the_run(dask: Callable[[Run], list[tuple]], tmp_path: Path) -> None:
    run = Run(tmp_path, ann=[{"error": "a node has another course"}])
    dask(run)
    with pytest.raises(StaffError) as error:
        grade_on_cluster("dask://host:8786", run, SETTINGS)  # type: ignore[arg-type]
    assert str(error.value) == "a node has another course"


def test_a_cluster_that_is_not_there_is_said(dask: Callable[[Run], list[tuple]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path)
    dask(run)
    for address, message, command in (
        ("ray://host:1", "--scale expected dask://host:port, got ray://host:1", "course-staff grade --help"),
        ("dask://host", "--scale expected dask://host:port, got dask://host", "course-staff grade --help"),
        ("dask://host:1", "no Dask scheduler answers at host:1: nobody is there", "course-staff grade --help"),
    ):
        with pytest.raises(RequestError) as error:
            grade_on_cluster(address, run, SETTINGS)  # type: ignore[arg-type]
        assert (str(error.value), error.value.next) == (message, command)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(RequestError) as error:
        grade_on_cluster("dask://host:2", run, SETTINGS)  # type: ignore[arg-type]
    assert str(error.value) == "--scale dask:// needs Dask, which is not installed here"
    assert error.value.next == "pip install distributed"
