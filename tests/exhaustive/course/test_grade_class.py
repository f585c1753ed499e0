"""Grading a class of the real course: worker processes, a journal, and recovery when processes are killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from course.manifest import ROOT
from course.staff.grading.grade import grade
from course.staff.grading.grader import Progress
from course.staff.grading.results import PART, PASS, Result
from tests.course.test_grade_class import class_folder, cluster

NUMBER = 7


@pytest.fixture(scope="module")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache in which the runs of this file keep results of the reference."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@dataclass
class GradedClass:
    """The result of grading a class in three runs; two runs were stopped, and one lost its workers."""

    out: Path
    message: list[str]  # the output of the run that Ctrl-C stopped
    results: list[Result]  # of the last run
    states: list[Progress]  # the progress that the last run reported


def grade_and_stop(class_folder: Path, out: Path, results: int, number: signal.Signals) -> list[str]:
    """Grade in another process, stop it by a signal once there are enough results, and return the lines that it printed."""
    code = (
        "from pathlib import Path\nfrom course.staff.grading.grade import grade\nfrom course.staff.grading.journal import Interrupted\n"
        f"try:\n    grade([Path({str(class_folder)!r})], Path({str(out)!r}), tasks=['0.1'], workers=2, seed={NUMBER})\n"
        "except Interrupted as error:\n    print(error, error.next, error.code, sep='\\n')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    while run.poll() is None and len(list((out / "results").glob("*.json"))) < results:
        time.sleep(0.05)
    run.send_signal(number)
    lines = run.communicate()[0].splitlines()
    assert results <= len(list((out / "results").glob("*.json"))) < 4
    return lines


@pytest.fixture(scope="module")
def graded_class(class_folder: Path, cache_home: Path, tmp_path_factory: pytest.TempPathFactory) -> GradedClass:
    """The class, graded in Task 0.1."""
    out = tmp_path_factory.mktemp("out")
    message = grade_and_stop(class_folder, out, 1, signal.SIGINT)
    assert grade_and_stop(class_folder, out, 2, signal.SIGKILL) == []
    states: list[Progress] = []
    killed: list[int] = []

    def listen(state: Progress) -> None:
        states.append(state)
        if not killed and ": " not in state.now and state.done:  # a submission is done, so kill the worker of the other one
            killed.extend(worker_pids())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    results = grade([class_folder], out, tasks=["0.1"], workers=2, seed=NUMBER, progress=listen)
    return GradedClass(out, message, results, states)


def worker_pids() -> list[int]:
    """The worker processes of this process."""
    command = ["pgrep", "-P", str(os.getpid()), "-f", "course.staff.grading.workers"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def test_every_submission_has_a_result_although_processes_were_killed(graded_class: GradedClass) -> None:
    by_name = {result.submission: result for result in graded_class.results}
    assert list(by_name) == ["broken", "forges", "hangs", "right"]
    assert (by_name["right"].mark, by_name["right"].tasks[0].verdict) == (10, PASS)
    assert by_name["broken"].refused.startswith("broken.zip is damaged or truncated: ")
    for name in ("forges", "hangs"):
        (task,) = by_name[name].tasks
        assert task.verdict == PART
        assert sorted(probe.says for probe in task.probes if not probe.passed) == ["relu(x) is x if x > 0, else 0.0"]
    assert len(list((graded_class.out / "results").glob("*.json"))) == 4
    assert graded_class.states[-1].done == graded_class.states[-1].total == 4


def test_an_interrupted_run_says_how_to_continue(graded_class: GradedClass, class_folder: Path) -> None:
    assert graded_class.message == [
        "stopped; 1 of 4 are graded, and their results are kept",
        f"course-staff grade {class_folder} --out {graded_class.out} --task=0.1",
        "130",
    ]


def test_graded_submissions_are_not_graded_again(graded_class: GradedClass, class_folder: Path, cache_home: Path) -> None:
    times = {path: path.stat().st_mtime_ns for path in (graded_class.out / "results").glob("*.json")}
    assert grade([class_folder], graded_class.out, tasks=["0.1"], workers=2) == graded_class.results
    assert {path: path.stat().st_mtime_ns for path in (graded_class.out / "results").glob("*.json")} == times


@pytest.mark.usefixtures("cache_home")
def test_a_cluster_that_loses_a_node_gives_the_same_results(graded_class: GradedClass, class_folder: Path, tmp_path: Path) -> None:
    graded: list[str] = []
    handed_in = tmp_path / "class"
    handed_in.mkdir()
    for name, of in (("again", "right"), ("broken", "broken"), ("forges", "forges"), ("right", "right")):
        shutil.copy(class_folder / f"{of}.zip", handed_in / f"{name}.zip")
    with cluster(tmp_path) as (address, nodes):

        def listen(state: Progress) -> None:
            graded.append(state.now)
            if len(graded) == 3:  # at first nothing, then the broken archive, then the first that ran
                nodes[0].kill()

        results = grade([handed_in], tmp_path / "out", tasks=["0.1"], seed=NUMBER, scale=address, progress=listen)
        assert nodes[0].poll() == -signal.SIGKILL
        assert nodes[1].poll() is None
    judged = {result.submission: comparable(result) for result in graded_class.results}
    assert [comparable(result) for result in results] == [judged[name] for name in ("right", "broken", "forges", "right")]
    assert sorted(graded[1:]) == ["again", "broken", "forges", "right"]


def comparable(result: Result) -> tuple[str, list[tuple[str, float, list[bool]]]]:
    """The parts of a result that do not depend on where it was computed."""
    return result.refused, [(task.verdict, task.mark, [probe.passed for probe in task.probes]) for task in result.tasks]
