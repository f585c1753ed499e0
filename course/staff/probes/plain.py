"""Answers of a submission: plain data, validated before use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


class Raised(Exception):
    """The submission raised an error.

    Args:
        kinds: The names of its class and its base classes.
        message: Its message.
    """

    def __init__(self, kinds: Sequence[str], message: str) -> None:
        super().__init__(f"raised {kinds[0]}: {message}" if message else f"raised {kinds[0]}")
        self.kinds = kinds
        self.message = message


@dataclass(frozen=True)
class Number:
    """A number whose class is not built in."""

    kind: str
    value: float


@dataclass(frozen=True)
class OtherObject:
    """Any other object; only its class is known."""

    kind: str


@dataclass(frozen=True)
class TensorSnapshot:
    """A tensor.

    Attributes:
        array: Its numbers.
        strides: Stride of each dimension in storage, in elements.
        offset: Position of the first element in storage.
        recorded: Whether it has a history.
    """

    array: np.ndarray
    strides: tuple[int, ...]
    offset: int
    has_history: bool


def decode(plain: Any) -> Any:
    """Decode the plain data of an answer.

    Raises:
        ValueError: If the data is invalid.
    """
    if isinstance(plain, list):
        return [decode(item) for item in plain]
    if not isinstance(plain, dict):
        if isinstance(plain, float) and not math.isfinite(plain):
            raise ValueError("a number out of range")
        return plain
    ((kind, content),) = plain.items()
    if kind == "tuple":
        return tuple(decode(item) for item in require_list(content))
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind == "number":
        name, value = content
        return Number(str(name), require_number(decode(value)))
    if kind == "array":
        return decode_array(content)
    if kind == "object":
        return OtherObject(str(content))
    if kind == "tensor":
        shape, strides, offset, recorded, array = content
        strides = tuple(map(require_index, require_list(strides)))
        decoded = decode_array(array)
        if list(decoded.shape) != shape:
            raise ValueError("a tensor whose numbers have another shape")
        return TensorSnapshot(decoded, strides, require_index(offset), recorded is True)
    raise ValueError("data of unknown kind")


def decode_array(content: Any) -> np.ndarray:
    """An array from its dtype, shape and numbers."""
    dtype, shape, values = content
    if dtype not in ("float64", "float32", "int64", "int32", "int8", "bool"):
        raise ValueError("an array of unknown dtype")
    numbers = [require_number(decode(value)) for value in require_list(values)]
    return np.array(numbers, dtype=dtype).reshape(tuple(map(require_index, require_list(shape))))


def require_list(value: Any) -> list[Any]:
    """Return the value if it is a list; raise ValueError otherwise."""
    if type(value) is not list:
        raise ValueError("not a list")
    return value


def require_index(value: Any) -> int:
    """Return the value if it is a non-negative int; raise ValueError otherwise."""
    if type(value) is not int or value < 0:
        raise ValueError("not a non-negative int")
    return value


def require_number(value: Any) -> float:
    """Return the value if it is a built-in number; raise ValueError otherwise."""
    if type(value) not in (bool, int, float):
        raise ValueError("not a number")
    return value
