"""Stage 5 - The planner: where the temporary buffers of a program lie, so that buffers that are never needed at once share memory.

Each buffer lives from the first node that touches it to the last. Buffers are placed one after the other, the largest first, each at the
lowest position where no buffer lies that lives at the same time.

Source: Pisarchyk and Lee 2020, Efficient memory management for deep neural net inference, arXiv:2001.03288, section 5 (greedy by size).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minitorch.compiler.trace import TEMPORARY, Buffer, Trace

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

    def allocate(self) -> dict[Buffer, np.ndarray]:
        """New arrays for all planned buffers, parts of one block of memory; NaN until they are written."""
        block = np.empty(self.peak + ALIGNMENT, np.uint8)
        start = -block.ctypes.data % ALIGNMENT
        block[:] = 255
        arrays = {}
        for buffer, position in self.positions.items():
            array = block[start + position : start + position + buffer.array.nbytes].view(buffer.array.dtype)
            if array.dtype.kind in "iub":
                array[...] = 0  # an index that nobody wrote must not lead out of an array
            arrays[buffer] = array
        return arrays


def lifetimes(trace: Trace) -> dict[Buffer, Lifetime]:
    """When each buffer of a trace is needed; outputs live to the end."""
    found: dict[Buffer, Lifetime] = {}
    for number, node in enumerate(trace.nodes):
        for buffer in node.buffers():
            found[buffer] = Lifetime(found[buffer].first if buffer in found else number, number)
    for view in trace.outputs:
        if view.buffer in found:
            found[view.buffer] = Lifetime(found[view.buffer].first, len(trace.nodes))
    return found


def plan_memory(trace: Trace) -> Plan:
    """Plan the temporary buffers of a trace."""
    living = {buffer: life for buffer, life in lifetimes(trace).items() if buffer.role == TEMPORARY and not buffer.pinned}
    positions: dict[Buffer, int] = {}
    peak = unshared = 0
    for buffer in sorted(living, key=lambda buffer: -buffer.array.nbytes):
        size = -(-buffer.array.nbytes // ALIGNMENT) * ALIGNMENT
        taken = sorted((positions[other], _end(other, positions)) for other in positions if living[other].overlaps(living[buffer]))
        position = 0
        for start, end in taken:
            if position + size <= start:
                break
            position = max(position, end)
        positions[buffer] = position
        peak, unshared = max(peak, position + size), unshared + size
    return Plan(positions, living, peak, unshared)


def _end(buffer: Buffer, positions: dict[Buffer, int]) -> int:
    """The byte after a placed buffer, rounded up to a cache line."""
    return positions[buffer] + -(-buffer.array.nbytes // ALIGNMENT) * ALIGNMENT
