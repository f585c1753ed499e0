"""Comparison of a submission's answer with the expected value, under one of two profiles."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from course.staff.probes.plain import Number, OtherObject, Raised, TensorSnapshot
from course.staff.probes.program import Value, text_of, truncate

FULL, PUBLISHED = "full", "published"
"""Grading profiles: this course's tasks with their edge cases, or the requirements of the original MiniTorch course."""

PROFILES = (FULL, PUBLISHED)

PUBLISHED_TOLERANCE = 1e-2
"""The tolerance of the original course's tests."""

_profile: ContextVar[str] = ContextVar("profile", default=FULL)


def is_published() -> bool:
    """Whether the current profile is that of the original course."""
    return _profile.get() == PUBLISHED


@contextlib.contextmanager
def use_profile(profile: str) -> Iterator[None]:
    """Run probes under a profile."""
    token = _profile.set(profile)
    try:
        yield
    finally:
        _profile.reset(token)


class Wrong(Exception):
    """An answer is wrong; the message names the expected value.

    Args:
        message: The expected result of the main behavior; empty if that is right.
        edges: The expected results of edge cases, by label.
    """

    def __init__(self, message: str, edges: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.edges = dict(edges or {})


Check = Generator[Sequence[Value], list[Any], None]
"""A check yields values of a program and receives the submission's answers; then it computes the expected values, and may raise Wrong."""


def check_raises(value: Value, error: str) -> Check:
    """Check that a program raises an error, given by the name of its class or of a base class; for `yield from`.

    Under the profile of the original course, any error passes.

    Raises:
        Wrong: If it does not.
    """
    try:
        (got,) = yield [value]
    except Raised as raised:
        if error not in raised.kinds and not is_published():
            raise Wrong(f"expected {error}, it {raised}") from None
    else:
        raise Wrong(f"expected {error}, got {printable(got)}")


def check_equal(got: Any, expected: Any, close: float = 0.0, of: str = "") -> None:
    """Check that an answer equals the expected value: the same type, and numbers within close · (1 + |expected|).

    Args:
        got: The answer.
        expected: Plain data, or an array for tensors and arrays of any dtype.
        close: Tolerance; 0 requires equal numbers.
        of: Which part of the answer is compared, for the message.

    Raises:
        Wrong: If it differs.
    """
    if not _equal(got, expected, close):
        raise Wrong(f"{of}{': ' if of else ''}expected {printable(expected)}, got {printable(got)}")


def _equal(got: Any, expected: Any, close: float) -> bool:
    close = max(close, PUBLISHED_TOLERANCE) if is_published() else close
    if isinstance(expected, np.generic):
        expected = np.asarray(expected)
    if isinstance(expected, np.ndarray):
        got = got.array if isinstance(got, TensorSnapshot) else got
        if not isinstance(got, np.ndarray) or got.shape != expected.shape:
            return False
        got, expected = got.astype(np.float64), expected.astype(np.float64)
        return bool(np.allclose(got, expected, rtol=close, atol=close, equal_nan=True))
    if is_published():
        got = _as_type_of(got, expected)
    if type(got) is not type(expected):
        return False
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(_equal(*pair, close) for pair in zip(got, expected, strict=True))
    if isinstance(expected, float):
        if math.isnan(expected) or math.isinf(expected) or not close:
            return got == expected or (math.isnan(expected) and math.isnan(got))
        return abs(got - expected) <= close * (1 + abs(expected))
    return got == expected


def _as_type_of(got: Any, expected: Any) -> Any:
    """Convert an answer of another type that the original course's tests accept: True for 1.0, a list for a tuple."""
    if isinstance(expected, (float, bool)) and (isinstance(got, Number) or type(got) in (bool, int)):
        return type(expected)(got.value if isinstance(got, Number) else got)
    if type(expected) is int and isinstance(got, Number) and got.value.is_integer():
        return int(got.value)
    return type(expected)(got) if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)) else got


def check_all_equal(got: Sequence[Any], expected: Sequence[tuple[Any, str]], close: float = 0.0) -> None:
    """Check that each answer equals its expected value; see `check_equal`.

    Args:
        got: The answers.
        expected: The expected value, and the label of the edge case that it belongs to, empty for the main behavior.
        close: See `check_equal`.

    Raises:
        Wrong: If one differs; differences in edge cases are reported under their labels.
    """
    failures: dict[str, str] = {}
    for one, (right, label) in zip(got, expected, strict=True):
        if label and is_published():
            continue
        try:
            check_equal(one, right, close)
        except Wrong as wrong:
            failures.setdefault(label, str(wrong))
    if failures:
        raise Wrong(failures.pop("", ""), failures)


def number(got: Any) -> float:
    """An answer as a float; an int is accepted.

    Raises:
        Wrong: If it is not a built-in number.
    """
    if is_published() and isinstance(got, Number):
        got = got.value
    if type(got) not in ((int, float, bool) if is_published() else (int, float)):
        raise Wrong(f"expected a number, got {printable(got)}")
    return float(got)


def printable(value: Any) -> str:
    """An answer as text for a message."""
    if isinstance(value, TensorSnapshot):
        return f"a tensor of shape {value.array.shape}: {text_of(value.array)}"
    if isinstance(value, np.ndarray):
        return f"shape {value.shape}: {text_of(value)}"
    if isinstance(value, Number):
        return f"{value.kind} {value.value!r}"
    if isinstance(value, OtherObject):
        return f"a {value.kind}"
    if isinstance(value, (list, tuple)):
        return truncate("[{}]".format(", ".join(map(printable, value))))
    return text_of(value)
