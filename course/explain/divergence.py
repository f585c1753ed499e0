"""What is found: one call that answers otherwise than its oracle, and where in the answer the difference lies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

TOLERANCE = 1e-9
"""Two floats that differ by less than this share of the expected one are equal: there are several right ways to compute most things."""


@dataclass(frozen=True)
class Wrong:
    """Where an answer is wrong.

    Attributes:
        place: The first wrong thing in few words: "element 2", "cell (0, 1) of out".
        rows: What to show of it, each with a label.
        oracle: What the answer was compared with.
    """

    place: str
    rows: tuple[tuple[str, str], ...]
    oracle: str


@dataclass(frozen=True)
class Finding:
    """The first divergence of a test.

    Attributes:
        task: The task whose function it is.
        function: Its name in its file, "Mul.backward".
        file: Where it stands, relative to the workspace.
        line: The line where it begins.
        wrong: What is wrong with its answer.
        calls: How many calls had answered rightly before.
    """

    task: str
    function: str
    file: str
    line: int
    wrong: Wrong
    calls: int

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


def finding_from(document: Mapping[str, Any]) -> Finding:
    """A finding out of a file."""
    wrong = document["wrong"]
    rows = tuple((label, text) for label, text in wrong["rows"])
    return Finding(**{**document, "wrong": Wrong(wrong["place"], rows, wrong["oracle"])})


def same(expected: Any, got: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether two numbers are the same, as far as floats can be."""
    if isinstance(got, str):  # float would read it
        return False
    try:
        expected, got = float(expected), float(got)
    except (TypeError, ValueError):
        return False
    return expected == got or (expected != expected and got != got) or math.isclose(expected, got, rel_tol=tolerance)


def shown_number(value: Any) -> str:
    """A number in few digits, but in as many as it takes to tell it from a shorter one; anything else as Python writes it."""
    try:
        number = value if isinstance(value, bool | int | float | str) else value.item()
    except (AttributeError, ValueError):
        return repr(value)[:60]
    if not isinstance(number, float):
        return repr(number)
    short = f"{number:.6g}"
    return short if same(number, float(short)) else repr(number)
