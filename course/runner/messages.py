"""Short texts for exceptions, values and unwritten tasks."""

from __future__ import annotations

import builtins
import contextlib
import difflib
import re
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.runner.compiler_messages import from_compiler, innermost, instead
from course.runner.failure_report import Card, Place
from course.workspace.function_source import Unreadable, decode
from course.workspace.newer_syntax import newer_syntax

if TYPE_CHECKING:
    from course.manifest import Task

LONGEST_VALUE = 300
LONGEST_TRACEBACK = 6000
LONGEST_OUTPUT = 20_000


def text_of(error: BaseException) -> str:
    """An error's message, also if the student's `__str__` raises another one."""
    try:
        return str(error)
    except Exception as another:
        return f"its message cannot be shown, because __str__ raises {type(another).__name__}"


def unwritten_task(error: BaseException | None) -> str | None:
    """The id of the task whose stub raised the error, None for any other error."""
    match = re.match(r"Need to implement for Task (\d+\.\d+[a-z]?)", text_of(error)) if isinstance(error, NotImplementedError) else None
    return match[1] if match else None


def unwritten_files(task: Task, root: Path) -> list[str]:
    """The files of a task that still hold stubs, relative to the workspace."""
    missing = f"Need to implement for Task {task.id}"
    paths = [(file, root / file) for file in task.files]
    return [file for file, path in paths if path.is_file() and missing in path.read_text(encoding="utf-8", errors="replace")]


def unreadable_file(task: Task, root: Path) -> Card | None:
    """The card of a file of a task that is not in the encoding that it declares; None if there is no such file."""
    for file in task.files:
        with contextlib.suppress(OSError):  # the tests report a missing file
            data = (root / file).read_bytes()
            try:
                decode(data)
            except Unreadable as error:
                source = data.decode("utf-8", "replace").splitlines()[error.line - 1].strip()
                return Card("", task.id, f"{file} can be read.", error=f"{file}, {error}", place=Place(file, error.line, source))
    return None


def assertion_parts(message: str, comparison: tuple[str, str, str] | None) -> tuple[str | None, str | None, str | None]:
    """What an assertion expected, what it got, and any further message.

    By convention, the left side is the student's value, and a message reads "expected …, got …; …".
    """
    note, rewritten, _ = ("\n" + message).partition("\nassert ")
    note = note.strip()
    spoken = re.match(r"expected (?P<expected>.+?), got (?P<yours>[^;]+)(; (?P<rest>.*))?", note)
    if spoken:
        return spoken["expected"], spoken["yours"].strip(), spoken["rest"]
    if comparison and rewritten:  # otherwise the comparison belongs to an assertion that the test caught
        op, left, right = comparison
        return right if op == "==" else f"{op} {right}", left, note or None
    return None, None, _first_lines(note or message) or "the assertion failed"


def error_line(error: BaseException) -> str:
    """The type and the first lines of the message."""
    if from_compiler(error):
        message = innermost(text_of(error))
        text = "\nWrite instead (see docs/numba.md): ".join(filter(None, (_first_lines(message), instead(message))))
    elif type(error).__name__ == "FixtureLookupError":
        return _without_value(error)
    elif isinstance(error, (NameError, AttributeError)):  # Python may suggest a name
        text = f"{_first_lines(text_of(error))}{_suggestion(error)}"
    else:
        text = _first_lines(_syntax_error(error) if isinstance(error, SyntaxError) else text_of(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _syntax_error(error: SyntaxError) -> str:
    """The message of a syntax error, with the Python that it needs if it is newer, or the byte that is in another encoding."""
    with contextlib.suppress(OSError, TypeError):
        try:
            decode(Path(error.filename or "").read_bytes())
        except Unreadable as unreadable:
            return str(unreadable)
    newer = newer_syntax(error.text or "")
    return f"{error.msg}; {newer}" if newer else error.msg


def _without_value(error: Any) -> str:
    """Explain a fixture that was not found: no strategy gives this argument of the test a value."""
    name = str(error.argname)
    return (
        f"no strategy gives the argument {name} of this test a value; "
        f"decorate the test with @given({name}=small_floats), or @given(small_floats, …) with a strategy for each argument"
    )


def _suggestion(error: NameError | AttributeError) -> str:
    """The name that was most likely meant, or "". Python before 3.12 suggests it only on a terminal."""
    if not isinstance(error.name, str):
        return ""
    known: set[str] = set()
    if isinstance(error, AttributeError):
        with contextlib.suppress(Exception):  # this may run the student's code
            known = set(dir(error.obj))
    else:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        known = {*frames[-1].f_locals, *frames[-1].f_globals, *dir(builtins)} if frames else set()
    near = difflib.get_close_matches(error.name, known, 1)
    return f". Did you mean: {near[0]!r}?" if near else ""


def _first_lines(text: str) -> str:
    """The first four lines."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return cut("\n".join(lines[:4] + (["…"] if len(lines) > 4 else [])))


def shown(value: object) -> str:
    """A short repr that never raises, although it may run the student's code."""
    try:
        return cut(repr(value)) + "".join(_layout(each) for each in (value if isinstance(value, tuple) else (value,)))
    except Exception as error:
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def shown_apart(left: object, right: object) -> tuple[str, str]:
    """Two values that differ, with as many digits as they need to look different."""
    texts = shown(left), shown(right)
    if texts[0] == texts[1] and "numpy" in sys.modules:  # by default, NumPy prints eight digits, and tensors print four
        with sys.modules["numpy"].printoptions(precision=17, floatmode="unique"):
            return shown(left), shown(right)
    return texts


def _layout(value: Any) -> str:
    """The strides and offset of a tensor that is not contiguous, because its repr does not show them."""
    if isinstance(value, type) or not (hasattr(value, "stride") and hasattr(value, "storage_offset")):
        return ""
    if value.is_contiguous() and not value.storage_offset():
        return ""
    return f"\n{'':4}its strides {value.stride()}, offset {value.storage_offset()}"


def cut(text: str) -> str:
    """Truncate a text."""
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"


def shown_output(text: str) -> str:
    """Truncate what a test printed; an endless loop may print without end."""
    text = text.rstrip()
    return text if len(text) <= LONGEST_OUTPUT else text[:LONGEST_OUTPUT] + "…"


def shown_traceback(text: str) -> str:
    """Truncate a traceback at its beginning; the error is at its end."""
    return text if len(text) <= LONGEST_TRACEBACK else "…\n" + text[-LONGEST_TRACEBACK:]


def drawn_values(error: BaseException) -> dict[str, str]:
    """The values that a property drew, from Hypothesis' notes such as "Draw 2 (order): (1, 0)"; notes in another format are ignored."""
    notes = [re.fullmatch(r"Draw (\d+)(?: \((.+?)\))?: (.*)", note, re.DOTALL) for note in getattr(error, "__notes__", ())]
    return {note[2] or f"draw {note[1]}": cut(note[3].removesuffix("  # or any other generated value")) for note in notes if note}


def describe_unwritten(rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    """For each task, describe how many of its tests wait for code, and which task provides it."""
    rows = list(rows)
    for state in ("todo", "blocked"):
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in rows:
            if row["state"] == state:
                groups.setdefault((row["task"] or "", row["needs"]), []).append(row)
        for (task, needs), group in groups.items():
            count = f"{len(group)} test{'s' if len(group) > 1 else ''}"
            if state == "blocked":
                yield f"{f'Task {task}' if task else 'No task'}: {count} blocked until Task {needs} is written"
                continue
            places = [row["card"]["place"] or {} for row in group]
            functions = list(dict.fromkeys(place["function"] for place in places if place.get("function")))
            files = ", ".join(dict.fromkeys(place["file"] for place in places if place.get("file")))
            more = f" and {len(functions) - 4} more" if len(functions) > 4 else ""
            yield f"Task {task}: {count} to go, open {files or 'its files'} ({', '.join(functions[:4])}{more}); course hint {task}"
