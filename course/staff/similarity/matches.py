"""Regions of code that two works share, for comparison side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from course.staff.similarity.compare import SHORTEST
from course.staff.similarity.fingerprints import RUN
from course.staff.similarity.works import Function, Work


@dataclass(frozen=True)
class Region:
    """A run of tokens that two functions share.

    Attributes:
        first: The function of the first work.
        first_lines: Its lines with the tokens, counted from 0.
        second: The function of the second work.
        second_lines: Its lines with the tokens.
        length: The number of tokens.
    """

    first: Function
    first_lines: tuple[int, ...]
    second: Function
    second_lines: tuple[int, ...]
    length: int


def regions(first: Work, second: Work, tasks: Collection[str], ignored: np.ndarray) -> list[Region]:
    """The regions that two works share in these tasks, in the order of the first work.

    Longer matches are chosen first, and each token belongs to at most one region.

    Args:
        first: A work.
        second: Another work.
        tasks: Ids of tasks.
        ignored: Hashes of runs of tokens that are not evidence.

    Returns:
        The regions.
    """
    sides = [[f for f in work.functions if f.task in tasks and len(f.tokens) >= SHORTEST] for work in (first, second)]
    used = [[np.zeros(len(function.tokens), bool) for function in side] for side in sides]
    found: list[tuple[int, int, Region]] = []
    for length, f, start, g, other in sorted(
        _matches(sides[0], sides[1], set(ignored.tolist())), key=lambda match: (-match[0], *match[1:])
    ):
        skipped, length = _longest_free(used[0][f][start : start + length] | used[1][g][other : other + length])
        if length < RUN:
            continue
        start, other = start + skipped, other + skipped
        used[0][f][start : start + length] = used[1][g][other : other + length] = True
        lines = [_lines(side[place], at, length) for side, place, at in ((sides[0], f, start), (sides[1], g, other))]
        found.append((f, start, Region(sides[0][f], lines[0], sides[1][g], lines[1], length)))
    return [region for _, _, region in sorted(found, key=lambda entry: entry[:2])]


def _matches(first: Sequence[Function], second: Sequence[Function], ignored: set[int]) -> Iterator[tuple[int, int, int, int, int]]:
    """Maximal matches around runs that are evidence: length, then function and position in each work."""
    places: dict[int, list[tuple[int, int]]] = {}
    for g, function in enumerate(second):
        for other, run in enumerate(function.runs.tolist()):
            if run not in ignored:
                places.setdefault(run, []).append((g, other))
    for f, function in enumerate(first):
        before: set[tuple[int, int]] = set()
        for start, run in enumerate(function.runs.tolist()):
            here = set(places.get(run, ()))
            for g, other in here:
                if (g, other - 1) not in before:
                    back = _length(function.tokens[:start][::-1], second[g].tokens[:other][::-1])
                    yield back + _length(function.tokens[start:], second[g].tokens[other:]), f, start - back, g, other - back
            before = here


def _length(first: np.ndarray, second: np.ndarray) -> int:
    """The number of equal tokens at the beginning."""
    size = min(len(first), len(second))
    different = np.flatnonzero(first[:size] != second[:size])
    return int(different[0]) if len(different) else size


def _longest_free(used: np.ndarray) -> tuple[int, int]:
    """The start and the length of the longest unused stretch."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], used, [True]])))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return 0, 0
    best = int(np.argmax(ends - starts))
    return int(starts[best]), int(ends[best] - starts[best])


def _lines(function: Function, start: int, length: int) -> tuple[int, ...]:
    return tuple(sorted({int(line) for line in function.places[start : start + length]}))
