"""A process that has loaded pytest and Hypothesis ahead and waits for its arguments: a run then starts at once.

Each serves for one run, so that the student's code is always loaded afresh, and the next one warms up while the student reads.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from course.gpu import environment
from course.manifest import Task
from course.platforms import OWN_GROUP, kill_tree
from course.progress import Process

AHEAD = {0: ("hypothesis.strategies",), 2: ("numpy",), 3: ("numba",)}
"""What a process loads ahead, by the first stage whose tests use it."""


class Warm:
    """Starts runs of pytest in processes that were loaded ahead.

    Args:
        root: The workspace.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stage = 0
        self.environment: Mapping[str, str] = {}
        self.waiting: Process | None = None

    def prepare(self, task: Task) -> None:
        """Load a process ahead for a run of this task's tests, unless one waits."""
        needed = os.environ | environment(task)
        if self.waiting is None or (self.environment, self.stage) != (needed, task.stage) or self.waiting.poll() is not None:
            self.close()
            self.environment, self.stage = needed, task.stage
            self.waiting = self._start(needed)

    def launch(self, arguments: Sequence[str], root: Path, env: Mapping[str, str]) -> Process:
        """Start pytest, see `progress.Launch`: in the process that waits if it fits, else in a fresh one."""
        process, self.waiting = self.waiting, None
        if process is None or process.poll() is not None or self.environment != env:
            process = self._start(env)
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it has just ended: then there will be no report
            process.stdin.write(json.dumps([*arguments, "-W", "ignore::pytest.PytestAssertRewriteWarning"]) + "\n")
            process.stdin.close()  # pytest will not be surprised that Hypothesis is there already
        process.stdin = None
        return process

    def close(self) -> None:
        """End the process that waits."""
        if self.waiting is not None:
            with self.waiting as process:
                kill_tree(process)
            self.waiting = None

    def _start(self, env: Mapping[str, str]) -> Process:
        ahead = [name for stage, names in AHEAD.items() if stage <= self.stage for name in names]
        around = {"HYPOTHESIS_STORAGE_DIRECTORY": str(self.root / ".course" / "hypothesis"), **env}
        command = [sys.executable, "-m", "course.warm", *ahead]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return Process(command, cwd=self.root, env=around, text=True, errors="replace", **pipes, **OWN_GROUP)


def main() -> None:
    """Load ahead, wait, run, and exit as pytest does."""
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):  # the tests will tell
            importlib.import_module(name)
    import pytest

    if line := sys.stdin.readline():
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.exit(pytest.main(json.loads(line)))


if __name__ == "__main__":
    main()
