"""A sum in shared memory: the threads of a block fold what they have loaded, half of them at a time, with barriers or without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from project.lab.charts.cells import Cell, strip

NOTHING, GUARD, ROUNDS, BARRIERS = "nothing", "the guard", "the barriers between rounds", "all barriers"
MISSING = (NOTHING, GUARD, ROUNDS, BARRIERS)
"""What may be missing in the kernel."""

WARP = 4
"""Threads that run together, here; of a GPU it is 32."""

Number = int | None
"""What stands in a cell; None is whatever was left there by others."""


@dataclass(frozen=True)
class Moment:
    """What stands where after a step.

    Attributes:
        shared: The shared memory of every block.
        out: What every block has written.
        kind: "begin", "load", "add" or "write".
        active: The threads of every block that took the step.
        half: How far away the cell is that each adds; 0 unless they add.
        written: Whether out has been written.
        wrong: Block and thread of those who have added a number that was not ready.
    """

    shared: tuple[tuple[Number, ...], ...]
    out: tuple[Number, ...]
    kind: str = "begin"
    active: range = range(0)
    half: int = 0
    written: bool = False
    wrong: frozenset[tuple[int, int]] = frozenset()


class Tree:
    """The sums of the elements 1, 2, 3 … of a, one for every block.

    Without a guard a thread that has no element loads what stands behind the end of a, else 0. Where barriers are missing, the warps of a
    block run one after the other: one order of many that are possible.

    Args:
        size: Elements of a.
        threads: Of a block; a power of 2.
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
        """Who does what when: the kind of a step, its threads, and half."""
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
        """Threads load an element each."""
        shared = [list(cells) for cells in step.shared]
        for block, cells in enumerate(shared):
            for thread in step.active:
                cells[thread] = self.loaded(block, thread)
        return replace(step, shared=tuple(map(tuple, shared)))

    def _add(self, step: Moment) -> Moment:
        """Threads add the cell half places on to their own."""
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
        """Thread 0 of every block writes its sum."""
        return replace(step, out=tuple(cells[0] for cells in step.shared), written=True)

    def loaded(self, block: int, thread: int) -> Number:
        """What a thread loads."""
        i = block * self.threads + thread
        if i < self.size:
            return i + 1
        return None if self.missing == GUARD else 0

    def ready(self, block: int, cell: int, half: int) -> int:
        """What a cell must hold when it is added in the round of this half: the sum of the elements folded into it before."""
        elements = range(block * self.threads + cell, (block + 1) * self.threads, 2 * half)
        return sum(i + 1 for i in elements if i < self.size)

    def sums(self) -> list[int]:
        """What the blocks must write."""
        return [sum(range(i + 1, min(i + self.threads, self.size) + 1)) for i in range(0, self.size, self.threads)]

    # In words

    def sentence(self, number: int) -> str:
        """What has happened last."""
        now = self.moments[number]
        if now.kind == "begin":
            return "In shared memory stands whatever was left there. Every block has its own, which no other block can read."
        if now.kind == "write":
            return "Thread 0 of every block writes its cell to out: one write to global memory for every block."
        who, one = _threads(now.active), len(now.active) == 1
        if now.kind == "load":
            return f"Load: {who} of every block take one element of a each from global memory into shared memory.{self._spare(now)}"
        places = f"{now.half} places on" if now.half > 1 else "next to it"
        bad = f" Some of these cells {self._reason()}." if now.wrong else ""
        return (
            f"half = {now.half}: {who} of every block {'adds' if one else 'add'} the cell {places} to {'its' if one else 'their'} own.{bad}"
        )

    def _spare(self, now: Moment) -> str:
        """What the threads do that have no element to load."""
        spare = self.blocks * self.threads - self.size
        if not spare or len(now.active) < self.threads:
            return ""
        does = "load what stands behind the end of a" if self.missing == GUARD else "load 0, which changes no sum"
        return f" Those of the last block that have no element {does}: {spare} of them."

    def _reason(self) -> str:
        """Why a number that is added is wrong."""
        if self.missing == GUARD:
            return "hold what stood behind the end of a"
        return "were not ready, since no barrier made other threads go first"

    def formula(self, number: int, block: int, thread: int) -> str:
        """What the step is for one thread, with its numbers."""
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
            behind = "" if i < self.size else f", behind the end of a, which has {self.size} elements"
            lines.append(f"{guard}{cell} = a[{i}] = {_shown(self.loaded(block, thread))}{behind}")
        elif now.kind == "load":
            lines.append(f"{i} < {self.size} is false: {cell} = 0")
        elif now.kind == "add":
            before, other = self.moments[number - 1].shared[block], thread + now.half
            lines.append(f"{thread} < {now.half}: {cell} += block[{thread} + {now.half}]")
            lines.append(f"{_shown(before[thread])} + {_shown(before[other])} = {_shown(now.shared[block][thread])}")
            if (block, thread) in now.wrong:
                lines.append(f"wrong: block[{other}] must be {self.ready(block, other, now.half)} before it is read")
        else:
            lines.append(f"out[{block}] = block[0] = {_shown(now.out[block])}")
        return "\n".join(lines)

    def lesson(self) -> str:
        """What the missing part does to the result, in words."""
        out, right = self.moments[-1].out, self.sums()
        bad = [block for block in range(self.blocks) if out[block] != right[block]]
        if self.missing == GUARD:
            if not bad:
                return f"Nothing happens here: {self.threads} divides {self.size}. Such sizes hide a missing guard."
            return (
                f"The threads without an element read behind the end of a and add what they find there: out[{bad[0]}] must be "
                f"{right[bad[0]]}, and is a number that nobody can foretell."
            )
        warps = f"Here {WARP} threads are a warp, of a GPU 32, and warp 0 runs ahead of the others: one order of many that are possible."
        if not bad:
            return (
                f"This time every sum is right, by luck: the cells that meet belong to one warp. {warps} With more threads it goes wrong."
            )
        got = f"is {out[bad[0]]}" if out[bad[0]] is not None else "is made of whatever stood in shared memory"
        return f"out[{bad[0]}] {got} and must be {right[bad[0]]}. {warps} Another run may give another number, now and then the right one."

    # The picture

    def panels(self, number: int, picked: tuple[int, int]) -> list[str]:
        """a, the shared memory of every block, and out."""
        now = self.moments[number]
        drawn = [strip("a, in global memory", self._elements(now, picked))]
        drawn += [strip(f"Block {block}: shared memory", self._shared(number, block, picked)) for block in range(self.blocks)]
        return [*drawn, strip("out, in global memory", self._out(now))]

    def _elements(self, now: Moment, picked: tuple[int, int]) -> list[Cell]:
        """a, of which each element goes to one thread."""
        cells = []
        for i in range(self.size):
            at = divmod(i, self.threads)
            look = ("picked" if at == picked else "read") if now.kind == "load" and at[1] in now.active else ""
            tag = f"c{at[0]},{at[1]}"
            note = f"a[{i}] = {i + 1}, loaded by thread {at[1]} of block {at[0]}"
            cells.append(Cell(str(i + 1), tag, (tag,), note, look, f"{at[0]},{at[1]}", f"i={i}", shade=bool(at[0] % 2)))
        return cells

    def _shared(self, number: int, block: int, picked: tuple[int, int]) -> list[Cell]:
        """The cells of a block, and what each has to do with this step."""
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
            note = f"block {block}, cell {thread} holds {_shown(value)}"
            cells.append(Cell(_shown(value), mine, lights, note, look, f"{block},{thread}", f"t{thread}", shade=bool(block % 2)))
        return cells

    def _out(self, now: Moment) -> list[Cell]:
        """out: one number for every block."""
        cells = []
        for block, value in enumerate(now.out):
            bad = now.written and value != self.sums()[block]
            text = _shown(value) if now.written else ""
            note = f"out[{block}] = {text}" if now.written else f"out[{block}] is not written yet"
            look = "wrong" if bad else "changed" if now.kind == "write" else ""
            cells.append(Cell(text, f"o{block}", (f"o{block}", f"c{block},0"), note, look, small=f"b{block}"))
        return cells


def _shown(value: Number) -> str:
    """A number; ? for whatever was left in a cell."""
    return "?" if value is None else str(value)


def _threads(active: Sequence[int]) -> str:
    """Threads 0 to 3."""
    if len(active) == 1:
        return f"thread {active[0]}"
    return f"threads {active[0]} {'and' if len(active) == 2 else 'to'} {active[-1]}"
