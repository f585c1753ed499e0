"""`course` in watch mode in a pseudo-terminal, for `benchmarks.course`: how long a student waits after a save."""

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

TIMEOUT = 120.0
"""Seconds after which a run counts as hung."""

QUIET = 0.15
"""A screen is complete after this many seconds without output."""


class WatchTerminal:
    """A context in which `course` watches a workspace.

    Args:
        workspace: The folder.
    """

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def __enter__(self) -> WatchTerminal:
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
        """Wait until no tests run, and return the screen.

        Raises:
            TimeoutError: If tests still run after TIMEOUT.
        """
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], QUIET)[0]:
                with contextlib.suppress(OSError):
                    self.text += os.read(self.terminal, 1 << 16).decode(errors="replace")
            elif "q quit" in self.screen() and "Running the tests" not in self.screen():
                return self.screen()
        raise TimeoutError(f"`course` in {self.workspace} still runs tests; its screen:\n{self.screen()}")

    def screen(self) -> str:
        """The output since the screen was last cleared, without colors."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text.rpartition("\x1b[2J")[2])

    def time_save(self, file: Path) -> float:
        """Append an empty line to a file, and return the seconds until the result is on the screen."""
        self.text = ""
        with file.open("a", encoding="utf-8") as text:
            text.write("\n")
        begun = time.monotonic()
        self.settle()
        return time.monotonic() - begun - QUIET
