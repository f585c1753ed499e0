"""Submissions asked in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from course.staff.probes.remote import CHILD, LONGEST, Launcher, NoReply, Running
from course.staff.sandbox.line_protocol import Child
from course.staff.sandbox.line_protocol import NoReply as Stopped
from course.staff.sandbox.monitor import Limits
from course.staff.sandbox.sandbox import PYTHON, Sandbox

LIMITS = Limits(seconds=1200, output=LONGEST)
"""What a child may use while the probes of one task are put to it."""

SIMULATED_THREADS = 1300
"""The simulator runs each thread of a block as one of the system, and a block of Task 3.4 has 32 · 32."""

STACKS = 16 << 30
"""Bytes of addresses for the stacks of so many threads; few of them are filled."""

DID = {
    "time": "gave no answer in time",
    "ended": "ended before it had answered",
    "memory": "needed more memory than it may",
    "output": f"sent an answer of more than {LONGEST} bytes",
    "files": "wrote more files than it may",
    "babble": "answered before it was asked",
}
"""What a child did, by the sandbox's word for it."""


class SandboxedChild:
    """A child in the sandbox.

    Args:
        stack: Ends it when it is closed.
        child: What the sandbox gave.
    """

    def __init__(self, stack: ExitStack, child: Child) -> None:
        self._stack = stack
        self._child = child

    def ask(self, line: bytes, seconds: float) -> bytes:
        """See `Running.ask`."""
        try:
            return self._child.ask(line, seconds)
        except Stopped as stopped:
            self.end()
            raise NoReply(DID.get(stopped.reason, f"stopped ({stopped.reason})"), hung=stopped.reason == "time") from None

    def end(self) -> None:
        """See `Running.end`."""
        self._stack.close()


@dataclass(frozen=True)
class Recorded:
    """A child that is asked by somebody who writes down what.

    Attributes:
        child: The child.
        asked: The lines so far, each with its line break.
    """

    child: Running
    asked: list[bytes]

    def ask(self, line: bytes, seconds: float) -> bytes:
        """See `Running.ask`."""
        self.asked.append(line + b"\n")
        return self.child.ask(line, seconds)

    def end(self) -> None:
        """See `Running.end`."""
        self.child.end()


def sandbox_launcher(sandbox: Sandbox, folder: Path, cache: Path | None = None, limits: Limits = LIMITS) -> Launcher:
    """Starts children in a sandbox on the package in this folder.

    Args:
        sandbox: Where.
        folder: What the submission was grafted into.
        cache: numba's cache, which has the reference's kernels.
        limits: What a child may use.
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
