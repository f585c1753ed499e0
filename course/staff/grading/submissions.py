"""Submissions as they come in: folders, archives and git bundles, read through limits.

Only files in which students write are taken. What cannot be read, or tries to be more than it seems, is refused with the reason, and the
others go on.
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
from course.staff.grading.archives import Entry, Refusal, entries_of

LARGEST = 300_000
"""Bytes that a file of a student's may have."""

MOST_LINES = 5_000
"""Lines that it may have."""

NAMED = 20
"""So many files that were not taken are named."""

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
"""Folders that are nobody's work; nothing in them is looked at."""

JUNK_FILES = (".DS_Store", "Thumbs.db", "desktop.ini", "._")
"""How files begin that systems leave behind."""

FIRST = "minitorch/operators.py"
"""The file that all modules of this course and of the original one have."""

MARKS = (
    "minitorch/nn.py",
    "sync_previous_module.py",
    "files_to_sync.txt",
    "run_tests.py",
    "project/interface",
    "project/parallel_check.py",
    "tests/test_tensor_general.py",
)
"""Files and folders that the original course has and this one does not."""

REPORTS = "reports/"
"""Pictures and logs of training, for people to look at."""


@dataclass(frozen=True)
class Submission:
    """What was taken from a submission.

    Attributes:
        name: The student's, or the archive's; no other of the run has it.
        files: By path in the workspace.
        left_out: What else was in it.
        refused: Why nothing was taken; empty if something was.
    """

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    refused: str = ""

    @property
    def hash(self) -> str:
        """Of all that grading sees of it."""
        digest = hashlib.sha256(self.refused.encode("utf-8", "surrogatepass"))  # it may name a file whose name is no valid Unicode
        for path, content in sorted(self.files.items()):
            digest.update(f"\n{path} {len(content)}\n".encode())
            digest.update(content)
        return digest.hexdigest()


def find(paths: Sequence[Path], manifest: Manifest) -> dict[str, Path]:
    """The submissions that are meant, by names of which no two are the same.

    Args:
        paths: Submissions, and folders full of them.
        manifest: The course, whose files tell a submission from a folder of submissions.

    Raises:
        RequestError: If a path leads nowhere, or to an empty folder.
    """
    known = written(manifest)
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise RequestError(f"there is no {path}; name folders, archives, or a folder full of them", "course-staff grade --help")
        if path.is_file() or any((path / file).exists() for file in known):
            found.append(path)
            continue
        inside = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", *JUNK_FILES)) and entry.name not in JUNK)
        if not inside:
            raise RequestError(f"{path} is empty; name folders, archives, or a folder full of them", "course-staff grade --help")
        found += inside
    places = {path.absolute(): path for path in found}  # one that was named twice is one
    names: dict[str, Path] = {}
    for path in places:
        for name in (stem(path), path.name, f"{path.parent.name}/{path.name}", str(path)):
            if name.casefold() not in map(str.casefold, names):
                names[name] = places[path]
                break
    return names


def read(name: str, path: Path, manifest: Manifest) -> Submission:
    """Take a student's files from a submission."""
    known = written(manifest)
    try:
        with _entries(path) as entries:
            files, left_out = _taken(entries, known)
    except Refusal as refusal:  # the file's own name may say whose it is, where `name` does not
        said = str(refusal).replace(str(path), name).replace(path.name, name + path.name.removeprefix(stem(path)))
        return Submission(name, refused=said)
    return Submission(name, files, left_out)


def is_original(paths: Collection[str]) -> bool:
    """Whether these paths are those of a repository of the original course."""
    tops = {path.removesuffix(FIRST) for path in paths if path.endswith(FIRST)}
    return any(path.startswith(f"{top}{mark}") for top in tops for mark in MARKS for path in paths)


def written(manifest: Manifest) -> tuple[str, ...]:
    """The files in which students write."""
    return tuple(dict.fromkeys(path for task in manifest.tasks for path in task.files))


def stem(path: Path) -> str:
    """A file's name without what says how it is packed."""
    name = path.name
    for suffix in (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".tzst", ".gz", ".bz2", ".xz", ".zst", ".tar", ".bundle"):
        name = name.removesuffix(suffix) or name
    return name


@contextmanager
def _entries(path: Path) -> Iterator[Iterator[Entry]]:
    """What a submission holds."""
    if path.is_dir() and not path.is_symlink():
        yield _walk(path)
    else:
        with entries_of(path) as entries:
            yield entries


def _walk(root: Path) -> Iterator[Entry]:
    """The files of a folder; links are not followed."""

    def closed(error: OSError) -> None:
        raise Refusal(f"{error.filename} cannot be read ({error.strerror}); mend its rights")

    for folder, folders, names in os.walk(root, onerror=closed):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = sorted(name for name in folders if name not in JUNK and name not in links)
        for name in sorted([*names, *links]):
            full = os.path.join(folder, name)
            mode = os.lstat(full).st_mode
            kind = "file" if stat.S_ISREG(mode) else "link" if stat.S_ISLNK(mode) else "device"
            yield Entry(os.path.relpath(full, root).replace(os.sep, "/"), kind, lambda most, full=full: _head(full, most))


def _head(path: str, most: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except OSError as error:
        raise Refusal(f"{path} cannot be read ({error.strerror}); mend its rights") from None


def _taken(entries: Iterator[Entry], known: Collection[str]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The student's files, and the names of the others.

    Raises:
        Refusal: If an entry is no plain file below the top, or no file is the student's.
    """
    contents: dict[str, bytes] = {}
    others: list[str] = []
    seen: set[str] = set()
    for entry in entries:
        parts = _checked(entry.path)
        if JUNK & set(parts) or parts[-1].startswith(JUNK_FILES):
            continue
        if entry.kind != "file":
            raise Refusal(f"{entry.path} is a {entry.kind}, not a file; hand in plain files")
        path = "/".join(parts)
        if path.casefold() in seen:
            raise Refusal(f"{path} stands there twice, or differs from another name by capital letters alone; hand in one of them")
        seen.add(path.casefold())
        if path in known or path.partition("/")[2] in known:
            contents[path] = entry.read(LARGEST + 1)  # an archive is read in its order
        else:
            others.append(path)
    if is_original([*contents, *others]) and not any(f"/{path}".endswith("/course/tasks.toml") for path in others):
        raise Refusal("it is from the original MiniTorch course; make a submission of it by course-staff adopt FOLDER --out DIR")
    top = _top(contents, known)
    files = {path.removeprefix(top): content for path, content in contents.items() if path.removeprefix(top) in known}
    others += [path for path in contents if path.removeprefix(top) not in known]
    for path, content in files.items():
        if len(content) > LARGEST or content.count(b"\n") > MOST_LINES:
            raise Refusal(f"{path} has more than {LARGEST} bytes or {MOST_LINES} lines; hand in what you wrote yourself")
    left_out = sorted(path.removeprefix(top) for path in others if not path.removeprefix(top).startswith(REPORTS))
    if len(left_out) > NAMED:
        left_out = [*left_out[:NAMED], f"and {len(left_out) - NAMED} more"]
    return dict(sorted(files.items())), tuple(left_out)


def _checked(path: str) -> list[str]:
    """The parts of a path that leads to something below the top.

    Raises:
        Refusal: If it leads elsewhere, on any system.
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part != "."]
    parts = parts[:-1] if parts and not parts[-1] else parts
    if not parts or any(part in ("", "..") for part in parts) or ":" in parts[0] or any(ord(letter) < 32 for letter in path):
        raise Refusal(f"{path!r} leads out of the submission; hand in the files of your workspace")
    return parts


def _top(contents: Collection[str], known: Collection[str]) -> str:
    """The one folder in which the workspace stands, with a slash; empty if it stands at the top."""
    if any(path in known for path in contents):
        return ""
    tops = sorted({path.split("/")[0] for path in contents})
    if not tops:
        raise Refusal(
            f"it has none of the files in which students write, such as {next(iter(known))}; hand in submission.zip of course submit"
        )
    if len(tops) > 1:
        raise Refusal(f"it holds more than one workspace, {', '.join(tops[:3])}; hand in one")
    return tops[0] + "/"
