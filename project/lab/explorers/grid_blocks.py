"""Which thread of a grid computes which element, for a map over a tensor and for the blocks of a matrix product."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from project.lab.charts.cells import Cell, grid, strip

AHEAD = "columns", "rows"
"""The direction of threadIdx.x in a matrix product."""


@dataclass(frozen=True)
class Map:
    """A map, launched with one thread per element of out.

    Attributes:
        shape: Shape of out.
        threads: Threads per block.
    """

    shape: tuple[int, ...]
    threads: int

    @property
    def size(self) -> int:
        """The number of elements of out."""
        return math.prod(self.shape)

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.size // self.threads)

    @property
    def idle(self) -> int:
        """The number of threads of the last block without an element."""
        return self.blocks * self.threads - self.size

    def launch(self) -> str:
        """Describe the launch."""
        rest = f"; {_count(self.idle, 'thread')} of the last block {_have(self.idle)} no element" if self.idle else ""
        return (
            f"{self.size} elements need {_count(self.blocks, 'block')} of {_count(self.threads, 'thread')}, one thread per element{rest}."
        )

    def element(self, block: int, thread: int) -> int:
        """Return the number of the element that a thread computes, or would compute."""
        return block * self.threads + thread

    def index(self, i: int) -> tuple[int, ...]:
        """Return the index of element number i."""
        return tuple(map(int, np.unravel_index(i, self.shape))) if self.shape else ()

    def formula(self, block: int, thread: int, guard: bool) -> str:
        """Return what a thread computes, with names and with numbers."""
        i = self.element(block, thread)
        lines = ["i = blockIdx.x · blockDim.x + threadIdx.x", f"  = {block} · {self.threads} + {thread}", f"  = {i}"]
        if i < self.size:
            test = f"{i} < {self.size}: " if guard else ""
            lines.append(f"{test}index {list(self.index(i))}, out{list(self.index(i))} = fn(a{list(self.index(i))})")
        elif guard:
            lines.append(f"{i} < {self.size} is false: the guard stops this thread")
        else:
            again = list(self.index(i % self.size))
            lines.append(f"if i is used as a storage position: writes position {i}, past the end of out, which has {self.size} elements")
            lines.append(f"if to_index is used, which wraps around: writes out{again}, the element of another thread")
        return "\n".join(lines)

    def unguarded(self) -> str:
        """Describe what happens without the guard."""
        if not self.idle:
            return f"Nothing goes wrong here, because {self.threads} divides {self.size}. Such sizes hide a missing guard."
        first, last = self.size, self.size + self.idle - 1
        who = f"One thread of block {self.blocks - 1} has i = {first}" if first == last else f"The last threads have i = {first} to {last}"
        return (
            f"{who}, but out has only {self.size} elements. If i is used as a storage position, they write past the end of out, into "
            "memory that may belong to other tensors: a GPU often reports nothing, or fails later with an illegal address; the simulator "
            "raises an IndexError. If to_index is used, it wraps around, and they overwrite elements of other threads unnoticed."
        )

    def panels(self, block: int, thread: int, guard: bool) -> list[str]:
        """Return the markup of the blocks with their threads, of out, and without a guard of the memory past its end."""
        i = self.element(block, thread)
        panels = []
        for b in range(self.blocks):
            cells = [self._thread(b, t, i, guard) for t in range(self.threads)]
            panels.append(strip(f"Block {b}: threads 0 to {self.threads - 1}", cells))
        return [*panels, grid(f"out, shape {self.shape}", self.shape, self._elements(i)), *([] if guard else [self._past_the_end(i)])]

    def _thread(self, block: int, thread: int, picked: int, guard: bool) -> Cell:
        """Return the cell of a thread, which shows its element."""
        i = self.element(block, thread)
        spare = i >= self.size
        look = "wrong" if spare and not guard else "picked" if i == picked else "idle" if spare else ""
        says = "no element" if spare else f"element {i}"
        note = f"block {block}, thread {thread}: {says}"
        return Cell(f"t{thread}", f"e{i}", (f"e{i}",), note, look, f"{block},{thread}", f"i={i}", shade=bool(block % 2))

    def _elements(self, picked: int) -> list[Cell]:
        """Return the cells of out, each with the thread that computes it."""
        cells = []
        for i in range(self.size):
            block, thread = divmod(i, self.threads)
            note = f"out{list(self.index(i))}, element {i}: block {block}, thread {thread}"
            look = "picked" if i == picked else ""
            cells.append(Cell(str(i), f"e{i}", (f"e{i}",), note, look, f"{block},{thread}", f"b{block} t{thread}", shade=bool(block % 2)))
        return cells

    def _past_the_end(self, picked: int) -> str:
        """Return the markup of the memory that is written past the end of out."""
        cells = []
        for i in range(self.size, self.blocks * self.threads):
            block, thread = divmod(i, self.threads)
            note = f"position {i}, past the end of out, written by block {block}, thread {thread}"
            cells.append(Cell(str(i), f"e{i}", (f"e{i}",), note, "wrong", f"{block},{thread}", f"b{block} t{thread}"))
        return strip("Memory past the end of out", cells)


@dataclass(frozen=True)
class Product:
    """A matrix product, launched in square blocks with one thread per element of out.

    Attributes:
        rows: Rows of out.
        columns: Columns of out.
        side: Threads per block in each direction, BLOCK_DIM.
        ahead: The direction of threadIdx.x, one of AHEAD; blockIdx.x always counts blocks along the rows.
    """

    rows: int
    columns: int
    side: int
    ahead: str

    @property
    def blocks(self) -> tuple[int, int]:
        """The number of blocks along the rows and along the columns."""
        return -(-self.rows // self.side), -(-self.columns // self.side)

    @property
    def idle(self) -> int:
        """The number of threads without an element."""
        return math.prod(self.blocks) * self.side**2 - self.rows * self.columns

    def launch(self) -> str:
        """Describe the launch."""
        down, across = self.blocks
        rest = f"; {_count(self.idle, 'thread')} {_have(self.idle)} no element" if self.idle else ""
        return (
            f"{self.rows} × {self.columns} elements need {down} × {across} blocks of {self.side} × {self.side} threads, one thread per "
            f"element{rest}."
        )

    def element(self, block: tuple[int, int], thread: tuple[int, int]) -> tuple[int, int]:
        """Return row and column of the element that a thread computes, or would compute.

        Args:
            block: blockIdx.x and blockIdx.y.
            thread: threadIdx.x and threadIdx.y.
        """
        x, y = thread
        i, j = (y, x) if self.ahead == "columns" else (x, y)
        return block[0] * self.side + i, block[1] * self.side + j

    def thread(self, row: int, column: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the block and the thread that compute an element."""
        i, j = row % self.side, column % self.side
        return (row // self.side, column // self.side), (j, i) if self.ahead == "columns" else (i, j)

    def inside(self, row: int, column: int) -> bool:
        """Return whether out has such an element."""
        return row < self.rows and column < self.columns

    def formula(self, block: tuple[int, int], thread: tuple[int, int], guard: bool) -> str:
        """Return what a thread computes, with names and with numbers."""
        row, column = self.element(block, thread)
        down, across = ("y", "x") if self.ahead == "columns" else ("x", "y")
        inside, position = self.inside(row, column), row * self.columns + column
        lines = [
            f"row    = blockIdx.x · BLOCK_DIM + threadIdx.{down} = {block[0]} · {self.side} + {row % self.side} = {row}",
            f"column = blockIdx.y · BLOCK_DIM + threadIdx.{across} = {block[1]} · {self.side} + {column % self.side} = {column}",
        ]
        if guard:
            lines.append(f"{row} < {self.rows} and {column} < {self.columns}" + ("" if inside else " is false: this thread writes nothing"))
        if inside:
            lines.append(f"out[{row}, {column}] = sum over k of a[{row}, k] · b[k, {column}]")
        if inside or not guard:
            lines.append(f"storage position = {row} · {self.columns} + {column} = {position}")
        if not inside and not guard:
            hit = self.overwritten().get((row, column))
            lines.append("which is past the end of out" if hit is None else f"which belongs to out[{hit[0]}, {hit[1]}]")
        return "\n".join(lines)

    def coalescing(self, block: tuple[int, int]) -> str:
        """Describe which positions of out adjacent threads write at the same time."""
        places = [self.element(block, (x, 0)) for x in range(self.side)]
        written = [row * self.columns + column for row, column in places if self.inside(row, column)]
        if not written:
            return ""
        shown = ", ".join(map(str, written))
        if self.ahead == "columns":
            return (
                f"Adjacent threads, threadIdx.x = 0, 1, …, write positions {shown}. They are adjacent too, so the writes are coalesced "
                "into one memory transaction."
            )
        return (
            f"Adjacent threads, threadIdx.x = 0, 1, …, write positions {shown}. They are a row of out apart, so each write needs its own "
            "memory transaction. The result is the same, but slower."
        )

    def overwritten(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Return the elements that are overwritten without the guard, by the nonexistent elements that threads compute."""
        found = {}
        for row, column in self._beyond():
            position = row * self.columns + column
            if position < self.rows * self.columns:
                found[row, column] = divmod(position, self.columns)
        return found

    def _beyond(self) -> list[tuple[int, int]]:
        """Return the elements outside of out that threads would compute."""
        down, across = (blocks * self.side for blocks in self.blocks)
        return [at for at in product(range(down), range(across)) if not self.inside(*at)]

    def unguarded(self) -> str:
        """Describe what happens without the guard."""
        beyond, inner = self._beyond(), self.overwritten()
        if not beyond:
            return f"Nothing goes wrong here, because {self.side} divides {self.rows} and {self.columns}. Such sizes hide a missing guard."
        says = []
        if inner:
            at, place = next(iter(inner.items()))
            position = at[0] * self.columns + at[1]
            says.append(
                f"{_count(len(inner), 'thread')} past the last column would write into the next row. The thread for [{at[0]}, {at[1]}] "
                f"writes position {at[0]} · {self.columns} + {at[1]} = {position}, which belongs to out[{place[0]}, {place[1]}]. Its "
                "value then depends on which thread writes last. There is no error, but the result is wrong."
            )
        if outer := len(beyond) - len(inner):
            says.append(f"{_count(outer, 'thread')} would write past the end of out.")
        return " ".join(says)

    def panels(self, picked: tuple[int, int], guard: bool) -> list[str]:
        """Return the markup of all threads of the grid; those outside of out are idle."""
        down, across = (blocks * self.side for blocks in self.blocks)
        hit = set() if guard else set(self.overwritten().values())
        cells = []
        for row, column in product(range(down), range(across)):
            block, thread = self.thread(row, column)
            inside = self.inside(row, column)
            bad = not guard and (not inside or (row, column) in hit)
            look = "wrong" if bad else "picked" if (row, column) == picked else "" if inside else "idle"
            where = f"out[{row}, {column}]" if inside else "outside of out"
            note = f"block ({block[0]}, {block[1]}), thread ({thread[0]}, {thread[1]}): {where}"
            text = f"{row},{column}" if inside else "-"
            tag = f"e{row},{column}"
            small = f"{thread[0]},{thread[1]}"
            cells.append(Cell(text, tag, (tag,), note, look, f"{row},{column}", small, shade=bool(sum(block) % 2)))
        return [grid(f"{self.blocks[0]} × {self.blocks[1]} blocks of {self.side} × {self.side} threads", (down, across), cells, 2.4)]


def _have(n: int) -> str:
    """Return "has" or "have"."""
    return "has" if n == 1 else "have"


def _count(n: int, what: str) -> str:
    """Return a number with its noun, such as "2 threads"."""
    return f"{n} {what}{'' if n == 1 else 's'}"
