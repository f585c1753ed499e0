"""Stage 3 - The recorder: counts what the threads of a kernel do, finds mistakes, and keeps the trace of one block."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from minitorch.cuda.findings import Access, DivergentBarrier, Index, OutOfBounds, Place, Position, Race, Uninitialized
from minitorch.cuda.lanes import WARP, Mask
from minitorch.cuda.memory import AccessCount, Memory, count_sectors, count_wavefronts
from minitorch.cuda.races import KINDS, Log, Pair, races_between_blocks, races_in_block


@dataclass
class LineCount:
    """What the threads do at one line.

    Attributes:
        place: The line.
        instructions: Number of statements that warps executed; a warp executes a statement if at least one of its threads is active.
        active: Active threads of these, added up.
        branches: Conditions of `if`, `while` and `for` that warps evaluated.
        diverged: Those of them that were true for some active threads of the warp and false for others.
        flops: Floating-point operations of single threads: + - * / of which one operand or the result is a float.
    """

    place: Place
    instructions: int = 0
    active: int = 0
    branches: int = 0
    diverged: int = 0
    flops: int = 0


@dataclass(frozen=True)
class StepAccess:
    """The access of one array in a step of the trace.

    Attributes:
        memory: Name of the array.
        space: "global", "shared" or "local".
        kind: "read", "write" or "atomic".
        lanes: Numbers of the threads in the block, x fastest.
        cells: The element that each of them accesses, counted in row-major order.
        shape: Shape of the array.
        dtype: Type of its elements.
    """

    memory: str
    space: str
    kind: str
    lanes: np.ndarray
    cells: np.ndarray
    shape: Index
    dtype: np.dtype


@dataclass
class Step:
    """One statement of the traced block; both sides of a branch follow one another.

    Attributes:
        place: The line.
        kind: The statement in lower case: "assign", "augassign", "annassign", "expr", "if", "while", "for", "return", "break",
            "continue" or "pass"; "barrier" for a call of `syncthreads` or `syncwarp`.
        active: Whether each thread of the block executes it, x fastest.
        interval: Number of barriers of the block before it.
        accesses: What it reads and writes, in order. The statements of the functions that it calls are steps of their own.
    """

    place: Place
    kind: str
    active: np.ndarray
    interval: int
    accesses: list[StepAccess] = field(default_factory=list)


class Recorder:
    """Records one launch.

    Args:
        grid: Size of the grid, (x, y, z).
        block: Size of a block, (x, y, z).
        trace: Position of the block to trace, or None.
    """

    def __init__(self, grid: Position, block: Position, trace: Position | None) -> None:
        self.grid, self.block_shape, self.traced = grid, block, trace
        self.threads = block[0] * block[1] * block[2]
        self.places: list[Place] = []
        self.lines: dict[int, LineCount] = {}
        self.accesses: dict[tuple[int, str, str], AccessCount] = {}
        self.cells: dict[tuple[str, str, int], np.ndarray] = {}
        self.trace: list[Step] = []
        self.step: Step | None = None  # the statement that makes the accesses
        self.shared_bytes = 0
        self.barriers = 0
        self.out_of_bounds: dict[tuple[int, str, str], OutOfBounds] = {}
        self.uninitialized: dict[tuple[int, str], Uninitialized] = {}
        self.races: dict[tuple, Race] = {}
        self.divergent: dict[int, DivergentBarrier] = {}
        self.globals: list[tuple[Memory, Log]] = []
        self._logs: dict[int, tuple[Memory, Log]] = {}
        self._numbers: dict[Place, int] = {}

    # Positions

    def thread(self, lane: int) -> Position:
        """Position in its block of the thread with this number."""
        x, y, _ = self.block_shape
        return int(lane) % x, int(lane) // x % y, int(lane) // (x * y)

    def block(self, number: int) -> Position:
        """Position of the block with this number."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    def number(self, place: Place) -> int:
        """The number of a line."""
        if place not in self._numbers:
            self._numbers[place] = len(self.places)
            self.places.append(place)
            self.lines[self._numbers[place]] = LineCount(place)
        return self._numbers[place]

    # A launch in order

    def add_global(self, memory: Memory) -> None:
        """Register an array in global memory."""
        self._logs[id(memory)] = memory, Log()

    def begin_block(self, number: int) -> None:
        """Begin with a block."""
        self.current, self.interval, self.shared = number, 0, 0
        self.epochs = np.zeros(-(-self.threads // WARP), np.int64)
        self.tracing = self.traced == self.block(number)

    def add_shared(self, memory: Memory) -> None:
        """Register an array in the shared memory of the block."""
        self._logs[id(memory)] = memory, Log()
        self.shared += memory.nbytes
        self.shared_bytes = max(self.shared_bytes, self.shared)

    def end_block(self) -> None:
        """End the block, and forget its shared memory."""
        self._flush()
        self._logs = {key: pair for key, pair in self._logs.items() if pair[0].space == "global"}

    def statement(self, line: int, kind: str, mask: Mask) -> None:
        """Count a statement that the active threads execute."""
        count = self.lines[line]
        count.instructions += mask.warps
        count.active += mask.count
        if self.tracing:
            self.step = Step(self.places[line], kind, mask.bits.copy(), self.interval)
            self.trace.append(self.step)

    def branch(self, line: int, mask: Mask, taken: Mask) -> None:
        """Count a condition that is true for the threads of taken."""
        count = self.lines[line]
        count.branches += mask.warps
        if 0 < taken.count < mask.count:
            count.diverged += taken.split_warps(mask - taken)

    def flops(self, line: int, mask: Mask) -> None:
        """Count a floating-point operation of the active threads."""
        self.lines[line].flops += mask.count

    def barrier(self, line: int, mask: Mask, living: np.ndarray) -> None:
        """All threads of the mask wait at syncthreads; living are those that have not returned from the kernel."""
        self.barriers += 1
        if mask.count < self.threads:
            missing = ~mask.bits
            self._report_barrier(line, "syncthreads", mask.bits, missing, not (missing & living).any())
        self._flush()
        self.interval += 1

    def warp_barrier(self, line: int, mask: Mask, living: np.ndarray, whole: bool) -> None:
        """The threads of the mask wait at syncwarp; whole says that all threads of a warp have to."""
        warps = np.unique(mask.lanes // WARP)
        missing = np.isin(np.arange(self.threads) // WARP, warps) & ~mask.bits
        if whole and missing.any():
            self._report_barrier(line, "syncwarp", mask.bits, missing, not (missing & living).any())
        self.epochs[warps] += 1

    def _report_barrier(self, line: int, name: str, waiting: np.ndarray, missing: np.ndarray, returned: bool) -> None:
        if line in self.divergent:
            self.divergent[line].count += 1
            return
        there, away = (tuple(map(self.thread, np.flatnonzero(bits).tolist())) for bits in (waiting, missing))
        self.divergent[line] = DivergentBarrier(self.places[line], self.block(self.current), there, away, returned, name)

    # Accesses

    def access(self, memory: Memory, kind: int, cells: np.ndarray, lanes: np.ndarray, line: int) -> None:
        """Record an access of existing elements, one per thread."""
        name = KINDS[kind]
        key = line, memory.name, name
        if key not in self.accesses:
            self.accesses[key] = AccessCount(self.places[line], memory.name, memory.space, name)
        count = self.accesses[key]
        count.elements += len(cells)
        if self.tracing and self.step is not None:
            self.step.accesses.append(StepAccess(memory.name, memory.space, name, lanes.copy(), cells.copy(), memory.shape, memory.dtype))
        if not len(cells):
            return
        if memory.space == "local":
            count.requests += len(np.unique(lanes // WARP))
            return
        if memory.space == "global":
            requests, sectors, cache_lines, ideal = count_sectors(cells, lanes, memory.dtype.itemsize)
            count.requests += requests
            count.sectors += sectors
            count.cache_lines += cache_lines
            count.ideal += ideal
            per_cell = (memory.name, name, line)
            if per_cell not in self.cells:
                self.cells[per_cell] = np.zeros(memory.size, np.int64)
            np.add.at(self.cells[per_cell], cells, 1)
        else:
            requests, wavefronts, degree = count_wavefronts(cells, lanes, memory.dtype.itemsize)
            count.requests += requests
            count.wavefronts += wavefronts
            count.degree = max(count.degree, degree)
        self._logs[id(memory)][1].add(cells, lanes, line, kind, self.epochs)

    def refuse(self, memory: str, shape: Index, kind: int, line: int, lanes: np.ndarray, index: Index) -> None:
        """Report accesses outside of an array.

        Args:
            memory: Name of the array.
            shape: Its shape.
            kind: Kind of access.
            line: Number of the line.
            lanes: The threads.
            index: The index of the first of them.
        """
        key = line, memory, KINDS[kind]
        if key in self.out_of_bounds:
            self.out_of_bounds[key].count += len(lanes)
            return
        self.out_of_bounds[key] = OutOfBounds(self._access(line, KINDS[kind], lanes[0]), memory, index, shape, len(lanes))

    def report_unwritten(self, memory: Memory, line: int, lanes: np.ndarray, cells: np.ndarray) -> None:
        """Report reads of elements that nothing has written."""
        key = line, memory.name
        if key in self.uninitialized:
            self.uninitialized[key].count += len(lanes)
            return
        access = self._access(line, "read", lanes[0])
        self.uninitialized[key] = Uninitialized(access, memory.name, memory.space, memory.index(int(cells[0])), len(lanes))

    def _access(self, line: int, kind: str, lane: int) -> Access:
        return Access(self.places[line], kind, self.block(self.current), self.thread(lane))

    # Races

    def _flush(self) -> None:
        """Look for races in the accesses since the last barrier."""
        for memory, log in self._logs.values():
            several = memory.space == "global" and self.grid != (1, 1, 1)
            rows = log.take(only_reads=several)
            if rows is None:
                continue
            pairs = races_in_block(rows, self.current)
            if several:
                pairs += races_between_blocks(rows, log, memory.size, self.current)
            for pair in pairs:
                self._report_race(memory, pair)

    def _report_race(self, memory: Memory, pair: Pair) -> None:
        cell, one, other, count = pair
        key = memory.name, one[2:], other[2:], one[0] == other[0]
        if key in self.races:
            self.races[key].count += count
            return
        first, second = (
            Access(self.places[line], KINDS[kind], self.block(block), self.thread(lane)) for block, lane, line, kind in (one, other)
        )
        self.races[key] = Race(memory.name, memory.space, memory.index(cell), first, second, count)
