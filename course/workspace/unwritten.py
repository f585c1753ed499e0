"""Which code of a task is still missing, read from the files of a workspace; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from course.cli.problem import Problem
from course.manifest import Manifest, Task
from course.workspace import pristine
from course.workspace.function_source import Function, Unreadable, decode, find


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


def has_only_stubs(root: Path, task: Task) -> bool:
    """Whether every function of a task is still a stub; False if one is missing or a file is not valid Python."""
    try:
        stubs = sum(len(functions(root, task, file)[1]) for file in task.files)
    except (OSError, Unreadable):
        return False
    return stubs == len(set(task.write))


def untouched_tasks(root: Path, manifest: Manifest) -> set[str]:
    """The tasks whose files are all exactly as handed out; none if the workspace does not hold what was handed out.

    No test can pass on such a task, and none of its files can fail to load: its state is known without running anything.
    """
    try:
        given = pristine.read(root)
    except Problem:
        return set()
    return {task.id for task in manifest.tasks if all(_is_as_given(root, given, file) for file in task.files)}


def _is_as_given(root: Path, given: pristine.Pristine, file: str) -> bool:
    try:
        return given.is_as_given(file, (root / file).read_bytes())
    except OSError:
        return False
