"""Asking a sandboxed program: one line of bytes out, one line back, each within its time."""

from __future__ import annotations

import os
import select
import threading
import time
from io import FileIO

from course.staff.sandbox.monitor import Ended, Guard, SandboxError


class Gone(RuntimeError):
    """The program gave no answer, and has been ended.

    Args:
        reason: "ended" (by itself), "time", "memory", "output" (it printed too much, or a line that is too long), "files", or "babble"
            (it answered before it was asked).

    Attributes:
        reason: The same.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the program gave no answer: {reason}")
        self.reason = reason


class Child:
    """A sandboxed program that answers.

    Args:
        guard: Watches it, from now on in a thread.
        requests: Where it reads.
        replies: Where it writes.

    Attributes:
        ended: How it ended, once it has.
    """

    def __init__(self, guard: Guard, requests: FileIO, replies: FileIO) -> None:
        self.ended: Ended | None = None
        self._guard = guard
        self._requests, self._replies = requests.fileno(), replies.fileno()
        self._buffer = bytearray()
        self._error: SandboxError | None = None
        for descriptor in (self._requests, self._replies):
            os.set_blocking(descriptor, False)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def output(self) -> str:
        """What it has printed so far, up to the limit."""
        return self._guard.output

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Send a line and wait for one.

        Args:
            line: The request, without its newline.
            seconds: How long to wait, by the clock.

        Raises:
            Gone: If no line comes back in time, or one came before the request.
            SandboxError: If the sandbox could not be set up.
            ValueError: If the request is more than one line.
        """
        if b"\n" in line:
            raise ValueError("a request is one line; got a newline inside it, write it as JSON")
        deadline = time.monotonic() + seconds
        if not self._guard.reason and (self._buffer or (select.select([self._replies], [], [], 0)[0] and self._receive())):
            self._give_up("babble")
        self._send(line + b"\n", deadline)
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > self._guard.limits.output:
                self._give_up("output")
            self._wait([self._replies], [], deadline)
            if not self._receive():
                self._give_up("ended")
        reply = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return reply

    def stop(self) -> None:
        """End the program.

        Raises:
            SandboxError: If the sandbox could not be set up.
        """
        self._guard.stop("stopped")
        self._watcher.join()
        if self._error is not None:
            raise self._error

    def _send(self, data: bytes, deadline: float) -> None:
        """Write all of it, though the program may be slow to read."""
        while data:
            try:
                data = data[os.write(self._requests, data) :]
            except BlockingIOError:
                self._wait([], [self._requests], deadline)
            except BrokenPipeError:
                self._give_up("ended")

    def _receive(self) -> bool:
        """Take in what has arrived; False if nothing will any more."""
        data = os.read(self._replies, 1 << 16)
        self._buffer += data
        return bool(data)

    def _wait(self, read: list[int], write: list[int], deadline: float) -> None:
        """Wait until a pipe is ready."""
        if not any(select.select(read, write, [], max(0.0, deadline - time.monotonic()))):
            self._give_up("time")

    def _give_up(self, reason: str) -> None:
        """End the program; the guard may know better why there is no answer."""
        if reason == "ended":
            self._watcher.join(timeout=1)  # it sees the same end, and whether the sandbox failed
        self._guard.stop(reason)
        self._watcher.join()
        if self._error is not None:
            raise self._error
        raise Gone(self._guard.reason)

    def _watch(self) -> None:
        """Wait for the end; an error of the sandbox is kept for whoever asks."""
        try:
            self.ended = self._guard.watch()
        except SandboxError as error:
            self._error = error
