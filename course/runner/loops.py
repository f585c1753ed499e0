"""Whether a running loop ends: its iterations are watched for a moment, and what could end it is compared between them."""

from __future__ import annotations

import ast
import collections
import contextlib
import functools
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

from course.runner.messages import shown
from course.workspace.function_source import Unreadable, decode, parse

FRAMES = 10
"""The number of innermost functions whose loops are watched."""

ENOUGH = 3
"""After this many iterations, variables that have not changed count as evidence."""

CHARACTERS = 40
"""At most this many characters of a value are shown."""

SIZE = 1000
"""At most this many objects are compared for a variable: its elements and attributes, and theirs."""

INFINITE = ("count", "cycle", "repeat")
"""Functions of itertools whose results do not end."""

PURE = ("abs", "all", "any", "bool", "float", "int", "isinstance", "len", "max", "min", "print", "range", "sum")
"""Functions whose result depends only on their arguments."""


class Loop:
    """A running loop and what its iterations changed.

    Args:
        node: Its statement.
        place: Its file and line.
    """

    def __init__(self, node: ast.For | ast.While, place: str) -> None:
        self.node, self.place = node, place
        self.can_exit = any(True for _ in _exits(node))
        self.deciding = [] if isinstance(node, ast.While) and self.can_exit else _deciding(node)  # none: any variable may end it
        self.iterations = 0
        self.first: dict[str, str] = {}  # some variables at the first iteration that was watched, as shown
        self.last: dict[str, str] = {}
        self.states: dict[str, list[object]] = {}  # what is compared, by variable
        self.has_changed = False

    def iterate(self, frame: FrameType) -> None:
        """Compare the variables at the beginning of an iteration."""
        variables = {**frame.f_globals, **frame.f_locals}
        names = [name for name in self.deciding or frame.f_locals if name in variables]
        states = {name: _state(variables[name]) for name in names}
        self.has_changed |= self.iterations > 0 and states != self.states
        self.last = {name: shown(variables[name])[:CHARACTERS] for name in names[:2] if not callable(variables[name])}
        self.first = self.first if self.iterations else self.last
        self.states, self.iterations = states, self.iterations + 1

    def why_endless(self) -> str:
        """Why it does not end; "" if it may end."""
        is_infinite = _is_infinite(self.node.iter) if isinstance(self.node, ast.For) else not self.deciding
        if is_infinite and not self.can_exit:
            return "it has no break and no return"
        if isinstance(self.node, ast.For) or self.iterations < ENOUGH or self.has_changed:
            return ""
        if not all(_is_pure(call) for call in ast.walk(self.node.test if self.deciding else self.node)):
            return ""
        values = ", ".join(f"{name} = {value}" for name, value in self.last.items())
        return f"nothing that could end it changed in {self.iterations} iterations{f' ({values})' if values else ''}"

    def progress(self) -> str:
        """What changed while it was watched, such as "i went from 3 to 9"; "" if nothing did."""
        return ", ".join(
            f"{name} went from {old} to {self.last[name]}" for name, old in self.first.items() if self.last.get(name, old) != old
        )


class LoopWatch:
    """Watches the loops in the innermost functions of the student's, from now until `stop`; none if a debugger traces them.

    Args:
        frame: The innermost frame.
        root: The workspace.
        folders: The folders in it whose functions are watched.
    """

    def __init__(self, frame: FrameType | None, root: Path, folders: tuple[str, ...]) -> None:
        self.root = root
        self.loops: dict[tuple[FrameType, ast.AST], Loop] = {}
        starts = tuple(f"{root / folder}{os.sep}" for folder in folders)
        frames = [each for each in _stack(frame) if each.f_code.co_filename.startswith(starts)]
        self.function = frames[0].f_code.co_qualname.replace("<locals>.", "") if frames else ""
        self.levels = sum(each.f_code is frames[0].f_code for each in frames)
        self.frames = frames[:FRAMES] if sys.gettrace() is None else []
        for each in self.frames:
            each.f_trace = self._trace
        if self.frames:
            sys.settrace(lambda *_: None)  # functions that are called from now on are not watched

    def stop(self) -> None:
        """Stop watching."""
        if self.frames:
            sys.settrace(None)
        for each in self.frames:
            each.f_trace = None
        self.frames = []

    def endless(self) -> str:
        """The innermost loop that does not end and the reason; "" if all of them may end."""
        found = (f"{loop.place}: {why}" for loop in self.loops.values() if (why := loop.why_endless()))
        return next(found, "")

    def progress(self) -> str:
        """What the outermost loop that goes on has done meanwhile, or the depth of a recursion; "" if neither is known."""
        found = [f"{loop.place}, where {moved}" for loop in self.loops.values() if (moved := loop.progress())]
        if found:
            return f"it was still in the loop of {found[-1]}"
        return f"{self.function} was calling itself, {self.levels} levels deep" if self.levels >= ENOUGH else ""

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """Note an iteration when execution reaches the line at which iterations of a loop begin."""
        file = frame.f_code.co_filename
        for node in _loops(file).get(frame.f_lineno, ()) if event == "line" else ():
            place = f"{Path(file).relative_to(self.root).as_posix()}:{node.lineno}"
            self.loops.setdefault((frame, node), Loop(node, place)).iterate(frame)
        return self._trace


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


@functools.lru_cache(maxsize=32)
def _loops(file: str) -> dict[int, list[ast.For | ast.While]]:
    """The loops of a file by the line at which an iteration begins."""
    found: dict[int, list[ast.For | ast.While]] = {}
    with contextlib.suppress(OSError, Unreadable):
        for node in ast.walk(parse(decode(Path(file).read_bytes())[0])):
            if isinstance(node, ast.For):
                found.setdefault(node.lineno, []).append(node)
            elif isinstance(node, ast.While):  # a constant condition is not compiled
                found.setdefault(node.test.lineno if _deciding(node) else node.body[0].lineno, []).append(node)
    return found


def _deciding(loop: ast.For | ast.While) -> list[str]:
    """The variables that a `for` sets, or that the condition of a `while` reads."""
    part = loop.target if isinstance(loop, ast.For) else loop.test
    return list(dict.fromkeys(node.id for node in ast.walk(part) if isinstance(node, ast.Name)))


def _is_infinite(iterable: ast.expr) -> bool:
    """Whether this is a call such as itertools.count()."""
    called = iterable.func if isinstance(iterable, ast.Call) else None
    return (called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else "") in INFINITE


def _exits(node: ast.AST) -> Iterator[ast.AST]:
    """The statements in a loop that leave it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return | ast.Raise | ast.Assert | ast.Yield | ast.YieldFrom | ast.Break):
            yield child
        elif isinstance(child, ast.For | ast.While):
            yield from (each for each in _exits(child) if not isinstance(each, ast.Break))
        elif not isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            yield from _exits(child)


def _is_pure(node: ast.AST) -> bool:
    """Whether a node calls no function, or one whose result depends only on its arguments."""
    return not isinstance(node, ast.Call) or (isinstance(node.func, ast.Name) and node.func.id in PURE)


def _state(value: object) -> list[object]:
    """What differs after a value has changed, or anything in it. It runs no code of the student's."""
    found: list[object] = []
    waiting = collections.deque([value])
    while waiting and len(found) < SIZE:
        each = waiting.popleft()
        if each is None or isinstance(each, int | float | complex | str | bytes):
            found.append(repr(each))
            continue
        found.append(id(each))
        if hasattr(type(each), "__next__"):
            found.append(object())  # nobody can tell without taking an element from it
        elif hasattr(type(each), "tobytes"):
            found.append(each.tobytes())  # type: ignore[attr-defined]
        elif isinstance(each, dict):
            waiting.extend(itertools.islice(itertools.chain.from_iterable(each.items()), SIZE))
        elif isinstance(each, list | tuple | set | frozenset | collections.deque):
            found.append(len(each))
            waiting.extend(itertools.islice(each, SIZE))
        elif not isinstance(each, type | FunctionType | ModuleType):
            slots = [name for kind in type(each).__mro__ for name in getattr(kind, "__slots__", ())]
            waiting.extend(object.__getattribute__(each, name) for name in slots if hasattr(each, name))
            waiting.extend(getattr(each, "__dict__", {}).values())
    return found
