"""Scores of pairs of submissions: how much rare code they share, computed from an inverted index of fingerprints.

In a pair of students, a fingerprint that only two works have has weight 1; the more works have it, the smaller its weight, down to 0 if
all have it. In a pair with a public work every fingerprint has weight 1, because code from a public source is evidence even if half of
the class copied it. The score of a task is the weight of the shared fingerprints divided by the weight of the smaller work, or by `FLOOR`
if that is larger, because little code is little evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from course.staff.similarity.evidence import rare_texts
from course.staff.similarity.fingerprints import winnow
from course.staff.similarity.works import CLASS, PUBLIC, Function, Work

SHORTEST = 30
"""Minimum number of tokens of a function; most students write the same shorter functions."""

FLOOR = 20.0
"""Lower bound of the divisor of a score."""

SMALL_CLASS = 20
"""The rarity of a fingerprint is computed as if a class had at least this many works."""

TEXT = 0.1
"""What a comment or string that no third work has adds to a score."""

MOST_TEXTS = 3
"""Maximum number of comments and strings that count."""

THRESHOLD = 0.5
"""Minimum score of a reported pair; docs/teachers/similarity.md shows how it was measured."""

BLOCK = 4096
"""Number of fingerprints per matrix product."""


@dataclass(frozen=True)
class Pair:
    """A pair of similar works.

    Attributes:
        first: The index of a work of the class in the list of works.
        second: The index of the other work.
        score: From 0 to 1: the best score of a task, or the score over all tasks if it is larger, plus a bonus for comments and strings.
        tasks: The scores of the tasks that reach the threshold, largest first; if none does, the best one.
        texts: Names, comments and strings that no third work has, as (kind, text).
    """

    first: int
    second: int
    score: float
    tasks: dict[str, float]
    texts: tuple[tuple[str, str], ...]


class Scores:
    """The scores of all pairs of works.

    Attributes:
        tasks: By task, a matrix over the works.
        total: The scores over all tasks, as a matrix.
        known: Hashes of the runs of tokens in public works, sorted.

    Args:
        works: All works.
        ordinary: Hashes of runs of tokens that are no evidence, sorted.
    """

    def __init__(self, works: Sequence[Work], ordinary: np.ndarray) -> None:
        public = np.array([work.kind == PUBLIC for work in works], bool)
        of_class = np.array([work.kind == CLASS for work in works], bool)
        runs = [function.runs for work in works if work.kind == PUBLIC for function in work.functions]
        self.known = np.unique(np.concatenate([np.empty(0, np.uint64), *runs]))
        self.tasks: dict[str, np.ndarray] = {}
        count = len(works)
        all_shared, all_smaller = np.zeros((2, count, count), np.float32)
        with_public = public[:, None] | public
        for id in sorted({function.task for work in works for function in work.functions}):
            kept = [_fingerprints([function for function in work.functions if function.task == id], ordinary) for work in works]
            unknown = [some[~_isin(some, self.known)] for some in kept]
            both = zip(_shared_weights(kept, public, rarity=False), _shared_weights(unknown, public, rarity=True), strict=True)
            shared, smaller = (np.where(with_public, *matrices) for matrices in both)
            self.tasks[id] = shared / np.maximum(smaller, FLOOR)
            all_shared += shared
            all_smaller += smaller
        self.total = all_shared / np.maximum(all_smaller, FLOOR)
        self._compared = of_class[:, None] & (~of_class | (np.arange(count)[:, None] < np.arange(count)))
        self._works = works

    def pairs(self, threshold: float = THRESHOLD, ordinary_texts: Sequence[tuple[str, str]] = ()) -> list[Pair]:
        """The pairs whose score reaches the threshold, sorted by score, with public works last; each includes a work of the class."""
        best = np.max([self.total, *self.tasks.values()], axis=0)
        texts = rare_texts(self._works, ordinary_texts)
        for (first, second), some in texts.items():
            more = TEXT * min(MOST_TEXTS, sum(kind != "name" for kind, _ in some))
            best[first, second] = best[second, first] = best[first, second] + more
        found = []
        for row, column in np.argwhere(self._compared & (best >= threshold)):
            first, second = int(row), int(column)
            scores = {id: float(matrix[first, second]) for id, matrix in self.tasks.items()}
            ranked = sorted(scores, key=lambda id: -scores[id])
            tasks = {id: scores[id] for id in ranked if scores[id] >= threshold} or {id: scores[id] for id in ranked[:1]}
            found.append(Pair(first, second, min(1.0, float(best[first, second])), tasks, tuple(texts.get((first, second), ()))))
        return sorted(found, key=self._rank)

    def _rank(self, pair: Pair) -> tuple[bool, float, float, int, int]:
        """The sort key of a pair: pairs of two students first, then by score."""
        public = self._works[pair.second].kind == PUBLIC
        return public, -pair.score, -sum(pair.tasks.values()), pair.first, pair.second


def groups(pairs: Sequence[Pair], works: Sequence[Work]) -> list[list[int]]:
    """Connected components of the pairs within the class that have more than two works, as sorted indices; the largest group first."""
    near: dict[int, set[int]] = {}
    for pair in pairs:
        if works[pair.second].kind == CLASS:
            near.setdefault(pair.first, set()).add(pair.second)
            near.setdefault(pair.second, set()).add(pair.first)
    return sorted((group for group in _components(near) if len(group) > 2), key=lambda group: (-len(group), group))


def _components(near: dict[int, set[int]]) -> Iterator[list[int]]:
    left = set(near)
    while left:
        group, todo = set(), [left.pop()]
        while todo:
            place = todo.pop()
            group.add(place)
            todo += near[place] - group
        left -= group
        yield sorted(group)


def _fingerprints(functions: Sequence[Function], ordinary: np.ndarray) -> np.ndarray:
    """The distinct fingerprints of functions."""
    found = [function.runs[winnow(function.runs)] for function in functions if len(function.tokens) >= SHORTEST]
    some = np.unique(np.concatenate([np.empty(0, np.uint64), *found]))
    return some[~_isin(some, ordinary)]


def _isin(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Whether each value is in a sorted array."""
    if not len(known):
        return np.zeros(len(values), bool)
    return known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values


def _shared_weights(kept: Sequence[np.ndarray], public: np.ndarray, rarity: bool) -> tuple[np.ndarray, np.ndarray]:
    """For every pair of works, the weight of the shared fingerprints, and the weight of the smaller work.

    Args:
        kept: The distinct fingerprints of each work.
        public: Which works are public.
        rarity: Whether fingerprints that many works have weigh less.
    """
    count = len(kept)
    owners = np.repeat(np.arange(count), [len(some) for some in kept])
    values, index = np.unique(np.concatenate([np.empty(0, np.uint64), *kept]), return_inverse=True)
    weights = np.ones(len(values), np.float32)
    if rarity:
        weights = _weights(np.bincount(index[~public[owners]], minlength=len(values)), count - int(public.sum()))
    sizes = np.bincount(owners, weights[index], minlength=count).astype(np.float32)
    several = np.bincount(index, minlength=len(values)) > 1  # the others are not shared
    columns = np.cumsum(several) - 1
    order = np.argsort(index, kind="stable")
    order = order[several[index[order]]]
    owners, index = owners[order], columns[index[order]]
    weights = weights[several]
    shared = np.zeros((count, count), np.float32)
    for start in range(0, len(weights), BLOCK):
        low, high = np.searchsorted(index, (start, start + BLOCK))
        has = np.zeros((count, len(weights[start : start + BLOCK])), np.float32)
        has[owners[low:high], index[low:high] - start] = 1
        shared += (has * weights[start : start + BLOCK]) @ has.T
    return shared, np.minimum(sizes[:, None], sizes)


def _weights(frequencies: np.ndarray, works: int) -> np.ndarray:
    """The inverse document frequency of fingerprints: 1 for those of one or two works, 0 for those of all works."""
    works = max(works, SMALL_CLASS)
    return (np.log(works / np.clip(frequencies, 2, works)) / math.log(works / 2)).astype(np.float32)
