"""Reads submissions from folders, archives and git bundles, with limits on their size.

Only files in which students write are taken. A submission that cannot be read, or that exceeds a limit, is refused with a reason; the
others are still graded.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from course.manifest import Manifest
from course.staff import RequestError
from course.staff.adopt.recognize import is_original
from course.staff.grading.archives import Entry, Refusal, open_archive

LARGEST = 300_000
"""Maximum size of a student's file, in bytes."""

MOST_LINES = 5_000
"""Maximum number of lines of a student's file."""

MAX_LISTED = 20
"""Number of ignored files that are listed by name."""

JUNK = {
    ".git",
    ".venv",
    "venv",
    ".course",
    ".hypothesis",
    ".idea",
    ".vscode",
    ".pytest_cache",
    ".ruff_cache",
    "__pycache__",
    "__MACOSX",
    "node_modules",
}
"""Folders that tools generate; they are skipped."""

JUNK_FILES = (".DS_Store", "Thumbs.db", "desktop.ini", "._")
"""Prefixes of the names of files that operating systems generate."""

REPORTS = "reports/"
"""The folder of training plots and logs, which are not graded."""


@dataclass(frozen=True)
class Submission:
    """The graded files of a submission.

    Attributes:
        name: The student's name, or the archive's; unique within a run.
        files: File contents by path in the workspace.
        left_out: Other files in it, which were ignored.
        refused: Why it cannot be graded; empty if it can.
    """

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    refused: str = ""

    @property
    def hash(self) -> str:
        """A hash of everything that grading reads."""
        digest = hashlib.sha256(self.refused.encode("utf-8", "surrogatepass"))  # it may contain a file name that is invalid Unicode
        for path, content in sorted(self.files.items()):
            digest.update(f"\n{path} {len(content)}\n".encode())
            digest.update(content)
        return digest.hexdigest()


def find(paths: Sequence[Path], manifest: Manifest) -> dict[str, Path]:
    """Find submissions.

    Args:
        paths: Submissions, and folders of them.
        manifest: The course, whose files distinguish a submission from a folder of submissions.

    Returns:
        Their paths by name. Names are unique even where upper and lower case are the same.

    Raises:
        RequestError: If a path does not exist, or is an empty folder.
    """
    known = student_files(manifest)
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise RequestError(f"there is no {path}; pass folders, archives, or a folder of them", "course-staff grade --help")
        if path.is_file() or any((path / file).exists() for file in known):
            found.append(path)
            continue
        inside = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", *JUNK_FILES)) and entry.name not in JUNK)
        if not inside:
            raise RequestError(f"{path} is empty; pass folders, archives, or a folder of them", "course-staff grade --help")
        found += inside
    places = {path.absolute(): path for path in found}  # removes duplicates
    names: dict[str, Path] = {}
    for path in places:
        for name in (stem(path), path.name, f"{path.parent.name}/{path.name}", str(path)):
            if name.casefold() not in map(str.casefold, names):
                names[name] = places[path]
                break
    return names


def read(name: str, path: Path, manifest: Manifest) -> Submission:
    """Read a student's files from a submission; a submission that cannot be read is returned with `refused` set."""
    known = student_files(manifest)
    try:
        with _open_submission(path) as entries:
            files, left_out = _select_files(entries, known)
    except Refusal as refusal:  # the file's own name may reveal the student, unlike `name`
        message = str(refusal).replace(str(path), name).replace(path.name, name + path.name.removeprefix(stem(path)))
        return Submission(name, refused=message)
    return Submission(name, files, left_out)


def student_files(manifest: Manifest) -> tuple[str, ...]:
    """The paths of the files in which students write."""
    return tuple(dict.fromkeys(path for task in manifest.tasks for path in task.files))


def stem(path: Path) -> str:
    """A file name without the extensions of archives and compression."""
    name = path.name
    for suffix in (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".tzst", ".gz", ".bz2", ".xz", ".zst", ".tar", ".bundle"):
        name = name.removesuffix(suffix) or name
    return name


@contextmanager
def _open_submission(path: Path) -> Iterator[Iterator[Entry]]:
    """Open a submission, and yield an iterator over its entries."""
    if path.is_dir() and not path.is_symlink():
        yield _walk(path)
    else:
        with open_archive(path) as entries:
            yield entries


def _walk(root: Path) -> Iterator[Entry]:
    """The files of a folder; links are not followed."""

    def refuse(error: OSError) -> None:
        raise Refusal(f"{error.filename} cannot be read ({error.strerror}); fix its permissions")

    for folder, folders, names in os.walk(root, onerror=refuse):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = sorted(name for name in folders if name not in JUNK and name not in links)
        for name in sorted([*names, *links]):
            full = os.path.join(folder, name)
            mode = os.lstat(full).st_mode
            kind = "file" if stat.S_ISREG(mode) else "link" if stat.S_ISLNK(mode) else "device"
            yield Entry(os.path.relpath(full, root).replace(os.sep, "/"), kind, lambda size, full=full: _head(full, size))


def _head(path: str, size: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({error.strerror}); fix its permissions") from None


def _select_files(entries: Iterator[Entry], known: Collection[str]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The student's files, and the names of the others.

    Raises:
        Refusal: If an entry is not a regular file inside the submission, or none is the student's.
    """
    contents: dict[str, bytes] = {}
    others: list[str] = []
    seen: set[str] = set()
    for entry in entries:
        parts = _split_path(entry.path)
        if JUNK & set(parts) or parts[-1].startswith(JUNK_FILES):
            continue
        if entry.kind != "file":
            raise Refusal(f"{entry.path} is a {entry.kind}, not a file; hand in plain files")
        path = "/".join(parts)
        if path.casefold() in seen:
            raise Refusal(f"{path} occurs twice, or differs from another name only in upper and lower case; hand in one of them")
        seen.add(path.casefold())
        if path in known or path.partition("/")[2] in known:
            contents[path] = entry.read(LARGEST + 1)  # an archive must be read sequentially
        else:
            others.append(path)
    if is_original([*contents, *others], contents) and not any(f"/{path}".endswith("/course/tasks.toml") for path in others):
        raise Refusal("it is from the original MiniTorch course; convert it with course-staff adopt FOLDER --out DIR")
    top = _workspace_prefix(contents, known)
    files = {path.removeprefix(top): content for path, content in contents.items() if path.removeprefix(top) in known}
    others += [path for path in contents if path.removeprefix(top) not in known]
    for path, content in files.items():
        if len(content) > LARGEST or content.count(b"\n") > MOST_LINES:
            raise Refusal(f"{path} has more than {LARGEST} bytes or {MOST_LINES} lines; hand in what you wrote yourself")
    left_out = sorted(path.removeprefix(top) for path in others if not path.removeprefix(top).startswith(REPORTS))
    if len(left_out) > MAX_LISTED:
        left_out = [*left_out[:MAX_LISTED], f"and {len(left_out) - MAX_LISTED} more"]
    return dict(sorted(files.items())), tuple(left_out)


def _split_path(path: str) -> list[str]:
    """The parts of a path inside the submission.

    Raises:
        Refusal: If it leads outside on any operating system.
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part != "."]
    parts = parts[:-1] if parts and not parts[-1] else parts
    if not parts or any(part in ("", "..") for part in parts) or ":" in parts[0] or any(ord(letter) < 32 for letter in path):
        raise Refusal(f"{path!r} is outside the submission; hand in the files of your workspace")
    return parts


def _workspace_prefix(contents: Collection[str], known: Collection[str]) -> str:
    """The folder that contains the workspace, with a slash; empty if the workspace is at the top level.

    Raises:
        Refusal: If there is no workspace, or more than one.
    """
    if any(path in known for path in contents):
        return ""
    tops = sorted({path.split("/")[0] for path in contents})
    if not tops:
        raise Refusal(
            f"it has none of the files in which students write, such as {next(iter(known))}; hand in submission.zip from course submit"
        )
    if len(tops) > 1:
        raise Refusal(f"it contains more than one workspace, {', '.join(tops[:3])}; hand in one")
    return tops[0] + "/"
