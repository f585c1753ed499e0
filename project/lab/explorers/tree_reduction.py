"""A tree reduction in shared memory: in each round, half of the threads of a block add a value, with or without barriers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from project.lab.charts.cells import Cell, strip

NOTHING, GUARD, ROUNDS, BARRIERS = "nothing", "the guard", "the barriers between rounds", "all barriers"
MISSING = (NOTHING, GUARD, ROUNDS, BARRIERS)
"""The part that is missing in the kernel."""

WARP = 4
"""Threads per warp in this example; 32 on a GPU."""

Number = int | None
"""The value of a cell; None for uninitialized memory."""


@dataclass(frozen=True)
class Moment:
    """The state of memory after a step.

    Attributes:
        shared: The shared memory of every block.
        out: The value that every block has written.
        kind: "begin", "load", "add" or "write".
        active: The threads of every block that took the step.
        half: The distance to the cell that each thread adds; 0 unless they add.
        written: Whether out has been written.
        wrong: Block and thread of those that added a value that was not ready.
    """

    shared: tuple[tuple[Number, ...], ...]
    out: tuple[Number, ...]
    kind: str = "begin"
    active: range = range(0)
    half: int = 0
    written: bool = False
    wrong: frozenset[tuple[int, int]] = frozenset()


class Tree:
    """The sums of the elements 1, 2, 3 … of a, one per block.

    A thread without an element loads 0, or without the guard whatever is past the end of a. Without barriers, the warps of a block run
    one after the other, which is one of many possible orders.

    Args:
        size: Elements of a.
        threads: Threads per block, a power of 2.
        missing: One of MISSING.
    """

    def __init__(self, size: int, threads: int, missing: str = NOTHING) -> None:
        self.size, self.threads, self.missing = size, threads, missing
        self.blocks = -(-size // threads)
        self.moments = [Moment(((None,) * threads,) * self.blocks, (None,) * self.blocks)]
        for kind, active, half in self._schedule():
            before = replace(self.moments[-1], kind=kind, active=active, half=half, wrong=frozenset())
            self.moments.append({"load": self._load, "add": self._add, "write": self._write}[kind](before))

    def _schedule(self) -> Iterator[tuple[str, range, int]]:
        """Yield the kind of each step, its threads, and half."""
        everyone = range(self.threads)
        warps = [range(i, min(i + WARP, self.threads)) for i in range(0, self.threads, WARP)]
        if self.missing != BARRIERS:
            yield "load", everyone, 0
        for group in warps if self.missing in (ROUNDS, BARRIERS) else [everyone]:
            if self.missing == BARRIERS:
                yield "load", group, 0
            half = self.threads // 2
            while half > 0:
                if group.start < half:
                    yield "add", range(group.start, min(group.stop, half)), half
                half //= 2
            if group.start == 0:
                yield "write", range(1), 0

    def _load(self, step: Moment) -> Moment:
        """Let each thread load an element."""
        shared = [list(cells) for cells in step.shared]
        for block, cells in enumerate(shared):
            for thread in step.active:
                cells[thread] = self.loaded(block, thread)
        return replace(step, shared=tuple(map(tuple, shared)))

    def _add(self, step: Moment) -> Moment:
        """Let each thread add the cell at distance half to its own."""
        shared = [list(cells) for cells in step.shared]
        wrong = set()
        for block, cells in enumerate(shared):
            for thread in step.active:
                mine, other = cells[thread], cells[thread + step.half]
                cells[thread] = None if mine is None or other is None else mine + other
                if other != self.ready(block, thread + step.half, step.half):
                    wrong.add((block, thread))
        return replace(step, shared=tuple(map(tuple, shared)), wrong=frozenset(wrong))

    def _write(self, step: Moment) -> Moment:
        """Let thread 0 of every block write its sum."""
        return replace(step, out=tuple(cells[0] for cells in step.shared), written=True)

    def loaded(self, block: int, thread: int) -> Number:
        """Return the value that a thread loads."""
        i = block * self.threads + thread
        if i < self.size:
            return i + 1
        return None if self.missing == GUARD else 0

    def ready(self, block: int, cell: int, half: int) -> int:
        """Return the correct value of a cell when it is added in the round of this half: the partial sum so far."""
        elements = range(block * self.threads + cell, (block + 1) * self.threads, 2 * half)
        return sum(i + 1 for i in elements if i < self.size)

    def sums(self) -> list[int]:
        """Return the correct sums."""
        return [sum(range(i + 1, min(i + self.threads, self.size) + 1)) for i in range(0, self.size, self.threads)]

    # Text

    def sentence(self, number: int) -> str:
        """Describe the last step."""
        now = self.moments[number]
        if now.kind == "begin":
            return "Shared memory is uninitialized. Every block has its own, which no other block can read."
        if now.kind == "write":
            return "Thread 0 of every block writes its cell to out: one write to global memory per block."
        who, one = _threads(now.active), len(now.active) == 1
        if now.kind == "load":
            return f"Load: {who} of every block load one element of a each from global memory into shared memory.{self._spare(now)}"
        places = f"at distance {now.half}" if now.half > 1 else "next to it"
        bad = f" Some of these cells {self._reason()}." if now.wrong else ""
        return (
            f"half = {now.half}: {who} of every block {'adds' if one else 'add'} the cell {places} to {'its' if one else 'their'} own.{bad}"
        )

    def _spare(self, now: Moment) -> str:
        """Describe what the threads without an element load."""
        spare = self.blocks * self.threads - self.size
        if not spare or len(now.active) < self.threads:
            return ""
        does = "load whatever is past the end of a" if self.missing == GUARD else "load 0, which does not change the sum"
        return f" In the last block, the threads without an element ({spare}) {does}."

    def _reason(self) -> str:
        """Describe why a cell that is added is wrong."""
        if self.missing == GUARD:
            return "contain whatever was past the end of a"
        return "were not ready, because no barrier made this warp wait for the others"

    def formula(self, number: int, block: int, thread: int) -> str:
        """Return what one thread computes in the step."""
        now = self.moments[number]
        i = block * self.threads + thread
        lines = [f"i = blockIdx.x · blockDim.x + threadIdx.x = {block} · {self.threads} + {thread} = {i}"]
        cell = f"block[{thread}]"
        if thread not in now.active:
            lines.append(
                f"thread {thread} does nothing in this step" + (f": {thread} < {now.half} is false" if 0 < now.half <= thread else "")
            )
        elif now.kind == "load" and (i < self.size or self.missing == GUARD):
            guard = "" if self.missing == GUARD else f"{i} < {self.size}: "
            behind = "" if i < self.size else f", past the end of a, which has {self.size} elements"
            lines.append(f"{guard}{cell} = a[{i}] = {_text(self.loaded(block, thread))}{behind}")
        elif now.kind == "load":
            lines.append(f"{i} < {self.size} is false: {cell} = 0")
        elif now.kind == "add":
            before, other = self.moments[number - 1].shared[block], thread + now.half
            lines.append(f"{thread} < {now.half}: {cell} += block[{thread} + {now.half}]")
            lines.append(f"{_text(before[thread])} + {_text(before[other])} = {_text(now.shared[block][thread])}")
            if (block, thread) in now.wrong:
                lines.append(f"wrong: block[{other}] should be {self.ready(block, other, now.half)} when it is read")
        else:
            lines.append(f"out[{block}] = block[0] = {_text(now.out[block])}")
        return "\n".join(lines)

    def lesson(self) -> str:
        """Describe the effect of the missing part on the result."""
        out, right = self.moments[-1].out, self.sums()
        bad = [block for block in range(self.blocks) if out[block] != right[block]]
        if self.missing == GUARD:
            if not bad:
                return f"Nothing goes wrong here, because {self.threads} divides {self.size}. Such sizes hide a missing guard."
            return (
                f"The threads without an element read past the end of a and add whatever they find there: out[{bad[0]}] should be "
                f"{right[bad[0]]}, but its value is undefined."
            )
        warps = f"Here a warp has {WARP} threads (32 on a GPU), and warp 0 runs ahead of the others, which is one of many possible orders."
        if not bad:
            return (
                f"This time every sum is correct, but only because the added cells belong to one warp. {warps} With more threads it fails."
            )
        got = f"is {out[bad[0]]}" if out[bad[0]] is not None else "is computed from uninitialized memory"
        return f"out[{bad[0]}] {got}; it should be {right[bad[0]]}. {warps} Another run may give another result, sometimes the correct one."

    # Drawing

    def panels(self, number: int, picked: tuple[int, int]) -> list[str]:
        """Return the markup of a, of the shared memory of every block, and of out."""
        now = self.moments[number]
        panels = [strip("a, in global memory", self._elements(now, picked))]
        panels += [strip(f"Block {block}: shared memory", self._shared(number, block, picked)) for block in range(self.blocks)]
        return [*panels, strip("out, in global memory", self._out(now))]

    def _elements(self, now: Moment, picked: tuple[int, int]) -> list[Cell]:
        """Return the cells of a, each of which is loaded by one thread."""
        cells = []
        for i in range(self.size):
            at = divmod(i, self.threads)
            look = ("picked" if at == picked else "read") if now.kind == "load" and at[1] in now.active else ""
            tag = f"c{at[0]},{at[1]}"
            note = f"a[{i}] = {i + 1}, loaded by thread {at[1]} of block {at[0]}"
            cells.append(Cell(str(i + 1), tag, (tag,), note, look, f"{at[0]},{at[1]}", f"i={i}", shade=bool(at[0] % 2)))
        return cells

    def _shared(self, number: int, block: int, picked: tuple[int, int]) -> list[Cell]:
        """Return the shared memory of a block, with the role of each cell in this step."""
        now, cells = self.moments[number], []
        for thread, value in enumerate(now.shared[block]):
            taker = thread - now.half
            look = ""
            if (block, thread) in now.wrong:
                look = "wrong"
            elif (block, thread) == picked:
                look = "picked"
            elif now.half and taker in now.active:
                look = "linked" if (block, taker) == picked else "read"
            elif thread in now.active and now.kind != "write":
                look = "changed"
            elif now.kind == "add":
                look = "faint"
            mine, other = f"c{block},{thread}", f"c{block},{thread + now.half}"
            lights = (mine, other) if now.half and thread in now.active else (mine,)
            note = f"block {block}, cell {thread} holds {_text(value)}"
            cells.append(Cell(_text(value), mine, lights, note, look, f"{block},{thread}", f"t{thread}", shade=bool(block % 2)))
        return cells

    def _out(self, now: Moment) -> list[Cell]:
        """Return the cells of out, one per block."""
        cells = []
        for block, value in enumerate(now.out):
            bad = now.written and value != self.sums()[block]
            text = _text(value) if now.written else ""
            note = f"out[{block}] = {text}" if now.written else f"out[{block}] is not written yet"
            look = "wrong" if bad else "changed" if now.kind == "write" else ""
            cells.append(Cell(text, f"o{block}", (f"o{block}", f"c{block},0"), note, look, small=f"b{block}"))
        return cells


def _text(value: Number) -> str:
    """Return a number, or ? for uninitialized memory."""
    return "?" if value is None else str(value)


def _threads(active: Sequence[int]) -> str:
    """Return a range of threads, such as "threads 0 to 3"."""
    if len(active) == 1:
        return f"thread {active[0]}"
    return f"threads {active[0]} {'and' if len(active) == 2 else 'to'} {active[-1]}"
