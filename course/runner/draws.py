"""Labels for the values that a property draws inside its test: the variables of the test that they are for."""

from __future__ import annotations

import ast
import functools
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any


def label_draws(data: Any) -> None:
    """Let the `draw` of an object of `hypothesis.strategies.data` label each value that has no label."""
    draw, seen = data.draw, Counter[str]()

    def labeled(strategy: Any, label: Any = None) -> Any:
        __tracebackhide__ = True
        return draw(strategy, _label(sys._getframe(1), seen) if label is None else label)

    data.draw = labeled


def _label(frame: FrameType, seen: Counter[str]) -> str | None:
    """The label of the value that a frame draws: "x" for `x = data.draw(…)`, "layouts of x" for `x = f(data.draw(layouts(…)))`."""
    names, made_by = _variables(frame.f_code.co_filename, _position(frame))
    if not names:
        return None
    together = made_by + ", ".join(names)
    seen[together] += 1
    count = seen[together]
    if len(names) > 1 and count <= len(names):  # a, b = (data.draw(…) for …)
        return made_by + names[count - 1]
    return together if count == 1 else f"{together} ({count})"


def _position(frame: FrameType) -> tuple[int | None, int | None]:
    """Where the call that a frame is executing ends in its file: line and column."""
    for number, (_, line, _, column) in enumerate(frame.f_code.co_positions()):
        if number == frame.f_lasti // 2:
            return line, column
    return None, None


@functools.cache
def _variables(file: str, position: tuple[int | None, int | None]) -> tuple[list[str], str]:
    """The variables to which the statement around a call of `draw` assigns, and "layouts of " if it computes them from the value."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return [], ""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            value, target = statement.value, statement.targets[0]
            for call in ast.walk(value):
                if isinstance(call, ast.Call) and (call.end_lineno, call.end_col_offset) == position:
                    if call is value:
                        return [ast.unparse(target).strip("()")], ""
                    names = [ast.unparse(each) for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
                    parts = value.elts if isinstance(value, ast.Tuple) else [value.elt] if isinstance(value, ast.GeneratorExp) else []
                    strategy = call.args[0].func if call.args and isinstance(call.args[0], ast.Call) else None
                    return names, "" if call in parts else f"{ast.unparse(strategy)} of " if strategy else "a value for "
    return [], ""
