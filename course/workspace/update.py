"""`course update`: update the workspace to a newer release, and keep everything that the student wrote.

A file that the release did not change stays as it is. The student's functions, helpers and imports are merged into files that it changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from course.cli.problem import ENVIRONMENT, TESTS_FAIL, Problem
from course.manifest import Manifest
from course.workspace import backups, function_source, merge, pristine, release
from course.workspace.pristine import Pristine
from course.workspace.release import Release
from course.workspace.reset import say_how_to_restore

MOST = 12
"""Number of files that one line of the report names."""


@dataclass
class Plan:
    """The changes of an update.

    Attributes:
        changes: The new contents of files by path; None deletes a file.
        taken: Functions whose code is carried over, as file:name.
        gone: Functions that the student wrote and the release does not have.
        conflicts: Files, or functions in them, that both the student and the release changed; the release's version is used.
        returned: Files that the student had deleted and the release changed or kept.
        kept: Files that the release no longer has and the student had changed.
    """

    changes: dict[str, bytes | None] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def run(root: Path, manifest: Manifest, console: Console, source: Path | str) -> int:
    """Update a workspace to a newer release after a backup, and return the exit code.

    Args:
        root: The workspace.
        manifest: Its manifest.
        console: Where to print.
        source: The folder, zip file or git bundle of a release.

    Raises:
        Problem: If the update fails; then nothing has changed.
    """
    newer = release.read(Path(source))
    with console.status("Merging your work into the new release"):
        done = plan(root, manifest, pristine.read(root), newer)
        name = backups.apply(root, done.changes, "update")
    if name is None:
        console.print("This workspace has this release already; nothing was changed.")
        return 0
    changed = [path for path in backups.read(root, name).files if path not in (pristine.PATH, release.MARKER)]
    removed = [path for path in changed if done.changes[path] is None]
    console.print(f"Updated {len(changed) - len(removed)} files, removed {len(removed)}; kept {len(done.taken)} functions of yours.")
    _tell(console, "No longer in the course; yours is only in the backup", done.gone)
    _tell(console, "Changed by you and by the release; the release's version is in place, yours is in the backup", done.conflicts)
    _tell(console, "Deleted by you, and restored", done.returned)
    _tell(console, "No longer in the course; kept because you changed it", done.kept)
    say_how_to_restore(console, name)
    console.print("Next: course status")
    return 0


def plan(root: Path, manifest: Manifest, old: Pristine, new: Release) -> Plan:
    """Plan an update to this release; change nothing.

    Raises:
        Problem: If a file that both have changed cannot be parsed.
    """
    done = Plan()
    before, after = pristine.task_functions(manifest), pristine.task_functions(new.manifest)
    for path, data in new.files.items():
        yours = backups.content(root, path)
        if path == pristine.PATH or path == release.MARKER:
            done.changes[path] = data
        elif yours is None:
            done.changes[path] = data
            done.returned += [path] if path in old.hashes else []
        elif pristine.fingerprint(yours) == pristine.fingerprint(data) or old.is_as_given(path, data):
            continue  # it exists, or the release did not change it
        elif old.is_as_given(path, yours):
            done.changes[path] = data
        elif path in old.files and path in new.given.files:
            names = set(before.get(path, ())), set(after.get(path, ()))
            done.changes[path] = _merge_file(path, old.files[path], yours, data, names, done)
        else:
            done.changes[path] = data
            done.conflicts.append(path)
            done.gone += _written_functions(path, old, yours, before.get(path, {}))
    for path in old.hashes:
        yours = backups.content(root, path) if path not in new.files else None
        if yours is not None and old.is_as_given(path, yours):
            done.changes[path] = None
        elif yours is not None:
            done.kept.append(path)
            done.gone += _written_functions(path, old, yours, before.get(path, {}))
    return done


def _merge_file(path: str, old: bytes, yours: bytes, new: bytes, names: tuple[set[str], set[str]], done: Plan) -> bytes:
    """The release's file with the student's work in it."""
    try:
        text, codec = function_source.decode(yours)
        function_source.parse(text)
    except function_source.Unreadable as error:
        raise Problem(
            f"{path}, {error}; the release changes this file and needs your functions in it: fix it, and run course update again",
            TESTS_FAIL,
        ) from None
    try:
        merged = merge.merge(function_source.decode(old)[0], text, function_source.decode(new)[0], names, path.startswith("tests/"))
    except function_source.Unreadable as error:
        raise Problem(f"{path} of the release and yours cannot be merged ({error}); show your teacher: course diff", ENVIRONMENT) from None
    done.taken += [f"{path}:{name}" for name in merged.taken]
    done.gone += [f"{path}:{name}" for name in merged.gone]
    done.conflicts += [f"{path}:{name}" if not name.startswith("line ") else f"{path}, {name}" for name in merged.lost]
    try:
        return merged.text.encode(codec)
    except UnicodeEncodeError:  # the release has characters that the student's encoding lacks
        return merged.text.encode("utf-8")


def _written_functions(path: str, old: Pristine, yours: bytes, names: dict[str, str]) -> list[str]:
    """The functions that the student wrote in a file that the course no longer has."""
    if path not in old.files:
        return []
    try:
        texts = function_source.decode(old.files[path])[0], function_source.decode(yours)[0]
        return [f"{path}:{name}" for name in merge.written(*texts, names, path.startswith("tests/"))]
    except function_source.Unreadable:
        return [path]


def _tell(console: Console, what: str, where: list[str]) -> None:
    """Print one line if there is anything to report."""
    if where:
        rest = f" and {len(where) - MOST} more" if len(where) > MOST else ""
        console.print(f"{what}: {', '.join(where[:MOST])}{rest}", soft_wrap=True, markup=False)
