"""Stage 7 - Memory ledger: live bytes per op during a training step, and at its peak."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from minitorch.autograd.observer import Call, Observer
from minitorch.autograd.profiler import WIDTH, format_bytes, truncate
from minitorch.tensor import Tensor

KINDS = ("results", "saved", "backward")


class Moment(NamedTuple):
    """Live memory after a call.

    Attributes:
        op: Name of the function that was called.
        backward: Whether this was its backward.
        alive: Live bytes that the ledger tracks.
    """

    op: str
    backward: bool
    alive: int


class ledger(Observer):
    """Track the storages that ops of this thread allocate: `with ledger() as book:`, then `print(book.table())`.

    A storage counts once, from the op that returns it or saves it for backward until it is freed. Storages that existed before,
    such as parameters and data, do not count, nor does temporary memory within an op. Tensors must be on the CPU.

    Attributes:
        alive: Live bytes now, or at the end of the block.
        peak: Maximum of alive.
        at_peak: Live bytes at the peak by op and kind: "results", "saved" (only for backward), or "backward" (gradients).
        moments: Live bytes after each call, in order.

    Example:
        >>> x = torch.zeros(4, 4)
        >>> with ledger() as book:
        ...     y = x * 2
        >>> book.peak, book.holder
        (64, 'Mul')
    """

    def __init__(self) -> None:
        super().__init__()
        self.alive = 0
        self.peak = 0
        self.at_peak: dict[tuple[str, str], int] = {}
        self.moments: list[Moment] = []
        self._live: dict[tuple[str, str], int] = {}
        self._known: dict[int, Any] = {}

    def saw(self, call: Call) -> None:
        """Add the storages that a call allocated.

        Raises:
            RuntimeError: If one is on a GPU.
        """
        name = call.fn.__name__
        given = {id(storage) for storage in storages((call.given, call.ctx.args))}
        for storage in storages(call.results):
            self._enter(storage, (name, "backward" if call.backward else "results"), given)
        if not call.backward:
            for storage in storages((call.ctx._saved, call.ctx.__dict__)):
                self._enter(storage, (name, "saved"), given)
        if self.alive > self.peak:
            self.peak, self.at_peak = self.alive, {key: count for key, count in self._live.items() if count}
        self.moments.append(Moment(name, call.backward, self.alive))

    def _enter(self, storage: np.ndarray, key: tuple[str, str], given: set[int]) -> None:
        """Count a storage until it is freed, unless it is known or was an argument."""
        number, count = id(storage), storage.nbytes
        if number in self._known or number in given:
            return

        def on_free(_: Any) -> None:
            del self._known[number]
            self.alive -= count
            self._live[key] -= count

        self._known[number] = weakref.ref(storage, on_free)
        self.alive += count
        self._live[key] = self._live.get(key, 0) + count

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._known.clear()  # also drops the callbacks of the weak references

    @property
    def holder(self) -> str:
        """The op with the most live bytes at the peak; empty if nothing was allocated."""
        ops: dict[str, int] = {}
        for (op, _), count in self.at_peak.items():
            ops[op] = ops.get(op, 0) + count
        return max(ops, key=ops.__getitem__, default="")

    def table(self, limit: int = 30) -> str:
        """Live bytes at the peak by op, the largest first, as a table of at most 80 columns.

        Args:
            limit: Maximum number of ops.
        """
        ops = list(dict.fromkeys(op for op, _ in self.at_peak))
        rows = [(op, [self.at_peak.get((op, kind), 0) for kind in KINDS]) for op in ops]
        rows.sort(key=lambda row: -sum(row[1]))
        if len(rows) > limit:
            others = [sum(counts) for counts in zip(*(counts for _, counts in rows[limit:]), strict=True)]
            rows[limit:] = [(f"{len(rows) - limit} others", others)]
        rows.append(("peak", [sum(counts[i] for _, counts in rows) for i in range(len(KINDS))]))
        lines = [f"{'op':24} {'results':>11} {'saved':>11} {'backward':>11} {'total':>11} {'share':>7}", "-" * WIDTH]
        for op, counts in rows:
            share = f"{100 * sum(counts) / self.peak:.1f}%" if self.peak else ""
            lines.append(
                f"{truncate(op, 24):24} {''.join(f'{format_bytes(count):>11} ' for count in [*counts, sum(counts)])}{share:>7}".rstrip()
            )
        return "\n".join(lines)


def storages(values: Any) -> Iterator[np.ndarray]:
    """The storages of tensors, and the arrays, in nested tuples, lists and dictionaries. Raises RuntimeError if a tensor is on a GPU."""
    if isinstance(values, Tensor):
        if values.backend.cuda:
            raise RuntimeError(f'ledger expected tensors on the CPU, got one on {values.backend.name}; move the model: .to("cpu")')
        yield values._tensor._storage
    elif isinstance(values, np.ndarray):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from storages(value)
    elif isinstance(values, dict):
        yield from storages(list(values.values()))
