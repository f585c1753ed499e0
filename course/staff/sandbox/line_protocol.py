"""Requests to a sandboxed program: one line of bytes each way, with a time limit."""

from __future__ import annotations

import os
import select
import threading
import time
from io import FileIO

from course.staff.sandbox.monitor import Guard, RunResult, SandboxError


class NoReply(RuntimeError):
    """The program did not reply and was killed.

    Args:
        reason: "ended" (it ended by itself), "time", "memory", "output" (it printed too much, or a line that is too long), "files", or
            "babble" (it wrote a reply before there was a request).

    Attributes:
        reason: The reason.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the program did not reply: {reason}")
        self.reason = reason


class Child:
    """A sandboxed program that replies to requests.

    Args:
        guard: Watches the program, in a new thread.
        requests: The pipe from which the program reads.
        replies: The pipe to which the program writes.

    Attributes:
        ended: The outcome of the run, once it has ended.
    """

    def __init__(self, guard: Guard, requests: FileIO, replies: FileIO) -> None:
        self.ended: RunResult | None = None
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
        """Send a request and wait for the reply.

        Args:
            line: The request, without its newline.
            seconds: Time limit.

        Returns:
            The reply, without its newline.

        Raises:
            NoReply: If no line arrives in time, or one arrived before the request.
            SandboxError: If the sandbox could not be set up.
            ValueError: If the request contains a newline.
        """
        if b"\n" in line:
            raise ValueError("a request expected one line, got a newline in it; encode it as JSON")
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
        """Kill the program.

        Raises:
            SandboxError: If the sandbox could not be set up.
        """
        self._guard.stop("stopped")
        self._watcher.join()
        if self._error is not None:
            raise self._error

    def _send(self, data: bytes, deadline: float) -> None:
        """Write all data, even if the program reads slowly."""
        while data:
            try:
                data = data[os.write(self._requests, data) :]
            except BlockingIOError:
                self._wait([], [self._requests], deadline)
            except BrokenPipeError:
                self._give_up("ended")

    def _receive(self) -> bool:
        """Read available data into the buffer; False at the end of the stream."""
        data = os.read(self._replies, 1 << 16)
        self._buffer += data
        return bool(data)

    def _wait(self, read: list[int], write: list[int], deadline: float) -> None:
        """Wait until a pipe is ready, up to the deadline."""
        if not any(select.select(read, write, [], max(0.0, deadline - time.monotonic()))):
            self._give_up("time")

    def _give_up(self, reason: str) -> None:
        """Kill the program and raise an error; the guard may have a more specific reason."""
        if reason == "ended":
            self._watcher.join(timeout=1)  # the watcher also sees the end, and whether the sandbox failed
        self._guard.stop(reason)
        self._watcher.join()
        if self._error is not None:
            raise self._error
        raise NoReply(self._guard.reason)

    def _watch(self) -> None:
        """Wait for the end; an error of the sandbox is stored for the next caller."""
        try:
            self.ended = self._guard.watch()
        except SandboxError as error:
            self._error = error
