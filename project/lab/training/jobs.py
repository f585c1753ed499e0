"""A program that works for a page: in a process of its own, which prints lines of JSON and can be stopped at any moment."""

from __future__ import annotations

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

UNWRITTEN = re.compile(r"Need to implement for Task \d+\.\d+[a-z]?")


class Failed(Exception):
    """The program ended with an error; the message is the end of what it said."""


class Job:
    """A running program of project/.

    It ends when it is done, when it is stopped, or when nobody holds this object any more.

    Args:
        program: Its file under project/.
        arguments: Its flags.
        environment: Environment variables to add.

    Attributes:
        lines: What it has printed, as far as `read` has seen.
    """

    def __init__(self, program: str, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self.lines: list[dict[str, Any]] = []
        self._card: Card | None = None  # of an error in student code
        self._rest = b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # it goes when the job goes
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "project" / program), *arguments],
            cwd=ROOT,
            env=os.environ | {"PYTHONIOENCODING": "utf-8"} | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        assert self._process.stdout
        os.set_blocking(self._process.stdout.fileno(), False)
        self._end = weakref.finalize(self, _end, self._process, self._errors)

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it now; what it has printed stays."""
        self._end()

    def read(self) -> bool:
        """Take in what it has printed since, and say whether more may come.

        Raises:
            NotImplementedError: If it came upon code that is not written yet, with that code's message.
            StudentCodeFailed: If it printed the card of an error in student code.
            Failed: If it ended with another error.
        """
        more = self.running  # asked first: what it prints before it ends is then read below
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
        """Let it work to its end; after so many seconds it is stopped.

        Raises:
            Failed: If it is not done by then; also as `read`.
        """
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            raise Failed(f"it did not end within {seconds:g} seconds; is there a loop without an end?") from None
        self.read()

    def _raise(self, said: str) -> None:
        """What it ended with, as an exception."""
        if self._card is not None:
            raise StudentCodeFailed(self._card)
        if unwritten := UNWRITTEN.search(said):
            raise NotImplementedError(unwritten[0])
        if self.lines and self._process.returncode == 1 and not said:
            return  # its verdict, not an error
        raise Failed("\n".join(said.splitlines()[-12:]) or f"it ended with status {self._process.returncode}")


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    """Kill the program if it still runs, and let go of its pipe and its file."""
    if process.poll() is None:
        process.kill()
    process.wait()
    if process.stdout:
        process.stdout.close()
    errors.close()
