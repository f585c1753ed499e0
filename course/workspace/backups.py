"""Replace files of a workspace as one transaction, after a backup; a command that is killed leaves no partial change.

All new files are written into a journal, which one rename commits. If a command is killed after that, the next command finishes the
journal. Only one command changes files at a time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from course.cli.problem import ENVIRONMENT, USAGE, Problem
from course.workspace.atomic_files import write_json

FOLDER = Path(".course") / "backups"
JOURNAL = Path(".course") / "journal"
LOCK = Path(".course") / "lock"
UNFINISHED = ".unfinished-"
"""Prefix of the names of unfinished files and folders."""

MAX_BACKUPS = 50
"""Maximum number of backups; older ones are deleted."""

SCHEMA = 1

Changes = Mapping[str, bytes | None]
"""New contents of files by path in the workspace, with forward slashes; None deletes a file."""


@dataclass(frozen=True)
class Backup:
    """The contents of files before a command.

    Attributes:
        name: Its date and reason.
        files: The contents by path; None for a file that did not exist.
    """

    name: str
    files: Mapping[str, bytes | None]


def apply(root: Path, changes: Changes, why: str) -> str | None:
    """Replace the contents of all these files, or of none.

    Args:
        root: The workspace.
        changes: The new contents.
        why: A word for the name of the backup, such as "reset-1.2".

    Returns:
        The name of the backup of the files that differed; None if none did.

    Raises:
        Problem: If another command is changing files, or a file cannot be written; then nothing has changed.
    """
    with exclusive_access(root):
        return _apply(root, changes, why)


@contextlib.contextmanager
def exclusive_access(root: Path, lock: Path = LOCK) -> Iterator[None]:
    """Lock the workspace against changes by other commands, and first finish the journal of an interrupted command.

    Args:
        root: The workspace.
        lock: The lock file; a command that takes minutes and writes files of its own uses another one.

    Raises:
        Problem: If another command holds the lock.
    """
    import sqlite3  # its lock works on all platforms, and ends with the process that holds it

    try:
        (root / LOCK.parent).mkdir(exist_ok=True)
        connection = sqlite3.connect(root / lock, timeout=0, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise Problem(f"{root / LOCK.parent} cannot be written to ({error}); run: course doctor", ENVIRONMENT) from None
    with contextlib.closing(connection):
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise Problem("another command is changing files of this workspace; wait for it, and run this one again", USAGE) from None
            raise Problem(f"{root / lock} cannot be locked ({error}); run: course doctor", ENVIRONMENT) from None
        except sqlite3.DatabaseError:
            raise Problem(f"{lock.as_posix()} is damaged; delete it, and run this command again", ENVIRONMENT) from None
        if lock == LOCK:
            _recover(root)
        yield


def names(root: Path) -> list[str]:
    """The names of all backups, the newest first."""
    folders = (root / FOLDER).iterdir() if (root / FOLDER).is_dir() else ()
    return sorted((folder.name for folder in folders if (folder / "manifest.json").is_file() and _is_name(folder.name)), reverse=True)


def read(root: Path, name: str) -> Backup:
    """A backup.

    Raises:
        Problem: If there is none of this name, or it is damaged.
    """
    if name not in names(root):
        raise Problem(f"there is no backup {name!r}; run: course reset --list", USAGE)
    folder = root / FOLDER / name
    try:
        document = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        files: dict[str, bytes | None] = {}
        for path, entry in document["files"].items():
            target(root, path)
            files[path] = (folder / "files" / path).read_bytes() if entry["before"] else None
            if _hash(files[path]) != entry["before"]:
                raise ValueError(f"{path} was changed in it")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Problem(f"the backup {name} is damaged: {error}; run: course reset --list", ENVIRONMENT) from None
    return Backup(name, files)


def restore(root: Path, name: str) -> str | None:
    """Restore the files of a backup, after a backup of their current contents.

    Returns:
        The name of the new backup; None if all files match the backup already.

    Raises:
        Problem: As `read` and `apply` do.
    """
    return apply(root, read(root, name).files, "restore")


def target(root: Path, path: str) -> Path:
    """The path at which a file of the workspace is written; links are followed.

    Raises:
        Problem: If that is outside of the workspace, or a folder.
    """
    parts = PurePosixPath(path).parts
    if not parts or PurePosixPath(path).is_absolute() or ".." in parts or (os.name == "nt" and (":" in path or "\\" in path)):
        raise Problem(f"expected a path inside the workspace, got {path!r}; run: course doctor", ENVIRONMENT)
    try:
        place = (root / path).resolve()
    except (OSError, RuntimeError):  # before Python 3.13 a link to itself
        raise Problem(f"{path} is a link that leads nowhere; put the file itself there", ENVIRONMENT) from None
    if not place.is_relative_to(root.resolve()):
        raise Problem(f"{path} is a link that leads out of the workspace, to {place}; put the file itself there", ENVIRONMENT)
    if place.is_dir():
        raise Problem(f"{path} is a folder, where a file belongs; move it away, and run this command again", ENVIRONMENT)
    return place


def content(root: Path, path: str) -> bytes | None:
    """The contents of a file of the workspace; None if it does not exist.

    Raises:
        Problem: If it cannot be read, or is a link that leads out of the workspace.
    """
    try:
        return target(root, path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Problem(f"{path} cannot be read ({error.strerror}); make it readable, and run this command again", ENVIRONMENT) from None


# One change


def _apply(root: Path, changes: Changes, why: str) -> str | None:
    before = {path: content(root, path) for path in changes}
    changed = {path: data for path, data in changes.items() if data != before[path]}
    if not changed:
        return None
    try:
        name = _save(root, {path: (before[path], changed[path]) for path in changed}, why)
        _prepare(root, changed, before, name)
    except OSError as error:
        _delete_unfinished(root)
        raise Problem(f"the new files cannot be written ({error}), so nothing was changed; run: course doctor", ENVIRONMENT) from None
    try:
        _apply_journal(root)
    except OSError as error:
        _undo(root, {path: before[path] for path in changed})
        raise Problem(
            f"{error.filename2 or error.filename} cannot be replaced ({error.strerror}), so all files are as they were; "
            "close what holds it open or make it writable, and run this command again",
            ENVIRONMENT,
        ) from None
    for old in names(root)[MAX_BACKUPS:]:
        shutil.rmtree(root / FOLDER / old, ignore_errors=True)
    return name


def _save(root: Path, files: Mapping[str, tuple[bytes | None, bytes | None]], why: str) -> str:
    """Write a backup of files with these contents before and after."""
    stamp = f"{datetime.now():%Y-%m-%d-%H%M%S}-{re.sub(r'[^A-Za-z0-9.-]', '_', why)}"
    name, number = stamp, 1
    while (root / FOLDER / name).exists():
        number += 1
        name = f"{stamp}-{number}"
    building = root / FOLDER / f"{UNFINISHED}{name}"
    building.mkdir(parents=True)
    for path, (before, _) in files.items():
        if before is not None:
            (building / "files" / path).parent.mkdir(parents=True, exist_ok=True)
            (building / "files" / path).write_bytes(before)
    entries = {path: {"before": _hash(before), "after": _hash(after)} for path, (before, after) in files.items()}
    write_json(building / "manifest.json", {"schema": SCHEMA, "why": why, "files": entries})
    building.rename(root / FOLDER / name)
    return name


def _prepare(root: Path, changed: Changes, before: Changes, name: str) -> None:
    """Write the journal: the new contents in numbered files, and their targets."""
    building = root / JOURNAL.with_name(f"{UNFINISHED}journal")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    steps = []
    for number, (path, data) in enumerate(changed.items()):
        steps.append({"path": path, "before": _hash(before[path]), "after": _hash(data)})
        if data is not None:
            (building / str(number)).write_bytes(data)
            with contextlib.suppress(FileNotFoundError):
                (building / str(number)).chmod(stat.S_IMODE(target(root, path).stat().st_mode))
    write_json(building / "plan.json", {"schema": SCHEMA, "backup": name, "steps": steps})
    building.rename(root / JOURNAL)


def _apply_journal(root: Path) -> None:
    """Finish the changes of the journal, and delete it."""
    steps = json.loads((root / JOURNAL / "plan.json").read_text(encoding="utf-8"))["steps"]
    for number, step in enumerate(steps):
        new, place = root / JOURNAL / str(number), target(root, step["path"])
        if new.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            new.replace(place)
        elif step["after"] is None:
            place.unlink(missing_ok=True)
    shutil.rmtree(root / JOURNAL)


def _undo(root: Path, before: Changes) -> None:
    """Restore the contents that were replaced, and delete the journal."""
    for path, data in before.items():
        with contextlib.suppress(OSError):
            if content(root, path) == data:
                continue
            if data is None:
                target(root, path).unlink(missing_ok=True)
            else:
                target(root, path).write_bytes(data)
    shutil.rmtree(root / JOURNAL, ignore_errors=True)


def _recover(root: Path) -> None:
    """Finish the changes of a command that was killed; files that were edited since are backed up first."""
    _delete_unfinished(root)
    if not (root / JOURNAL).is_dir():
        return
    try:
        steps = json.loads((root / JOURNAL / "plan.json").read_text(encoding="utf-8"))["steps"]
        edited: dict[str, tuple[bytes | None, bytes | None]] = {}
        for number, step in enumerate(steps):
            now, new = content(root, step["path"]), root / JOURNAL / str(number)
            pending = new.exists() or step["after"] is None
            if pending and now is not None and _hash(now) not in (step["before"], step["after"]):
                edited[step["path"]] = (now, new.read_bytes() if new.exists() else None)
        if edited:
            _save(root, edited, "edited-in-between")
        _apply_journal(root)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Problem(
            f"an earlier command was interrupted and cannot be finished ({error}); look at {FOLDER.as_posix()}, "
            f"delete {JOURNAL.as_posix()}, and run this command again",
            ENVIRONMENT,
        ) from None


def _delete_unfinished(root: Path) -> None:
    """Delete the unfinished files of a command that was killed before it changed anything."""
    for folder in (*(root / FOLDER).glob(f"{UNFINISHED}*"), *(root / JOURNAL.parent).glob(f"{UNFINISHED}*")):
        shutil.rmtree(folder, ignore_errors=True)


def _hash(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def _is_name(text: str) -> bool:
    return not text.startswith(".")
