"""What a reproduction gives: rows of what was published beside what came out, and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

REPRODUCED, DIFFERS, MEASURED, NOT_RUN = "reproduced", "DIFFERS", "measured", "NOT RUN"
"""Verdicts. Where nothing was published to be equal to, ours is only measured."""


class Absent(Exception):
    """Data or a device is not there; the message says what to do."""


@dataclass(frozen=True)
class Row:
    """One result.

    Attributes:
        what: What it is.
        published: As others have it.
        ours: As it came out.
        verdict: One of the four above.
    """

    what: str
    published: str
    ours: str
    verdict: str


def equal(what: str, published: Any, ours: Any) -> Row:
    """A result that must be the same."""
    return Row(what, str(published), str(ours), REPRODUCED if ours == published else DIFFERS)


def close(what: str, published: Sequence[float], ours: Sequence[float], decimals: int) -> Row:
    """Numbers that must be the same after rounding to some decimals."""
    shown = [f"{x:.{decimals}f}" for x in published], [f"{x:.{decimals}f}" for x in ours]
    return Row(what, " ".join(shown[0]), " ".join(shown[1]), REPRODUCED if shown[0] == shown[1] else DIFFERS)


def at_least(what: str, published: str, ours: float, least: float, unit: str = "") -> Row:
    """A number that must not be smaller than another."""
    return Row(what, published, f"{ours:.4g}{unit}", REPRODUCED if ours >= least else DIFFERS)


def at_most(what: str, published: str, ours: float, most: float, unit: str = "") -> Row:
    """A number that must not be larger than another."""
    return Row(what, published, f"{ours:.4g}{unit}", REPRODUCED if ours <= most else DIFFERS)


def measured(what: str, published: str, ours: str) -> Row:
    """A result that has no other to be equal to."""
    return Row(what, published, ours, MEASURED)


def not_run(what: str, published: str, why: str) -> Row:
    """A result that this machine cannot give."""
    return Row(what, published, why, NOT_RUN)


@dataclass(frozen=True)
class Reproduction:
    """A published result, or several of one source.

    Attributes:
        name: As `project/reproduce.py` takes it.
        source: Who published it.
        needs: What is downloaded or must be there, beyond the package; empty for nothing.
        rows: Computes them.
    """

    name: str
    source: str
    needs: str
    rows: Callable[[], Iterable[Row]]


ALL: dict[str, Reproduction] = {}
"""Every reproduction by its name, in the order of definition."""


def reproduction(name: str, source: str, needs: str = "") -> Callable[[Callable[[], Iterable[Row]]], Callable[[], Iterable[Row]]]:
    """Enter the function that computes the rows of a reproduction."""

    def enter(rows: Callable[[], Iterable[Row]]) -> Callable[[], Iterable[Row]]:
        ALL[name] = Reproduction(name, source, needs, rows)
        return rows

    return enter
