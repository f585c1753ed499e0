"""A loop that does not end: its line and its variables over some turns, taken down when the time of a test is up."""

from __future__ import annotations

import ast
import linecache
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from course.runner.messages import shown
from course.workspace.locate import STUDENTS

TURNS = 3
"""So many turns are taken down."""

WAIT = 2.0
"""Seconds in which they must come."""

NAMES, LETTERS = 6, 60
"""So many variables are shown, with so many letters of each."""


class Endless:
    """Takes the place of what ends a test whose time is up: first the loop goes on for some turns, under observation.

    Args:
        root: The workspace.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.frame: FrameType | None = None
        self.line = 0  # at which a turn is taken down
        self.turns: list[dict[str, str]] = []

    def install(self) -> None:
        """Be called when a clock runs out; where the system has no such clocks (Windows), nothing happens."""
        if hasattr(signal, "setitimer"):
            for number in (signal.SIGVTALRM, signal.SIGALRM):
                signal.signal(number, self._time_is_up)

    def found(self) -> dict[str, Any] | None:
        """Where the test was, and the variables at each turn; None if it was not stopped in a student's code."""
        if self.frame is None:
            return None
        code = self.frame.f_code
        line = loop_around(Path(code.co_filename), self.line) or self.line
        return {
            "file": Path(code.co_filename).relative_to(self.root).as_posix(),
            "line": line,
            "source": linecache.getline(code.co_filename, line).strip(),
            "function": code.co_qualname.replace("<locals>.", ""),
            "turns": self.turns,
        }

    def _time_is_up(self, number: int, frame: FrameType | None) -> None:
        """Observe the innermost call of a student's function, or if that has taken too long, end the test."""
        mine = self._innermost(frame)
        if mine is None or self.frame is not None:
            sys.settrace(None)
            raise KeyboardInterrupt
        self.frame, self.line = mine, mine.f_lineno
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, WAIT)
        mine.f_trace = self._trace
        sys.settrace(lambda *call: None)

    def _innermost(self, frame: FrameType | None) -> FrameType | None:
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(self.root) and path.relative_to(self.root).parts[0] in STUDENTS:
                return frame
            frame = frame.f_back
        return None

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Take down the variables each time the loop comes to the same line."""
        if event == "line":
            if not self.turns:
                self.line = frame.f_lineno
            if frame.f_lineno == self.line:
                if len(self.turns) == TURNS:
                    sys.settrace(None)
                    raise KeyboardInterrupt
                self.turns.append(variables(frame))
        return self._trace


def variables(frame: FrameType) -> dict[str, str]:
    """The local variables as they are now, those that the function binds last at the front."""
    names = [name for name in reversed(frame.f_code.co_varnames) if name in frame.f_locals and name != "self"]
    return {name: shown(frame.f_locals[name])[:LETTERS] for name in names[:NAMES]}


def loop_around(path: Path, line: int) -> int | None:
    """The line at which the innermost loop around a line begins."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.While | ast.For) and node.lineno <= line <= (node.end_lineno or 0)]
    return max((node.lineno for node in loops), default=None)


def told(hang: Mapping[str, Any]) -> str:
    """What was found, in words."""
    turns = hang["turns"]
    inside = f", in {hang['function']}" if hang["function"] != "<module>" else ""
    lines = [f"The test did not end. It was still at {hang['file']}:{hang['line']}{inside}:", f"    {hang['source']}"]
    if not turns:
        return "\n".join(lines)
    lines.append(f"{len(turns)} turns of the loop, one after the other:" if len(turns) > 1 else "One turn of the loop:")
    lines += [f"  {number}  {', '.join(f'{name} = {value}' for name, value in turn.items())}" for number, turn in enumerate(turns, 1)]
    if len(turns) > 1 and all(turn == turns[0] for turn in turns):
        lines.append("Nothing changes from turn to turn: what is to end the loop?")
    return "\n".join(lines)
