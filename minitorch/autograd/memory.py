"""Stage 5 - The memory ledger: which op the numbers belong to that are alive, over a step, and at its peak."""

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
    """What was alive after a call.

    Attributes:
        op: Name of the function that was called.
        backward: Whether it was its backward.
        alive: How many bytes of what the ledger has seen were alive behind it.
    """

    op: str
    backward: bool
    alive: int


class ledger(Observer):
    """Keep book of the numbers that ops of this thread make: `with ledger() as book:`, then `print(book.table())`.

    A storage is entered once, however many views it has, when an op returns it or saves it for backward, and struck out when it is freed.
    What was there before, such as parameters and data, is not entered, nor what an op needs only while it runs. Of tensors on the CPU.

    Attributes:
        alive: How many bytes are alive now; after the end, at the end.
        peak: The most that have been.
        at_peak: For every op and kind ("results", "saved" for backward alone, "backward": gradients) the bytes that were alive then.
        moments: What was alive after each call, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.alive = 0
        self.peak = 0
        self.at_peak: dict[tuple[str, str], int] = {}
        self.moments: list[Moment] = []
        self._held: dict[tuple[str, str], int] = {}
        self._known: dict[int, Any] = {}

    def saw(self, call: Call) -> None:
        """Enter what a call has made.

        Raises:
            RuntimeError: If it lies on a GPU.
        """
        name = call.fn.__name__
        given = {id(storage) for storage in storages((call.given, call.ctx.args))}
        for storage in storages(call.results):
            self._enter(storage, (name, "backward" if call.backward else "results"), given)
        if not call.backward:
            for storage in storages((call.ctx._saved, call.ctx.__dict__)):
                self._enter(storage, (name, "saved"), given)
        if self.alive > self.peak:
            self.peak, self.at_peak = self.alive, {key: count for key, count in self._held.items() if count}
        self.moments.append(Moment(name, call.backward, self.alive))

    def _enter(self, storage: np.ndarray, key: tuple[str, str], given: set[int]) -> None:
        """Count a storage until it is freed, unless it is known or was there before."""
        number, count = id(storage), storage.nbytes
        if number in self._known or number in given:
            return

        def freed(_: Any) -> None:
            del self._known[number]
            self.alive -= count
            self._held[key] -= count

        self._known[number] = weakref.ref(storage, freed)
        self.alive += count
        self._held[key] = self._held.get(key, 0) + count

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._known.clear()  # and with them go the notices of what is freed

    @property
    def holder(self) -> str:
        """The op that held most at the peak; empty if nothing was made."""
        ops: dict[str, int] = {}
        for (op, _), count in self.at_peak.items():
            ops[op] = ops.get(op, 0) + count
        return max(ops, key=ops.__getitem__, default="")

    def table(self, limit: int = 30) -> str:
        """What was alive at the peak, op by op, as a table of at most 80 columns, the largest first.

        Args:
            limit: How many ops at most.
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
    """The storages of tensors, and the arrays, in nested tuples, lists and dictionaries.

    Raises:
        RuntimeError: If a tensor lies on a GPU.
    """
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
