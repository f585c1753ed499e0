"""`course` in a terminal of its own, for `benchmarks.course`: how long a student waits after a save."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 120.0
"""Seconds after which a run is given up."""

QUIET = 0.15
"""A screen is complete when nothing has been written for so long."""


class Watching:
    """`course`, watching a workspace; a context.

    Args:
        workspace: The folder.
    """

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def __enter__(self) -> Watching:
        self.terminal, theirs = pty.openpty()
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "60"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "course"],
            cwd=self.workspace,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):
            os.write(self.terminal, b"q")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.terminal)

    def settle(self) -> str:
        """Wait until no tests run; the screen.

        Raises:
            TimeoutError: If that does not happen.
        """
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], QUIET)[0]:
                with contextlib.suppress(OSError):
                    self.text += os.read(self.terminal, 1 << 16).decode(errors="replace")
            elif "q quit" in self.screen() and "Running the tests" not in self.screen():
                return self.screen()
        raise TimeoutError(f"`course` in {self.workspace} did not come to an end; its screen:\n{self.screen()}")

    def screen(self) -> str:
        """What was written since the screen was last cleared, without colours."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text.rpartition("\x1b[2J")[2])

    def saved(self, file: Path) -> float:
        """Save a file with one more empty line; the seconds until the result stood on the screen."""
        self.text = ""
        with file.open("a", encoding="utf-8") as text:
            text.write("\n")
        begun = time.monotonic()
        self.settle()
        return time.monotonic() - begun - QUIET
