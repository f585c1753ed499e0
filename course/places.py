"""Where to look when a test fails: the student's line, or where the functions begin that the test calls."""

from __future__ import annotations

import contextlib
import linecache
import re
import sys
import traceback
from pathlib import Path
from types import CodeType, FrameType

from course.card import Place
from course.manifest import ManifestError, load

STUDENTS = ("minitorch", "project", "tests")
"""The folders in which a student writes."""

MOST = 4
"""So many methods are shown; where a test calls more, they tell nothing."""


class Places:
    """Finds places in a workspace.

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

    def of(self, error: BaseException, test: Path | None = None) -> Place | None:
        """The line to look at: the last one in a function that students write, in their files, or in the test, whichever there is first."""
        if isinstance(error, SyntaxError) and error.filename and (file := self._student_file(error.filename)):
            return Place(file, error.lineno or 1, (error.text or "").strip())
        found: Place | None = None
        theirs: Place | None = None
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
            found = Place(file, summary.lineno or 1, (summary.line or "").strip(), function)
            if self._task(found):
                theirs = found
        return theirs or found

    def named(self, error: BaseException, task: str | None, place: Place | None) -> tuple[Place, ...]:
        """Where the methods of a task begin that the message names, as Mul.backward, if the error came through none of its functions."""
        if place is None or self._task(place) == task:
            return ()
        return tuple(other for other in self._methods(task) if re.search(rf"\b{re.escape(other.function)}\b", str(error)))

    def called(self, error: BaseException, task: str | None, place: Place, parameters: set[str]) -> tuple[Place, ...]:
        """Where the student's functions begin that the failing line of a test names, or if it names none, those that the test names.

        Args:
            error: What the test ended with.
            task: The test's task. If no function is named, its methods are looked for.
            place: The failing line.
            parameters: What else the test names, such as "Sigmoid".
        """
        frames = [frame for frame in _frames(error) if self._student_file(frame.f_code.co_filename) == place.file]
        if not frames:
            return ()
        in_line = set(re.findall(r"\w+", place.source)) | parameters
        found = []
        for name in frames[-1].f_code.co_names:
            code = getattr(frames[-1].f_globals.get(name), "__code__", None)
            file = self._student_file(code.co_filename) if code else None
            mine = any(f"{other}.".startswith(f"{name}.") for other in self.written.get(file or "", ()))
            if code and file and mine and not file.startswith("tests/"):
                found.append(Place(file, _first_line(code), function=name))
        if found:
            return tuple([other for other in found if other.function in in_line] or found)
        in_test = parameters.union(*(_names(frame.f_code) for frame in frames))
        methods = self._methods(task)
        for names in (in_line, in_test):
            if found := [other for other in methods if _is_called(other.function, names)]:
                break
        return tuple(found) if len(found) <= MOST else ()

    def _methods(self, task: str | None) -> list[Place]:
        """Where the methods of a task begin, as far as their modules have been loaded."""
        found = []
        for file, functions in self.written.items():
            module = sys.modules.get(file.removesuffix(".py").replace("/", "."))
            for name in [name for name, its_task in functions.items() if its_task == task]:
                owner, _, method = name.rpartition(".")
                code = getattr(getattr(getattr(module, owner, None), method, None), "__code__", None)
                if code is not None and self._student_file(code.co_filename) == file:
                    found.append(Place(file, _first_line(code), function=name))
        return found

    def _task(self, place: Place) -> str | None:
        """The task whose function stands around a place."""
        functions = self.written.get(place.file, {})
        return next((task for name, task in functions.items() if f"{place.function}.".startswith(f"{name}.")), None)

    def _student_file(self, filename: str) -> str | None:
        """The file's name from the root of the workspace, if it lies where students write."""
        path = Path(filename)
        if not path.is_relative_to(self.root):
            return None
        relative = path.relative_to(self.root)
        return relative.as_posix() if relative.parts[0] in STUDENTS else None


def _frames(error: BaseException) -> list[FrameType]:
    """The calls through which an error came, the outermost first."""
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def _first_line(code: CodeType) -> int:
    """The line of a function's `def`, below its decorators."""
    line = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return line


def _names(code: CodeType) -> set[str]:
    """The names that a function uses, those in the functions inside it included."""
    return set(code.co_names).union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _is_called(name: str, names: set[str]) -> bool:
    """Whether names that stand in a test lead to a method: "permute" to Tensor.permute and Permute.forward, "add" to Tensor.__add__."""
    owner, _, method = name.rpartition(".")
    if method in ("__init__", "forward", "backward"):  # one of many of this name
        return owner in names or owner.lower() in names
    return method.strip("_") in names
