"""A program that runs for a page, in a separate process that prints lines of JSON and can be stopped at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping
from typing import IO, Any

from course.manifest import ROOT
from project.lab.cards import Card, StudentCodeFailed

if sys.platform == "linux":
    import resource

MEMORY_SHARE = 0.5
"""The share of the machine's memory that a program may use; MINITORCH_JOB_MEMORY, in MiB, replaces it."""

NICENESS = 5
"""By how much a program's priority is lower than the page's, so that the page answers while several programs run."""

UNWRITTEN = re.compile(r"Need to implement for Task \d+\.\d+[a-z]?")


class Failed(Exception):
    """The program ended with an error; the message is the end of its error output."""


class Job:
    """A running program of project/.

    It ends when it is done, when it is stopped, or when this object is no longer referenced.

    Args:
        program: Its path in `project/`.
        arguments: Its command-line arguments.
        environment: Environment variables to add.

    Attributes:
        lines: The lines that it has printed, up to the last `read`.
    """

    def __init__(self, program: str, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self.lines: list[dict[str, Any]] = []
        self._card: Card | None = None  # of an error in student code
        self._rest = b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed together with the job
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "project" / program), *arguments],
            cwd=ROOT,
            env=os.environ | {"PYTHONIOENCODING": "utf-8"} | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        _restrict(self._process.pid)
        assert self._process.stdout
        os.set_blocking(self._process.stdout.fileno(), False)
        self._end = weakref.finalize(self, _end, self._process, self._errors)

    @property
    def running(self) -> bool:
        """Whether the program is running."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Kill the program; the lines that it has printed are kept."""
        self._end()

    def read(self) -> bool:
        """Read the new output, and return whether more may follow.

        Raises:
            NotImplementedError: If the program reached unwritten code; the message is that of the code.
            StudentCodeFailed: If it printed the card of an error in student code.
            Failed: If it ended with another error.
        """
        more = self.running  # checked first, so that everything printed before the exit is read below
        assert self._process.stdout
        if not self._process.stdout.closed:
            *complete, self._rest = (self._rest + (self._process.stdout.read() or b"")).split(b"\n")
            for line in map(json.loads, complete):
                if "card" in line:
                    self._card = Card(**line["card"])
                else:
                    self.lines.append(line)
        if not more and self._process.returncode and self._end.alive:
            self._errors.seek(0)
            self._raise(self._errors.read().decode("utf-8", "replace").strip())
        return more

    def wait(self, seconds: float) -> None:
        """Wait for the program to end; stop it after this many seconds.

        Raises:
            Failed: If it does not end in time; see also `read`.
        """
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            raise Failed(f"it did not end within {seconds:g} seconds; is there an endless loop?") from None
        self.read()

    def _raise(self, said: str) -> None:
        """Raise the error that ended the program."""
        if self._card is not None:
            raise StudentCodeFailed(self._card)
        if unwritten := UNWRITTEN.search(said):
            raise NotImplementedError(unwritten[0])
        if self.lines and self._process.returncode == 1 and not said:
            return  # it reported a negative result, not an error
        raise Failed("\n".join(said.splitlines()[-12:]) or f"it ended with status {self._process.returncode}")


def memory_limit() -> int:
    """Return the bytes of memory that a program may allocate.

    Raises:
        ValueError: If MINITORCH_JOB_MEMORY is not a positive number of MiB.
    """
    given = os.environ.get("MINITORCH_JOB_MEMORY", "")
    if given and not (given.isdecimal() and int(given)):
        raise ValueError(f"MINITORCH_JOB_MEMORY expected a number of MiB, such as 2048, got {given!r}")
    return int(given) << 20 if given else int(MEMORY_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _restrict(process: int) -> None:
    """Limit the memory of a program, where the system can do that from outside (Linux), and lower its priority."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "linux":
            resource.prlimit(process, resource.RLIMIT_DATA, (memory_limit(), memory_limit()))
        if sys.platform != "win32":
            os.setpriority(os.PRIO_PROCESS, process, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    """Kill the program if it is still running, and close its pipe and its file."""
    if process.poll() is None:
        process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()
    errors.close()
