"""The given tests: whether they are as handed out, and how to restore them."""

from __future__ import annotations

import ast
from pathlib import Path

from rich.console import Console

from course.cli.problem import Problem
from course.manifest import Manifest
from course.workspace import backups, function_source, merge, pristine

FOLDER = "tests/"


def changed_files(root: Path, manifest: Manifest) -> list[str]:
    """The test files that are missing, or in which a given test or helper has changed; additional tests are allowed."""
    try:
        given = pristine.read(root)
    except Problem:  # course doctor reports it
        return []
    own = pristine.task_functions(manifest)
    found = []
    for path in sorted(path for path in given.hashes if path.startswith(FOLDER)):
        try:
            now = backups.content(root, path)
        except Problem:  # such as a link out of the workspace
            now = None
        if now is None or not (
            given.is_as_given(path, now) or _has_given_functions(now, given.files.get(path, b""), set(own.get(path, ())))
        ):
            found.append(path)
    return found


def warning(root: Path, manifest: Manifest) -> str:
    """A warning about changed given tests; "" if there are none."""
    paths = changed_files(root, manifest)
    if not paths:
        return ""
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    which = f"{', '.join(paths[:3])}{more} {'are' if len(paths) > 1 else 'is'} not as handed out"
    return f"{which}, and grading uses the given tests; to restore them: course reset tests"


def reset(root: Path, manifest: Manifest, console: Console) -> int:
    """Restore the given tests after a backup, except for those that students write. Returns the exit code.

    Raises:
        Problem: If the tests cannot be restored; then nothing has changed.
    """
    from course.workspace.reset import say_how_to_restore

    given, own = pristine.read(root), pristine.task_functions(manifest)
    paths = changed_files(root, manifest)
    changes = {path: _restored_file(backups.content(root, path), given.files[path], set(own.get(path, ()))) for path in paths}
    name = backups.apply(root, changes, "reset-tests")
    if name is None:
        console.print("The given tests are as they were handed out; nothing to reset.", soft_wrap=True)
        return 0
    console.print(f"The given tests are restored, in {', '.join(changes)}.", soft_wrap=True)
    say_how_to_restore(console, name)
    return 0


def _has_given_functions(now: bytes, given: bytes, own: set[str]) -> bool:
    """Whether every given function of a file is unchanged; `own` are the functions that students write."""
    try:
        before, after = _functions(given), _functions(now)
    except function_source.Unreadable:
        return False
    return bool(before) and all(after.get(name) == code for name, code in before.items() if name not in own)


def _functions(data: bytes) -> dict[str, str]:
    """The code of all functions of a file, decorators included, without comments."""
    tree = function_source.parse(function_source.decode(data)[0])
    return {name: ast.unparse(node) for name, node in function_source.iter_functions(tree)}


def _restored_file(now: bytes | None, given: bytes, own: set[str]) -> bytes:
    """The given file with the functions that the student wrote."""
    if now is None or not own:
        return given
    try:
        text, yours = function_source.decode(given)[0], function_source.decode(now)[0]
        return merge.merge(text, yours, text, (own, own), is_test=True).text.encode("utf-8")
    except function_source.Unreadable:
        return given  # the backup keeps the student's file
