"""The student's progress: the state of every task, determined by running its tests, and a cache that may be deleted at any time.

The student's code runs in another process; this one never imports it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from course.manifest import ROOT, Manifest, Task, load
from course.runner.dependencies import fingerprints
from course.runner.failure_report import Card, card_from
from course.runner.gpu import environment, has_gpu, simulated
from course.runner.messages import unreadable_file
from course.runner.packages import require_packages
from course.runner.platforms import kill_tree
from course.runner.report_file import read_report
from course.runner.time_limit import LAST_SHARED, limit_of
from course.workspace.activity import note_runs
from course.workspace.atomic_files import write_json
from course.workspace.record import note_tries
from course.workspace.unwritten import unbegun_tasks, untouched_tasks

SCHEMA = 4
"""Version of the cache's format."""

RUN_LIMIT = 600.0
"""Limit in seconds of a whole run, in case a test cannot be stopped from inside the process."""

LINE = 160
"""Maximum length of a failure in one line."""

GRACE = 5.0
"""Seconds that a stopped run has to write its report."""

CACHE = Path(".course") / "results.json"


class Cancelled(RuntimeError):
    """Another thread stopped the run before it had a result."""


class Process(subprocess.Popen[str]):
    """A run of pytest that another thread may stop."""

    cancelled = False

    def cancel(self) -> None:
        """Stop the run without a result."""
        self.cancelled = True
        kill_tree(self)


Launch = Callable[[Sequence[str], Path, Mapping[str, str]], Process]
"""Starts pytest, given its arguments, the workspace and the environment."""


@dataclass(frozen=True)
class TaskState:
    """The state of a task.

    Attributes:
        task: Its id.
        state: "passed", "failing" (a test fails), "todo" (its own code is missing), "blocked" (another task's code is missing),
            "not run" (this machine cannot run its tests), "stale" (it passed, before a file changed or a GPU was found) or "unknown"
            (not run on this code, and did not pass before). A task whose functions are all as handed out is "todo", whatever its tests say.
        passed, failing, todo, blocked, beyond: The number of its tests in each state; "beyond" is failing, but see `published`.
        total: The number of its tests that ran; 0 if none did, as for a task whose files are as handed out. Without "beyond".
        blocked_by: The tasks whose code is missing.
        card: The card of the first test that did not pass, in the order in which the tests are defined.
        failures: pytest's names of the failing tests, each with its failure in a few words.
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
    failures: tuple[tuple[str, str], ...] = ()
    device: str = ""
    beyond: int = 0


def launch(arguments: Sequence[str], root: Path, env: Mapping[str, str]) -> Process:
    """Start pytest in a fresh process."""
    command = [sys.executable, "-m", "pytest", *arguments]
    return Process(command, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


def cached_states(root: Path = ROOT) -> dict[str, TaskState]:
    """Return the known state of every task; run nothing."""
    manifest = _manifest(root)
    cache, current, untouched = _read_cache(root), _fingerprints(root, manifest), untouched_tasks(root, manifest)
    states = {
        task.id: TaskState(task.id, "todo") if task.id in untouched else _cached_state(task, cache, current) for task in manifest.tasks
    }
    outdated = [task for task in manifest.tasks if states[task.id].state in ("stale", "unknown")]
    return states | {id: TaskState(id, "todo") for id in unbegun_tasks(root, outdated)}  # such as a task that was reset


def last_states(root: Path = ROOT) -> dict[str, TaskState]:
    """Return the state of every task when its tests last ran, whatever has changed since."""
    last = {id: state for id, (_, state) in _read_cache(root).items()}
    return {task.id: last.get(task.id, TaskState(task.id)) for task in _manifest(root).tasks}


def run_tasks(
    tasks: Iterable[str],
    root: Path = ROOT,
    time_limit: float | None = None,
    launch: Launch = launch,
    shares: int = 1,
    first: str | None = None,
) -> dict[str, TaskState]:
    """Run the tests of these tasks and cache the states. The tests of each module run in a process that loads nothing of a later module.

    A task whose files are all as handed out is "todo" without a run; one with a file in another encoding than it declares is failing, as in
    grading, although some versions of Python accept such bytes in a comment.

    Args:
        tasks: Their ids.
        root: The workspace.
        time_limit: Seconds for each test, or for each example of a property; a test that takes longer is stopped and fails. Default: the
            limit of the task's module.
        launch: Starts pytest.
        shares: Number of processes that divide the tests of Modules 0 to 2; later ones compile, and use several cores themselves.
        first: The test to run first, as pytest names it. If given, even empty, each process writes the simplest failure so far to its
            report's path with the suffix .first. The states do not depend on it.

    Raises:
        CannotRun: If a package that the tests need is not installed.
        ManifestError: If there is no such task.
        Cancelled: If another thread stopped the run.
    """
    manifest = _manifest(root)
    wanted = [manifest.task(id) for id in dict.fromkeys(tasks)]
    untouched = untouched_tasks(root, manifest)
    states = {task.id: TaskState(task.id, "todo") for task in wanted if task.id in untouched}
    if cards := {task.id: card for task in wanted if (card := unreadable_file(task, root))}:
        unreadable = {id: TaskState(id, "failing", failing=1, total=1, card=card) for id, card in cards.items()}
        current = _fingerprints(root, manifest)
        _write_cache(root, _read_cache(root) | {id: (current[id], state) for id, state in unreadable.items()})
        states |= unreadable
    wanted = [task for task in wanted if task.id not in states]
    require_packages(root, [task.stage for task in wanted])
    while wanted:
        before = _fingerprints(root, manifest)
        stage, around = wanted[0].stage, environment(wanted[0])  # tasks that need the same environment share a process
        together = [task for task in wanted if task.stage == stage and environment(task) == around]
        done = _run(together, root, time_limit or limit_of(stage), around, launch, shares if stage <= LAST_SHARED else 1, first)
        wanted = [task for task in wanted if task.id not in done]
        after = _fingerprints(root, manifest)
        if any(after[id] != before[id] for id in done):  # it is unknown which tests ran on which code
            error = "a file changed while the tests ran; run: course test "
            states |= {id: TaskState(id, card=Card("", id, error=error + id)) for id in done}
            continue
        states |= done
        _write_cache(root, _read_cache(root) | {id: (before[id], state) for id, state in done.items()})
        note_tries(root, [manifest.task(id) for id, state in done.items() if state.passed or state.failing])
        note_runs(root, [(manifest.task(id), state) for id, state in done.items()])
    return states


def _manifest(root: Path) -> Manifest:
    return load(root / "course" / "tasks.toml")


def debug(task: Task, root: Path) -> int:
    """Run the tests of a task in this terminal, where a debugger works, up to the first failure, and return the exit code."""
    arguments = ["-p", "no:cacheprovider", "-x", "-s", "--tb=short", "-q", "-m", task.mark, f"--course-stage={task.stage}"]
    command = [sys.executable, "-m", "pytest", "-p", "course.runner.plugin", *arguments, *_test_files([task], root)[task.id]]
    environment_of_it = os.environ | environment(task) | ({"NUMBA_DISABLE_JIT": "1"} if task.stage > LAST_SHARED and not task.gpu else {})
    return subprocess.run(command, cwd=root, env=environment_of_it, check=False).returncode


# One run of pytest


def _run(
    tasks: Sequence[Task],
    root: Path,
    time_limit: float,
    around: Mapping[str, str],
    launch: Launch,
    shares: int,
    first: str | None,
) -> dict[str, TaskState]:
    """Run pytest, in `shares` processes, and return the states of all tasks; of at least one task if the run was stopped.

    `around` holds additional environment variables.
    """
    files = _test_files(tasks, root)
    if testless := {task.id: _broken(task, f"no test under tests/ carries the mark {task.mark}") for task in tasks if not files[task.id]}:
        return testless
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        arguments = ["-p", "course.runner.plugin", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
        arguments += ["--color=no", "--tb=short", "-q", "-m", " or ".join(task.mark for task in tasks)]
        arguments += [f"--course-limit={time_limit}", f"--course-stage={tasks[0].stage}"]
        arguments += dict.fromkeys(name for task in tasks for name in sorted(files[task.id], key=lambda name: _rank(task, name)))
        reports = [Path(folder) / f"{number}.json" for number in range(shares)]
        arguments += [] if first is None else [f"--course-first={first}"]
        own = [[f"--course-report={report}", f"--course-share={number}/{shares}"] for number, report in enumerate(reports)]
        ended = _outputs([launch([*arguments, *more], root, os.environ | around) for more in own], RUN_LIMIT)
        documents = [read_report(report, *end) for report, end in zip(reports, ended, strict=True)]
    found = itertools.chain.from_iterable(document["tests"] for document in documents)
    rows = list({(row["nodeid"], row["task"]): row for row in found}.values())  # a file that does not load fails in every share
    stopped = min((document for document in documents if document["interrupted"]), key=lambda document: document["order"], default=None)
    if stopped and first and stopped["interrupted"]["nodeid"] == first:  # a simpler test may fail before the one that hangs
        return _run(tasks, root, time_limit, around, launch, shares, first="")
    if stopped:
        return _hung_states(tasks, rows, card_from(stopped["interrupted"]), stopped["order"])
    tail = "\n".join("\n".join(output for output, _ in ended).strip().splitlines()[-12:])
    judged = {task.id: _judge(task, rows, tail) for task in tasks}
    broken = {row["task"] for row in rows if row["state"] == "failing" and "::" not in row["nodeid"]}  # a file does not load
    open_tasks = [task for task in tasks if judged[task.id].total and judged[task.id].state != "passed" and task.id not in broken]
    return judged | {id: TaskState(id, "todo") for id in unbegun_tasks(root, open_tasks)}  # what fails is another task's code


def _test_files(tasks: Sequence[Task], root: Path) -> dict[str, list[str]]:
    """The test files that mention the mark of each task; the tests of the course itself, which write such files, belong to none."""
    paths = [path for path in sorted((root / "tests").rglob("test_*.py")) if path.parent.name != "course"]
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in paths}
    return {
        task.id: [path.relative_to(root).as_posix() for path, text in texts.items() if re.search(rf"\b{task.mark}\b", text)]
        for task in tasks
    }


def _rank(task: Task, name: str) -> tuple[int, str]:
    """Sort key of test files, in the order of the task's files: the tests of a kernel come before those of its callers."""
    stems = [Path(file).stem for file in task.files]
    stem = Path(name).stem.removeprefix("test_")
    return stems.index(stem) if stem in stems else len(stems), name


def _row_rank(task: Task, row: Mapping[str, Any]) -> tuple[tuple[int, str], int]:
    """Sort key of a task's rows: the files in the order of `_rank`, then the tests as defined."""
    return _rank(task, row["nodeid"].partition("::")[0]), row["order"]


def _outputs(processes: Sequence[Process], time_limit: float) -> list[tuple[str, bool]]:
    """The output of each process, and whether it had to be stopped. Ctrl-C ends the processes, too."""
    end = time.monotonic() + time_limit
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.enter_context(process)
        try:
            found = [_output(process, end - time.monotonic()) for process in processes]
        except BaseException:
            for process in processes:
                _stop(process)
            raise
    if any(process.cancelled for process in processes):
        raise Cancelled
    return found


def _output(process: Process, time_limit: float) -> tuple[str, bool]:
    """The output of a process, and whether it had to be stopped."""
    try:
        return process.communicate(timeout=max(time_limit, 0))[0], False
    except subprocess.TimeoutExpired:
        return _stop(process), True


def _stop(process: Process) -> str:
    """Interrupt a run of pytest, so that it can report the running test; kill it if it does not end."""
    with contextlib.suppress(ValueError):  # Windows cannot send SIGINT to another process
        process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=GRACE)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]


# From rows to states


def _judge(task: Task, rows: Iterable[dict[str, Any]], output: str = "") -> TaskState:
    """Determine the state of a task from the rows of its tests."""
    mine = sorted((row for row in rows if row["task"] == task.id), key=lambda row: _row_rank(task, row))
    ran = [row for row in mine if row["state"] != "skipped"]
    reasons = sorted({row["reason"] for row in mine if row["state"] == "skipped"})
    if not ran and task.gpu and mine:
        return TaskState(task.id, "not run", card=Card("", task.id, "", error="\n".join(reasons)))
    if not ran:
        reason = f"all of its tests were skipped: {'; '.join(reasons)}" if mine else f"none of its tests ran; pytest ended with:\n{output}"
        return _broken(task, reason)
    count = {state: sum(row["state"] == state for row in ran) for state in ("passed", "failing", "todo", "blocked", "beyond")}
    state = next((state for state in ("failing", "todo", "blocked") if count[state]), "passed")
    first = next((row["card"] for row in ran if row["state"] == state and row["card"]), None)
    needs = tuple(sorted({row["needs"] for row in ran if row["state"] == "blocked"}))
    failures = tuple((row["nodeid"], _in_a_line(row["card"])) for row in ran if row["state"] == "failing" and row["card"])
    device = ("simulator" if simulated(os.environ | environment(task)) else "gpu") if task.gpu else ""
    card = card_from(first) if first else None
    count["total"] = len(ran) - count["beyond"]
    return TaskState(task.id, state, **count, blocked_by=needs, card=card, failures=failures, device=device)


def _in_a_line(card: Mapping[str, Any]) -> str:
    """The failure in one line."""
    text = f"expected {card['expected']}, got {card['yours']}" if card.get("expected") is not None else card.get("error") or ""
    return " ".join(text.split())[:LINE]


def _hung_states(tasks: Sequence[Task], rows: Sequence[dict[str, Any]], hung: Card, order: int) -> dict[str, TaskState]:
    """The states after a run that was stopped: the task of the test that hung is failing, or all tasks if no test was running.

    The other tasks need another run, because some of their tests may not have run yet.

    Args:
        tasks: The tasks of the run.
        rows: The tests that ended before.
        hung: The test that was running.
        order: Its position among the tests of the run.
    """
    states = {}
    for task in [task for task in tasks if task.id == hung.task] or tasks:
        rank = _row_rank(task, {"nodeid": hung.nodeid, "order": order})
        judged, before = _judge(task, rows), _judge(task, [row for row in rows if _row_rank(task, row) < rank])
        card = before.card if before.failing else replace(hung, task=task.id)
        states[task.id] = replace(judged, state="failing", failing=judged.failing + 1, total=judged.total + 1, card=card)
    return states


def _broken(task: Task, reason: str) -> TaskState:
    """The state of a task whose tests gave no result."""
    return TaskState(task.id, "failing", card=Card("", task.id, f"Task {task.id} has tests, and they run.", error=reason))


# The cache


def _fingerprints(root: Path, manifest: Manifest) -> dict[str, str]:
    """For each task, a hash of everything that its result depends on."""
    sources = fingerprints(root, manifest)
    on = f" {has_gpu()} {simulated(os.environ)}" if any(task.gpu for task in manifest.tasks) else ""
    # a result from the simulator says nothing about a GPU
    return {task.id: sources[task.id] + (on if task.gpu else "") for task in manifest.tasks}


def _cached_state(task: Task, cache: Mapping[str, tuple[str, TaskState]], current: Mapping[str, str]) -> TaskState:
    """The cached state of a task, or "stale" or "unknown" if the sources have changed since."""
    fingerprint, state = cache.get(task.id, ("", TaskState(task.id)))
    if fingerprint == current[task.id]:
        return state
    return TaskState(task.id, "stale" if state.state == "passed" else "unknown")


def _read_cache(root: Path) -> dict[str, tuple[str, TaskState]]:
    """The last state of each task with the fingerprint of its sources; empty if the cache is missing, old or damaged."""
    try:
        document = json.loads((root / CACHE).read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            return {}
        return {id: (entry["fingerprint"], _state_from(entry["state"])) for id, entry in document["states"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write_cache(root: Path, states: Mapping[str, tuple[str, TaskState]]) -> None:
    """Write the cache, unless the workspace is read-only."""
    entries = {id: {"fingerprint": fingerprint, "state": asdict(state)} for id, (fingerprint, state) in states.items()}
    with contextlib.suppress(OSError):
        write_json(root / CACHE, {"schema": SCHEMA, "states": entries})


def _state_from(data: dict[str, Any]) -> TaskState:
    card, failures = card_from(data["card"]) if data["card"] else None, tuple(map(tuple, data["failures"]))
    return TaskState(**{**data, "blocked_by": tuple(data["blocked_by"]), "card": card, "failures": failures})
