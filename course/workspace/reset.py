"""`course reset`: restore the stubs of a task, or the files of a backup."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from course.cli.problem import TESTS_FAIL, USAGE, Problem
from course.manifest import Manifest, ManifestError
from course.workspace import backups, function_source, pristine
from course.workspace.pristine import Pristine


def run(root: Path, manifest: Manifest, console: Console, id: str, whole_files: bool = False) -> int:
    """Restore the stubs of a task after a backup, and return the exit code.

    Args:
        root: The workspace.
        manifest: Its manifest.
        console: Where to print.
        id: The task.
        whole_files: Restore the whole files of the task, including functions of other tasks.

    Raises:
        Problem: If that cannot be done; then nothing was changed.
    """
    name = reset(root, manifest, id, whole_files)
    if name is None:
        console.print(f"Task {id} is as it was handed out; nothing to reset.", soft_wrap=True)
        return 0
    files = backups.read(root, name).files
    console.print(f"Task {id} is reset to its stubs, in {', '.join(files)}.", soft_wrap=True)
    say_how_to_restore(console, name)
    return 0


def reset(root: Path, manifest: Manifest, id: str, whole_files: bool = False) -> str | None:
    """Restore the stubs of a task.

    Returns:
        The name of the backup; None if there was nothing to do.

    Raises:
        Problem: If that cannot be done; then nothing was changed.
    """
    try:
        task = manifest.task(id)
    except ManifestError as error:
        raise Problem(f"{error}; run: course list", USAGE) from None
    given = pristine.read(root)
    changes = {}
    for path, tasks in pristine.task_functions(manifest, task.id).items():
        if path not in given.files:
            raise Problem(f"{pristine.PATH} has no copy of {path}, which tasks.toml names; run: git checkout -- {pristine.PATH}", USAGE)
        now = backups.content(root, path)
        changes[path] = given.files[path] if now is None or whole_files else _with_stubs(path, now, given, list(tasks), id)
    return backups.apply(root, changes, f"reset-{id}")


def restore(root: Path, console: Console, name: str) -> int:
    """Restore the files of a backup, and return the exit code.

    Raises:
        Problem: If there is no such backup, or a file cannot be written.
    """
    files = backups.read(root, name).files
    now = backups.restore(root, name)
    if now is None:
        console.print(f"All files match the backup {name}.", soft_wrap=True)
        return 0
    console.print(f"Restored {', '.join(files)}.", soft_wrap=True)
    say_how_to_restore(console, now)
    return 0


def list_all(root: Path, console: Console, as_json: bool = False) -> int:
    """List the backups, the newest first, and return the exit code."""
    found = {name: sorted(backups.read(root, name).files) for name in backups.names(root)}
    if as_json:
        print(json.dumps([{"name": name, "files": files} for name, files in found.items()], indent=1))
        return 0
    for name, files in found.items():
        console.print(f"{name}  {', '.join(files[:3])}{f' and {len(files) - 3} more' if len(files) > 3 else ''}", soft_wrap=True)
    console.print("To restore one: course reset --restore NAME" if found else "There are no backups yet.")
    return 0


def say_how_to_restore(console: Console, name: str) -> None:
    """Print how to restore the backup."""
    console.print(f"Your files are backed up. To restore them: course reset --restore {name}", soft_wrap=True)


def _with_stubs(path: str, now: bytes, given: Pristine, names: list[str], id: str) -> bytes:
    """The file with these functions as handed out; everything else stays byte for byte."""
    try:
        text, codec = function_source.decode(now)
    except function_source.Unreadable as error:
        raise Problem(f"{path}, {error}; fix it, or reset the whole file: course reset {id} --whole-files", TESTS_FAIL) from None
    stubs, _ = function_source.decode(given.files[path])
    sources = function_source.find(stubs)
    try:
        function_source.parse(text)
        broken = None
    except function_source.Unreadable as error:
        broken = error
    for name in names:
        place = function_source.find(text).get(name) if broken is None else function_source.find_loosely(text, name)
        if place is None:
            why = f"{path}, {broken}" if broken else f"{path} has no function {name}, which Task {id} has you write"
            raise Problem(f"{why}; fix it, or reset the whole file: course reset {id} --whole-files", TESTS_FAIL)
        text = function_source.replace_whole(text, place, stubs, sources[name])
    try:
        function_source.parse(text)
    except function_source.Unreadable as error:
        raise Problem(f"{path}, {broken or error}; fix it, or reset the whole file: course reset {id} --whole-files", TESTS_FAIL) from None
    try:
        return text.encode(codec)
    except UnicodeEncodeError:
        return text.encode("utf-8")
