"""Where a graft is put to the test: written down, run in the sandbox, and asked by the probes."""

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

from course.manifest import Task
from course.runner.gpu import SIMULATOR, has_gpu
from course.staff.grading.visible import THREADS, Ran, canaries, command_for, run_visible, surroundings
from course.staff.handout.generate import write_files
from course.staff.probes import FULL, ChildProcess, Outcome, Probe, run_probes
from course.staff.probes.remote import CHILD
from course.staff.probes.sandboxed import RecordingChild, sandbox_launcher
from course.staff.sandbox.sandbox import PYTHON, Sandbox, fill_cache

LONG_AGO = 1_600_000_000
"""When files of the base were changed: numba keeps machine code by time and size of a file. Those of a student's follow from its text."""


@dataclass(frozen=True)
class Desk:
    """Where submissions are graded.

    Attributes:
        sandbox: They run in it.
        number: The inputs of the probes follow from it; the whole class has one, and nobody else knows it.
        profile: What the probes mark.
    """

    sandbox: Sandbox
    number: int
    profile: str = FULL

    def on_gpu(self, task: Task) -> bool:
        """Whether a task runs on a GPU here: a sandbox shows none."""
        return task.gpu and self.sandbox.level == "none" and has_gpu()

    def environment(self, task: Task) -> dict[str, str]:
        """What its programs find in their environment."""
        return dict(SIMULATOR) if task.gpu and not self.on_gpu(task) else {}

    def token(self, task: Task) -> str:
        """What the names of its canaries are made with."""
        return hashlib.sha256(f"{self.number} {task.id}".encode()).hexdigest()[:10]

    @contextmanager
    def laid_out(self, tree: Path, files: Mapping[str, str]) -> Iterator[Path]:
        """A copy of a base with other files in it, as long as the context lasts."""
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
                stamp = LONG_AGO + int(hashlib.sha256(text.encode()).hexdigest()[:6], 16)
                os.utime(target, (stamp, stamp))
            yield folder

    def visible(
        self, tree: Path, files: Mapping[str, str], task: Task, select: Sequence[str], seconds: float, each: float, cache: Path | None
    ) -> Ran:
        """Run tests in a base with these files in it; see `run_visible`."""
        token = self.token(task)
        with self.laid_out(tree, {**files, **canaries(task, token)}) as folder:
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
    ) -> list[Outcome]:
        """Put the hidden probes, and further ones, to a base with these files in it; what they ask is added to `asked`."""
        with self.laid_out(tree, files) as folder:
            launch = sandbox_launcher(self.sandbox, folder, cache)

            def start_child(environment: Mapping[str, str]) -> ChildProcess:
                child = launch({**THREADS, **environment, **self.environment(task)})
                return child if asked is None else RecordingChild(child, asked)

            return run_probes(task, start_child, self.number, done, profile=self.profile, more=more)

    def keep_compiled(self, tree: Path, files: Mapping[str, str], task: Task, tests: Sequence[str], seconds: float, cache: Path) -> None:
        """Keep what numba compiles for tests of a right answer, which may take so many seconds each."""
        with self.laid_out(tree, files) as folder:
            command, environment = command_for(task, tests, seconds), surroundings(self.environment(task))
            fill_cache(self.sandbox, command, folder, cache, environment=environment)

    def keep_compiled_for_probes(self, tree: Path, files: Mapping[str, str], task: Task, asked: Sequence[bytes], cache: Path) -> None:
        """Keep what numba compiles for a right answer when it is asked these lines, too."""
        with self.laid_out(tree, files) as folder:
            command = ["/bin/sh", "-c", 'exec "$@" > /dev/null', "sh", PYTHON, "-I", str(CHILD), "{files}"]
            environment = {**THREADS, **self.environment(task)}
            fill_cache(self.sandbox, command, folder, cache, stdin=b"".join(asked), reads=(CHILD,), environment=environment)


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write a base so that every user can read it, with compiled bytecode beside each file of the package and the programs."""
    write_files(folder, files)
    for path in files:
        if path.endswith(".py") and not path.startswith("tests/"):  # pytest compiles tests in its own way
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(folder / path), invalidation_mode=mode, quiet=1)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (LONG_AGO, LONG_AGO))
