"""What is right: the comparison of a submission's answer with what is expected, by one of two profiles."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from course.staff.probes.plain import Number, Raised, Seen, Thing
from course.staff.probes.program import Value, shortened, text_of

FULL, PUBLISHED = "full", "published"
"""What work is marked by: this course's tasks with their edge cases, or what the original MiniTorch course demands."""

PROFILES = (FULL, PUBLISHED)

ROUGH = 1e-2
"""The tolerance of the original course's tests."""

_profile: ContextVar[str] = ContextVar("profile", default=FULL)


def is_published() -> bool:
    """Whether a probe is being put by the profile of the original course."""
    return _profile.get() == PUBLISHED


@contextlib.contextmanager
def marking_by(profile: str) -> Iterator[None]:
    """Probes are put by a profile."""
    token = _profile.set(profile)
    try:
        yield
    finally:
        _profile.reset(token)


class Wrong(Exception):
    """An answer is not what it must be; the message says what was expected.

    Args:
        message: What was expected of the main behaviour; empty if that is right.
        edges: What was expected of edge cases, by their labels.
    """

    def __init__(self, message: str, edges: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.edges = dict(edges or {})


Check = Generator[Sequence[Value], list[Any], None]
"""A check yields values of a program and is given what the submission answers; then it works out what is right, and raises Wrong."""


def raises(value: Value, error: str) -> Check:
    """That a program raises an error, by the name of its class or of one that it inherits from; for `yield from`.

    The original course tests that there is an error, and not which.

    Raises:
        Wrong: If it does not.
    """
    try:
        (found,) = yield [value]
    except Raised as raised:
        if error not in raised.kinds and not is_published():
            raise Wrong(f"expected {error}, it {raised}") from None
    else:
        raise Wrong(f"expected {error}, got {shown(found)}")


def same(got: Any, expected: Any, close: float = 0.0, of: str = "") -> None:
    """That an answer is what is expected, of the same type, and numbers within close · (1 + |expected|).

    Args:
        got: The answer.
        expected: Plain data, or an array for tensors and arrays of any dtype.
        close: 0 for exactly the same numbers.
        of: What of the answer it is, for the message.

    Raises:
        Wrong: If it is something else.
    """
    if not _same(got, expected, close):
        raise Wrong(f"expected {of}{' ' if of else ''}{shown(expected)}, got {shown(got)}")


def _same(got: Any, expected: Any, close: float) -> bool:
    close = max(close, ROUGH) if is_published() else close
    if isinstance(expected, np.generic):
        expected = np.asarray(expected)
    if isinstance(expected, np.ndarray):
        got = got.array if isinstance(got, Seen) else got
        if not isinstance(got, np.ndarray) or got.shape != expected.shape:
            return False
        got, expected = got.astype(np.float64), expected.astype(np.float64)
        return bool(np.allclose(got, expected, rtol=close, atol=close, equal_nan=True))
    if is_published():
        got = _as_type_of(got, expected)
    if type(got) is not type(expected):
        return False
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(_same(*pair, close) for pair in zip(got, expected, strict=True))
    if isinstance(expected, float):
        if math.isnan(expected) or math.isinf(expected) or not close:
            return got == expected or (math.isnan(expected) and math.isnan(got))
        return abs(got - expected) <= close * (1 + abs(expected))
    return got == expected


def _as_type_of(got: Any, expected: Any) -> Any:
    """An answer of another type that the original course's tests take for the same: True for 1.0, a list for a tuple."""
    if isinstance(expected, (float, bool)) and (isinstance(got, Number) or type(got) in (bool, int)):
        return type(expected)(got.value if isinstance(got, Number) else got)
    return type(expected)(got) if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)) else got


def all_same(got: Sequence[Any], expected: Sequence[tuple[Any, str]], close: float = 0.0) -> None:
    """That answers are what is expected of each; see `same`.

    Args:
        got: The answers.
        expected: What is expected, and the label of the edge case that it belongs to, empty for the main behaviour.
        close: See `same`.

    Raises:
        Wrong: If one is something else; what is wrong in edge cases alone is said by their labels.
    """
    failures: dict[str, str] = {}
    for one, (right, label) in zip(got, expected, strict=True):
        if label and is_published():
            continue
        try:
            same(one, right, close)
        except Wrong as wrong:
            failures.setdefault(label, str(wrong))
    if failures:
        raise Wrong(failures.pop("", ""), failures)


def number(got: Any) -> float:
    """An answer as a float, where 0 is as good as 0.0.

    Raises:
        Wrong: If it is no number of Python's own.
    """
    if is_published() and isinstance(got, Number):
        got = got.value
    if type(got) not in ((int, float, bool) if is_published() else (int, float)):
        raise Wrong(f"expected a number, got {shown(got)}")
    return float(got)


def shown(value: Any) -> str:
    """An answer as a message shows it."""
    if isinstance(value, Seen):
        return f"a tensor of shape {value.array.shape}: {text_of(value.array)}"
    if isinstance(value, np.ndarray):
        return f"shape {value.shape}: {text_of(value)}"
    if isinstance(value, Number):
        return f"{value.kind} {value.value!r}"
    if isinstance(value, Thing):
        return f"a {value.kind}"
    if isinstance(value, (list, tuple)):
        return shortened("[{}]".format(", ".join(map(shown, value))))
    return text_of(value)
