"""Stage 5 - Guards and replays as generated Python: as many comparisons take a third of the time of a loop over them.

a0() == a1 and a2.value is a3 and a4._tensor is a5 and a6['training'] is a7 and ...

A term that raises KeyError, IndexError or ValueError (an empty cell) does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any


class FunctionWriter:
    """Writes a function, term by term or line by line."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._names: dict[str, Any] = {}

    def name(self, value: Any) -> str:
        """The name of an object in the function."""
        name = f"a{len(self._names)}"
        self._names[name] = value
        return name

    def add(self, form: str, *values: Any) -> None:
        """Add a term or a line, such as `add("{}.value is {}", parameter, value)`."""
        self._parts.append(form.format(*map(self.name, values)))

    def check(self, arguments: str = "") -> Callable[..., bool]:
        """The function of these arguments that says whether every term holds."""
        return self._compile(arguments, [f"return {' and '.join(self._parts) or 'True'}"])

    def function(self, arguments: str = "") -> Callable[..., Any]:
        """The function of these arguments that runs the lines added so far."""
        return self._compile(arguments, [*self._parts, "pass"])

    def _compile(self, arguments: str, lines: Sequence[str]) -> Callable[..., Any]:
        names: dict[str, Any] = {"__builtins__": {"len": len, "type": type, "id": id}} | self._names
        exec("\n    ".join([f"def written({arguments}):", *lines]), names)
        return names.pop("written")  # else it would keep itself alive, and the arrays


@cache
def compiled_term(form: str, count: int) -> Callable[..., bool]:
    """The function of count objects that says whether one term holds."""
    names = [f"a{number}" for number in range(count)]
    return eval(f"lambda {', '.join(names)}: {form.format(*names)}")
