"""What grading must know of the reference, found out once for a course, a Python and a sandbox, and kept in the teacher's cache.

For each task: its base, the tests that count, how long they take, and numba's cache. And whether a right answer passes here: a task in
which it does not is not graded on this machine.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from filelock import FileLock

from course.manifest import Manifest, Task
from course.staff.grading.bases import Base, finished, graded, make_base
from course.staff.grading.grading_env import Desk, write_tree
from course.staff.handout.selection import select
from course.staff.probes import Probe
from course.staff.proofs.answers import graded_files
from course.workspace.atomic_files import write_json

SCHEMA = 2
"""Version of what is kept."""

PACKAGES = ("numpy", "numba", "hypothesis", "pytest")
"""Those whose version may change what a submission does."""

BESIDE = {
    "cli",
    "nearest",
    "patterns",
    "journal",
    "workers",
    "cluster",
    "grade",
    "results",
    "submissions",
    "archives",
    "attacks",
    "outputs",
    "classroom",
    "adopt",
    "term",
    "similarity",
}
"""Files and folders of the staff's that do not change how a submission fares."""

COMPILING = 3
"""The first stage whose tests compile."""

PATIENT = 1800.0
"""Seconds that the reference may take, when everything is compiled for the first time."""


@dataclass(frozen=True)
class Prepared:
    """What is known of a task.

    Attributes:
        task: The task.
        folder: Where it is kept.
    """

    task: Task
    folder: Path

    @cached_property
    def _about(self) -> dict[str, Any]:
        return json.loads((self.folder / "about.json").read_text(encoding="utf-8"))

    @cached_property
    def base(self) -> Base:
        """Its base."""
        written, companions = ({path: tuple(names) for path, names in self._about[key].items()} for key in ("written", "companions"))
        files = {path: self.text(path) for path in written if (self.tree / path).is_file()}
        return Base(self.task, files, frozenset(self._about["lacks"]), companions, written)

    @property
    def tree(self) -> Path:
        """The base on disk."""
        return self.folder / "tree"

    @property
    def cache(self) -> Path | None:
        """numba's cache, if there is one."""
        cache = self.folder / "numba"
        return cache if cache.is_dir() else None

    def text(self, path: str) -> str:
        """A file of the base."""
        return (self.tree / path).read_text(encoding="utf-8")

    @property
    def right(self) -> Mapping[str, str]:
        """The files of the task with a right answer in them."""
        return self._about["right"]

    @property
    def ids(self) -> tuple[str, ...]:
        """The tests that count: those that a right answer passes."""
        return tuple(self._about["ids"])

    @property
    def skipped(self) -> Mapping[str, str]:
        """Those that do not run here, and why."""
        return self._about["skipped"]

    @property
    def seconds(self) -> float:
        """How long the tests take with a right answer, by the clock."""
        return self._about["seconds"]

    @property
    def given(self) -> Mapping[str, str]:
        """Given files that the student's workspace has and the base lacks, or has otherwise: those of a variant."""
        return {}

    def probes(self, answers: dict[str, list[Any]]) -> list[Probe]:
        """Probes that only this student's work must pass: those of a variant. They add what is answered to `answers`."""
        return []

    @property
    def trouble(self) -> str:
        """Why the task cannot be graded here; empty if it can."""
        return self._about["trouble"]


class Reference:
    """All that is kept of a course.

    Args:
        root: The repository.
        manifest: Its manifest.
        desk: Where it is tried.
        home: The folder in which it is kept; see `home_of`.
    """

    def __init__(self, root: Path, manifest: Manifest, desk: Desk, home: Path) -> None:
        self.root = root
        self.manifest = manifest
        self.desk = desk
        self.home = home
        self._prepared: dict[str, Prepared] = {}

    def is_ready(self, task: Task) -> bool:
        """Whether nothing is to be done for a task any more."""
        return (self.home / task.id / "about.json").is_file()

    def prepared(self, task: Task) -> Prepared:
        """What is known of a task; found out now if it must be, which takes some minutes for all tasks.

        Raises:
            StaffError: If the repository does not fit its manifest.
            SandboxError: If the sandbox does not work.
        """
        if task.id not in self._prepared:
            if not self.is_ready(task):
                with FileLock(self.home / f".{task.id}.lock"):
                    if not self.is_ready(task):  # nobody else has been faster
                        self._prepare(task)
            self._prepared[task.id] = Prepared(task, self.home / task.id)
        return self._prepared[task.id]

    def _prepare(self, task: Task) -> None:
        for left in self.home.glob(f".{task.id}-*"):  # by a process that was killed; no other is at this task now
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f".{task.id}-", dir=self.home) as name:
            folder = Path(name)
            folder.chmod(0o755)
            whole = finished(self.root, self.manifest, task)
            base = make_base(whole, self.manifest, task)
            write_tree(folder / "tree", base.files)
            about = {"schema": SCHEMA, "lacks": sorted(base.lacks), "companions": base.companions, "written": base.written}
            right = {path: str(whole[path]) for path in task.files}
            about |= self._tried(task, right, graded_files(task, whole), folder)
            write_json(folder / "about.json", about)
            target = self.home / task.id
            shutil.rmtree(target, ignore_errors=True)
            folder.rename(target)
            folder.mkdir()  # for the context to take away

    def _tried(self, task: Task, files: Mapping[str, str], tests: Sequence[str], folder: Path) -> dict[str, Any]:
        """How a right answer fares."""
        cache = None
        if task.stage >= COMPILING and self.desk.sandbox.level == "bubblewrap":  # elsewhere every graft has another path
            cache = folder / "numba"
            self.desk.keep_compiled(folder / "tree", files, task, tests, PATIENT, cache)
        ran = self.desk.visible(folder / "tree", files, task, tests, PATIENT, PATIENT, cache)
        wanted = {id: test for id, test in ran.outcomes.items() if "::" in id and not id.startswith(f"tests/test_{self.desk.token(task)}")}
        failed = [test for test in wanted.values() if test.outcome != "passed"]
        trouble = ""
        if failed or ran.forged or not wanted:
            what = f"{failed[0].id}: {failed[0].message}" if failed else ran.missing
            trouble = f"a right answer does not pass the tests on this machine: {what}"
        else:
            asked: list[bytes] = []
            outcomes = self.desk.probes(folder / "tree", files, task, cache, asked=asked)
            if lost := [outcome for outcome in outcomes if not outcome.passed]:
                trouble = f"a right answer does not pass the probes on this machine: {lost[0].says}: {lost[0].reason}"
            elif cache is not None:
                self.desk.keep_compiled_for_probes(folder / "tree", files, task, asked, cache)
        return {
            "ids": [id for id in wanted if wanted[id].outcome == "passed"],
            "skipped": dict(ran.skipped),
            "seconds": ran.seconds,
            "trouble": trouble,
            "right": files,
        }


def home_of(root: Path, manifest: Manifest, level: str) -> Path:
    """The folder in which what is known of a course is kept: another one for another course, Python or sandbox."""
    digest = hashlib.sha256(f"{SCHEMA} {level} {fingerprint()} {version_of(root, manifest, manifest.tasks)}".encode())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "minitorch-course" / digest.hexdigest()[:16]
    home.mkdir(parents=True, exist_ok=True)
    return home


def version_of(root: Path, manifest: Manifest, tasks: Sequence[Task]) -> str:
    """Another text where something has changed that decides how submissions fare in these tasks.

    That is the course up to their last module, and what grades them: of the probes, those of their modules and what these import.
    """
    digest = hashlib.sha256()
    for path, content in sorted(graded(select(root, manifest, max(task.stage for task in tasks)), manifest).items()):
        data = content.encode() if isinstance(content, str) else content
        digest.update(f"\n{path} {len(data)}\n".encode())
        digest.update(data)
    staff, stages = Path(__file__).parent.parent, {task.stage for task in tasks}
    of_others = {path.stem for path in (staff / "probes").glob("module*.py")} - _probe_files(staff / "probes", stages)
    of_others |= {path.stem for path in (staff / "wrong_answers").glob("*.toml") if int(path.stem.partition(".")[0]) not in stages}
    for path in sorted([*staff.rglob("*.py"), *staff.rglob("*.toml")]):
        if path.stem not in BESIDE | of_others and not BESIDE & set(path.relative_to(staff).parts):
            digest.update(f"\n{path.relative_to(staff)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _probe_files(folder: Path, stages: Collection[int]) -> set[str]:
    """The files of probes of these modules, and those that they import."""
    found: set[str] = set()
    left = [path.stem for path in folder.glob("module*.py") if int(re.sub(r"\D.*", "", path.stem.removeprefix("module"))) in stages]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += re.findall(
                r"^from course\.staff\.probes\.(module\w+) import", (folder / f"{name}.py").read_text(encoding="utf-8"), re.M
            )
    return found


def fingerprint() -> str:
    """What of this machine may change how a submission fares: Python, the packages that matter, the processor."""
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"no {package}")
    return ", ".join([f"Python {sys.version.split()[0]}", platform.system(), platform.machine(), *versions])
