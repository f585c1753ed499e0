"""The result of a reproduction: rows that compare the published value with ours, and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

REPRODUCED, DIFFERS, MEASURED, NOT_RUN = "reproduced", "DIFFERS", "measured", "NOT RUN"
"""Verdicts. If there is no published value to compare with, ours is only measured."""


class Absent(Exception):
    """Data or a device is missing; the message says what to do."""


@dataclass(frozen=True)
class Row:
    """One result.

    Attributes:
        what: What was computed.
        published: The published value.
        ours: The value that our library computed.
        verdict: One of the four above.
    """

    what: str
    published: str
    ours: str
    verdict: str


def equal(what: str, published: Any, ours: Any) -> Row:
    """A value that must be equal."""
    return Row(what, str(published), str(ours), REPRODUCED if ours == published else DIFFERS)


def close(what: str, published: Sequence[float], ours: Sequence[float], decimals: int) -> Row:
    """Numbers that must be equal after rounding to some decimals."""
    shown = [f"{x:.{decimals}f}" for x in published], [f"{x:.{decimals}f}" for x in ours]
    return Row(what, " ".join(shown[0]), " ".join(shown[1]), REPRODUCED if shown[0] == shown[1] else DIFFERS)


def at_least(what: str, published: str, ours: float, least: float, unit: str = "") -> Row:
    """A number that must not be smaller than `least`."""
    return Row(what, published, f"{ours:.4g}{unit}", REPRODUCED if ours >= least else DIFFERS)


def at_most(what: str, published: str, ours: float, most: float, unit: str = "") -> Row:
    """A number that must not be larger than `most`."""
    return Row(what, published, f"{ours:.4g}{unit}", REPRODUCED if ours <= most else DIFFERS)


def measured(what: str, published: str, ours: str) -> Row:
    """A value that has no published value to compare with."""
    return Row(what, published, ours, MEASURED)


def not_run(what: str, published: str, why: str) -> Row:
    """A value that this machine cannot compute."""
    return Row(what, published, why, NOT_RUN)


@dataclass(frozen=True)
class Reproduction:
    """A published result, or several results of one source.

    Attributes:
        name: Its name for `project/reproduce.py`.
        source: Who published it.
        needs: Required data or downloads, besides the package; empty for none.
        rows: Computes the rows.
    """

    name: str
    source: str
    needs: str
    rows: Callable[[], Iterable[Row]]


ALL: dict[str, Reproduction] = {}
"""Every reproduction by its name, in the order of definition."""


def reproduction(name: str, source: str, needs: str = "") -> Callable[[Callable[[], Iterable[Row]]], Callable[[], Iterable[Row]]]:
    """Register the function that computes the rows of a reproduction."""

    def enter(rows: Callable[[], Iterable[Row]]) -> Callable[[], Iterable[Row]]:
        ALL[name] = Reproduction(name, source, needs, rows)
        return rows

    return enter
