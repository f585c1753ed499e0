"""Cards that explain an error of student code: what is not written yet, or what went wrong and where. Without Streamlit."""

from __future__ import annotations

import inspect
import linecache
import numbers
import re
import reprlib
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from course.cli.hints import choose, is_open
from course.explain import endless
from course.manifest import ROOT, ManifestError, course
from course.runner.messages import unwritten_files, unwritten_task
from project.lab import time_limit
from project.lab.time_limit import MemoryLimitExceeded, TimeLimitExceeded

SHOWN_FRAMES = 4


class StudentCodeFailed(Exception):
    """Student code failed in another process, which explained the error.

    Args:
        card: The explanation.
    """

    def __init__(self, card: Card) -> None:
        super().__init__(card.title)
        self.card = card


class WrongResult(Exception):
    """Student code returned a wrong value or a value of the wrong type."""


@dataclass(frozen=True)
class Card:
    """A notice about student code.

    Attributes:
        todo: Whether the code is not written yet, rather than wrong.
        title: One line.
        body: Details and what to do, as Markdown.
    """

    todo: bool
    title: str
    body: str


def plain(text: str) -> str:
    """Escape a text so that Markdown shows it literally."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)  # only these characters can be escaped


def number(value: Any, call: str) -> float:
    """Return a result of student code as a float.

    Args:
        value: The result.
        call: The call, such as "sigmoid(2.0)".

    Raises:
        WrongResult: If the result is not a number.
    """
    if isinstance(value, numbers.Real):
        return float(value)
    forgot = "; is the return missing?" if value is None else ""
    raise WrongResult(f"{call} expected to return a number, got {reprlib.repr(value)}{forgot}")


def explain(error: Exception | TimeLimitExceeded) -> Card | None:
    """Return the card for an error, or None if the error does not come from student code."""
    if isinstance(error, TimeLimitExceeded):
        return _did_not_return(error)
    if isinstance(error, StudentCodeFailed):
        return error.card
    if task := unwritten_task(error):
        return _unwritten(task, error)
    if isinstance(error, SyntaxError) and is_student(error.filename):
        line = f"\n\n```python\n{error.text.rstrip()}\n```" if error.text and error.text.strip() else ""
        return Card(False, f"{_place(error.filename, error.lineno)}: {error.msg}", f"Python cannot parse this file.{line}")
    if isinstance(error, WrongResult):
        return Card(False, str(error), "")
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if is_student(frame.f_code.co_filename)]
    if frames:
        frame, line = frames[-1]
        title = f"{_place(frame.f_code.co_filename, line)}: {type(error).__name__}: {error}"
        calls = "\n\n".join(_describe(frame, line) for frame, line in frames[-SHOWN_FRAMES:])
        return Card(False, title, calls + _remark(error))
    if source := _broken_module(error):
        return Card(False, f"{_place(source, None)}: {error}", "The file lacks a name that the course expects.")
    if isinstance(error, TypeError | AttributeError) and error.__traceback__:
        return _unfit(error)
    return None


def _did_not_return(error: TimeLimitExceeded) -> Card:
    """Return the card for a call that exceeded the limit on time or memory."""
    title = f"this call did not return within {time_limit.LIMIT:g} seconds and was stopped"
    if isinstance(error, MemoryLimitExceeded):
        title = f"this call allocated more than {time_limit.MEMORY / 2**30:g} GiB and was stopped"
    if error.frame is None:
        return Card(False, title.capitalize().replace("gib", "GiB"), "Look for a loop that never ends.")
    frame, path = error.frame, error.frame.f_code.co_filename
    loop = endless.loop_around(Path(path), frame.f_lineno)
    if loop:
        title = title.replace("call did not return", "loop did not end").replace("call allocated", "loop allocated")
    variables = ", ".join(f"{name} = {value}" for name, value in endless.variables(frame).items()).replace("`", "'")
    values = f"\n\nVariables when it was stopped: `{variables}`" if variables else ""
    more = "To see several iterations of the loop, run `course test`, then `course explain`."
    return Card(False, f"{_place(path, loop or frame.f_lineno)}: {title}", f"{_describe(frame, loop or frame.f_lineno)}{values}\n\n{more}")


def _unfit(error: TypeError | AttributeError) -> Card:
    """Return the card for a value that the app cannot use. The app is tested with correct code, so a student's function returned it."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    body = f"`{_relative(where.filename)}`, line {where.lineno}, failed: {plain(str(error))}\n\n```python\n{where.line}\n```"
    if "NoneType" in str(error):
        return Card(False, "A function returned None where a value was expected: is a return missing?", body)
    advice = "Run `course test` to find the function. If all tests pass, this is an error of the app."
    return Card(False, "A function returned a value of another type than expected", f"{body}\n\n{advice}")


def _unwritten(id: str, error: Exception) -> Card:
    """Return the card for a stub."""
    try:
        task = course().task(id)
    except ManifestError:
        return Card(True, f"Task {id} is not written yet", "")
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    raised_in, functions = _relative(frame.f_code.co_filename), list[str]()
    if raised_in in task.files:
        where, functions = f"{raised_in}, line {line}", [frame.f_code.co_qualname.replace("<locals>.", "")]
    else:
        where = " and ".join(unwritten_files(task, ROOT) or task.files[:1])
    hint, more = "", ""
    if is_open(ROOT, task):
        hint, more = f"{plain(task.hints[choose(task, functions) - 1])}\n\n", f" · More hints with `course hint {id}`"
    body = f"{hint}Book: `{task.page}` · Test it with `course test {id}`{more}"
    return Card(True, f"Task {id} is not written yet: open {where}", body)


def _describe(frame: FrameType, line: int) -> str:
    """Describe one call in student code: its name, its inputs and its current line."""
    code = frame.f_code
    linecache.checkcache(code.co_filename)
    source = linecache.getline(code.co_filename, line).strip()
    names = inspect.getargs(code).args if code.co_name != "<module>" else []
    inputs = ", ".join(f"{name} = {_short(frame.f_locals[name])}" for name in names if name in frame.f_locals)
    called = f" with `{inputs}`" if inputs else ""
    return f"`{_relative(code.co_filename)}`, line {line}, in `{code.co_qualname}`{called}\n\n```python\n{source}\n```"


def _remark(error: Exception) -> str:
    """Return a remark on errors that correct code can raise as well."""
    # messages of the math module for arguments outside of a domain; the second since Python 3.14
    outside = isinstance(error, ValueError) and re.match(r"math domain|expected a (positive|nonnegative) input", str(error))
    if isinstance(error, ArithmeticError) or outside:
        return "\n\nIf your function is correct, it is undefined for these inputs. Choose other inputs."
    return ""


def _short(value: Any) -> str:
    """Return a short repr of a value, even if its own repr fails."""
    try:
        return reprlib.repr(value).replace("`", "'")
    except Exception as error:  # the student's __repr__ may be broken too
        return f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


def _broken_module(error: Exception) -> str | None:
    """Return the student's file that lacks a name that the app needs; None if that is not the error."""
    if isinstance(error, ImportError) and is_student(error.path):
        return error.path
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType) and is_student(getattr(error.obj, "__file__", None)):
        return error.obj.__file__
    return None


def is_student(path: str | None) -> bool:
    """Return whether a file holds student code: the package and the programs project/run_*.py."""
    parts = Path(_relative(path or "")).parts
    return parts[:1] == (course().package,) or (len(parts) == 2 and parts[0] == "project" and parts[1].startswith("run_"))


def raised_in_task(error: Exception) -> bool:
    """Return whether an error was raised in a file that students write."""
    path = _relative(traceback.extract_tb(error.__traceback__)[-1].filename)
    return any(path in task.files for task in course().tasks)


def _relative(path: str) -> str:
    """Return a path relative to the workspace."""
    try:
        return Path(path).resolve().relative_to(ROOT).as_posix()
    except ValueError:
        return path


def _place(path: str | None, line: int | None) -> str:
    """Return file and line as text."""
    return _relative(path or "") + (f", line {line}" if line else "")
