"""What the commands share: the workspace around the current folder, running tests, and the task that comes next."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from course.cli.problem import ENVIRONMENT, USAGE, Problem
from course.manifest import Manifest, ManifestError, Task, load
from course.runner.messages import unwritten_files
from course.runner.next_task import DONE, next_task
from course.runner.packages import CannotRun
from course.runner.progress import Process, TaskState, cached_states, launch, run_tasks
from course.runner.report_file import journal_of, read_progress, report_in
from course.workspace import unwritten
from course.workspace.activity import make_current
from course.workspace.function_source import Unreadable, decode
from course.workspace.record import read_record

TICK = 0.3
"""Seconds between two updates of the displayed progress."""

LISTED = 6
"""Number of functions of a file that are listed by name."""


def reference_note(root: Path) -> str:
    """What tells somebody who came to solve the tasks that this folder is the reference; "" in a workspace."""
    is_reference = (root / "course" / "staff").is_dir()
    return "Every task is solved here, in the reference. For a workspace without the solutions, run: make workspace" if is_reference else ""


def refuse_reference(root: Path) -> None:
    """Raise a Problem in the reference, where every task is solved: for commands that make sense only in a workspace."""
    if note := reference_note(root):
        raise Problem(note, USAGE)


def find_workspace() -> tuple[Path, Manifest]:
    """Return the workspace around the current folder and its manifest.

    Raises:
        Problem: If there is none, or its manifest is invalid.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "course" / "tasks.toml").is_file():
            try:
                return folder, load(folder / "course" / "tasks.toml")
            except ManifestError as error:
                raise Problem(f"{error}; run: git diff course/tasks.toml", ENVIRONMENT) from None
    raise Problem(f"expected a MiniTorch workspace, a folder with course/tasks.toml, got {here}; run: cd WORKSPACE", ENVIRONMENT)


def find_task(manifest: Manifest, id: str) -> Task:
    """Return the task with this id.

    Raises:
        Problem: If there is none; the message lists those that exist.
    """
    try:
        return manifest.task(id)
    except ManifestError as error:
        raise Problem(f"{error}; run: course list", USAGE) from None


def run(root: Path, tasks: Sequence[Task], time_limit: float | None) -> dict[str, TaskState]:
    """Run the tests of tasks; if standard error is a terminal, show how many have ended and what is being compiled.

    Raises:
        Problem: If this environment cannot run them.
    """
    text = f"Running the tests of {f'{len(tasks)} tasks' if len(tasks) > 1 else f'Task {tasks[0].id}'}"
    journals: list[Path] = []
    ended = threading.Event()

    def start(arguments: Sequence[str], root: Path, env: Mapping[str, str]) -> Process:
        journals.append(journal_of(report_in(arguments)))
        return launch(arguments, root, env)

    def show() -> None:
        while not ended.wait(TICK):
            status.update(f"{text}: {read_progress(list(journals))}")

    with Console(stderr=True).status(text) as status:
        threading.Thread(target=show, daemon=True).start()
        try:
            return run_tasks([task.id for task in tasks], root, time_limit, start)
        except CannotRun as error:
            raise Problem(str(error), ENVIRONMENT) from None
        finally:
            ended.set()


def up_to_date_states(root: Path, tasks: Sequence[Task], time_limit: float | None) -> dict[str, TaskState]:
    """Return the states of all tasks, after running those of `tasks` whose results are missing or stale."""
    states = cached_states(root)
    outdated = [task for task in tasks if states[task.id].state in ("unknown", "stale")]
    return states | run(root, outdated, time_limit) if outdated else states


def find_next_task(root: Path, manifest: Manifest, time_limit: float | None) -> tuple[Task | None, dict[str, TaskState]]:
    """Return the next task, None if every task has passed, and the states of all tasks; run the tests on which the answer depends.

    Raises:
        Problem: In the reference, or if this environment cannot run the tests.
    """
    refuse_reference(root)
    states = cached_states(root)
    current = current_task(root, manifest, states)
    states = up_to_date_states(root, [current] if current else [], time_limit)
    task = next_task(manifest, states, current)
    while task is not None and states[task.id].state == "unknown":
        module = [other for other in manifest.tasks if other.stage == task.stage and states[other.id].state == "unknown"]
        states |= run(root, module, time_limit)
        if states[task.id].state == "unknown":  # a file changed while the tests ran
            return task, states
        task = next_task(manifest, states, current)
    if task is None:  # a stale task has to pass again before every task has passed
        states |= up_to_date_states(root, manifest.tasks, time_limit)
        task = next_task(manifest, states, current)
    return task, states


def current_task(root: Path, manifest: Manifest, states: Mapping[str, TaskState]) -> Task | None:
    """Return the task that the student works on; None if there is none yet.

    This is the task that they chose last, such as with `course start`, or the one whose file they saved since then: of several tasks in
    that file, the first that has not passed.
    """
    record = read_record(root)
    chosen = next((task for task in manifest.tasks if task.id == record.current), None)
    file = unwritten.last_saved(root, manifest, record.since)
    saved = [task for task in manifest.tasks if file in task.files]
    unbegun = unwritten.unbegun_tasks(root, saved)
    begun = [task for task in saved if task.id not in unbegun]
    if chosen in begun or not begun:
        return chosen
    return next((task for task in begun if states[task.id].state not in DONE), begun[-1])


@contextlib.contextmanager
def keep_current_task(root: Path, manifest: Manifest) -> Iterator[None]:
    """Keep the current task while a command writes files: these are not saved by the student."""
    task = current_task(root, manifest, cached_states(root))
    yield
    if task is not None:
        make_current(root, task)


def task_to_open(root: Path, manifest: Manifest) -> Task | None:
    """Return the current task; if it has passed since a file was saved, the next one that has not. None if there is none; run no tests."""
    states = cached_states(root)
    task = current_task(root, manifest, states)
    if task is None or states[task.id].state != "passed" or not unwritten.last_saved(root, manifest, read_record(root).since):
        return task
    place = manifest.tasks.index(task)
    later = [other for other in (*manifest.tasks[place:], *manifest.tasks[:place]) if states[other.id].state not in DONE]
    return next(iter(later), task)


def unwritten_before(root: Path, manifest: Manifest, task: Task) -> list[str]:
    """Return the ids of the tasks that a task requires and whose files still hold stubs."""
    return [id for id in task.requires if unwritten_files(manifest.task(id), root)]


def changed_signatures(root: Path, task: Task) -> list[str]:
    """Describe the functions of a task whose signature no longer accepts the calls that the course makes."""
    from course.workspace import pristine
    from course.workspace.signatures import misfits

    try:
        given = pristine.read(root).files
    except Problem:  # course doctor reports it
        return []
    found = []
    for path in task.files:
        if path.startswith("tests/"):  # a student chooses the arguments of a test: pytest calls it, and Hypothesis draws them
            continue
        with contextlib.suppress(OSError, Unreadable, KeyError):  # the tests report it
            before, now = decode(given[path])[0], decode((root / path).read_bytes())[0]
            found += [f"{path}, {message}" for message in misfits(before, now, task.names_in(path)).values()]
    return found


def places_to_write(root: Path, task: Task) -> list[str]:
    """Describe where to write a task, one line per file: "minitorch/scalar.py:91  Scalar.__add__, …".

    A file in which stubs are left lists only those.
    """
    lines = []
    for file in task.files:
        try:
            functions, stubs = unwritten.functions(root, task, file)
        except (OSError, Unreadable):  # the tests report it
            functions, stubs = {}, []
        if not functions:
            lines.append(file)
            continue
        names = stubs or list(functions)
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        lines.append(f"{file}:{functions[names[0]].lines[0]}  {', '.join(names[:LISTED])}{more}")
    return lines
