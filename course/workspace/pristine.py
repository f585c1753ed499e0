"""The workspace as it was handed out: `course/pristine.zip` holds the tasks' files with stubs, the tests, and the hashes of all files.

The git history of the workspace has the same information, but git may be missing, or the history rewritten.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from course.cli.problem import ENVIRONMENT, Problem
from course.manifest import Manifest

PATH = "course/pristine.zip"
HASHES = "hashes.json"
LARGEST = 50_000_000
"""Maximum total size of the files in it, in bytes."""


@dataclass(frozen=True)
class Pristine:
    """A workspace as it was handed out.

    Attributes:
        files: The tasks' files with stubs and all tests, by path.
        hashes: The hash of every file of the workspace, by path.
    """

    files: Mapping[str, bytes]
    hashes: Mapping[str, str]

    def is_as_given(self, path: str, data: bytes) -> bool:
        """Whether a file of the workspace is unchanged, ignoring line ends."""
        return self.hashes.get(path) == fingerprint(data)


def pack(files: Mapping[str, str | bytes], written: Iterable[str]) -> bytes:
    """Create the contents of pristine.zip; the same files give the same bytes.

    Args:
        files: All files of the workspace by path.
        written: The paths of the files that are stored completely.
    """
    contents = {path: data if isinstance(data, bytes) else data.encode("utf-8") for path, data in files.items()}
    hashes = {path: fingerprint(data) for path, data in sorted(contents.items())}
    return make_zip({HASHES: (json.dumps(hashes, indent=1) + "\n").encode()} | {path: contents[path] for path in sorted(set(written))})


def make_zip(files: Mapping[str, bytes]) -> bytes:
    """A zip file of these files, in this order; the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(entry, data)
    return packed.getvalue()


def fingerprint(data: bytes) -> str:
    """A hash that ignores line ends, because git and editors change them."""
    return hashlib.sha256(data if b"\0" in data else data.replace(b"\r\n", b"\n")).hexdigest()


def read(root: Path) -> Pristine:
    """Read the pristine.zip of a workspace.

    Raises:
        Problem: If it is missing or damaged.
    """
    try:
        return unpack((root / PATH).read_bytes())
    except FileNotFoundError:
        raise Problem(f"{PATH} is missing, which records what was handed out; run: git checkout -- {PATH}", ENVIRONMENT) from None
    except (OSError, ValueError) as error:
        raise Problem(f"{PATH} is damaged ({error}); run: git checkout -- {PATH}", ENVIRONMENT) from None


def unpack(packed: bytes) -> Pristine:
    """Read what `pack` created.

    Raises:
        ValueError: If it is something else, or damaged.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                raise ValueError(f"more than {LARGEST} bytes")
            files = {name: archive.read(name) for name in archive.namelist()}
        hashes = json.loads(files.pop(HASHES))
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError) as error:
        raise ValueError(str(error) or type(error).__name__) from None
    for path, data in files.items():
        if hashes.get(path) != fingerprint(data):
            raise ValueError(f"{path} was changed in it")
    return Pristine(files, hashes)


def task_functions(manifest: Manifest, task: str | None = None) -> dict[str, dict[str, str]]:
    """The functions that students write, by file: function → task. If a task is given, only its functions."""
    found: dict[str, dict[str, str]] = {}
    for entry in manifest.tasks:
        for full in entry.write if task in (None, entry.id) else ():
            module, _, name = full.partition(":")
            found.setdefault(module.replace(".", "/") + ".py", {})[name] = entry.id
    return found
