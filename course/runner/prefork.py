"""Processes that have imported pytest and Hypothesis and wait for their arguments, so that a run starts at once.

Each process serves one run, because the student's code must be imported anew; the next ones start while the student reads. The tests of a
run are divided among several processes, at most one per core.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from course.manifest import Task
from course.runner.gpu import environment
from course.runner.packages import packages
from course.runner.platforms import OWN_GROUP, kill_tree
from course.runner.progress import Process
from course.runner.time_limit import LAST_SHARED

NO_WARNINGS = ("-W", "ignore::pytest.PytestAssertRewriteWarning", "-W", "ignore::hypothesis.errors.HypothesisSideeffectWarning")
"""Options for pytest: do not warn that Hypothesis was imported and used before pytest started."""

MAX_PROCESSES = 4
"""Maximum number of processes per run; each takes about 60 MB."""


class Prefork:
    """Starts pytest in processes that were started in advance.

    Args:
        root: The workspace.

    Attributes:
        shares: Number of processes per run.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.shares = min(os.cpu_count() or 1, MAX_PROCESSES)
        self.stage = 0
        self.environment: Mapping[str, str] = {}
        self.waiting: list[Process] = []

    def prepare(self, task: Task) -> None:
        """Start the processes for the next run of this task's tests, unless they are waiting already."""
        needed = os.environ | environment(task)
        if (self.environment, self.stage) != (needed, task.stage):
            self.close()
            self.environment, self.stage = needed, task.stage
        self.waiting = [process for process in self.waiting if process.poll() is None]
        while len(self.waiting) < (self.shares if task.stage <= LAST_SHARED else 1):
            self.waiting.append(self._start(needed))

    def launch(self, arguments: Sequence[str], root: Path, env: Mapping[str, str]) -> Process:
        """Start pytest in a waiting process if its environment fits, else in a new one; see `progress.Launch`."""
        while self.waiting:
            process = self.waiting.pop(0)
            if process.poll() is None and self.environment == env:
                break
            _end(process)
        else:
            process = self._start(env)
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # the process has just ended and will write no report
            process.stdin.write(json.dumps([*arguments, *NO_WARNINGS]) + "\n")
            process.stdin.close()
        process.stdin = None
        return process

    def close(self) -> None:
        """End the waiting processes."""
        while self.waiting:
            _end(self.waiting.pop())

    def _start(self, env: Mapping[str, str]) -> Process:
        around = {"HYPOTHESIS_STORAGE_DIRECTORY": str(self.root / ".course" / "hypothesis"), **env}
        command = [sys.executable, "-m", "course.runner.prefork", *packages(self.stage)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return Process(command, cwd=self.root, env=around, text=True, errors="replace", **pipes, **OWN_GROUP)


def _end(process: Process) -> None:
    """End a waiting process."""
    with process:
        kill_tree(process)


def main() -> None:
    """Import what the tests need, wait for the arguments, run pytest, and exit with its exit code."""
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):  # the tests report it
            importlib.import_module(name)
    import pytest

    quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with contextlib.suppress(Exception), quiet[0], quiet[1]:  # a plugin may fail, which the run itself reports
        pytest.main(["--version", "--noconftest"])  # imports the plugins, but none of the student's code
    _try_hypothesis()
    gc.collect()
    gc.freeze()  # imported modules stay, so the garbage collector can skip them
    gc.set_threshold(50_000, 20, 100)  # and not scan a graph of 100,000 nodes ten times while it is built
    if line := sys.stdin.readline():
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.exit(pytest.main(json.loads(line)))


def _try_hypothesis() -> None:
    """Test a property that holds, because Hypothesis imports many of its modules only during a test."""
    with contextlib.suppress(ImportError):
        from hypothesis import given, settings, strategies

        given(strategies.floats(), strategies.lists(strategies.floats()))(settings(max_examples=5, database=None)(lambda x, xs: None))()


if __name__ == "__main__":
    main()
