"""Submissions of all kinds, made from the reference and known wrong answers, and their grading, for `benchmarks.course`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course.manifest import ROOT, Task, course
from course.staff.adopt.adopt import adopt, write_submission
from course.staff.grading.bases import right_answer
from course.staff.grading.results import Result, TaskResult, read_result
from course.staff.proofs.answers import FOLDER, WrongAnswer, load_answers
from course.workspace.function_source import definitions, graft

FORGERS = ROOT / "tests" / "course" / "forgers"
ORIGINALS = ROOT / "tests" / "course" / "originals"

TASKS = ("0.1", "0.3", "1.1")
"""The tasks of the class of a hundred."""

HOSTILE = {
    "hangs": "def relu(x):\n    while True:\n        pass\n",
    "crashes": "def relu(x):\n    import ctypes\n    ctypes.string_at(0)\n",
    "leaves": "def relu(x):\n    import os\n    os._exit(0)\n",
    "fills_memory": "def relu(x):\n    held = [b'x' * 2**28 for _ in range(64)]\n    return len(held)\n",
    "forks": "def relu(x):\n    import os\n    while True:\n        os.fork()\n",
    "prints": "def relu(x):\n    while True:\n        print('x' * 10**6)\n",
    "raises": "def relu(x):\n    raise SystemExit(0)\n",
}
"""Hostile answers to Task 0.1, by name."""


def json_of(text: str, schema: int) -> dict[str, Any]:
    """A JSON document that a command printed.

    Raises:
        RuntimeError: If it has another schema version.
    """
    document = json.loads(text)
    if document["schema"] != schema:
        raise RuntimeError(f"expected schema {schema}, got {document['schema']}")
    return document


def solution_files(task: Task, changed: Mapping[str, str] | None = None, texts: Mapping[str, str] | None = None) -> dict[str, str]:
    """The files of a task with the reference's functions, some of them replaced.

    Args:
        task: The task.
        changed: Definitions that replace the reference's, by "module:function".
        texts: Files to write the functions into; by default the reference's own.
    """
    files = {}
    for file in task.files:
        right = (ROOT / file).read_text(encoding="utf-8")
        module = file.removesuffix(".py").replace("/", ".")
        bodies = definitions(right)
        given = {name: (changed or {}).get(f"{module}:{name}", bodies[name]) for name in task.names_in(file)}
        files[file] = graft((texts or {}).get(file, right), given, whole={name for name in given if file.startswith("tests/")})
    return files


def solve(workspace: Path, task: Task, changed: Mapping[str, str] | None = None) -> None:
    """Write a task's functions into a workspace; see `solution_files`."""
    texts = {file: (workspace / file).read_text(encoding="utf-8") for file in task.files}
    for file, text in solution_files(task, changed, texts).items():
        (workspace / file).write_text(text, encoding="utf-8")


def submission_files(tasks: tuple[str, ...], changed: Mapping[str, str] | None = None) -> dict[str, str]:
    """The files of a submission that solves these tasks."""
    files: dict[str, str] = {}
    for id in tasks:
        files |= solution_files(course().task(id), changed, files)
    return files


def write_zip(path: Path, files: Mapping[str, str]) -> None:
    """Pack a submission as `course submit` does."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)


# Forgers


def forgers() -> tuple[list[str], int]:
    """Grade every forger in its task; returns those that earned a mark, and the number of forgers."""
    found = [path.stem for path in sorted(FORGERS.glob("*.toml"))]
    answers = load_answers(FORGERS, [course().task(id) for id in found])
    earned = []
    with tempfile.TemporaryDirectory(prefix="course-bench-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        for answer in answers:
            write_zip(folder / "in" / f"{answer.task}-{answer.name}.zip", submission_files((answer.task,), answer.patch))
        results = grade(folder / "in", folder / "out", *[f"--task={id}" for id in found])
        for answer in answers:
            (task,) = [task for task in results[f"{answer.task}-{answer.name}"].tasks if task.task == answer.task]
            if fooled(task, answer):
                earned.append(answer.key)
    return earned, len(answers)


# The original course


def grade_originals() -> tuple[list[str], int]:
    """Adopt and grade the hand-ins under tests/course/originals; returns tasks without full marks, and the number of tasks."""
    lost, count = [], 0
    with tempfile.TemporaryDirectory(prefix="course-bench-") as name:
        folder = Path(name)
        for style in sorted(path.name for path in ORIGINALS.iterdir() if path.is_dir()):
            for file in (ORIGINALS / style).rglob("*.txt"):
                target = folder / file.relative_to(ORIGINALS).with_suffix("")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
            adopted = adopt(folder / style, course())
            write_submission(adopted, folder / "in" / style)
            options = [f"--task={id}" for id in sorted(adopted.written)]
            (result,) = grade(folder / "in" / style, folder / f"out-{style}", "--profile=published", *options).values()
            count += len(result.tasks)
            lost += [f"{style} {task.task}: {task.mark:g} of {task.points:g}" for task in result.tasks if task.mark < task.points]
    return lost, count


def fooled(task: TaskResult, answer: WrongAnswer) -> bool:
    """Whether a forger earned points that it does not deserve, without a flag: all points of a task, or any if it wrote nothing else."""
    wrote_nothing_else = set(course().task(answer.task).write) <= set(answer.patch)
    return not task.flagged and (task.passed or (wrote_nothing_else and task.mark > 0))


# A class of a hundred


def make_class(folder: Path) -> dict[str, str]:
    """Write a hundred submissions; returns the kind of each by its name: "right", "wrong", "hostile" or "broken"."""
    bank = [answer for answer in load_answers(FOLDER, [course().task(id) for id in TASKS]) if not answer.compiled]
    kinds: dict[str, str] = {}

    def write(kind: str, suffix: str, data: bytes) -> None:
        name = f"student{len(kinds):03}-{kind}"
        (folder / f"{name}{suffix}").write_bytes(data)
        kinds[name] = kind

    for number in range(40):
        write("right", *pack(submission_files(TASKS), number))
    for number in range(38):
        answer: WrongAnswer = bank[number * len(bank) // 38]
        write("wrong", *pack(submission_files(TASKS, answer.patch), number))
    for body in HOSTILE.values():
        write("hostile", *pack(submission_files(TASKS, {"minitorch.operators:relu": body}), 0))
    for suffix, data in broken_archives().items():
        write("broken", "." + suffix.partition(".")[2], data)
    while len(kinds) < 100:
        write("right", *pack(submission_files(TASKS), len(kinds)))
    return kinds


def pack(files: Mapping[str, str], number: int) -> tuple[str, bytes]:
    """The suffix and bytes of an archive, every third a tarball with a top-level folder. The number makes each archive unique."""
    files = {name: f"{text}\n# {number}\n" for name, text in files.items()}
    data = io.BytesIO()
    if number % 3 != 2:
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return ".zip", data.getvalue()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"minitorch-course/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return ".tar.gz", data.getvalue()


def broken_archives() -> dict[str, bytes]:
    """Archives that cannot be graded, by a name that ends in their suffix."""
    whole = pack(submission_files(TASKS), 0)[1]
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("minitorch/operators.py", b"\0" * (256 << 20))
    outside, link, other = io.BytesIO(), io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=outside, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../minitorch/operators.py"))
    with tarfile.open(fileobj=link, mode="w") as archive:
        member = tarfile.TarInfo("minitorch/operators.py")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("essay.txt", "I have none.")
    return {
        "cut.zip": whole[: len(whole) // 2],
        "nothing.zip": b"",
        "text.zip": b"my submission",
        "bomb.zip": bomb.getvalue(),
        "outside.tar": outside.getvalue(),
        "link.tar": link.getvalue(),
        "essay.zip": other.getvalue(),
    }


def grade_under_fire() -> tuple[list[str], str]:
    """Grade the class while three workers are killed, then the run itself, which is started again.

    Returns:
        One line for each submission that went wrong, and a summary in words.
    """
    with tempfile.TemporaryDirectory(prefix="course-bench-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        kinds = make_class(folder / "in")
        options = [f"--task={id}" for id in TASKS]
        begun = time.monotonic()
        killed = 0
        first = start(folder / "in", folder / "out", *options)
        try:
            for share in (10, 25, 40):  # kill a worker after this many results
                if wait_for_results(first, folder / "out", share):
                    killed += kill_a_worker(first.pid)
            ended = wait_for_results(first, folder / "out", 55)
        finally:
            first.kill()  # SIGKILL: the run must survive it, and must not outlive this program
            first.wait()
        before = {path: path.stat().st_mtime_ns for path in (folder / "out" / "results").glob("*.json")}
        results = grade(folder / "in", folder / "out", *options)
        seconds = time.monotonic() - begun
        again = sum(path.stat().st_mtime_ns != time_before for path, time_before in before.items())
    lost = [f"{name}: {trouble}" for name, kind in kinds.items() if (trouble := find_fault(kind, results.get(name)))]
    lost += [f"{again} graded twice"] * bool(again)
    lost += [] if killed == 3 and ended else [f"only {killed} workers were killed"]
    return lost, f"{killed} workers and one run killed, {len(before)} results there by then, {seconds:.0f} s"


def find_fault(kind: str, result: Result | None) -> str:
    """Describe what is wrong with the result of a submission of this kind; empty if nothing is."""
    if result is None:
        return "no result"
    if (kind == "broken") != bool(result.refused):
        return f"refused: {result.refused or 'no'}"
    if kind == "right" and result.mark != result.points:
        return f"{result.mark:g} of {result.points:g} points"
    if kind in ("wrong", "hostile") and result.mark >= result.points:
        return "the whole mark"
    return ""


# Grading


def start(submissions: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    """Start `course-staff grade` in its own process group."""
    command = [sys.executable, "-m", "course.staff", "grade", str(submissions), "--out", str(out), *options]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def grade(submissions: Path, out: Path, *options: str) -> dict[str, Result]:
    """Run `course-staff grade`; returns the results by submission.

    Raises:
        RuntimeError: If it failed.
    """
    command = [sys.executable, "-m", "course.staff", "grade", str(submissions), "--out", str(out), *options]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"course-staff grade ended with {done.returncode}: {done.stderr}")
    results = [read_result(path) for path in sorted((out / "results").glob("*.json"))]
    return {result.submission: result for result in results}


def wait_for_results(run: subprocess.Popen[str], out: Path, count: int) -> bool:
    """Wait for this many results; returns whether the run is still going."""
    while run.poll() is None:
        if len(list((out / "results").glob("*.json"))) >= count:
            return True
        time.sleep(0.1)
    return False


def kill_a_worker(pid: int) -> int:
    """Kill one worker process of a run; returns how many were killed."""
    with contextlib.suppress(OSError, ValueError):
        children = [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
        os.kill(max(children), signal.SIGKILL)
        return 1
    return 0


def grade_reference_on_one_core() -> tuple[float, float, float]:
    """Grade right answers to all tasks on one core; returns the seconds of the second run, the mark, and all points."""
    with tempfile.TemporaryDirectory(prefix="course-bench-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        write_zip(folder / "in" / "reference.zip", {path: data.decode() for path, data in right_answer(ROOT, course()).items()})
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})
        try:
            for turn in ("first", "second"):  # the first fills the caches
                begun = time.monotonic()
                results = grade(folder / "in", folder / turn, "--workers=1")
                seconds = time.monotonic() - begun
        finally:
            os.sched_setaffinity(0, cores)
    (result,) = results.values()
    return seconds, result.mark, sum(task.points for task in result.tasks)
