"""Stage 3 - Races: pairs of accesses that no barrier orders, found in the accesses between two barriers and between blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from minitorch.cuda.lanes import WARP

READ, WRITE, ATOMIC = 0, 1, 2
KINDS = ("read", "write", "atomic")
"""The kinds of access, by their numbers above."""

ENOUGH = 1 << 20
"""So many accesses of an interval are compressed, in which equal ones are kept once."""

MOST_EXAMPLES = 512
"""Racing elements of an interval for which the pair of accesses is searched; the others are attributed to the pair of the first."""

Pair = tuple[int, tuple[int, int, int, int], tuple[int, int, int, int], int]
"""A race: the element, two accesses (block, thread, line, kind), and how many elements it stands for."""


@dataclass
class Log:
    """The accesses of one array in one block since the last barrier, as columns, and the first accesses of earlier blocks.

    Attributes:
        rows: Arrays with the rows element, thread, line, kind and number of `syncwarp` calls of the thread's warp before it.
        length: Number of their columns.
        changed: Whether any of these accesses is not a read.
        first: For every kind, the block, thread and line of the first access of each element; -1 where there was none.
    """

    rows: list[np.ndarray] = field(default_factory=list)
    length: int = 0
    changed: bool = False
    first: dict[int, np.ndarray] = field(default_factory=dict)

    def add(self, cells: np.ndarray, lanes: np.ndarray, line: int, kind: int, epochs: np.ndarray) -> None:
        """Add the access of several threads."""
        rows = np.empty((5, len(cells)), np.int64)
        rows[0], rows[1], rows[2], rows[3], rows[4] = cells, lanes, line, kind, epochs[lanes // WARP]
        self.rows.append(rows)
        self.length += len(cells)
        self.changed |= kind != READ
        if self.length > ENOUGH:
            self.rows = [_compressed(np.concatenate(self.rows, axis=1))]
            self.length = 2 * self.rows[0].shape[1] if 2 * self.rows[0].shape[1] > ENOUGH else self.rows[0].shape[1]

    def take(self, only_reads: bool) -> np.ndarray | None:
        """The accesses since the last call; None if there are none, or only reads and these are not wanted."""
        rows = np.concatenate(self.rows, axis=1) if self.changed or (self.rows and only_reads) else None
        self.rows, self.length, self.changed = [], 0, False
        return rows


def _compressed(rows: np.ndarray) -> np.ndarray:
    """The accesses without repetitions of an access by the same thread at the same line."""
    return np.unique(rows, axis=1)


def races_in_block(rows: np.ndarray, block: int) -> list[Pair]:
    """Races among the threads of a block between two barriers.

    Args:
        rows: The accesses, see `Log`.
        block: Number of the block.
    """
    changed = rows[3] != READ
    if not changed.any():
        return []
    rows = rows[:, np.isin(rows[0], rows[0][changed])]
    warps = rows[1] // WARP
    found = _conflicts(rows, rows[0], warps, block)
    # Within a warp, syncwarp orders accesses too.
    epochs, width = int(rows[4].max()) + 1, int(warps.max()) + 1
    racing = {pair[0] for pair in found}
    rest = rows if not racing else rows[:, ~np.isin(rows[0], list(racing))]
    if rest.shape[1]:
        found += _conflicts(rest, (rest[0] * width + rest[1] // WARP) * epochs + rest[4], rest[1], block)
    return found


def _conflicts(rows: np.ndarray, keys: np.ndarray, owners: np.ndarray, block: int) -> list[Pair]:
    """Conflicts among accesses with the same key by different owners."""
    order = np.argsort(keys, kind="stable")
    rows, keys, owners = rows[:, order], keys[order], owners[order]
    starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    several = np.minimum.reduceat(owners, starts) != np.maximum.reduceat(owners, starts)
    kinds = rows[3]
    plain = np.add.reduceat(kinds == WRITE, starts) > 0
    mixed = np.minimum.reduceat(kinds, starts) != np.maximum.reduceat(kinds, starts)  # reads and atomic accesses
    groups = np.flatnonzero(several & (plain | mixed))
    ends = np.append(starts[1:], len(keys))
    found = []
    for group in groups[:MOST_EXAMPLES]:
        here = slice(starts[group], ends[group])
        for pair in _pairs(kinds[here], owners[here]):
            accesses = [(block, int(rows[1, i]), int(rows[2, i]), int(rows[3, i])) for i in (starts[group] + p for p in sorted(pair))]
            found.append((int(rows[0, starts[group]]), accesses[0], accesses[1], 1))
    if len(groups) > MOST_EXAMPLES:
        cell, first, second, count = found[0]
        found[0] = cell, first, second, count + len(groups) - MOST_EXAMPLES
    return found


def _pairs(kinds: np.ndarray, owners: np.ndarray) -> list[tuple[int, int]]:
    """One conflicting pair of writes, and one of a read and a write, of a group that has at least one of them."""
    reads, writes, plain = kinds == READ, kinds != READ, kinds == WRITE
    pairs = []
    for first, second in ((plain, writes), (writes, reads)):
        for i in np.flatnonzero(first):
            others = np.flatnonzero(second & (owners != owners[i]))
            if len(others):
                pairs.append((int(i), int(others[0])))
                break
    return pairs


def races_between_blocks(rows: np.ndarray, log: Log, size: int, block: int) -> list[Pair]:
    """Races with earlier blocks; then the first accesses of this block are added to those of earlier blocks.

    Args:
        rows: The accesses, see `Log`.
        log: The log of the array, with the first accesses of earlier blocks.
        size: Number of elements of the array.
        block: Number of the block.
    """
    found: dict[int, Pair] = {}
    for kind in (READ, WRITE, ATOMIC):
        mine = rows[:, rows[3] == kind]
        if not mine.shape[1]:
            continue
        cells, at = np.unique(mine[0], return_index=True)
        for other, first in log.first.items():
            if WRITE not in (kind, other) and kind == other:
                continue
            earlier = first[:, cells]
            racing = np.flatnonzero((earlier[0] >= 0) & (earlier[0] != block))
            for i in racing[:MOST_EXAMPLES]:
                b, thread, line = map(int, earlier[:, i])
                here = mine[:, at[i]]
                pair = (b, thread, line, other), (block, int(here[1]), int(here[2]), kind)
                found.setdefault(int(cells[i]), (int(cells[i]), *pair, 1))
            if len(racing) > MOST_EXAMPLES:
                cell, one, two, count = found[int(cells[racing[0]])]
                found[cell] = cell, one, two, count + len(racing) - MOST_EXAMPLES
    for kind in (READ, WRITE, ATOMIC):
        mine = rows[:, rows[3] == kind]
        if mine.shape[1]:
            first = log.first.setdefault(kind, np.full((3, size), -1, np.int64))
            cells, at = np.unique(mine[0], return_index=True)
            fresh = first[0, cells] < 0
            first[:, cells[fresh]] = np.stack([np.full(fresh.sum(), block), mine[1, at[fresh]], mine[2, at[fresh]]])
    return list(found.values())
