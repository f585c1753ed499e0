"""Requests to a submission: a program of steps, recorded from Python expressions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from course.staff.probes.own_package import ATTRIBUTES, actual_name, in_own_package, support

MAX_TEXT = 300
"""Maximum number of characters of a request in a message."""


class Program:
    """Steps for the child process, recorded from expressions: `p.find("minitorch:tensor")([1.0]).sum()` records four steps."""

    def __init__(self) -> None:
        self.steps: list[list[Any]] = []
        self.texts: list[str] = []
        self._known: dict[str, Value] = {}

    def find(self, name: str) -> Value:
        """An attribute of a module, such as "minitorch.operators:mul"."""
        if name not in self._known:
            self._known[name] = self.step(["find", actual_name(name)], name.rpartition(":")[2])
        return self._known[name]

    def step(self, step: list[Any], text: str) -> Value:
        """Record a step."""
        self.steps.append(step)
        self.texts.append(text)
        return Value(self, len(self.steps) - 1)

    def label(self, value: Value, text: str) -> Value:
        """Set the text that represents a value in messages, in place of its steps."""
        self.texts[value._place] = text
        return value

    def function(self, arity: int, of: Callable[..., Any]) -> Value:
        """A function in the child that does what `of` does with values of a program; `calls` lists the arguments of all its calls."""
        inner = Program()
        result = of(inner, *[Argument(inner, n) for n in range(arity)])
        return self.step(["function", inner.steps, encode(result)], "f")


class Value:
    """The result of a step in the child. Accessing its attributes and calling it records further steps."""

    def __init__(self, program: Program, place: int) -> None:
        self._program = program
        self._place = place

    def _encode(self) -> dict[str, int]:
        return {"step": self._place}

    def __repr__(self) -> str:
        return self._program.texts[self._place]

    def __getattr__(self, name: str) -> Value:
        if in_own_package() and name in ATTRIBUTES:
            return self._program.label(self._program.find(support(ATTRIBUTES[name]))(self), f"{self!r}.{name}")
        return self._program.step(["get", encode(self), name], f"{self!r}.{name}")

    def __call__(self, *arguments: Any, **named: Any) -> Value:
        """Record a call."""
        printable = ", ".join([*map(text_of, arguments), *(f"{name}={text_of(value)}" for name, value in named.items())])
        step = ["call", encode(self), encode(list(arguments)), {name: encode(value) for name, value in named.items()}]
        return self._program.step(step, f"{self!r}({printable})")

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
    """An argument of a function that a program defines."""

    def _encode(self) -> dict[str, int]:
        return {"argument": self._place}

    def __repr__(self) -> str:
        return "xyz"[self._place]


def encode(value: Any) -> Any:
    """Encode a value for a request."""
    if isinstance(value, Value):
        return value._encode()
    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    return [encode(item) for item in value] if isinstance(value, list) else value


def text_of(value: Any) -> str:
    """A value as text for a message."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(text_of, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return truncate(repr(value))


def truncate(text: str) -> str:
    """Remove the middle of a long text."""
    half = MAX_TEXT // 2
    return text if len(text) <= MAX_TEXT else f"{text[:half]} … {text[-half:]}"
