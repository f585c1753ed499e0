"""Locate the student's line when a test fails, or else the functions that the test calls."""

from __future__ import annotations

import ast
import contextlib
import functools
import linecache
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from course.manifest import ManifestError, load
from course.runner.compiler_messages import from_compiler, lines_named
from course.runner.failure_report import Place
from course.runner.messages import text_of

STUDENTS = ("minitorch", "project", "tests")
"""The folders in which a student writes."""

CACHED = type(functools.cache(len))
"""The type of functions that functools.cache wraps."""

MOST = 4
"""Maximum number of methods to show; more would not help."""


class Locator:
    """Finds the lines of a workspace that belong to an error.

    Args:
        root: The workspace.

    Attributes:
        written: The functions that students write, by file, each with its task; none without a manifest.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.written: dict[str, dict[str, str]] = {}
        with contextlib.suppress(ManifestError):
            for task in load(root / "course" / "tasks.toml").tasks:
                for name in task.write:
                    module, _, function = name.partition(":")
                    self.written.setdefault(module.replace(".", "/") + ".py", {})[function] = task.id

    def locate(self, error: BaseException, test: Path | None = None, task: str | None = None) -> Place | None:
        """The line to show for an error.

        This is the last line of the traceback in a function of the task; else in another function that students write, in their files, or
        in the test. So a wrong call of `view` is shown, not `view` itself. A compiler error has no traceback into these lines, but its
        message may name one.

        Args:
            error: The error.
            test: The file of the test that failed.
            task: The task of that test.
        """
        if from_compiler(error) and (place := self._compiler_location(text_of(error))):
            return place
        if isinstance(error, SyntaxError) and error.filename and (file := self._student_file(error.filename)):
            return Place(file, error.lineno or 1, (error.text or "").strip())
        found: Place | None = None
        theirs: Place | None = None
        asked: Place | None = None
        summaries = traceback.extract_tb(error.__traceback__)
        for frame, summary in zip(_frames(error), summaries, strict=True):
            code = frame.f_code
            file = self._student_file(code.co_filename)
            if file is None:
                continue
            in_tests = file.startswith("tests/")
            if in_tests and test is not None and (Path(code.co_filename) != test or (found and not found.file.startswith("tests/"))):
                continue
            function = "" if code.co_qualname == "<module>" else code.co_qualname.replace("<locals>.", "")
            found = Place(file, summary.lineno or code.co_firstlineno, (summary.line or "").strip(), function)
            if written := self._task(found):
                theirs = found = replace(found, in_task=True)
                asked = found if written == task else asked
        return asked or theirs or found

    def _compiler_location(self, message: str) -> Place | None:
        """The innermost line in a function that students write, among those that Numba's message names."""
        for filename, line in lines_named(message):
            path = os.path.abspath(filename)
            if (file := self._student_file(path)) is None:
                continue
            place = Place(file, line, linecache.getline(path, line).strip(), ".".join(_functions_at(path, line)), in_task=True)
            if self._task(place):
                return place
        return None

    def task_to_fix(self, file: str, task: str | None) -> str | None:
        """The first task with functions in a file that failed to load; None if `task` has functions in it, too, or no task does."""
        tasks = list(self.written.get(file, {}).values())
        return tasks[0] if tasks and task is not None and task not in tasks else None

    def missing_return(self, error: BaseException) -> tuple[Place, str] | None:
        """The function that should have returned a kernel, if the error shows that it did not, and the fix."""
        if not isinstance(error, TypeError):
            return None
        if re.fullmatch("'NoneType' object is not (callable|subscriptable)", text_of(error)):
            for file, functions in self.written.items():
                for name, inner, line in _without_return(self.root / file):
                    if name in functions:
                        return self._beginning(file, line, name), f"{name} returned None; return the kernel made from {inner}"
        elif text_of(error) == "'function' object is not subscriptable":  # a kernel of the GPU is launched as kernel[blocks, threads](…)
            for value in _frames(error)[-1].f_locals.values():
                code = value.__code__ if isinstance(value, FunctionType) else None
                file = self._student_file(code.co_filename) if code else None
                if code and file and code.co_qualname.partition(".")[0] in self.written.get(file, ()):
                    name = code.co_qualname.partition(".")[0]
                    place = self._beginning(file, code.co_firstlineno, code.co_qualname.replace("<locals>.", ""))
                    return place, f"{name} returned {code.co_name} without compiling it; return jit({code.co_name})"
        return None

    def _beginning(self, file: str, line: int, function: str) -> Place:
        """The line at which a function of the student begins."""
        return Place(file, line, linecache.getline(str(self.root / file), line).strip(), function, in_task=True)

    def beginning(self, code: CodeType) -> Place | None:
        """The first line of a function; None if it is not in a student's file."""
        file = self._student_file(code.co_filename)
        name = code.co_qualname.replace("<locals>.", "")
        return Place(file, _first_line(code), function=name, in_task=True) if file else None

    def named_methods(self, error: BaseException, task: str | None, place: Place | None) -> tuple[Place, ...]:
        """The methods of a task that the message names, such as Mul.backward, if the traceback passes through none of its functions."""
        if place is None or self._task(place) == task:
            return ()
        return tuple(other for other in self._methods(task) if re.search(rf"\b{re.escape(other.function)}\b", text_of(error)))

    def called_functions(self, error: BaseException, task: str | None, place: Place, parameters: set[str]) -> tuple[Place, ...]:
        """The student's functions that the failing line of a test names, or else those that the test names.

        Args:
            error: The error of the test.
            task: The test's task. If no function is named, its methods are searched.
            place: The failing line.
            parameters: Further names in the test, such as "Sigmoid".
        """
        frames = [frame for frame in _frames(error) if self._student_file(frame.f_code.co_filename) == place.file]
        if not frames or place.in_task:  # the student writes this test, and the mistake may be in it
            return ()
        in_line = set(re.findall(r"\w+", place.source)) | parameters
        found = self._functions(frames[-1].f_code.co_names, frames[-1].f_globals)
        if found:
            return tuple([other for other in found if other.function in in_line] or found)
        in_helpers = _names_in_helpers(frames[-1].f_code, frames[-1].f_globals).union(*(frame.f_code.co_names for frame in frames))
        if found := [other for other in self._functions(sorted(in_helpers), frames[-1].f_globals) if self._task(other) == task]:
            return tuple(found)
        in_test = parameters.union(*(_names(frame.f_code) for frame in frames))
        methods = self._methods(task)
        for names in (in_line, in_test):
            if found := [other for other in methods if _is_called(other.function, names)]:
                break
        return tuple(found) if len(found) <= MOST else ()

    def _functions(self, names: Iterable[str], values: Mapping[str, Any]) -> list[Place]:
        """The functions by students that these names refer to in a test's file, including cached functions."""
        found = []
        for name in names:
            value = values.get(name)
            value = value.__wrapped__ if isinstance(value, CACHED) else value
            code = value.__code__ if isinstance(value, FunctionType) else None  # attributes of other objects may run the student's code
            file = self._student_file(code.co_filename) if code else None
            mine = any(f"{other}.".startswith(f"{code.co_name}.") for other in self.written.get(file or "", ())) if code else False
            if code and file and mine and not file.startswith("tests/"):
                found.append(Place(file, _first_line(code), function=code.co_name, in_task=True))
        return list(dict.fromkeys(found))

    def _methods(self, task: str | None) -> list[Place]:
        """The methods of a task whose modules have been loaded."""
        found = []
        for file, functions in self.written.items():
            module = sys.modules.get(file.removesuffix(".py").replace("/", "."))
            for name in [name for name, its_task in functions.items() if its_task == task]:
                owner, _, method = name.rpartition(".")
                code = getattr(getattr(getattr(module, owner, None), method, None), "__code__", None)
                if code is not None and self._student_file(code.co_filename) == file:
                    found.append(Place(file, _first_line(code), function=name, in_task=True))
        return found

    def _task(self, place: Place) -> str | None:
        """The id of the task whose function contains a line."""
        functions = self.written.get(place.file, {})
        return next((task for name, task in functions.items() if f"{place.function}.".startswith(f"{name}.")), None)

    def _student_file(self, filename: str) -> str | None:
        """The path of a file relative to the workspace, if it is in a folder where students write."""
        path = Path(filename)
        if not path.is_relative_to(self.root):
            return None
        relative = path.relative_to(self.root)
        return relative.as_posix() if relative.parts[0] in STUDENTS else None


def _names_in_helpers(code: CodeType, values: Mapping[str, Any]) -> set[str]:
    """The names used by the functions of a test's own file that the test calls, directly or indirectly."""
    names, waiting = set(code.co_names), list(code.co_names)
    while waiting:
        value = values.get(waiting.pop())
        if isinstance(value, FunctionType) and value.__code__.co_filename == code.co_filename:
            new = _names(value.__code__) - names
            waiting += new
            names |= new
    return names


def _without_return(path: Path) -> Iterator[tuple[str, str, int]]:
    """The functions of a file that define an inner function but return nothing.

    Yields:
        The name, the name of the last inner function, and the line of `def`.
    """
    for function in _parse(path):
        if not isinstance(function, ast.FunctionDef) or ast.unparse(function.returns or ast.Name("")) == "None":
            continue
        inner = [node for node in function.body if isinstance(node, ast.FunctionDef)]
        inside = {node for each in inner for node in ast.walk(each)}
        returns = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value and node not in inside]
        if inner and not returns:
            yield function.name, inner[-1].name, function.lineno


def _parse(path: Path) -> list[ast.stmt]:
    """The functions of a file; none if it is missing or no longer valid Python."""
    try:
        return ast.parse(path.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError):
        return []


def _functions_at(path: str, line: int) -> list[str]:
    """The names of the classes and functions that contain a line, outermost first."""
    names: list[str] = []
    body = _parse(Path(path))
    while around := [
        node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]:
        names.append(around[0].name)
        body = around[0].body
    return names


def _frames(error: BaseException) -> list[FrameType]:
    """The frames of an error's traceback, outermost first."""
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def _first_line(code: CodeType) -> int:
    """The line of a function's `def`, below its decorators."""
    line = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return line


def _names(code: CodeType) -> set[str]:
    """The names that a function uses, including those in its inner functions."""
    return set(code.co_names).union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


REFLECTED = {"__gt__": "lt", "__lt__": "gt", "__radd__": "add", "__rmul__": "mul", "__rsub__": "sub"}
"""Methods that Python calls for an operator whose left operand is a plain number."""


def _is_called(name: str, names: set[str]) -> bool:
    """Whether names in a test refer to a method: "permute" to Tensor.permute and Permute.forward, "add" to Tensor.__add__."""
    owner, _, method = name.rpartition(".")
    if method in ("__init__", "forward", "backward"):  # many classes have this method
        return owner in names or owner.lower() in names
    return method.strip("_") in names or REFLECTED.get(method) in names
