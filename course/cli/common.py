"""What the commands share: the workspace around the current folder, runs with a sign of life, and how a command ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from course.cli.problem import ENVIRONMENT, USAGE, Problem
from course.manifest import Manifest, ManifestError, Task, load
from course.runner.messages import unwritten_files
from course.runner.progress import CannotRun, TaskState, cached_states, run_tasks
from course.workspace.function_source import Unreadable, decode, find
from course.workspace.record import read_record


def find_workspace() -> tuple[Path, Manifest]:
    """The workspace around the current folder and its manifest."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "course" / "tasks.toml").is_file():
            try:
                return folder, load(folder / "course" / "tasks.toml")
            except ManifestError as error:
                raise Problem(f"{error}; run: git diff course/tasks.toml", ENVIRONMENT) from None
    raise Problem(f"expected a MiniTorch workspace, a folder with course/tasks.toml, got {here}; run: cd WORKSPACE", ENVIRONMENT)


def find_task(manifest: Manifest, id: str) -> Task:
    """The task with this id, or the end of the command."""
    try:
        return manifest.task(id)
    except ManifestError as error:
        raise Problem(f"{error}; run: course list", USAGE) from None


def run(root: Path, tasks: Sequence[Task], time_limit: float | None) -> dict[str, TaskState]:
    """Run tests, with a sign of life where somebody is watching."""
    many = f"{len(tasks)} tasks" if len(tasks) > 1 else f"Task {tasks[0].id}"
    try:
        with Console(stderr=True).status(f"Running the tests of {many}"):
            return run_tasks([task.id for task in tasks], root, time_limit)
    except CannotRun as error:
        raise Problem(str(error), ENVIRONMENT) from None


def known(root: Path, tasks: Iterable[Task], time_limit: float | None) -> dict[str, TaskState]:
    """All states; tests run where the cache knows nothing."""
    states = cached_states(root)
    unknown = [task for task in tasks if states[task.id].state == "unknown"]
    return states | run(root, unknown, time_limit) if unknown else states


def first_open(root: Path, manifest: Manifest, time_limit: float | None) -> tuple[Task, dict[str, TaskState]]:
    """The first task that is not passed, else the last one, and all states; module by module, so that an early one is found early."""
    states: dict[str, TaskState] = {}
    for stage in manifest.stages:
        tasks = [task for task in manifest.tasks if task.stage == stage.number]
        states = known(root, tasks, time_limit)
        for task in tasks:
            if states[task.id].state != "passed":
                return task, states
    return manifest.tasks[-1], states


def current_task(root: Path, manifest: Manifest) -> Task | None:
    """The task that was made current, if any was and it still exists."""
    current = read_record(root).current
    return next((task for task in manifest.tasks if task.id == current), None)


def next_task(manifest: Manifest, states: Mapping[str, TaskState], after: Task | None = None) -> Task | None:
    """The first task behind `after` that is not known to be passed, else the first of all such; None if all are passed."""
    ids = [task.id for task in manifest.tasks]
    behind = ids.index(after.id) + 1 if after else 0
    pending = [task for task in (*manifest.tasks[behind:], *manifest.tasks[:behind]) if states[task.id].state != "passed"]
    return pending[0] if pending else None


def unwritten_before(root: Path, manifest: Manifest, task: Task) -> list[str]:
    """Which of the tasks that a task requires still have stubs in their files; no test tells before its own code is written."""
    return [id for id in task.requires if unwritten_files(manifest.task(id), root)]


def changed_signatures(root: Path, task: Task) -> list[str]:
    """What to say of functions of a task whose signature does not take the course's calls any more, with their places."""
    from course.workspace import pristine
    from course.workspace.signatures import misfits

    try:
        given = pristine.read(root).files
    except Problem:  # course doctor tells
        return []
    found = []
    for path in task.files:
        with contextlib.suppress(OSError, Unreadable, KeyError):  # the tests will tell
            before, now = decode(given[path])[0], decode((root / path).read_bytes())[0]
            found += [f"{path}, {said}" for said in misfits(before, now, task.names_in(path)).values()]
    return found


def places_to_write(root: Path, task: Task) -> list[str]:
    """Where a task is written, a line for each file: "minitorch/scalar.py:91  Scalar.__add__, …"; what is still unwritten, if any is."""
    lines = []
    for file in task.files:
        try:
            text, _ = decode((root / file).read_bytes())
            found = {name: function for name, function in find(text).items() if name in task.names_in(file)}
        except (OSError, Unreadable):  # the tests will tell
            found = {}
        if not found:
            lines.append(file)
            continue
        unwritten = [name for name, place in found.items() if f"Need to implement for Task {task.id}" in text[place.start : place.end]]
        names = unwritten or list(found)
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        lines.append(f"{file}:{found[names[0]].lines[0]}  {', '.join(names[:6])}{more}")
    return lines
