"""A loop that does not end: its line, and its variables in some iterations, recorded when the time limit of a test expires."""

from __future__ import annotations

import ast
import linecache
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from course.runner.messages import shown
from course.workspace.locate import STUDENTS

ITERATIONS = 3
"""The number of iterations that are recorded."""

WAIT = 2.0
"""The time limit for these iterations, in seconds."""

NAMES, CHARACTERS = 6, 60
"""At most this many variables are shown, with this many characters each."""


class HangRecorder:
    """When a test has used up its time, records some more iterations of the innermost student function, then interrupts the test.

    Args:
        root: The workspace.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.frame: FrameType | None = None
        self.line = 0  # an iteration is recorded when execution reaches this line
        self.iterations: list[dict[str, str]] = []

    def stop(self) -> None:
        """Stop the timer that ends the recording."""
        signal.setitimer(signal.ITIMER_REAL, 0)

    def result(self) -> dict[str, Any] | None:
        """The loop and its variables in every recorded iteration; None if the test was not interrupted in student code."""
        if self.frame is None:
            return None
        code = self.frame.f_code
        line = loop_around(Path(code.co_filename), self.line) or self.line
        return {
            "file": Path(code.co_filename).relative_to(self.root).as_posix(),
            "line": line,
            "source": linecache.getline(code.co_filename, line).strip(),
            "function": code.co_qualname.replace("<locals>.", ""),
            "iterations": self.iterations,
        }

    def record(self, frame: FrameType | None) -> None:
        """Start recording the innermost student function; without one, interrupt the test."""
        innermost = self._innermost(frame)
        if innermost is None:
            self._interrupt()
        self.frame, self.line = innermost, innermost.f_lineno
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGALRM, self._interrupt)
        signal.setitimer(signal.ITIMER_REAL, WAIT)
        innermost.f_trace = self._trace
        sys.settrace(lambda *call: None)

    def _interrupt(self, *_: object) -> NoReturn:
        """Interrupt the test, when nothing is left to record or recording has taken too long."""
        sys.settrace(None)
        raise KeyboardInterrupt

    def _innermost(self, frame: FrameType | None) -> FrameType | None:
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(self.root) and path.relative_to(self.root).parts[0] in STUDENTS:
                return frame
            frame = frame.f_back
        return None

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Record the variables every time execution reaches the same line."""
        if event == "line":
            if not self.iterations:
                self.line = frame.f_lineno
            if frame.f_lineno == self.line:
                if len(self.iterations) == ITERATIONS:
                    self._interrupt()
                self.iterations.append(variables(frame))
        return self._trace


def variables(frame: FrameType) -> dict[str, str]:
    """The local variables, the last one that the function defines first."""
    names = [name for name in reversed(frame.f_code.co_varnames) if name in frame.f_locals and name != "self"]
    return {name: shown(frame.f_locals[name])[:CHARACTERS] for name in names[:NAMES]}


def loop_around(path: Path, line: int) -> int | None:
    """The first line of the innermost loop around a line."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.While | ast.For) and node.lineno <= line <= (node.end_lineno or 0)]
    return max((node.lineno for node in loops), default=None)


def describe(hang: Mapping[str, Any]) -> str:
    """A hang in words."""
    iterations = hang["iterations"]
    inside = f", in {hang['function']}" if hang["function"] != "<module>" else ""
    lines = [f"The test did not end. It was still running {hang['file']}:{hang['line']}{inside}:", f"    {hang['source']}"]
    if not iterations:
        return "\n".join(lines)
    lines.append(f"{len(iterations)} consecutive iterations:" if len(iterations) > 1 else "One iteration:")
    lines += [
        f"  {number}  {', '.join(f'{name} = {value}' for name, value in iteration.items())}"
        for number, iteration in enumerate(iterations, 1)
    ]
    if len(iterations) > 1 and all(iteration == iterations[0] for iteration in iterations):
        lines.append("No variable changes from one iteration to the next. What should end the loop?")
    return "\n".join(lines)
