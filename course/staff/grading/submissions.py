"""Reads submissions from folders, archives and git bundles, with limits on their size.

Only files in which students write are taken, and in converted work the repositories of the original course. A submission that cannot be
read, or that exceeds a limit, is refused with a reason; the others are still graded.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from course.manifest import Manifest
from course.staff import RequestError
from course.staff.adopt.recognize import is_original
from course.staff.grading.archives import MAX_SIZE, REMEDY, Entry, Refusal, open_archive

LARGEST = 300_000
"""Maximum size of a student's file, in bytes."""

MOST_LINES = 5_000
"""Maximum number of lines of a student's file."""

MAX_DEPTH = 2
"""How many archives may be inside one another, as in the files that an LMS exports."""

ENVIRONMENT = "pyvenv.cfg"
"""The file that marks the folder of a virtual environment, which is skipped whatever its name."""

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

ORIGINAL = re.compile(r"original/module-\d/[\w/]+\.py")
"""Paths of files of the original course, which `course-staff adopt` keeps beside their conversion."""

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
        files, left_out = _read_files(path, known)
    except Refusal as refusal:  # the file's own name may reveal the student, unlike `name`
        message = str(refusal).replace(str(path), name).replace(path.name, name + path.name.removeprefix(stem(path)))
        return Submission(name, refused=message)
    return Submission(name, files, left_out)


def _read_files(path: Path, known: Collection[str], depth: int = 0) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The student's files, and the names of the others; those of an archive within the submission, if it holds nothing else.

    Raises:
        Refusal: If there are none, or something is no regular file inside the submission.
    """
    with _open_submission(path) as entries, tempfile.TemporaryDirectory() as folder:
        found = _Found(Path(folder) if depth < MAX_DEPTH else None)
        found.add(entries, known)
        if not found.contents and len(found.archives) == 1 and found.copy is not None:
            return _read_files(found.copy, known, depth + 1)
        return found.select(known)


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


def unpack(path: Path, folder: Path, depth: int = 0) -> None:
    """Copy the Python files of a submission into a folder, those in archives within it as well.

    Raises:
        Refusal: If it cannot be read, or something would be outside the folder.
    """
    with _open_submission(path) as entries:
        for entry in entries:
            parts = _split_path(entry.path)
            if JUNK & set(parts) or parts[-1].startswith(JUNK_FILES) or entry.kind != "file":
                continue
            place = folder.joinpath(*parts)
            if parts[-1].endswith(".py"):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(entry.read(LARGEST + 1))
            elif stem(place) != parts[-1] and depth < MAX_DEPTH:
                with tempfile.TemporaryDirectory() as copies:
                    copy = Path(copies) / parts[-1]
                    copy.write_bytes(entry.read(MAX_SIZE + 1))
                    unpack(copy, place.with_name(stem(place)), depth + 1)


class _Found:
    """What a submission contains.

    Args:
        folder: Where to copy archives within it; None to ignore them.

    Attributes:
        contents: Files that may be the student's, by path.
        others: Other paths.
        odd: Paths of what is no file, with its kind.
        archives: Paths of the archives within it.
        copy: A copy of the first of them.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.contents: dict[str, bytes] = {}
        self.others: list[str] = []
        self.odd: list[tuple[str, str]] = []
        self.archives: list[str] = []
        self.copy: Path | None = None

    def add(self, entries: Iterator[Entry], known: Collection[str]) -> None:
        """Read the entries, in their order."""
        names = {path.rpartition("/")[2] for path in known}
        seen: set[str] = set()
        for entry in entries:
            parts = _split_path(entry.path)
            if JUNK & set(parts) or parts[-1].startswith(JUNK_FILES):
                continue
            path = "/".join(parts)
            if entry.kind != "file":
                self.odd.append((path, entry.kind))
                continue
            if path.casefold() in seen:
                raise Refusal(f"{path} occurs twice, or differs from another name only in upper and lower case; hand in one of them")
            seen.add(path.casefold())
            if (parts[-1] in names and _prefix(path, known) is not None) or _is_kept(path):
                self.contents[path] = entry.read(LARGEST + 1)  # an archive must be read sequentially
            else:
                self.others.append(path)
                if stem(Path(path)) != parts[-1]:
                    self.archives.append(path)
                    if self.folder is not None and self.copy is None:
                        self.copy = self.folder / parts[-1]
                        self.copy.write_bytes(entry.read(MAX_SIZE + 1))

    def select(self, known: Collection[str]) -> tuple[dict[str, bytes], tuple[str, ...]]:
        """The student's files, and the names of the others."""
        environments = tuple(path.removesuffix(ENVIRONMENT) for path in self.others if path.endswith(f"/{ENVIRONMENT}"))
        if odd := [f"{path} is a {kind}" for path, kind in self.odd if not path.startswith(environments or "\0")]:
            raise Refusal(f"{odd[0]}, not a file; hand in plain files")
        contents = {path: content for path, content in self.contents.items() if not path.startswith(environments or "\0")}
        others = [path for path in self.others if not path.startswith(environments or "\0")]
        kept = {path: content for path, content in contents.items() if _is_kept(path)}
        contents = {path: content for path, content in contents.items() if path not in kept}
        is_ours = any(f"/{path}".endswith("/course/tasks.toml") for path in others)
        if is_original([*contents, *others], contents) and not is_ours:
            raise Refusal("it is from the original MiniTorch course; convert it with course-staff adopt FOLDER --out DIR")
        top = _workspace_prefix(contents, others, known)
        files = {path.removeprefix(top): content for path, content in contents.items() if path.removeprefix(top) in known}
        others += [path for path in contents if path.removeprefix(top) not in known]
        files |= {path.removeprefix(top): content for path, content in kept.items() if ORIGINAL.fullmatch(path.removeprefix(top))}
        for path, content in files.items():
            if len(content) > LARGEST or content.count(b"\n") > MOST_LINES:
                raise Refusal(f"{path} has more than {LARGEST} bytes or {MOST_LINES} lines; hand in what you wrote yourself")
        left_out = sorted(path.removeprefix(top) for path in others if not path.removeprefix(top).startswith(REPORTS))
        near = _near_misses(left_out, [path for path in known if path not in files])
        left_out = [f"{path} (is it {near[path]}?)" if path in near else path for path in left_out]
        left_out.sort(key=lambda text: not text.endswith("?)"))
        if len(left_out) > MAX_LISTED:
            left_out = [*left_out[:MAX_LISTED], f"and {len(left_out) - MAX_LISTED} more"]
        return dict(sorted(files.items())), tuple(left_out)


def _prefix(path: str, known: Collection[str]) -> str | None:
    """What precedes a file of the workspace in a path, with a slash; None if the path is not one of them."""
    parts = path.split("/")
    return next(("/".join([*parts[:i], ""]) for i in range(len(parts)) if "/".join(parts[i:]) in known), None)


def _is_kept(path: str) -> bool:
    """Whether a path may be that of a file of the original course in converted work."""
    return any(ORIGINAL.fullmatch(path, match.start(1)) for match in re.finditer(r"(?:^|/)(original/)", path))


def _near_misses(paths: Collection[str], known: Collection[str]) -> dict[str, str]:
    """The files whose names differ from one of the workspace's only in case, spaces or the mark of a copy, as in "Operators (1).py"."""

    def plain(path: str) -> str:
        return re.sub(r"[\s_-]+|\(\d+\)|copy|kopie", "", path.casefold())

    wanted = {plain(path): path for path in known}
    found = {path: _prefix(plain(path), wanted) for path in paths}
    return {path: wanted[plain(path).removeprefix(top)] for path, top in found.items() if top is not None}


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


def _workspace_prefix(contents: Collection[str], others: Collection[str], known: Collection[str]) -> str:
    """The folder that contains the workspace, with a slash; empty if the workspace is at the top level.

    Raises:
        Refusal: If there is no workspace, or more than one.
    """
    tops = {top for path in contents if (top := _prefix(path, known)) is not None}
    if not tops:
        missing = f"it has none of the files in which students write, such as {next(iter(known))}"
        near = [f"{path} (is it {file}?)" for path, file in _near_misses(others, known).items()]
        names = f", but {', '.join(near[:3])}" if near else ""
        raise Refusal(f"{missing}{names}; {REMEDY}")
    highest = min(top.count("/") for top in tops)
    first = sorted(top for top in tops if top.count("/") == highest)
    if len(first) > 1:
        raise Refusal(f"it contains more than one workspace, {', '.join(top.rstrip('/') for top in first[:3])}; hand in one")
    return first[0]
