"""What is asked of a submission: a program of steps, written down as it would be written in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

SHOWN = 300
"""Letters of a request in a message."""


class Program:
    """Steps for the child, written down as they are: `p.find("minitorch:tensor")([1.0]).sum()` is three of them."""

    def __init__(self) -> None:
        self.steps: list[list[Any]] = []
        self.texts: list[str] = []
        self._found: dict[str, Value] = {}

    def find(self, name: str) -> Value:
        """Something of a module, such as "minitorch.operators:mul"."""
        if name not in self._found:
            self._found[name] = self.step(["find", name], name.rpartition(":")[2])
        return self._found[name]

    def step(self, step: list[Any], text: str) -> Value:
        """One more step."""
        self.steps.append(step)
        self.texts.append(text)
        return Value(self, len(self.steps) - 1)

    def shown(self, value: Value, text: str) -> Value:
        """The value, shown in messages by a text that is shorter than its steps."""
        self.texts[value._place] = text
        return value

    def function(self, arity: int, of: Callable[..., Any]) -> Value:
        """A function in the child that does what `of` does with values of a program; `calls` of it are the arguments of all its calls."""
        inner = Program()
        give = of(inner, *[Argument(inner, n) for n in range(arity)])
        return self.step(["function", inner.steps, coded(give)], "f")


class Value:
    """What a step makes in the child. Its attributes and calls are further steps."""

    def __init__(self, program: Program, place: int) -> None:
        self._program = program
        self._place = place

    def _coded(self) -> dict[str, int]:
        return {"step": self._place}

    def __repr__(self) -> str:
        return self._program.texts[self._place]

    def __getattr__(self, name: str) -> Value:
        return self._program.step(["get", coded(self), name], f"{self!r}.{name}")

    def __call__(self, *arguments: Any, **named: Any) -> Value:
        """One more step: its call."""
        shown = ", ".join([*map(text_of, arguments), *(f"{name}={text_of(value)}" for name, value in named.items())])
        step = ["call", coded(self), coded(list(arguments)), {name: coded(value) for name, value in named.items()}]
        return self._program.step(step, f"{self!r}({shown})")

    def _operator(self, name: str, *operands: Any) -> Value:
        return self._program.find(f"operator:{name}")(*operands)

    def __add__(self, other: Any) -> Value:
        return self._operator("add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self._operator("add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self._operator("sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self._operator("sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self._operator("mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self._operator("mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self._operator("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._operator("truediv", other, self)

    def __matmul__(self, other: Any) -> Value:
        return self._operator("matmul", self, other)

    def __neg__(self) -> Value:
        return self._operator("neg", self)

    def __lt__(self, other: Any) -> Value:
        return self._operator("lt", self, other)

    def __gt__(self, other: Any) -> Value:
        return self._operator("gt", self, other)

    def __getitem__(self, key: Any) -> Value:
        return self._operator("getitem", self, key)


class Argument(Value):
    """An argument of a function of a program."""

    def _coded(self) -> dict[str, int]:
        return {"argument": self._place}

    def __repr__(self) -> str:
        return "xyz"[self._place]


def coded(value: Any) -> Any:
    """A value as it stands in a request."""
    if isinstance(value, Value):
        return value._coded()
    if isinstance(value, np.ndarray):
        return coded(value.tolist())
    if isinstance(value, np.generic):
        return coded(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, tuple):
        return {"tuple": [coded(item) for item in value]}
    return [coded(item) for item in value] if isinstance(value, list) else value


def text_of(value: Any) -> str:
    """A value as a message shows it."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(text_of, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return shortened(repr(value))


def shortened(text: str) -> str:
    """A text without its middle where it is long."""
    half = SHOWN // 2
    return text if len(text) <= SHOWN else f"{text[:half]} … {text[-half:]}"
