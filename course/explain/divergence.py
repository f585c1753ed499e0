"""The difference between a call and its oracle, and its location in the result."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

TOLERANCE = 1e-9
"""The relative difference up to which two floats are equal: most values can be computed in several right ways."""


@dataclass(frozen=True)
class Difference:
    """A difference between the result of a call and that of its oracle.

    Attributes:
        place: The first location that differs: "element 2", "cell (0, 1) of out".
        rows: Details, each with a label.
        oracle: The source of the expected values.
    """

    place: str
    rows: tuple[tuple[str, str], ...]
    oracle: str


@dataclass(frozen=True)
class Finding:
    """The first wrong call of a test.

    Attributes:
        task: The task in which students write the function.
        function: The name of the function in its file, such as "Mul.backward".
        file: The file, relative to the workspace.
        line: The first line of the function.
        wrong: How the call differs from its oracle.
        calls: The number of calls before it that agree with their oracles.
    """

    task: str
    function: str
    file: str
    line: int
    wrong: Difference
    calls: int

    def as_json(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return asdict(self)


def finding_from(document: Mapping[str, Any]) -> Finding:
    """The finding that `as_json` encoded."""
    wrong = document["wrong"]
    rows = tuple((label, text) for label, text in wrong["rows"])
    return Finding(**{**document, "wrong": Difference(wrong["place"], rows, wrong["oracle"])})


def same(expected: Any, got: Any, tolerance: float = TOLERANCE, absolute: float = sys.float_info.min) -> bool:
    """Whether two numbers are equal within a relative or an absolute tolerance; smaller floats than its default have fewer digits."""
    if isinstance(got, str):  # float() would accept it
        return False
    try:
        expected, got = float(expected), float(got)
    except (TypeError, ValueError):
        return False
    return expected == got or (expected != expected and got != got) or math.isclose(expected, got, rel_tol=tolerance, abs_tol=absolute)


def format_number(value: Any) -> str:
    """A number with six digits if they determine it, else with all of its digits; the repr of anything else."""
    try:
        number = value if isinstance(value, bool | int | float | str) else value.item()
    except (AttributeError, ValueError):
        return repr(value)[:60]
    if not isinstance(number, float):
        return repr(number)
    short = f"{number:.6g}"
    return short if same(number, float(short), TOLERANCE / 2) else repr(float(number))  # so two numbers that differ look different
