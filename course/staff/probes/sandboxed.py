"""Child processes that run submissions in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from course.staff.probes.remote import CHILD, MAX_ANSWER_BYTES, ChildProcess, Launcher, NoReply
from course.staff.sandbox.line_protocol import Child
from course.staff.sandbox.line_protocol import NoReply as Stopped
from course.staff.sandbox.monitor import Limits
from course.staff.sandbox.sandbox import PYTHON, Sandbox

LIMITS = Limits(seconds=1200, output=MAX_ANSWER_BYTES)
"""Resource limits of a child while the probes of one task run."""

SIMULATED_THREADS = 1300
"""The simulator runs each thread of a block as an operating-system thread, and a block of Task 3.4 has 32 · 32."""

STACKS = 16 << 30
"""Bytes of address space for the stacks of these threads; little of it is used."""

DESCRIPTIONS = {
    "time": "gave no answer in time",
    "ended": "exited before it answered",
    "memory": "exceeded the memory limit",
    "output": f"sent an answer of more than {MAX_ANSWER_BYTES} bytes",
    "files": "exceeded the limit on files",
    "babble": "answered before the request",
}
"""Verb phrases for messages, by the reason code of the sandbox."""


class SandboxedChild:
    """A child process in the sandbox.

    Args:
        stack: Kills the child when it is closed.
        child: The process that the sandbox returned.
    """

    def __init__(self, stack: ExitStack, child: Child) -> None:
        self._stack = stack
        self._child = child

    def ask(self, line: bytes, seconds: float) -> bytes:
        """See `ChildProcess.ask`."""
        try:
            return self._child.ask(line, seconds)
        except Stopped as stopped:
            self.end()
            raise NoReply(DESCRIPTIONS.get(stopped.reason, f"stopped ({stopped.reason})"), hung=stopped.reason == "time") from None

    def end(self) -> None:
        """See `ChildProcess.end`."""
        self._stack.close()


@dataclass(frozen=True)
class RecordingChild:
    """A child process whose requests are recorded.

    Attributes:
        child: The child.
        requests: The lines so far, each with its line break.
    """

    child: ChildProcess
    requests: list[bytes]

    def ask(self, line: bytes, seconds: float) -> bytes:
        """See `ChildProcess.ask`."""
        self.requests.append(line + b"\n")
        return self.child.ask(line, seconds)

    def end(self) -> None:
        """See `ChildProcess.end`."""
        self.child.end()


def sandbox_launcher(sandbox: Sandbox, folder: Path, cache: Path | None = None, limits: Limits = LIMITS) -> Launcher:
    """A launcher of child processes in a sandbox, for the package in a folder.

    Args:
        sandbox: The sandbox.
        folder: The folder with the submission.
        cache: Numba's cache, which has the compiled kernels of the reference.
        limits: Resource limits of a child.
    """

    def launch(environment: Mapping[str, str]) -> SandboxedChild:
        simulated = replace(limits, processes=SIMULATED_THREADS, mapped=STACKS)
        stack = ExitStack()
        child = stack.enter_context(
            sandbox.start(
                [PYTHON, "-I", str(CHILD), "{files}", "3", "4"],
                files=folder,
                limits=simulated if environment.get("NUMBA_ENABLE_CUDASIM") else limits,
                reads=(CHILD,),
                environment=environment,
                cache=cache,
            )
        )
        return SandboxedChild(stack, child)

    return launch
