"""Runs the cells of a page in Pyodide: they share their names, as in a notebook, and use the reference, not what the reader wrote."""

import ast
import contextlib
import io
import json
import linecache
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

sys.path.insert(0, os.getcwd())

import minitorch  # found through the line above

free_in_turn(minitorch.History)  # noqa: F821  # in free_graphs.py, which the worker runs first
for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "minitorch"]:
    os.unlink(module.__file__)  # so that inspect.getsource, tried in a cell above a task, does not print its solution

LONGEST, REST = 20_000, "\n... (the rest is not shown)\n"
"""How many characters of a cell's output and of an error are shown, since the page would stand still with millions; what follows them."""

names: dict[str, Any] = {"__name__": "__main__"}
"""What the cells have defined."""


class Page(io.TextIOBase):
    """Sends to the page what a cell prints."""

    def __init__(self, report: Callable[[str], object]) -> None:
        self.report = report
        self.left = LONGEST

    def write(self, text: str) -> int:
        """Send it, until there is too much."""
        if text and self.left >= 0:
            self.report(text[: self.left])
            self.left -= len(text)
            if self.left < 0:
                self.report(REST)
        return len(text)


def run(cell: int, code: str, report: Callable[[str], object]) -> str:
    """Whether a cell passed, and the error if it did not, as JSON; what it prints, and the value of its last line, goes to `report`."""
    file = f"cell {cell}"
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    page = Page(report)
    try:
        with contextlib.redirect_stdout(page), contextlib.redirect_stderr(page):
            statements = ast.parse(code, file).body
            last = ast.Expression(statements.pop().value) if statements and isinstance(statements[-1], ast.Expr) else None
            exec(compile(ast.Module(statements, []), file, "exec"), names)
            if last and (value := eval(compile(last, file, "eval"), names)) is not None:
                print(repr(value))
    except BaseException as error:  # also SystemExit
        return json.dumps({"state": "failing", "text": describe(error)})
    return json.dumps({"state": "passed", "text": ""})


def describe(error: BaseException) -> str:
    """The line of a cell that failed, the line of a cell that called it, and the error."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith("cell ")]
    lines = []
    if frames:
        first, last = frames[0], frames[-1]
        called = f", called from line {first.lineno} of {first.filename}," if first != last else ""
        lines = [f"Line {last.lineno} of {last.filename}{called} failed:", f"    {last.line}"]
    message = "".join(traceback.format_exception_only(error)).rstrip()
    return "\n".join([*lines, message if len(message) <= LONGEST else message[:LONGEST] + REST])
