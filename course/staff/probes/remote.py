"""Calls into a submission that runs in a separate process: requests, transport and answers.

The child (`grading/child.py`) may have exited, may hang, or may write answers without a request. So every request carries a random id,
every answer has a time limit and a maximum length, and only plain data is read from it.
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

from course.staff.probes.own_package import MODULE, in_own_package
from course.staff.probes.plain import Raised, decode, require_list
from course.staff.probes.program import Program, Value, encode

CHILD = Path(__file__).parent.parent / "grading" / "child.py"
"""The script of the child process; it needs no other file."""

SECONDS = 10.0
"""Time limit for one answer."""

IMPORT_SECONDS = 90.0
"""Time limit for the first answer, which includes the import of the submission."""

MAX_ANSWER_BYTES = 1 << 22
"""Maximum size of an answer."""


class NoReply(Exception):
    """The child process no longer answers.

    Args:
        reason: What the child did, as a verb phrase.
        hung: Whether it exceeded the time limit.
    """

    def __init__(self, reason: str, hung: bool = False) -> None:
        super().__init__(reason)
        self.hung = hung


class ChildProcess(Protocol):
    """A running child process."""

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Send a line and return the line of the answer, without its line break.

        Raises:
            NoReply: If no answer arrives in time, or one arrives before the request. The child is killed.
        """
        ...

    def end(self) -> None:
        """Kill the child and the processes that it has started."""
        ...


Launcher = Callable[[Mapping[str, str]], ChildProcess]
"""Starts a child process with these additional environment variables."""


class PlainChild:
    """A child process without a sandbox: for tests, and for code that a teacher wrote.

    Args:
        folder: The folder of the submission's package.
        environment: Variables in addition to the environment of this process.
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
        """See `ChildProcess.ask`."""
        try:
            return self._exchange(line + b"\n", seconds)
        except NoReply:
            self.end()
            raise

    def end(self) -> None:
        """See `ChildProcess.end`."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def _exchange(self, unsent: bytes, seconds: float) -> bytes:
        if self._process.poll() is not None or self._process.stdin is None or self._process.stdin.closed:
            raise NoReply("exited before the request")
        end, unread = time.monotonic() + seconds, b""
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        if poll.poll(0):
            raise NoReply("answered before the request" if os.read(self._answers, 1) else "exited before the request")
        poll.register(self._requests, select.POLLOUT)
        while not unread.endswith(b"\n"):
            left = end - time.monotonic()
            ready = dict(poll.poll(left * 1000)) if left > 0 else {}
            if not ready:
                raise NoReply(f"gave no answer within {seconds:g} s", hung=True)
            if self._requests in ready:
                unsent = self._send(unsent)
                if not unsent:
                    poll.unregister(self._requests)
            if self._answers in ready:
                chunk = os.read(self._answers, 1 << 16)
                if not chunk:
                    raise NoReply("exited before it answered")
                unread += chunk
                if len(unread) > MAX_ANSWER_BYTES:
                    raise NoReply(f"sent an answer of more than {MAX_ANSWER_BYTES} bytes")
                if unsent or b"\n" in unread[:-1]:
                    raise NoReply("sent more than one answer")
        return unread[:-1]

    def _send(self, unsent: bytes) -> bytes:
        """Write to the pipe and return the bytes that did not fit."""
        try:
            return unsent[os.write(self._requests, unsent) :]
        except BlockingIOError:
            return unsent
        except OSError:
            raise NoReply("exited before the request") from None


def plain_launcher(folder: Path) -> Launcher:
    """A launcher of child processes without a sandbox, for the package in a folder."""
    return lambda environment: PlainChild(folder, environment)


class Remote:
    """A submission that answers calls.

    Args:
        launch: Starts its process.
        environment: Environment variables for the process.

    Attributes:
        answers: Number of answers so far.

    Raises:
        NoReply: If it cannot be imported, exits or hangs.
    """

    def __init__(self, launch: Launcher, environment: Mapping[str, str] | None = None) -> None:
        self.answers = 0
        self._child = launch(environment or {})
        package = MODULE if in_own_package() else "minitorch"
        (imported,) = self.ask([[Program().find("importlib:import_module")(package)]], IMPORT_SECONDS)
        if isinstance(imported, Raised):
            self.end()
            raise NoReply(f"could not be imported: it {imported}")

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill the child."""
        self._child.end()

    def ask(self, batch: Sequence[Sequence[Value]], seconds: float = SECONDS) -> list[list[Any] | Raised]:
        """Run the steps of several programs in order, and return the requested values of each, or the error that it raised.

        All programs are sent in one line: on a busy machine, most of the time is spent waiting to be scheduled.

        Args:
            batch: Values of the first program, values of the second, …
            seconds: Time limit for the answer.

        Raises:
            NoReply: If there is no valid answer in time. The child is killed.
        """
        number = secrets.token_hex(8)
        programs = [[values[0]._program.steps, encode(list(values))] for values in batch]
        line = self._child.ask(json.dumps({"id": number, "programs": programs}).encode(), seconds)
        try:
            answers = _read(line, number, [len(values) for values in batch])
        except NoReply:
            self.end()
            raise
        self.answers += len(answers)
        return answers


def _read(line: bytes, number: str, counts: list[int]) -> list[list[Any] | Raised]:
    """Decode the answer to the request with this id, which asks for `counts` values of the programs.

    Raises:
        NoReply: If the answer is invalid or belongs to another request.
    """
    if len(line) > MAX_ANSWER_BYTES:
        raise NoReply(f"sent an answer of more than {MAX_ANSWER_BYTES} bytes")
    try:
        document = json.loads(line)
        if document["id"] != number:
            raise NoReply("answered a different request")
        answers: list[list[Any] | Raised] = []
        for answer, count in zip(require_list(document["answers"]), counts, strict=True):
            if isinstance(answer, dict):
                kinds, message = answer["error"]
                answers.append(Raised([str(kind) for kind in kinds] or ["nothing"], str(message)))
            elif len(require_list(answer)) == count:
                answers.append(decode(answer))
            else:
                raise ValueError("the number of values differs from the request")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError, MemoryError):
        raise NoReply("sent an invalid answer") from None
    return answers
