"""Calls into a submission that runs in a process of its own: what is asked, how it is sent, and what comes back.

The child (`grading/child.py`) may be anything by then: dead, silent, or busy writing answers that nobody asked for. So every request
carries a number that nobody can guess, every answer has a time limit and a length, and plain data alone is read from it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from course.staff.probes.plain import Raised, decoded, listed
from course.staff.probes.program import Program, Value, coded

CHILD = Path(__file__).parent.parent / "grading" / "child.py"
"""What runs in the child; it needs no other file."""

SECONDS = 10.0
"""How long one answer may take."""

STARTING = 90.0
"""How long the first one may, for which the submission is imported."""

LONGEST = 1 << 22
"""Bytes of an answer."""


class NoReply(Exception):
    """The child answers no more.

    Args:
        did: Why, as what it did.
        hung: Whether it took too long.
    """

    def __init__(self, did: str, hung: bool = False) -> None:
        super().__init__(did)
        self.hung = hung


class Running(Protocol):
    """A child that runs."""

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Send a line and return the line that comes back, without its end.

        Raises:
            NoReply: If none does in time, or another came before it. The child is ended.
        """
        ...

    def end(self) -> None:
        """End it and what it has started."""
        ...


Launcher = Callable[[Mapping[str, str]], Running]
"""Starts a child, with this in its environment beside what it needs to run."""


class PlainChild:
    """A child without a sandbox: for tests, and for what a teacher wrote.

    Args:
        folder: The submission's package stands in it.
        environment: The environment besides this process's.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYTHON", "HYPOTHESIS_"))}
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(CHILD), str(folder)],
            cwd=folder,
            env={**inherited, "PYTHONHASHSEED": "0", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._requests, False)
        os.set_blocking(self._answers, False)

    def ask(self, line: bytes, seconds: float) -> bytes:
        """See `Running.ask`."""
        try:
            return self._exchange(line + b"\n", seconds)
        except NoReply:
            self.end()
            raise

    def end(self) -> None:
        """See `Running.end`."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def _exchange(self, unsent: bytes, seconds: float) -> bytes:
        if self._process.poll() is not None or self._process.stdin is None or self._process.stdin.closed:
            raise NoReply("ended before it was asked")
        end, unread = time.monotonic() + seconds, b""
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        if poll.poll(0):
            raise NoReply("answered before it was asked" if os.read(self._answers, 1) else "ended before it was asked")
        poll.register(self._requests, select.POLLOUT)
        while not unread.endswith(b"\n"):
            left = end - time.monotonic()
            ready = dict(poll.poll(left * 1000)) if left > 0 else {}
            if not ready:
                raise NoReply(f"gave no answer in {seconds:g} s", hung=True)
            if self._requests in ready:
                unsent = self._send(unsent)
                if not unsent:
                    poll.unregister(self._requests)
            if self._answers in ready:
                piece = os.read(self._answers, 1 << 16)
                if not piece:
                    raise NoReply("ended before it had answered")
                unread += piece
                if len(unread) > LONGEST:
                    raise NoReply(f"sent an answer of more than {LONGEST} bytes")
                if unsent or b"\n" in unread[:-1]:
                    raise NoReply("sent more than one answer")
        return unread[:-1]

    def _send(self, unsent: bytes) -> bytes:
        """What is left when the pipe has taken what it takes."""
        try:
            return unsent[os.write(self._requests, unsent) :]
        except BlockingIOError:
            return unsent
        except OSError:
            raise NoReply("ended before it was asked") from None


def plain_launcher(folder: Path) -> Launcher:
    """Starts children without a sandbox on the package in this folder."""
    return lambda environment: PlainChild(folder, environment)


class Remote:
    """A submission that answers calls.

    Args:
        launch: Starts its process.
        environment: What must be in the environment of that.

    Attributes:
        answers: How many there were.

    Raises:
        NoReply: If it cannot be imported, or ends, or hangs.
    """

    def __init__(self, launch: Launcher, environment: Mapping[str, str] | None = None) -> None:
        self.answers = 0
        self._child = launch(environment or {})
        (imported,) = self.ask([[Program().find("importlib:import_module")("minitorch")]], STARTING)
        if isinstance(imported, Raised):
            self.end()
            raise NoReply(f"could not be imported: it {imported}")

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the child."""
        self._child.end()

    def ask(self, batch: Sequence[Sequence[Value]], seconds: float = SECONDS) -> list[list[Any] | Raised]:
        """Do the steps of several programs, one after the other, and return these values of each, or what it raised.

        All go in one line: on a busy machine most of the time is spent on waiting for one's turn.

        Args:
            batch: Values of one program, values of the next, …
            seconds: How long the answer may take.

        Raises:
            NoReply: If there is no answer in time, or one that is none. The child is ended.
        """
        number = secrets.token_hex(8)
        programs = [[values[0]._program.steps, coded(list(values))] for values in batch]
        line = self._child.ask(json.dumps({"id": number, "programs": programs}).encode(), seconds)
        try:
            found = _read(line, number, [len(values) for values in batch])
        except NoReply:
            self.end()
            raise
        self.answers += len(found)
        return found


def _read(line: bytes, number: str, counts: list[int]) -> list[list[Any] | Raised]:
    """What a line answers to the request with this number, which asks for so many values of each program.

    Raises:
        NoReply: If it is the answer to another one, or none.
    """
    if len(line) > LONGEST:
        raise NoReply(f"sent an answer of more than {LONGEST} bytes")
    try:
        answer = json.loads(line)
        if answer["id"] != number:
            raise NoReply("answered what was not asked")
        found: list[list[Any] | Raised] = []
        for given, count in zip(listed(answer["answers"]), counts, strict=True):
            if isinstance(given, dict):
                kinds, message = given["error"]
                found.append(Raised([str(kind) for kind in kinds] or ["nothing"], str(message)))
            elif len(listed(given)) == count:
                found.append(decoded(given))
            else:
                raise ValueError("not as many values as were asked for")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError, MemoryError):
        raise NoReply("sent an answer that is none") from None
    return found
