"""Stage 3 - The memories of a simulated kernel: arrays in global, shared and local memory, and how warps access them.

Addresses: every array begins at a multiple of 256 bytes, as cudaMalloc aligns it, and is contiguous in row-major order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from minitorch.cuda.findings import Index, Place
from minitorch.cuda.lanes import WARP, Mask

SECTOR = 32
"""Bytes of a sector, the smallest unit that a GPU reads from global memory."""

CACHE_LINE = 128
"""Bytes of a cache line: four sectors."""

BANKS = 32
"""Banks of shared memory, each 4 bytes wide."""


class Memory:
    """An array that a kernel accesses.

    Args:
        name: Its name in the report.
        space: "global", "shared" or "local".
        shape: Its shape, of one to three dimensions.
        dtype: Type of its elements.
        owners: 1, or for local memory the number of threads, each of which has its own array.
        data: The initial elements; without them the array is not initialized.

    Attributes:
        data: The elements in row-major order; of local memory, those of thread 0 first, then those of thread 1 and so on.
        size: Number of elements, per thread for local memory.
        written: Whether each element has been written or was given; None for global memory.
    """

    def __init__(self, name: str, space: str, shape: Index, dtype: Any, owners: int = 1, data: np.ndarray | None = None) -> None:
        self.name, self.space, self.shape, self.dtype = name, space, tuple(map(int, shape)), np.dtype(dtype)
        self.size, self.ndim = math.prod(self.shape), len(self.shape)
        self.written: np.ndarray | None = None
        if data is None:
            count = self.size * owners
            self.data = np.full(count, np.nan if self.dtype.kind == "f" else 77).astype(self.dtype)
            self.written = np.zeros(count, np.bool_)
        else:
            self.data = np.array(data, order="C").reshape(-1)

    def __len__(self) -> int:
        return self.shape[0]

    def locate(self, indices: list[Any], mask: Mask) -> tuple[np.ndarray, np.ndarray]:
        """The elements that the active threads access.

        Args:
            indices: One index per dimension, each a lane vector or an integer.
            mask: The active threads.

        Returns:
            The number of the element and whether it exists, one per active thread.
        """
        cells = np.zeros(mask.count, np.int64)
        inside = np.ones(mask.count, np.bool_)
        for index, size in zip(indices, self.shape, strict=True):
            here = index[mask.lanes] if isinstance(index, np.ndarray) else index
            inside &= (here >= 0) & (here < size)
            cells *= size
            cells += np.asarray(here).astype(np.int64)
        return cells, inside

    def index(self, cell: int) -> Index:
        """The index of an element."""
        return tuple(map(int, np.unravel_index(cell % max(self.size, 1), self.shape)))

    @property
    def array(self) -> np.ndarray:
        """The elements in the shape of the array; global and shared memory only."""
        return self.data.reshape(self.shape)

    @property
    def nbytes(self) -> int:
        """Size in bytes; per thread for local memory."""
        return self.size * self.dtype.itemsize


@dataclass
class AccessCount:
    """The accesses of one array at one line.

    Attributes:
        place: The line.
        memory: Name of the array.
        space: "global", "shared" or "local".
        kind: "read", "write" or "atomic".
        elements: Number of accesses of single threads.
        requests: Number of accesses of warps; the threads of a warp access memory together.
        sectors: For global memory: 32-byte sectors that the requests touch, added up.
        cache_lines: For global memory: 128-byte lines that the requests touch, added up.
        ideal: For global memory: the sectors if the distinct bytes of each request were contiguous and aligned.
        wavefronts: For shared memory: passes that the requests take. Without bank conflicts, a request takes one, or two if its elements
            have 8 bytes.
        degree: For shared memory: the highest degree of a bank conflict; 1 is free of conflicts.
    """

    place: Place
    memory: str
    space: str
    kind: str
    elements: int = 0
    requests: int = 0
    sectors: int = 0
    cache_lines: int = 0
    ideal: int = 0
    wavefronts: int = 0
    degree: int = 0

    @property
    def efficiency(self) -> float:
        """Ideal sectors per sector touched, from 0 to 1; 1 for shared and local memory."""
        return self.ideal / self.sectors if self.sectors else 1.0


def count_sectors(cells: np.ndarray, lanes: np.ndarray, itemsize: int) -> tuple[int, int, int, int]:
    """Count what warps touch of global memory in one access.

    Source: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory": a warp's accesses coalesce into as many 32-byte
    transactions as are needed.

    Args:
        cells: Element that each active thread accesses.
        lanes: Number of each active thread in its block, in order.
        itemsize: Bytes of an element.

    Returns:
        Requests of warps, sectors, cache lines, and the ideal number of sectors: distinct bytes / 32 per warp, rounded up.
    """
    return _sectors(cells.tobytes(), lanes.tobytes(), itemsize) if len(cells) else (0, 0, 0, 0)


@lru_cache(maxsize=1024)
def _sectors(cell_bytes: bytes, lane_bytes: bytes, itemsize: int) -> tuple[int, int, int, int]:
    """`count_sectors`, whose results are kept: loops and blocks repeat the same accesses."""
    cells, lanes = np.frombuffer(cell_bytes, np.int64), np.frombuffer(lane_bytes, np.int64)
    span = (int(cells.max()) + 1) * itemsize // CACHE_LINE * CACHE_LINE + CACHE_LINE
    keys = np.sort((lanes // WARP) * span + cells * itemsize)
    distinct = keys[np.diff(keys, prepend=-1) != 0]
    per_warp = np.bincount(distinct // span)
    ideal = int((-(-per_warp * itemsize // SECTOR)).sum())
    return int(np.count_nonzero(per_warp)), _count_distinct(distinct // SECTOR), _count_distinct(distinct // CACHE_LINE), ideal


def count_wavefronts(cells: np.ndarray, lanes: np.ndarray, itemsize: int) -> tuple[int, int, int]:
    """Count the passes of one access to shared memory.

    There are 32 banks, and successive 4-byte words are in successive banks. A pass serves one word of each bank; any number of threads may
    read the same word. So the number of passes is the largest number of distinct words in one bank: the degree of the conflict. Elements of
    8 bytes are served in two passes at least, one for each half of a warp, and the degree is that of the worse half.

    Source: CUDA C++ Programming Guide, "Compute Capability 5.x", "Shared Memory", to which the sections of later capabilities refer; the
    half-warps of 64-bit accesses are described in "Compute Capability 2.x" of its early editions, and later GPUs behave alike.

    Args:
        cells: Element that each active thread accesses.
        lanes: Number of each active thread in its block, in order.
        itemsize: Bytes of an element.

    Returns:
        Requests of warps, passes of all of them, and the highest degree.
    """
    return _wavefronts(cells.tobytes(), lanes.tobytes(), itemsize) if len(cells) else (0, 0, 0)


@lru_cache(maxsize=1024)
def _wavefronts(cell_bytes: bytes, lane_bytes: bytes, itemsize: int) -> tuple[int, int, int]:
    """`count_wavefronts`, whose results are kept."""
    cells, lanes = np.frombuffer(cell_bytes, np.int64), np.frombuffer(lane_bytes, np.int64)
    part = WARP // max(1, itemsize // 4)  # threads that are served together
    words = cells * itemsize // 4
    group = lanes // part
    if itemsize > 4:
        words = (words[:, None] + np.arange(itemsize // 4)).reshape(-1)
        group = np.repeat(group, itemsize // 4)
    span = int(words.max()) + 1
    keys = np.sort(group * span + words)
    distinct = keys[np.diff(keys, prepend=-1) != 0]
    group, banks = distinct // span, distinct % span % BANKS
    groups = int(group[-1]) + 1
    degrees = np.bincount(group * BANKS + banks, minlength=groups * BANKS).reshape(groups, BANKS).max(1)
    return len(np.unique(lanes // WARP)), int(degrees.sum()), int(degrees.max())


def _count_distinct(ordered: np.ndarray) -> int:
    """The number of distinct values of a sorted array."""
    return int(np.count_nonzero(np.diff(ordered))) + 1
