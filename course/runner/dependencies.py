"""What the results of a module's tests depend on: its own files and those of the modules before it."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

from course.manifest import Manifest

WATCHED = ("minitorch/**/*.py", "project/run_*.py", "project/lab/*.py", "tests/**/*.py", "course/tasks.toml", "pyproject.toml")
"""What any result may depend on."""


def fingerprints(root: Path, manifest: Manifest) -> dict[int, str]:
    """For each stage, a hash of all that the results of its tests depend on.

    A module belongs to its stage, another file that students write to that of the first task in it, and a file of tests to that of its
    marks; the tests of a stage run without what belongs to a later one. Everything else counts for all stages.
    """
    first = {manifest.path(module): stage.number for stage in manifest.stages for module in stage.modules}
    for task in manifest.tasks:
        for file in task.files:
            first.setdefault(file, task.stage)
    digests = {stage.number: hashlib.sha256(sys.version.encode()) for stage in manifest.stages}
    for path in watched_files(root):
        try:
            content = path.read_bytes()
        except OSError:  # an editor is just replacing it
            continue
        name = path.relative_to(root).as_posix()
        entry = name.encode() + b"\0" + hashlib.sha256(content).digest()
        begins = first.get(name, 0)
        if path.name.startswith("test_") and (marks := re.findall(rb"\btask(\d+)_\d+[a-z]?\b", content)):
            begins = min(map(int, marks))
        for number, digest in digests.items():
            if begins <= number:
                digest.update(entry)
    return {number: digest.hexdigest() for number, digest in digests.items()}


def watched_files(root: Path) -> list[Path]:
    """The files of a workspace that any result may depend on, in order."""
    return sorted({path for pattern in WATCHED for path in root.glob(pattern) if path.is_file()})
