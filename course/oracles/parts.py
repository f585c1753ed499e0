"""Results of several parts, and objects that a call changes: what each part should be, compared one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from course.explain.calls import NOTHING, Call
from course.explain.divergence import Difference, format_number, same
from course.oracles.strided import Index, grid, tolerance
from course.oracles.tensors import array

ORACLE = "the definition, computed with NumPy and Python's standard library"

Part = tuple[str, Any, Any]
"""The name of a part, what is expected, and what was found."""


def compare_parts(call: Call, words: str, parts: Iterable[Part], oracle: str = ORACLE) -> Difference | None:
    """The first part that differs. Parts are read one after the other, so that each may assume that those before it are right.

    Args:
        call: The call.
        words: What the function computes.
        parts: The parts.
        oracle: The source of the expected values.
    """
    for name, expected, got in parts:
        index = _first_difference(array(expected), array(got))
        if index is not None:
            at, shown = (f"element {index} of {name}", index) if index else (name, ())
            rows = (("It should be", words), ("Expected", _show(array(expected), shown, "[]")), ("Yours", _show(array(got), shown, "><")))
            return Difference(at, rows, oracle)
    return None


def compare_result(call: Call, words: str, parts: Iterable[Part], expected: str = "a result") -> Difference | None:
    """The same for a function that returns something: None is the first difference."""
    if call.result is None:
        return Difference(NOTHING, (("It should be", words), ("Expected", expected)), ORACLE)
    return compare_parts(call, words, parts)


def refusal(call: Call, error: str, reason: str, unchanged: Iterable[Part] = ()) -> Difference | None:
    """A call whose arguments must be refused is right if it raises an error, and has changed nothing.

    Raises:
        ValueError: If it has raised an error: whose mistake the arguments are, is not known.
    """
    rows = (("It should be", f"an error: {reason}"), ("Expected", error), ("Yours", "no error"))
    if call.returned:
        return Difference("the error that it must raise", rows, ORACLE)
    if wrong := compare_parts(call, f"as before, because the call is refused: {reason}", unchanged):
        return wrong
    raise ValueError(reason)


def _first_difference(expected: Any, got: Any) -> Index | None:
    """The index of the first element that differs; () if the values differ as a whole, None if they are equal."""
    if isinstance(expected, np.ndarray):
        if not isinstance(got, np.ndarray) or got.shape != expected.shape or got.dtype.kind not in "biuf":
            return ()
        wrong = np.argwhere(~_close(expected, got))
        return tuple(map(int, wrong[0])) if len(wrong) else None
    if isinstance(expected, float):
        return None if same(expected, got) else ()
    return None if type(got) in (type(expected), bool, int, str, list, tuple, dict) and got == expected else ()


def _close(expected: Any, got: Any) -> Any:
    """Where two arrays are equal, up to rounding; the largest number of an array determines how far its numbers are rounded."""
    if expected.dtype.kind != "f":
        return expected == got
    with np.errstate(all="ignore"):
        finite = np.abs(expected[np.isfinite(expected)])
        small = finite.max(initial=0) * tolerance(expected, got) / 100 + 1e-12
        relative = tolerance(expected, got) * np.where(np.isfinite(expected), np.abs(expected), 0)
        return (np.abs(got - expected) <= relative + small) | (got == expected) | (np.isnan(expected) & np.isnan(got))


def _show(value: Any, index: Index, mark: str) -> str:
    """A value; of an array, its shape or the element with the numbers around it."""
    if not isinstance(value, np.ndarray):
        return format_number(value)
    if not index:
        return f"an array of shape {value.shape}, {value.dtype.name}"
    return "\n".join([format_number(value[index]), *grid(value, {index: mark})])
