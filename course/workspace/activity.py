"""The student's activity, in .course/activity.json: time, test runs and hints for each task. It stays on this machine unless handed in.

It never holds source code, names of people or machines, or paths outside the course. Events carry the active time at which they
happened, not the time of day. The file may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Protocol

from course.manifest import Task
from course.workspace.atomic_files import write_bytes
from course.workspace.record import code_of, read_record, write_record

SCHEMA = 1
"""Version of the format, on disk and in a hand-in."""

ACTIVITY = Path(".course") / "activity.json"

HANDED_IN = "reports/activity.json"
"""Path of the activity in the zip file of `course submit --with-record`; grading ignores reports/."""

IDLE = 600
"""Seconds without an event after which the student counts as away; longer gaps add no active time."""

MAX_BYTES = 1_000_000
MAX_TASKS, MAX_RUNS, MAX_FAILED, MAX_HINTS, MAX_EXPLAINS = 64, 60, 40, 10, 40
MAX_SECONDS = 10_000_000
MAX_TESTS = 100_000

STATES = ("passed", "failing", "todo", "blocked")

TASK_ID = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}[a-z]?")
TEST_NAME = re.compile(r"tests/[A-Za-z0-9_./-]{1,80}\.py::[ -~]{1,160}")
"""pytest's name of a test of the course."""

_LOCK = threading.Lock()


@dataclass
class TestRun:
    """One run of a task's tests.

    Attributes:
        after: Active seconds on the task before the run.
        state: "passed", "failing", "todo" or "blocked".
        passed: How many tests passed.
        total: How many tests the task has.
        failed: pytest's names of the tests that failed.
    """

    __test__ = False

    after: int
    state: str
    passed: int
    total: int
    failed: list[str] = field(default_factory=list)


@dataclass
class OpenedHint:
    """A hint that the student opened.

    Attributes:
        after: Active seconds on the task before.
        level: Which hint, from 1.
        runs: How many runs of the task came before it.
    """

    after: int
    level: int
    runs: int


@dataclass
class TaskActivity:
    """The student's activity on one task.

    Attributes:
        started: Date of the first event, in UTC.
        active: Active seconds, without idle gaps.
        runs: Test runs, oldest first. A run with the same code and outcome as the one before is left out.
        hints: Opened hints, oldest first.
        explains: For each use of `course explain`, the number of runs before it.
    """

    started: str
    active: int = 0
    runs: list[TestRun] = field(default_factory=list)
    hints: list[OpenedHint] = field(default_factory=list)
    explains: list[int] = field(default_factory=list)


def elapsed(before: float, now: float) -> int:
    """Active seconds between two successive events; none across an idle gap or if the clock was set back."""
    return int(now - before) if 0 <= now - before <= IDLE else 0


def active_time(times: Sequence[float]) -> int:
    """Active seconds of a sequence of events."""
    return sum(elapsed(before, now) for before, now in itertools.pairwise(times))


# Recording


class RunResult(Protocol):
    """The result of a run of a task's tests; see `TaskState` in `course.runner.progress`."""

    @property
    def state(self) -> str:
        """Such as "passed" or "failing"."""
        ...

    @property
    def passed(self) -> int:
        """The number of tests that passed."""
        ...

    @property
    def total(self) -> int:
        """The number of tests."""
        ...

    @property
    def failures(self) -> Sequence[tuple[str, str]]:
        """The names of tests that failed, each with its failure in one line."""
        ...


def make_current(root: Path, task: Task) -> None:
    """Store the task that the student works on from now on, and note that they turned to it."""
    record = read_record(root)
    before, record.current, record.since = record.current, task.id, time.time()
    write_record(root, record)
    if before != task.id:
        note_start(root, task.id)


def note_start(root: Path, task: str) -> None:
    """Record that the student started a task; the time before counts for the previous task."""
    with _changes(root) as activity:
        activity.advance(activity.last_task or task)
        activity.task(task)
        activity.last_task = task


def note_runs(root: Path, states: Sequence[tuple[Task, RunResult]]) -> None:
    """Record a run of the tests of some tasks."""
    states = [(task, state) for task, state in states if state.state in STATES]
    if not states:
        return
    with _changes(root) as activity:
        ids = [task.id for task, _ in states]
        failing = [task.id for task, state in states if state.state != "passed"]
        activity.advance(activity.last_task if activity.last_task in ids else (failing or ids)[0])
        for task, state in states:
            if state.state in ("passed", "failing") or (task.id == activity.last_task and state.passed):
                activity.add_run(task.id, code_of(task, root), state, _given_tests(root))


def note_hint(root: Path, task: str, level: int) -> None:
    """Record that the student opened a hint."""
    with _changes(root) as activity:
        about = activity.advance(task)
        if len(about.hints) < MAX_HINTS:
            about.hints.append(OpenedHint(about.active, level, len(about.runs)))


def note_explain(root: Path, task: str) -> None:
    """Record a use of `course explain`."""
    with _changes(root) as activity:
        about = activity.advance(task)
        if len(about.explains) < MAX_EXPLAINS:
            about.explains.append(len(about.runs))


class Activity:
    """The activity of a workspace while it is being changed.

    Attributes:
        tasks: By task id.
        last_task: The task of the last event.
        last_time: The time of the last event, in seconds since the epoch.
        codes: Hash of the code of each task at its last run.
    """

    def __init__(self, now: float) -> None:
        self.now = now
        self.tasks: dict[str, TaskActivity] = {}
        self.last_task = ""
        self.last_time = 0.0
        self.codes: dict[str, str] = {}

    def task(self, id: str) -> TaskActivity:
        """The activity on a task, created if this is its first event."""
        return self.tasks.setdefault(id, TaskActivity(datetime.fromtimestamp(self.now, UTC).date().isoformat()))

    def advance(self, id: str) -> TaskActivity:
        """Add the time since the last event to a task."""
        about = self.task(id)
        about.active = min(MAX_SECONDS, about.active + elapsed(self.last_time, self.now))
        self.last_task, self.last_time = id, self.now
        return about

    def add_run(self, id: str, code: str, state: RunResult, given: Callable[[str], bool]) -> None:
        """Add a run unless neither the code nor the outcome has changed since the run before."""
        about = self.task(id)
        names = [name for name, _ in state.failures if TEST_NAME.fullmatch(name) and given(name)][:MAX_FAILED]
        run = TestRun(about.active, state.state, min(state.passed, state.total, MAX_TESTS), min(state.total, MAX_TESTS), names)
        last = about.runs[-1] if about.runs else None
        unchanged = last is not None and (last.state, last.passed, last.failed) == (run.state, run.passed, run.failed)
        if unchanged and self.codes.get(id) == code:
            return
        self.codes[id] = code
        if len(about.runs) < MAX_RUNS:
            about.runs.append(run)
        elif state.state == "passed":  # the last entry shows whether the student passed
            about.runs[-1] = run


def _given_tests(root: Path) -> Callable[[str], bool]:
    """Whether a test is in a file that was handed out; names of other files are the student's own."""
    from course.cli.problem import Problem
    from course.workspace import pristine

    hashes: Mapping[str, str] | None = None

    def given(name: str) -> bool:
        nonlocal hashes
        if hashes is None:
            try:
                hashes = pristine.read(root).hashes
            except Problem:
                hashes = {}
        return name.partition("::")[0] in hashes

    return given


# Storage


@contextlib.contextmanager
def _changes(root: Path) -> Iterator[Activity]:
    """The activity of a workspace, written back at the end; nothing is recorded if that fails."""
    with _LOCK, contextlib.suppress(OSError):
        activity = _read(root, time.time())
        yield activity
        last = {"task": activity.last_task, "time": activity.last_time, "codes": activity.codes}
        data = encode(activity.tasks, last=last)
        if len(data) > MAX_BYTES:  # most of the size is test names
            for run in (run for about in activity.tasks.values() for run in about.runs[:-1]):
                run.failed = []
            data = encode(activity.tasks, last=last)
        if len(data) <= MAX_BYTES:
            write_bytes(root / ACTIVITY, data)


def _read(root: Path, now: float) -> Activity:
    """The activity on the disk; a new one if the file is missing or damaged."""
    activity = Activity(now)
    try:
        data = (root / ACTIVITY).read_bytes()
        document = load(data)
        activity.tasks = check(document)
        last = document["last"]
        activity.last_task, activity.last_time = str(last["task"]), float(last["time"])
        activity.codes = {str(id): str(code) for id, code in last["codes"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return Activity(now)
    return activity


def read_activity(root: Path) -> dict[str, TaskActivity]:
    """The recorded activity of a workspace by task; empty if there is none."""
    return _read(root, time.time()).tasks


def encode(tasks: Mapping[str, TaskActivity], **more: object) -> bytes:
    """The activity as JSON. The file on disk has `more` entries; a hand-in has none."""
    document = {"schema": SCHEMA, "tasks": {id: asdict(about) for id, about in tasks.items()}}
    return (json.dumps(document | more, separators=(",", ":")) + "\n").encode()


# Validation of hand-ins


def decode(data: bytes) -> dict[str, TaskActivity]:
    """The activity in a hand-in, which may hold anything.

    Raises:
        ValueError: If it is not exactly what `encode` writes; the message says where.
    """
    return check(load(data), strict=True)


def load(data: bytes) -> dict[str, Any]:
    """A JSON object of limited size and depth.

    Raises:
        ValueError: If it is not one.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"expected at most {MAX_BYTES} bytes, got more")

    def refuse(name: str) -> None:
        raise ValueError(f"expected numbers, got {name}")

    try:
        document = json.loads(data.decode("utf-8"), parse_constant=refuse)
    except RecursionError:
        raise ValueError("expected a few levels, got deeper nesting") from None
    if not isinstance(document, dict):
        raise ValueError("expected an object")
    return document


def check(document: Mapping[str, Any], strict: bool = False) -> dict[str, TaskActivity]:
    """The activity in a document.

    Args:
        document: The document.
        strict: Whether entries that a hand-in does not have are an error.

    Raises:
        ValueError: If something in it has another type or lies outside its range.
    """
    _keys(document, {"schema", "tasks"}, "the record", strict)
    if document["schema"] != SCHEMA or isinstance(document["schema"], bool):
        raise ValueError(f"expected schema {SCHEMA}, got another one")
    tasks = document["tasks"]
    if not isinstance(tasks, dict) or len(tasks) > MAX_TASKS:
        raise ValueError(f"tasks: expected an object of at most {MAX_TASKS} tasks")
    return {_text(id, TASK_ID, "task id"): _task(entry, f"Task {id}") for id, entry in tasks.items()}


def _task(entry: Any, where: str) -> TaskActivity:
    _keys(entry, {"started", "active", "runs", "hints", "explains"}, where)
    started = _text(entry["started"], re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), f"{where}, started")
    date.fromisoformat(started)
    active = _count(entry["active"], MAX_SECONDS, f"{where}, active")
    runs = [_run(run, f"{where}, run {place}") for place, run in enumerate(_list(entry["runs"], MAX_RUNS, f"{where}, runs"), 1)]
    hints = [_hint(hint, len(runs), f"{where}, hint") for hint in _list(entry["hints"], MAX_HINTS, f"{where}, hints")]
    explains = [_count(runs_before, len(runs), f"{where}, explains") for runs_before in _list(entry["explains"], MAX_EXPLAINS, where)]
    times = [event.after for event in runs]
    if times != sorted(times) or any(event.after > active for event in (*runs, *hints)):
        raise ValueError(f"{where}: expected events in order of active time, up to {active} s")
    return TaskActivity(started, active, runs, hints, explains)


def _run(entry: Any, where: str) -> TestRun:
    _keys(entry, {"after", "state", "passed", "total", "failed"}, where)
    if entry["state"] not in STATES:
        raise ValueError(f"{where}: state expected one of {', '.join(STATES)}")
    total = _count(entry["total"], MAX_TESTS, f"{where}, total")
    failed = [_text(name, TEST_NAME, f"{where}, failed") for name in _list(entry["failed"], MAX_FAILED, f"{where}, failed")]
    after, passed = _count(entry["after"], MAX_SECONDS, f"{where}, after"), _count(entry["passed"], total, f"{where}, passed")
    return TestRun(after, entry["state"], passed, total, failed)


def _hint(entry: Any, runs: int, where: str) -> OpenedHint:
    _keys(entry, {"after", "level", "runs"}, where)
    after, level = _count(entry["after"], MAX_SECONDS, f"{where}, after"), _count(entry["level"], MAX_HINTS, f"{where}, level")
    return OpenedHint(after, level, _count(entry["runs"], runs, f"{where}, runs"))


def _keys(entry: Any, names: set[str], where: str, strict: bool = True) -> None:
    if not isinstance(entry, dict) or not names <= set(entry) or (strict and set(entry) != names):
        raise ValueError(f"{where}: expected an object with {', '.join(sorted(names))}")


def _list(value: Any, most: int, where: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"{where}: expected a list of at most {most} entries")
    return value


def _count(value: Any, most: int, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(f"{where}: expected a whole number from 0 to {most}")
    return value


def _text(value: Any, pattern: re.Pattern[str], where: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"{where}: expected text that matches {pattern.pattern}")
    return value
