"""What comes back from a submission: plain data, read without trust."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


class Raised(Exception):
    """The submission raised an error.

    Args:
        kinds: The names of its class and of those that this one inherits from.
        message: Its message.
    """

    def __init__(self, kinds: Sequence[str], message: str) -> None:
        super().__init__(f"raised {kinds[0]}: {message}" if message else f"raised {kinds[0]}")
        self.kinds = kinds
        self.message = message


@dataclass(frozen=True)
class Number:
    """A number of a class that is not Python's own."""

    kind: str
    value: float


@dataclass(frozen=True)
class Thing:
    """Anything else, of which the class alone is known."""

    kind: str


@dataclass(frozen=True)
class Seen:
    """A tensor.

    Attributes:
        array: Its numbers.
        strides: How far in storage a step in each dimension leads.
        offset: Where in storage it begins.
        recorded: Whether it has a history.
    """

    array: np.ndarray
    strides: tuple[int, ...]
    offset: int
    recorded: bool


def decoded(plain: Any) -> Any:
    """What plain data of an answer stands for.

    Raises:
        ValueError: If it is no such data.
    """
    if isinstance(plain, list):
        return [decoded(item) for item in plain]
    if not isinstance(plain, dict):
        if isinstance(plain, float) and not math.isfinite(plain):
            raise ValueError("a number out of range")
        return plain
    ((kind, content),) = plain.items()
    if kind == "tuple":
        return tuple(decoded(item) for item in listed(content))
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind == "number":
        name, value = content
        return Number(str(name), real(decoded(value)))
    if kind == "array":
        return array_of(content)
    if kind == "object":
        return Thing(str(content))
    if kind == "tensor":
        shape, strides, offset, recorded, array = content
        strides = tuple(map(whole, listed(strides)))
        found = array_of(array)
        if list(found.shape) != shape:
            raise ValueError("a tensor whose numbers have another shape")
        return Seen(found, strides, whole(offset), recorded is True)
    raise ValueError("data of no known kind")


def array_of(content: Any) -> np.ndarray:
    """An array from its dtype, shape and numbers."""
    dtype, shape, values = content
    if dtype not in ("float64", "float32", "int64", "int32", "bool"):
        raise ValueError("an array of no known dtype")
    numbers = [real(decoded(value)) for value in listed(values)]
    return np.array(numbers, dtype=dtype).reshape(tuple(map(whole, listed(shape))))


def listed(value: Any) -> list[Any]:
    """A list, and nothing else."""
    if type(value) is not list:
        raise ValueError("no list")
    return value


def whole(value: Any) -> int:
    """An int of at least 0, and nothing else."""
    if type(value) is not int or value < 0:
        raise ValueError("no whole number")
    return value


def real(value: Any) -> float:
    """A number of Python's own, and nothing else."""
    if type(value) not in (bool, int, float):
        raise ValueError("no number")
    return value
