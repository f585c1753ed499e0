"""Which code of a task is still missing, read from the files of a workspace; nothing is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from course.cli.problem import Problem
from course.manifest import Manifest, Task
from course.workspace import pristine
from course.workspace.function_source import Function, Unreadable, decode, definitions, find, unix


def functions(root: Path, task: Task, file: str) -> tuple[Mapping[str, Function], list[str]]:
    """The functions that a task has the student write in a file, and the names of those that are still stubs.

    Raises:
        OSError: If the file cannot be read.
        Unreadable: If it is not valid Python.
    """
    text, _ = decode((root / file).read_bytes())
    found = {name: function for name, function in find(text).items() if name in task.names_in(file)}
    missing = f"Need to implement for Task {task.id}"
    return found, [name for name, function in found.items() if missing in text[function.start : function.end]]


def untouched_tasks(root: Path, manifest: Manifest) -> set[str]:
    """The tasks whose files are all exactly as handed out; none if the workspace has no copy of what was handed out.

    Such a task makes no test pass, and its files can be loaded, so its state is known without running its tests.
    """
    try:
        given = pristine.read(root)
    except Problem:  # course doctor reports it
        return set()
    return {task.id for task in manifest.tasks if all(_is_as_given(root, given, file) for file in task.files)}


def unbegun_tasks(root: Path, tasks: Iterable[Task]) -> set[str]:
    """The tasks whose functions are all exactly as handed out, whatever else their files hold."""
    try:
        given = pristine.read(root)
        return {task.id for task in tasks if all(_functions_are_as_given(root, given, task, file) for file in task.files)}
    except Problem:  # course doctor reports it
        return set()


def last_saved(root: Path, manifest: Manifest, since: float) -> str | None:
    """The student's file that was saved last, if that was after a time, in seconds since the epoch; files as handed out do not count."""
    times = {file: path.stat().st_mtime for task in manifest.tasks for file in task.files if (path := root / file).is_file()}
    later = sorted((file for file, time in times.items() if time > since), key=lambda file: times[file], reverse=True)
    if not later or not since:
        return None
    try:
        given = pristine.read(root)
    except Problem:  # course doctor reports it
        return later[0]
    return next((file for file in later if not _is_as_given(root, given, file)), None)


def _is_as_given(root: Path, given: pristine.Pristine, file: str) -> bool:
    try:
        return given.is_as_given(file, (root / file).read_bytes())
    except OSError:
        return False


def _functions_are_as_given(root: Path, given: pristine.Pristine, task: Task, file: str) -> bool:
    try:
        mine, handed_out = (definitions(unix(decode(data)[0])) for data in ((root / file).read_bytes(), given.files[file]))
        return all(mine[name] == handed_out[name] for name in task.names_in(file))
    except (OSError, Unreadable, KeyError):
        return False
