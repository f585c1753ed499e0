"""Prepares the tasks of the reference for grading, and caches the results for each version of the course, Python and sandbox.

For each task the cache holds its base, the tests that count, their running time, numba's cache, and whether a correct answer passes on
this machine; if it does not, the task is not graded here.
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
from course.staff.grading.bases import Base, complete_workspace, grading_files, make_base
from course.staff.grading.grading_env import GradingEnv, write_tree
from course.staff.handout.selection import select
from course.staff.probes import Probe
from course.staff.proofs.answers import graded_files
from course.workspace.atomic_files import write_json

SCHEMA = 2
"""Version of the cache's format."""

PACKAGES = ("numpy", "numba", "hypothesis", "pytest")
"""Packages whose version may change the outcome of a submission."""

EXCLUDED = {
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
"""Files and folders of `course/staff` that do not affect results."""

FIRST_COMPILED_STAGE = 3
"""The first stage whose tests compile code."""

REFERENCE_SECONDS = 1800.0
"""Time limit of the reference's tests, which compile everything for the first time."""


@dataclass(frozen=True)
class PreparedTask:
    """A task that is prepared for grading.

    Attributes:
        task: The task.
        folder: Its folder in the cache.
    """

    task: Task
    folder: Path

    @cached_property
    def _about(self) -> dict[str, Any]:
        return json.loads((self.folder / "about.json").read_text(encoding="utf-8"))

    @cached_property
    def base(self) -> Base:
        """The base of the task."""
        written, companions = ({path: tuple(names) for path, names in self._about[key].items()} for key in ("written", "companions"))
        files = {path: self.text(path) for path in written if (self.tree / path).is_file()}
        return Base(self.task, files, frozenset(self._about["lacks"]), companions, written)

    @property
    def tree(self) -> Path:
        """The folder of the base."""
        return self.folder / "tree"

    @property
    def cache(self) -> Path | None:
        """numba's cache; None if there is none."""
        cache = self.folder / "numba"
        return cache if cache.is_dir() else None

    def text(self, path: str) -> str:
        """The text of a file of the base."""
        return (self.tree / path).read_text(encoding="utf-8")

    @property
    def right(self) -> Mapping[str, str]:
        """The files of the task with a correct answer."""
        return self._about["right"]

    @property
    def ids(self) -> tuple[str, ...]:
        """The tests that count: those that a correct answer passes."""
        return tuple(self._about["ids"])

    @property
    def skipped(self) -> Mapping[str, str]:
        """The tests that are skipped on this machine, with the reason."""
        return self._about["skipped"]

    @property
    def seconds(self) -> float:
        """Wall time of the tests with a correct answer."""
        return self._about["seconds"]

    @property
    def given(self) -> Mapping[str, str]:
        """Given files that only the student's variant has or changes."""
        return {}

    def probes(self, answers: dict[str, list[Any]]) -> list[Probe]:
        """Probes of the student's variant; they record answers in `answers`."""
        return []

    @property
    def trouble(self) -> str:
        """Why the task cannot be graded on this machine; empty if it can."""
        return self._about["trouble"]


class Reference:
    """The prepared tasks of a course.

    Args:
        root: The repository.
        manifest: Its manifest.
        env: The environment in which the reference is tested.
        home: The cache folder; see `cache_folder`.
    """

    def __init__(self, root: Path, manifest: Manifest, env: GradingEnv, home: Path) -> None:
        self.root = root
        self.manifest = manifest
        self.env = env
        self.home = home
        self._prepared: dict[str, PreparedTask] = {}

    def is_ready(self, task: Task) -> bool:
        """Whether a task is already in the cache."""
        return (self.home / task.id / "about.json").is_file()

    def prepare(self, task: Task) -> PreparedTask:
        """Prepare a task if it is not in the cache, which takes a few minutes for all tasks; returns the prepared task.

        Raises:
            StaffError: If the repository does not match its manifest.
            SandboxError: If the sandbox fails.
        """
        if task.id not in self._prepared:
            if not self.is_ready(task):
                with FileLock(self.home / f".{task.id}.lock"):
                    if not self.is_ready(task):  # another process may have prepared it
                        self._build(task)
            self._prepared[task.id] = PreparedTask(task, self.home / task.id)
        return self._prepared[task.id]

    def _build(self, task: Task) -> None:
        for left in self.home.glob(f".{task.id}-*"):  # left by a killed process; the lock excludes others
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f".{task.id}-", dir=self.home) as name:
            folder = Path(name)
            folder.chmod(0o755)
            whole = complete_workspace(self.root, self.manifest, task)
            base = make_base(whole, self.manifest, task)
            write_tree(folder / "tree", base.files)
            about = {"schema": SCHEMA, "lacks": sorted(base.lacks), "companions": base.companions, "written": base.student_functions}
            right = {path: str(whole[path]) for path in task.files}
            about |= self._measure(task, right, graded_files(task, whole), folder)
            write_json(folder / "about.json", about)
            target = self.home / task.id
            shutil.rmtree(target, ignore_errors=True)
            folder.rename(target)
            folder.mkdir()  # the context manager deletes it

    def _measure(self, task: Task, files: Mapping[str, str], tests: Sequence[str], folder: Path) -> dict[str, Any]:
        """Run the tests and the probes with a correct answer."""
        cache = None
        if task.stage >= FIRST_COMPILED_STAGE and self.env.sandbox.level == "bubblewrap":  # at other levels the path of each graft differs
            cache = folder / "numba"
            self.env.fill_cache_with_tests(folder / "tree", files, task, tests, REFERENCE_SECONDS, cache)
        ran = self.env.visible(folder / "tree", files, task, tests, REFERENCE_SECONDS, REFERENCE_SECONDS, cache)
        wanted = {id: test for id, test in ran.outcomes.items() if "::" in id and not id.startswith(f"tests/test_{self.env.token(task)}")}
        failed = [test for test in wanted.values() if test.outcome != "passed"]
        trouble = ""
        if failed or ran.forged or not wanted:
            what = f"{failed[0].id}: {failed[0].message}" if failed else ran.missing
            trouble = f"a correct answer does not pass the tests on this machine: {what}"
        else:
            asked: list[bytes] = []
            outcomes = self.env.probes(folder / "tree", files, task, cache, asked=asked)
            if lost := [outcome for outcome in outcomes if not outcome.passed]:
                trouble = f"a correct answer does not pass the probes on this machine: {lost[0].says}: {lost[0].reason}"
            elif cache is not None:
                self.env.fill_cache_with_probes(folder / "tree", files, task, asked, cache)
        return {
            "ids": [id for id in wanted if wanted[id].outcome == "passed"],
            "skipped": dict(ran.skipped),
            "seconds": ran.seconds,
            "trouble": trouble,
            "right": files,
        }


def cache_folder(root: Path, manifest: Manifest, level: str) -> Path:
    """The cache folder for this version of the course, Python and sandbox; it is created if it does not exist."""
    digest = hashlib.sha256(f"{SCHEMA} {level} {fingerprint()} {version_of(root, manifest, manifest.tasks)}".encode())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "minitorch-course" / digest.hexdigest()[:16]
    home.mkdir(parents=True, exist_ok=True)
    return home


def version_of(root: Path, manifest: Manifest, tasks: Sequence[Task]) -> str:
    """A digest of everything in the repository that affects the results of these tasks.

    It covers the course up to the last module of the tasks and the code that grades it; of the probes, only those of these modules and the
    modules that they import.
    """
    digest = hashlib.sha256()
    for path, content in sorted(grading_files(select(root, manifest, max(task.stage for task in tasks)), manifest).items()):
        data = content.encode() if isinstance(content, str) else content
        digest.update(f"\n{path} {len(data)}\n".encode())
        digest.update(data)
    staff, stages = Path(__file__).parent.parent, {task.stage for task in tasks}
    of_others = {path.stem for path in (staff / "probes").glob("module*.py")} - _probe_files(staff / "probes", stages)
    of_others |= {path.stem for path in (staff / "wrong_answers").glob("*.toml") if int(path.stem.partition(".")[0]) not in stages}
    for path in sorted([*staff.rglob("*.py"), *staff.rglob("*.toml")]):
        if path.stem not in EXCLUDED | of_others and not EXCLUDED & set(path.relative_to(staff).parts):
            digest.update(f"\n{path.relative_to(staff)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _probe_files(folder: Path, stages: Collection[int]) -> set[str]:
    """The names of the probe modules of these stages, and of those that they import."""
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
    """What may affect results on this machine: the versions of Python and of the packages, the operating system and the processor."""
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"no {package}")
    return ", ".join([f"Python {sys.version.split()[0]}", platform.system(), platform.machine(), *versions])
