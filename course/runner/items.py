"""What the source of a test says about it: its task, its sentence, its case."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import pytest

from course.runner.failure_report import sentence
from course.runner.messages import shown


def task_of(item: pytest.Item) -> str | None:
    """The id of the task whose mark the test carries."""
    for mark in item.iter_markers():
        if match := re.fullmatch(r"task(\d+)_(\d+[a-z]?)", mark.name):
            return f"{match[1]}.{match[2]}"
    return None


def skip_reason(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    where = report.longrepr
    return str(where[2]).removeprefix("Skipped: ") if isinstance(where, tuple) else str(getattr(report, "wasxfail", where))


def says(item: pytest.Item) -> str:
    """The first paragraph of the test's docstring, else its name as a sentence."""
    paragraph = inspect.cleandoc(getattr(getattr(item, "obj", None), "__doc__", None) or "").split("\n\n")[0]
    return " ".join(paragraph.split()) or sentence(item.name)


def parameter_names(item: pytest.Item) -> set[str]:
    """The names of the functions and classes among the parameters of a parametrized test."""
    callspec = getattr(item, "callspec", None)
    return {value.__name__ for value in callspec.params.values() if hasattr(value, "__name__")} if callspec else set()


def case(item: pytest.Item) -> str:
    """The parameters of a parametrized test: their values if these are readable, else pytest's id."""
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return ""
    values = [
        f"{name} = {_expression(value) or getattr(value, '__name__', None) or shown(value)}" for name, value in callspec.params.items()
    ]
    return callspec.id if any(" at 0x" in value for value in values) else ", ".join(values)


def _expression(value: Any) -> str:
    """What one of the package's functions for tests computes, such as "a.mean(0)"; "" for any other value."""
    if getattr(value, "__module__", "") != "minitorch.testing" or not inspect.isfunction(value):
        return ""
    try:
        tree = ast.parse(inspect.cleandoc(inspect.getsource(value)))
    except (OSError, SyntaxError):
        return ""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    body = [statement for function in functions for statement in function.body[1 if ast.get_docstring(function) else 0 :]]
    return "; ".join(ast.unparse(statement).removeprefix("return ") for statement in body)
