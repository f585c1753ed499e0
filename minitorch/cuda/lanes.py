"""Stage 3 - Lane vectors: a value for every thread of a block, with the arithmetic of a compiled kernel.

A value is uniform, a plain Python or NumPy number that is the same for all threads, or a lane vector: an array of shape (threads,).
Types follow numba: a Python float is float64 and a Python int is int64, so that float32 times 2.0 is float64. Integers are computed
with 64 bits.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

WARP = 32
"""Threads of a warp."""


class Mask:
    """The active threads of a block.

    Args:
        bits: One truth value per thread.

    Attributes:
        lanes: Numbers of the active threads, in order.
        count: Number of active threads.
    """

    def __init__(self, bits: np.ndarray) -> None:
        self.bits = bits
        self.lanes = np.flatnonzero(bits)
        self.count = len(self.lanes)

    def __and__(self, bits: np.ndarray) -> Mask:
        return Mask(self.bits & bits)

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.bits | other.bits) if other.count else self

    def __sub__(self, other: Mask) -> Mask:
        return Mask(self.bits & ~other.bits)

    @cached_property
    def warps(self) -> int:
        """Number of warps with at least one active thread."""
        return len(np.unique(self.lanes // WARP))

    def split_warps(self, other: Mask) -> int:
        """Number of warps with active threads in both masks: those in which a branch diverged."""
        return len(np.intersect1d(self.lanes // WARP, other.lanes // WARP))


def is_lanes(value: Any) -> bool:
    """Whether a value is a lane vector."""
    return isinstance(value, np.ndarray)


def is_number(value: Any) -> bool:
    """Whether a value is a lane vector or a uniform number."""
    return isinstance(value, (np.ndarray, np.generic, bool, int, float))


def strong(value: Any) -> Any:
    """A Python number with the type that numba gives it; anything else unchanged."""
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return np.int64(value)
    return np.float64(value) if isinstance(value, float) else value


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
FLOAT_OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
"""The operations that count as floating-point operations."""


def binary(kind: type[ast.operator], x: Any, y: Any) -> Any:
    """The result of an operation on two numbers."""
    if type(x) is int and type(y) is int and not (kind is ast.Pow and y < 0):
        return BINARY[kind](x, y)
    x, y = strong(x), strong(y)
    dtype = np.result_type(x, y)
    if dtype.kind == "b" and kind in BITWISE:
        return BINARY[kind](x, y)
    if dtype.kind in "bi":
        dtype = np.dtype(np.int64)
    elif dtype.kind == "u":
        dtype = np.dtype(np.uint64)
    if kind is ast.Pow and dtype.kind in "iu" and np.any(y < 0):
        dtype = np.dtype(np.float64)
    x, y = (value if value.dtype == dtype else value.astype(dtype) for value in (x, y))
    return BINARY[kind](x, y)


def compare(kind: type[ast.cmpop], x: Any, y: Any) -> Any:
    """The truth value of a comparison."""
    return COMPARE[kind](x, y)


def is_float(value: Any) -> bool:
    """Whether a number is a floating-point number."""
    return isinstance(value, float) or (isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f")


def cast(value: Any, dtype: Any) -> Any:
    """A number converted as in C: floats are truncated to integers."""
    dtype = np.dtype(dtype)
    value = strong(value)
    if dtype.kind == "b":
        return value != 0
    return value.astype(dtype)


def truth(value: Any) -> Any:
    """A uniform bool, or a lane vector of bools."""
    if is_lanes(value):
        return value if value.dtype.kind == "b" else value != 0
    return bool(value)


def select(condition: np.ndarray, x: Any, y: Any) -> Any:
    """x where the condition is true, else y; tuples element by element.

    Raises:
        TypeError: If the two have no common type, such as an array and a number.
    """
    if x is y:
        return x
    if isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y):
        return tuple(select(condition, a, b) for a, b in zip(x, y, strict=True))
    if is_number(x) and is_number(y):
        x, y = strong(x), strong(y)
        return np.where(condition, x, y)
    raise TypeError(f"threads give one variable values of types {type(x).__name__} and {type(y).__name__}")


def spread(value: Any, threads: int) -> np.ndarray:
    """A number as a lane vector."""
    return value if is_lanes(value) else np.full(threads, strong(value))
