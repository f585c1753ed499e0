"""The environment in which a graft is graded: files on disk, the sandbox, the visible tests and the probes."""

from __future__ import annotations

import hashlib
import os
import py_compile
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from course.manifest import Task
from course.runner.gpu import SIMULATOR, has_gpu
from course.staff.grading.visible import THREADS, VisibleRun, canaries, command_for, run_environment, run_visible
from course.staff.handout.generate import write_files
from course.staff.probes import FULL, ChildProcess, Outcome, Probe, run_probes
from course.staff.probes.remote import CHILD
from course.staff.probes.sandboxed import RecordingChild, sandbox_launcher
from course.staff.sandbox.sandbox import PYTHON, Sandbox, fill_cache

FIXED_TIME = 1_600_000_000
"""Modification time of the base's files. numba's cache depends on the time and the size of a file; the time of a student's file is derived
from its text.
"""


@dataclass(frozen=True)
class GradingEnv:
    """Environment in which submissions are graded.

    Attributes:
        sandbox: The sandbox in which they run.
        number: Seed of the probes' inputs, the same for the whole class and secret.
        profile: Grading profile.
    """

    sandbox: Sandbox
    number: int
    profile: str = FULL

    def on_gpu(self, task: Task) -> bool:
        """Whether a task runs on a GPU here; sandboxes do not expose GPUs."""
        return task.gpu and self.sandbox.level == "none" and has_gpu()

    def environment(self, task: Task) -> dict[str, str]:
        """Environment variables for a task's programs."""
        return dict(SIMULATOR) if task.gpu and not self.on_gpu(task) else {}

    def token(self, task: Task) -> str:
        """The token in the names of a task's canary tests."""
        return hashlib.sha256(f"{self.number} {task.id}".encode()).hexdigest()[:10]

    @contextmanager
    def workspace(self, tree: Path, files: Mapping[str, str]) -> Iterator[Path]:
        """Create a copy of a base with other files in it, and delete it when the context ends."""
        with tempfile.TemporaryDirectory(prefix="course-staff-", ignore_cleanup_errors=True) as name:
            folder = Path(name) / "graft"
            shutil.copytree(tree, folder)
            for path, text in files.items():
                target = folder / path
                for compiled in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
                    compiled.unlink()
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8", newline="\n")
                target.chmod(0o644)
                stamp = FIXED_TIME + int(hashlib.sha256(text.encode()).hexdigest()[:6], 16)
                os.utime(target, (stamp, stamp))
            yield folder

    def visible(
        self, tree: Path, files: Mapping[str, str], task: Task, select: Sequence[str], seconds: float, each: float, cache: Path | None
    ) -> VisibleRun:
        """Run visible tests in a base with these files; see `run_visible`."""
        token = self.token(task)
        with self.workspace(tree, {**files, **canaries(task, token)}) as folder:
            environment = self.environment(task)
            return run_visible(
                self.sandbox, folder, task, select, token=token, seconds=seconds, each=each, environment=environment, cache=cache
            )

    def probes(
        self,
        tree: Path,
        files: Mapping[str, str],
        task: Task,
        cache: Path | None = None,
        done: Callable[[Outcome], object] = lambda outcome: None,
        asked: list[bytes] | None = None,
        more: Sequence[Probe] = (),
        more_environment: Mapping[str, str] = MappingProxyType({}),
    ) -> list[Outcome]:
        """Run the hidden probes, and further ones, on a base with these files; see `run_probes`.

        Args:
            tree: The base.
            files: Contents of the files that replace those of the base, by path.
            task: The task.
            cache: numba's cache.
            done: Called after each probe.
            asked: Collects the requests of the probes if it is a list.
            more: Further probes.
            more_environment: Further environment variables.
        """
        with self.workspace(tree, files) as folder:
            launch = sandbox_launcher(self.sandbox, folder, cache)

            def launch_child(environment: Mapping[str, str]) -> ChildProcess:
                child = launch({**THREADS, **environment, **self.environment(task), **more_environment})
                return child if asked is None else RecordingChild(child, asked)

            return run_probes(task, launch_child, self.number, done, profile=self.profile, more=more)

    def fill_cache_with_tests(
        self, tree: Path, files: Mapping[str, str], task: Task, tests: Sequence[str], seconds: float, cache: Path
    ) -> None:
        """Cache the kernels that numba compiles for the tests of a correct answer; `seconds` is the time limit of a test."""
        with self.workspace(tree, files) as folder:
            command, environment = command_for(task, tests, seconds), run_environment(self.environment(task))
            fill_cache(self.sandbox, command, folder, cache, environment=environment)

    def fill_cache_with_probes(self, tree: Path, files: Mapping[str, str], task: Task, asked: Sequence[bytes], cache: Path) -> None:
        """Cache the kernels that numba compiles when a correct answer handles these requests."""
        with self.workspace(tree, files) as folder:
            command = ["/bin/sh", "-c", 'exec "$@" > /dev/null', "sh", PYTHON, "-I", str(CHILD), "{files}"]
            environment = {**THREADS, **self.environment(task)}
            fill_cache(self.sandbox, command, folder, cache, stdin=b"".join(asked), reads=(CHILD,), environment=environment)


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write a base that every user can read, with compiled bytecode for each file of the package and the programs."""
    write_files(folder, files)
    for path in files:
        if path.endswith(".py") and not path.startswith("tests/"):  # pytest compiles tests itself
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(folder / path), invalidation_mode=mode, quiet=2)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (FIXED_TIME, FIXED_TIME))
