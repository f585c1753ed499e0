"""Stage 5 - The planner: where the temporary buffers of a program lie, so that buffers that are never needed at once share memory.

Each buffer lives from the first node that touches it to the last. Buffers are placed one after the other, the largest first, each at the
lowest position where no buffer lies that lives at the same time.

Source: Pisarchyk and Lee 2020, Efficient memory management for deep neural net inference, arXiv:2001.03288, section 5 (greedy by size).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from minitorch.compiler.trace import TEMPORARY, Buffer, Node
from minitorch.tensor_data import LARGE

ALIGNMENT = 64
"""Bytes of a cache line; every buffer starts at one."""


@dataclass(frozen=True)
class Lifetime:
    """When a buffer is needed.

    Attributes:
        first: Number of the first node that touches it.
        last: Number of the last; that of the end of the program for an output.
    """

    first: int
    last: int

    def overlaps(self, other: Lifetime) -> bool:
        """Whether both are needed at once."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Plan:
    """The memory of a program.

    Attributes:
        positions: For each planned buffer its first byte.
        lifetimes: For each planned buffer when it is needed.
        peak: Bytes that all planned buffers take together.
        unshared: Bytes that they would take if none shared memory.
    """

    positions: dict[Buffer, int]
    lifetimes: dict[Buffer, Lifetime]
    peak: int
    unshared: int

    def allocate(self) -> tuple[np.ndarray, dict[Buffer, np.ndarray]]:
        """A new block of memory, and in it an array for each planned buffer; NaN until it is written."""
        size = -(-self.peak // ALIGNMENT) * ALIGNMENT
        memory = np.empty(size + ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        block = memory[start : start + size]
        block[:] = 255
        arrays = {}
        for buffer, position in self.positions.items():
            array = arrays[buffer] = block[position : position + buffer.array.nbytes].view(buffer.array.dtype)
            if array.dtype.kind in "iub":
                array[...] = 0  # an index that was never written must not be out of bounds
        return block, arrays


def update_early(nodes: Sequence[Node]) -> list[Node]:
    """The nodes in another order: an update of a large parameter follows the node that computes its gradient, whose memory is free then."""
    ordered: list[Node] = []
    for node in nodes:
        position, touched = len(ordered), set(node.buffers())
        is_large = max((buffer.array.nbytes for buffer in touched if isinstance(buffer.array, np.ndarray)), default=0) >= 4 * LARGE
        if node.phase == "optimizer" and is_large and not _runs_python(node):
            while position and touched.isdisjoint(ordered[position - 1].buffers()) and not _runs_python(ordered[position - 1]):
                position -= 1
        ordered.insert(position, node)
    return ordered


def _runs_python(node: Node) -> bool:
    """Whether a launch gets no arguments, so that it may touch anything."""
    return not all(launch.args for launch in node.launches)


def lifetimes(steps: Sequence[Collection[Buffer]], kept: Collection[Buffer]) -> dict[Buffer, Lifetime]:
    """When each buffer is needed, from those that each step touches and those that are kept after the last step."""
    found: dict[Buffer, Lifetime] = {}
    for number, buffers in enumerate(steps):
        for buffer in buffers:
            found[buffer] = Lifetime(found[buffer].first if buffer in found else number, number)
    for buffer in kept:
        if buffer in found:
            found[buffer] = Lifetime(found[buffer].first, len(steps))
    return found


def plan_memory(steps: Sequence[Collection[Buffer]], kept: Collection[Buffer]) -> Plan:
    """Plan the temporary buffers of a program; see `lifetimes`."""
    living = {buffer: life for buffer, life in lifetimes(steps, kept).items() if buffer.role == TEMPORARY and not buffer.pinned}
    positions: dict[Buffer, int] = {}
    peak = unshared = 0
    for buffer in sorted(living, key=lambda buffer: -buffer.array.nbytes):
        size = _size(buffer)
        taken = sorted((positions[other], positions[other] + _size(other)) for other in positions if living[other].overlaps(living[buffer]))
        position = 0
        for start, end in taken:
            if position + size <= start:
                break
            position = max(position, end)
        positions[buffer] = position
        peak, unshared = max(peak, position + size), unshared + size
    return Plan(positions, living, peak, unshared)


def _size(buffer: Buffer) -> int:
    """The bytes of a buffer, rounded up to a cache line."""
    return -(-buffer.array.nbytes // ALIGNMENT) * ALIGNMENT
