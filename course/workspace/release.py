"""A release of the course, read from a folder, a zip file or a git bundle: all files of a workspace as handed out."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from course.cli.problem import ENVIRONMENT, USAGE, Problem
from course.manifest import Manifest, ManifestError, load
from course.workspace import pristine
from course.workspace.pristine import Pristine

MARKER = ".handout.json"
MANIFEST = "course/tasks.toml"
LARGEST = 200_000_000
"""Maximum size of one file of a release, in bytes."""

Reader = Callable[[str], bytes | None]
"""Returns the contents of a file of the release; None if it does not exist."""


@dataclass(frozen=True)
class Release:
    """A release.

    Attributes:
        files: Its files by path.
        given: Its pristine copy.
        manifest: Its manifest.
    """

    files: Mapping[str, bytes]
    given: Pristine
    manifest: Manifest


def read(source: Path) -> Release:
    """Read a release; only files that it lists itself are used.

    Raises:
        Problem: If it is not one, or was changed since it was handed out.
    """
    if source.is_dir():
        return _release(source, lambda path: (source / path).read_bytes() if (source / path).is_file() else None)
    if not source.is_file():
        raise Problem(f"there is no {source}; name the folder, zip file or git bundle of a release: course update SOURCE", USAGE)
    with source.open("rb") as file:
        head = file.read(32)
    if head.startswith(b"# v") and b"git bundle" in head:
        return _from_bundle(source)
    if zipfile.is_zipfile(source):
        return _from_zip(source)
    raise Problem(f"{source} is not a folder, zip file or git bundle; name one of a release: course update SOURCE", USAGE)


def _from_zip(source: Path) -> Release:
    """Read a release from a zip file, whose files may all be in one folder."""
    try:
        with zipfile.ZipFile(source) as archive:
            entries = {entry.filename.replace("\\", "/"): entry for entry in archive.infolist()}
            tops = [path.removesuffix(MANIFEST) for path in entries if PurePosixPath(path).match(MANIFEST)]
            top = min(tops, key=len, default="")

            def content(path: str) -> bytes | None:
                entry = entries.get(top + path)
                if entry is not None and entry.file_size > LARGEST:
                    raise Problem(f"{source} holds {path} of {entry.file_size} bytes; ask for another release", USAGE)
                return None if entry is None else archive.read(entry)

            return _release(source, content)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise Problem(f"{source} is damaged ({error}); fetch the release again: course update SOURCE", USAGE) from None


def _from_bundle(source: Path) -> Release:
    """Read a release from a git bundle."""
    if shutil.which("git") is None:
        raise Problem(f"{source} is a git bundle, and git is not installed; ask for a zip file: course update SOURCE", ENVIRONMENT)
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        command = ["git", "-c", "core.autocrlf=false", "clone", "--quiet", "--template=", str(source.resolve()), f"{folder}/release"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise Problem(f"git cannot read {source}: {done.stderr.strip()}; fetch the release again: course update SOURCE", USAGE)
        return read(Path(folder) / "release")


def _release(source: Path, content: Reader) -> Release:
    """Read a release through a function that reads its files."""
    packed = content(pristine.PATH)
    if packed is None:
        raise Problem(f"{source} is not a release: it has no {pristine.PATH}; name one: course update SOURCE", USAGE)
    try:
        given = pristine.unpack(packed)
    except ValueError as error:
        raise Problem(f"{source} is damaged: {pristine.PATH}: {error}; fetch the release again: course update SOURCE", USAGE) from None
    files = {pristine.PATH: packed}
    for path in given.hashes:
        data = content(path) if ".." not in PurePosixPath(path).parts else None
        if data is None or not given.is_as_given(path, data):
            state = "lacks" if data is None else "has changes in"
            raise Problem(f"{source} is not as it was handed out: it {state} {path}; fetch the release again: course update SOURCE", USAGE)
        files[path] = data
    if (marker := content(MARKER)) is not None:
        files[MARKER] = marker
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        (Path(folder) / "tasks.toml").write_bytes(files.get(MANIFEST, b""))
        try:
            manifest = load(Path(folder) / "tasks.toml")
        except ManifestError as error:
            raise Problem(f"{source} is not a release ({error}); fetch it again: course update SOURCE", USAGE) from None
    return Release(files, given, manifest)
