"""What test results depend on: the files of the tests' module and of the modules before it."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

from course.manifest import Manifest

WATCHED = ("minitorch/**/*.py", "project/run_*.py", "project/lab/*.py", "tests/**/*.py", "course/tasks.toml", "pyproject.toml")
"""The files that a result may depend on."""


def fingerprints(root: Path, manifest: Manifest) -> dict[int, str]:
    """For each stage, a hash of everything that the results of its tests depend on.

    A module belongs to its stage, any other file that students write to the stage of its first task, and a test file to the first stage
    among its marks. The tests of a stage run without the files of later stages. All other files count for every stage.
    """
    first = {manifest.path(module): stage.number for stage in manifest.stages for module in stage.modules}
    for task in manifest.tasks:
        for file in task.files:
            first.setdefault(file, task.stage)
    digests = {stage.number: hashlib.sha256(sys.version.encode()) for stage in manifest.stages}
    for path in watched_files(root):
        try:
            content = path.read_bytes()
        except OSError:  # an editor is replacing it at this moment
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
    """The files of a workspace that a result may depend on, sorted."""
    return sorted({path for pattern in WATCHED for path in root.glob(pattern) if path.is_file()})
