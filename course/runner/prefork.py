"""Processes that have loaded pytest and Hypothesis ahead and wait for their arguments: a run then starts at once.

Each serves for one run, so that the student's code is always loaded afresh, and the next ones warm up while the student reads. The tests of
a run are dealt among several, as far as there are cores.
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
from course.runner.platforms import OWN_GROUP, kill_tree
from course.runner.progress import LAST_SHARED, Process, packages

UNSURPRISED = ("-W", "ignore::pytest.PytestAssertRewriteWarning", "-W", "ignore::hypothesis.errors.HypothesisSideeffectWarning")
"""For pytest: that Hypothesis is there already, and has been at work, is as it should be."""

MOST = 4
"""Processes that share a run; each takes some 60 MB."""


class Warm:
    """Starts runs of pytest in processes that were loaded ahead.

    Args:
        root: The workspace.

    Attributes:
        shares: How many processes are loaded for one run.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.shares = min(os.cpu_count() or 1, MOST)
        self.stage = 0
        self.environment: Mapping[str, str] = {}
        self.waiting: list[Process] = []

    def prepare(self, task: Task) -> None:
        """Load processes ahead for a run of this task's tests, as far as they do not wait already."""
        needed = os.environ | environment(task)
        if (self.environment, self.stage) != (needed, task.stage):
            self.close()
            self.environment, self.stage = needed, task.stage
        self.waiting = [process for process in self.waiting if process.poll() is None]
        while len(self.waiting) < (self.shares if task.stage <= LAST_SHARED else 1):
            self.waiting.append(self._start(needed))

    def launch(self, arguments: Sequence[str], root: Path, env: Mapping[str, str]) -> Process:
        """Start pytest, see `progress.Launch`: in a process that waits if one fits, else in a fresh one."""
        while self.waiting:
            process = self.waiting.pop(0)
            if process.poll() is None and self.environment == env:
                break
            _end(process)
        else:
            process = self._start(env)
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it has just ended: then there will be no report
            process.stdin.write(json.dumps([*arguments, *UNSURPRISED]) + "\n")
            process.stdin.close()
        process.stdin = None
        return process

    def close(self) -> None:
        """End the processes that wait."""
        while self.waiting:
            _end(self.waiting.pop())

    def _start(self, env: Mapping[str, str]) -> Process:
        around = {"HYPOTHESIS_STORAGE_DIRECTORY": str(self.root / ".course" / "hypothesis"), **env}
        command = [sys.executable, "-m", "course.runner.prefork", *packages(self.stage)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return Process(command, cwd=self.root, env=around, text=True, errors="replace", **pipes, **OWN_GROUP)


def _end(process: Process) -> None:
    """End a process that waits, if it still does."""
    with process:
        kill_tree(process)


def main() -> None:
    """Load ahead, wait, run, and exit as pytest does."""
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):  # the tests will tell
            importlib.import_module(name)
    import pytest

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        pytest.main(["--version", "--noconftest"])  # loads the plugins and nothing of the student's
    _try_hypothesis()
    gc.collect()
    gc.freeze()  # what is loaded stays: nobody needs to look it through for garbage
    gc.set_threshold(50_000, 20, 100)  # and a graph of 100,000 nodes not ten times while it is built
    if line := sys.stdin.readline():
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.exit(pytest.main(json.loads(line)))


def _try_hypothesis() -> None:
    """Test a property that holds: Hypothesis loads much of itself only then."""
    with contextlib.suppress(ImportError):
        from hypothesis import given, settings, strategies

        given(strategies.floats(), strategies.lists(strategies.floats()))(settings(max_examples=5, database=None)(lambda x, xs: None))()


if __name__ == "__main__":
    main()
