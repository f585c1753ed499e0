"""The student's progress, derived by running the tests: every task's state, and a cache of it that may be deleted at any time.

The student's code runs in a process of its own; this one never imports it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from course.card import Card, card_from
from course.files import write_json
from course.gpu import environment, has_gpu, simulated
from course.manifest import ROOT, Manifest, Task, load

SCHEMA = 2
"""Version of the cache's format."""

TIME_LIMIT = 30.0
"""Seconds that one test may compute; see `plugin.WAITING`."""

PATIENCE = 20
"""So many times the limit may a whole run take, in case a test cannot be stopped from within."""

GRACE = 5.0
"""Seconds in which a run that is being stopped may still write its report."""

CACHE = Path(".course") / "results.json"

WATCHED = ("minitorch/**/*.py", "project/run_*.py", "project/lab/*.py", "tests/**/*.py", "course/tasks.toml", "pyproject.toml")
"""What a result depends on."""


class CannotRun(RuntimeError):
    """The tests cannot be run here, whatever the student's code is like."""


@dataclass(frozen=True)
class TaskState:
    """How far a task is.

    Attributes:
        task: Its id.
        state: "passed", "failing" (a test fails), "todo" (its code is not written), "blocked" (another task's code is missing),
            "not run" (this machine cannot run its tests) or "unknown" (its tests have not run since something changed).
        passed, failing, todo, blocked: How many of its tests ended so.
        total: How many tests it has; 0 if unknown.
        blocked_by: The tasks whose code is missing.
        card: Of the first test that did not pass.
        device: What the kernels of a task that needs a GPU ran on: "gpu" or "simulator". Else empty.
    """

    task: str
    state: str = "unknown"
    passed: int = 0
    failing: int = 0
    todo: int = 0
    blocked: int = 0
    total: int = 0
    blocked_by: tuple[str, ...] = ()
    card: Card | None = None
    device: str = ""


def cached_states(root: Path = ROOT) -> dict[str, TaskState]:
    """Every task's state as far as it is known; nothing is run."""
    known = _read_cache(root, _fingerprint(root))
    return {task.id: known.get(task.id, TaskState(task.id)) for task in _manifest(root).tasks}


def run_tasks(tasks: Iterable[str], root: Path = ROOT, time_limit: float = TIME_LIMIT) -> dict[str, TaskState]:
    """Run the tests of these tasks and remember the result.

    Args:
        tasks: Their ids.
        root: The workspace.
        time_limit: Seconds for each test; one that takes longer is stopped, and its task is failing.

    Raises:
        CannotRun: If pytest or Hypothesis is not installed.
        ManifestError: If there is no such task.
    """
    manifest = _manifest(root)
    wanted = [manifest.task(id) for id in dict.fromkeys(tasks)]
    for package in ("pytest", "hypothesis"):
        if importlib.util.find_spec(package) is None:
            raise CannotRun(f"the tests need {package}, which {sys.executable} does not have; run: {_install(root)}")
    fingerprint = _fingerprint(root)
    states: dict[str, TaskState] = {}
    while wanted:
        around = environment(wanted[0])  # tasks run in one process as far as they need the same
        done = _run([task for task in wanted if environment(task) == around], root, time_limit, around)
        states |= done
        wanted = [task for task in wanted if task.id not in done]
    if _fingerprint(root) != fingerprint:  # which of the tests ran on which code is not known
        return {id: TaskState(id, card=Card("", id, error=f"a file changed while the tests ran; run: course test {id}")) for id in states}
    _write_cache(root, fingerprint, _read_cache(root, fingerprint) | states)
    return states


def _manifest(root: Path) -> Manifest:
    return load(root / "course" / "tasks.toml")


def _install(root: Path) -> str:
    """The command that installs what the tests need."""
    requirements = root / "requirements.extra.txt"
    return f"{sys.executable} -m pip install {'-r requirements.extra.txt' if requirements.is_file() else 'pytest hypothesis'}"


# One run of pytest


def _run(tasks: Sequence[Task], root: Path, time_limit: float, around: Mapping[str, str]) -> dict[str, TaskState]:
    """The states that one run of pytest settles: of all tasks, or of some, at least one, if it had to be stopped.

    `around` is what its environment holds besides this process's.
    """
    files = _test_files(tasks, root)
    testless = {task.id: _broken(task, f"no test under tests/ carries the mark {task.mark}") for task in tasks if not files[task.id]}
    if testless:
        return testless
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pytest", "-p", "course.plugin", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
        command += ["--color=no", "--tb=short", "-q", "-m", " or ".join(task.mark for task in tasks), f"--course-report={report}"]
        command += [f"--course-limit={time_limit}"]
        command += dict.fromkeys(name for task in tasks for name in sorted(files[task.id], key=lambda name: _rank(task, name)))
        output, killed = _output(command, root, PATIENCE * time_limit, os.environ | around)
        try:
            document = json.loads(report.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            document = {"tests": [], "interrupted": None}
            if killed:
                document["interrupted"] = asdict(Card("", error="when it did not answer"))
    if document["interrupted"]:
        return _stopped(tasks, document, time_limit)
    tail = "\n".join(output.strip().splitlines()[-12:])
    return {task.id: _judge(task, document["tests"], tail) for task in tasks}


def _test_files(tasks: Sequence[Task], root: Path) -> dict[str, list[str]]:
    """For each task the test files that mention its mark."""
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in sorted((root / "tests").rglob("test_*.py"))}
    return {
        task.id: [path.relative_to(root).as_posix() for path, text in texts.items() if re.search(rf"\b{task.mark}\b", text)]
        for task in tasks
    }


def _rank(task: Task, name: str) -> tuple[int, str]:
    """Test files in the order in which the task's files are written: the tests of a kernel before those of what is built on it."""
    stems = [Path(file).stem for file in task.files]
    stem = Path(name).stem.removeprefix("test_")
    return stems.index(stem) if stem in stems else len(stems), name


def _output(command: Sequence[str], root: Path, time_limit: float, env: Mapping[str, str]) -> tuple[str, bool]:
    """What a command prints, and whether it had to be stopped. Interrupted from the keyboard, it takes the command along."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    with subprocess.Popen(command, cwd=root, env=env, **pipes) as process:
        try:
            return process.communicate(timeout=time_limit)[0], False
        except subprocess.TimeoutExpired:
            return _stop(process), True
        except BaseException:
            _stop(process)
            raise


def _stop(process: subprocess.Popen[str]) -> str:
    """End a run of pytest, gently at first, so that it can tell which test it was at."""
    with contextlib.suppress(ValueError):  # Windows knows no SIGINT for another process
        process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=GRACE)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]


# From rows to states


def _judge(task: Task, rows: Iterable[dict[str, Any]], output: str = "") -> TaskState:
    """The state of a task by the rows of its tests."""
    mine = [row for row in rows if row["task"] == task.id]
    ran = [row for row in mine if row["state"] != "skipped"]
    reasons = sorted({row["reason"] for row in mine if row["state"] == "skipped"})
    if not ran and task.gpu and mine:
        return TaskState(task.id, "not run", card=Card("", task.id, "", error="\n".join(reasons)))
    if not ran:
        reason = f"all of its tests were skipped: {'; '.join(reasons)}" if mine else f"none of its tests ran; pytest ended with:\n{output}"
        return _broken(task, reason)
    count = {state: sum(row["state"] == state for row in ran) for state in ("passed", "failing", "todo", "blocked")}
    state = next((state for state in ("failing", "todo", "blocked") if count[state]), "passed")
    first = next((row["card"] for row in ran if row["state"] == state and row["card"]), None)
    blocked_by = sorted({row["needs"] for row in ran if row["state"] == "blocked"})
    device = ("simulator" if simulated(os.environ | environment(task)) else "gpu") if task.gpu else ""
    card = card_from(first) if first else None
    return TaskState(task.id, state, **count, total=len(ran), blocked_by=tuple(blocked_by), card=card, device=device)


def _stopped(tasks: Sequence[Task], document: dict[str, Any], seconds: float) -> dict[str, TaskState]:
    """The states after a run that was stopped: the task of the test at which it hung fails, all of them if that is not known.

    The others are left to another run: which of their tests were still to come is not known either.
    """
    hung = card_from(document["interrupted"])
    error = f"stopped {hung.error}, after {seconds:g} seconds; look for a loop that does not end, or allow more with --time-limit"
    states = {}
    for task in [task for task in tasks if task.id == hung.task] or tasks:
        judged = _judge(task, document["tests"])
        card = judged.card if judged.failing else replace(hung, task=task.id, error=error)  # what fails at once says more
        states[task.id] = replace(judged, state="failing", failing=judged.failing + 1, total=judged.total + 1, card=card)
    return states


def _broken(task: Task, reason: str) -> TaskState:
    """The state of a task whose tests could not tell anything."""
    return TaskState(task.id, "failing", card=Card("", task.id, f"Task {task.id} has tests, and they run.", error=reason))


# The cache


def _fingerprint(root: Path) -> str:
    """A hash of all that the results depend on."""
    digest = hashlib.sha256(sys.version.encode())
    if any(task.gpu for task in _manifest(root).tasks):  # what passed in the simulator has not run on a GPU
        digest.update(f"{has_gpu()} {simulated(os.environ)}".encode())
    for path in sorted({path for pattern in WATCHED for path in root.glob(pattern) if path.is_file()}):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def _read_cache(root: Path, fingerprint: str) -> dict[str, TaskState]:
    """What is remembered of these very sources; nothing if the cache is missing, old or damaged."""
    try:
        document = json.loads((root / CACHE).read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA or document["fingerprint"] != fingerprint:
            return {}
        return {id: _state_from(data) for id, data in document["states"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write_cache(root: Path, fingerprint: str, states: dict[str, TaskState]) -> None:
    """Remember; a workspace that cannot be written to just does not."""
    document = {"schema": SCHEMA, "fingerprint": fingerprint, "states": {id: asdict(state) for id, state in states.items()}}
    with contextlib.suppress(OSError):
        write_json(root / CACHE, document)


def _state_from(data: dict[str, Any]) -> TaskState:
    return TaskState(**{**data, "blocked_by": tuple(data["blocked_by"]), "card": card_from(data["card"]) if data["card"] else None})
