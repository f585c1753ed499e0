"""Stage 3 - Findings: what the inspection of a kernel reports, each with the line, the block and the threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

Index = tuple[int, ...]
Position = tuple[int, int, int]
"""Position of a thread in its block or of a block in the grid: (x, y, z)."""

ACTIONS = {"read": "reads", "write": "writes", "atomic": "atomically updates"}
"""Kinds of access, with the verb of a sentence."""


class KernelError(Exception):
    """The inspection cannot go on: the kernel uses what the interpreter does not support, does not end, or raises an error."""


class Place(NamedTuple):
    """A line of a source file.

    Attributes:
        file: Path of the file.
        line: Line number, from 1.
        label: How a sentence names it: "line 12", or "tensor_data.py, line 70" outside of the kernel's own file.
    """

    file: str
    line: int
    label: str

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Access:
    """One access of one thread.

    Attributes:
        place: The line.
        kind: "read", "write" or "atomic".
        block: Position of the block.
        thread: Position of the thread in its block.
    """

    place: Place
    kind: str
    block: Position
    thread: Position


@dataclass
class OutOfBounds:
    """An index outside of an array. The access was refused: a read returned 0.

    There is one finding per line, array and kind of access, which describes the first thread.

    Attributes:
        access: The first such access.
        memory: Name of the array.
        index: The index, one number per dimension.
        shape: Shape of the array.
        count: Number of such accesses of all threads.
    """

    access: Access
    memory: str
    index: Index
    shape: Index
    count: int = 1

    def __str__(self) -> str:
        size = f"has {_number(self.shape[0], 'element')}" if len(self.shape) == 1 else f"has shape {self.shape}"
        return f"{_who(self.access)} {_action(self.access, self.memory, self.index)}, but {self.memory} {size}{_more(self.count, 'access')}"


@dataclass
class Uninitialized:
    """A read of shared or local memory that nothing has written. It returned NaN, or 77 as an integer; a GPU returns anything.

    There is one finding per line and array, which describes the first thread.

    Attributes:
        access: The first such access.
        memory: Name of the array.
        space: "shared" or "local".
        index: The index, one number per dimension.
        count: Number of such reads of all threads.
    """

    access: Access
    memory: str
    space: str
    index: Index
    count: int = 1

    def __str__(self) -> str:
        what = f"{self.memory}[{_index(self.index)}]"
        never = f"which nothing has written: {self.space} memory is not initialized"
        return f"{_who(self.access)} reads {what}, {never}{_more(self.count, 'access')}"


@dataclass
class Race:
    """Two accesses of one element by two threads that no barrier orders. At least one is a write, and they are not both atomic.

    There is one finding per array, pair of lines and kinds of access, which describes the first element. Between two blocks, no barrier
    orders anything.

    Attributes:
        memory: Name of the array.
        space: "global" or "shared".
        index: The element, one number per dimension.
        first: An access.
        second: The other access.
        count: Number of such elements, in all blocks.
    """

    memory: str
    space: str
    index: Index
    first: Access
    second: Access
    count: int = 1

    @property
    def kind(self) -> str:
        """ "write-write" or "read-write"; an atomic access counts as a write."""
        return "read-write" if "read" in (self.first.kind, self.second.kind) else "write-write"

    @property
    def between_blocks(self) -> bool:
        """Whether the threads are of two blocks."""
        return self.first.block != self.second.block

    def __str__(self) -> str:
        a, b, what = self.first, self.second, f"{self.memory}[{_index(self.index)}]"
        order = "blocks run in any order" if self.between_blocks else "no barrier orders the two"
        other = f"thread {b.thread} of block {b.block}" if self.between_blocks else f"thread {b.thread}"
        also = f"also {ACTIONS[b.kind]} it" if a.kind == b.kind else f"{ACTIONS[b.kind]} it"
        there = f" in {b.place}" if a.place != b.place else ""
        return f"{_who(a)} {ACTIONS[a.kind]} {what}, and {other} {also}{there}: {order}{_more(self.count, 'element')}"


@dataclass
class DivergentBarrier:
    """A barrier that not every thread reaches.

    Threads that have returned count as missing. GPUs since compute capability 7.0 do not wait for them (CUDA C++ Programming Guide,
    "Synchronization Functions"), but a kernel that relies on it is fragile.

    Attributes:
        place: The line of the barrier.
        block: Position of the block.
        waiting: The threads at the barrier.
        missing: The other threads; for `syncwarp`, of the same warp.
        returned: Whether all missing threads have returned from the kernel.
        name: "syncthreads" or "syncwarp".
        count: How often this happened, in all blocks.
    """

    place: Place
    block: Position
    waiting: tuple[Position, ...]
    missing: tuple[Position, ...]
    returned: bool
    name: str = "syncthreads"
    count: int = 1

    def __str__(self) -> str:
        waits = f"{_number(len(self.waiting), 'thread')} of block {self.block}, such as {self.waiting[0]}, wait at cuda.{self.name}()"
        if len(self.waiting) == 1:
            waits = f"thread {self.waiting[0]} of block {self.block} waits at cuda.{self.name}()"
        why = "which have returned" if self.returned else "which do not reach it"
        missing = f"for {_number(len(self.missing), 'thread')}, such as {self.missing[0]}, {why}"
        if len(self.missing) == 1:
            missing = f"for thread {self.missing[0]}, {'which has returned' if self.returned else 'which does not reach it'}"
        return f"{self.place}: {waits} {missing}{_more(self.count, 'time')}"


Finding = OutOfBounds | Uninitialized | Race | DivergentBarrier


def _who(access: Access) -> str:
    return f"{access.place}: thread {access.thread} of block {access.block}"


def _action(access: Access, memory: str, index: Index) -> str:
    return f"{ACTIONS[access.kind]} {memory}[{_index(index)}]"


def _index(index: Index) -> str:
    return ", ".join(map(str, index))


def _more(count: int, noun: str) -> str:
    """The number of further occurrences, in parentheses."""
    if count == 1:
        return ""
    plural = {"access": "accesses", "element": "elements", "time": "times"}[noun]
    return f" ({count} {plural} in total)"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
