"""Stage 3 - inspect_kernel: runs a CUDA kernel without a GPU and reports what its threads do to memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minitorch.cuda.findings import DivergentBarrier, Finding, KernelError, OutOfBounds, Position, Race, Uninitialized
from minitorch.cuda.interpreter import Interpreter, blocks
from minitorch.cuda.lanes import WARP
from minitorch.cuda.language import check_language
from minitorch.cuda.memory import SECTOR, AccessCount, Memory
from minitorch.cuda.recorder import LineCount, Recorder, Step
from minitorch.cuda.source import function as find_function
from minitorch.cuda.table import format_report
from minitorch.cuda.unify import check_types
from minitorch.cuda_limits import check_arrays, check_launch

Number = bool | int | float | np.generic
"""What a kernel takes as a number."""

MAX_STEPS = 500_000
"""Statements of a block after which a kernel is taken to run without end."""


@dataclass
class KernelReport:
    """What the threads of a kernel did.

    Attributes:
        kernel: Name of the kernel.
        file: Its file.
        grid: Size of the grid, (x, y, z).
        block: Size of a block, (x, y, z).
        arrays: The arguments that are arrays, by name, after the launch.
        out_of_bounds: Accesses outside of arrays.
        uninitialized: Reads of shared or local memory that nothing has written.
        races: Accesses that no barrier orders.
        divergent_barriers: Barriers that not every thread reaches.
        accesses: Counts by line, array and kind of access, in order of lines.
        lines: Counts by line.
        trace: The statements of the traced block in order; empty without one.
        shared_bytes: Bytes of shared memory per block.
        barriers: Number of calls of `syncthreads` by blocks.
        cells: Accesses of each element of global arrays, by array, kind of access and line number; see `count_cells`.
    """

    kernel: str
    file: str
    grid: Position
    block: Position
    arrays: dict[str, np.ndarray]
    out_of_bounds: list[OutOfBounds] = field(default_factory=list)
    uninitialized: list[Uninitialized] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    divergent_barriers: list[DivergentBarrier] = field(default_factory=list)
    accesses: list[AccessCount] = field(default_factory=list)
    lines: list[LineCount] = field(default_factory=list)
    trace: list[Step] = field(default_factory=list)
    shared_bytes: int = 0
    barriers: int = 0
    cells: dict[tuple[str, str, tuple[str, int]], np.ndarray] = field(default_factory=dict)

    @property
    def findings(self) -> list[Finding]:
        """All findings."""
        return [*self.out_of_bounds, *self.uninitialized, *self.races, *self.divergent_barriers]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    # Memory

    def select_accesses(
        self, memory: str | None = None, kind: str | None = None, line: int | None = None, space: str | None = None
    ) -> list[AccessCount]:
        """The counts of an array, a kind of access ("read", "write", "atomic"), a line or a space ("global", "shared", "local")."""
        wanted = {"memory": memory, "kind": kind, "space": space}
        return [
            access
            for access in self.accesses
            if all(value is None or getattr(access, name) == value for name, value in wanted.items())
            and (line is None or access.place.line == line)
        ]

    def count_cells(self, memory: str, kind: str = "read", line: int | None = None) -> np.ndarray:
        """How often each element of a global array is accessed.

        Args:
            memory: Name of the array.
            kind: "read", "write" or "atomic".
            line: Only accesses at this line.

        Returns:
            Numbers of accesses by single threads, in the shape of the array.

        Raises:
            ValueError: If no argument has that name.
        """
        if memory not in self.arrays:
            raise ValueError(f"expected the name of an argument that is an array, one of {', '.join(self.arrays)}; got {memory!r}")
        total = np.zeros(self.arrays[memory].size, np.int64)
        for (name, action, place), counts in self.cells.items():
            if name == memory and action == kind and line in (None, place[1]):
                total += counts
        return total.reshape(self.arrays[memory].shape)

    def _total(self, attribute: str, space: str) -> int:
        return sum(getattr(access, attribute) for access in self.accesses if access.space == space)

    @property
    def sectors(self) -> int:
        """32-byte sectors of global memory that all requests touch."""
        return self._total("sectors", "global")

    @property
    def global_bytes(self) -> int:
        """Bytes of these sectors: the traffic with global memory, as if nothing were cached."""
        return self.sectors * SECTOR

    @property
    def coalescing(self) -> float:
        """Ideal sectors per sector touched, from 0 to 1."""
        return self._total("ideal", "global") / self.sectors if self.sectors else 1.0

    @property
    def bank_conflict_degree(self) -> int:
        """The highest degree of a bank conflict; 1 without conflicts, 0 without shared memory."""
        return max((access.degree for access in self.accesses), default=0)

    # Threads and arithmetic

    @property
    def warp_efficiency(self) -> float:
        """Active threads of all statements that warps executed, divided by 32 per statement."""
        executed = sum(line.instructions for line in self.lines)
        return sum(line.active for line in self.lines) / (WARP * executed) if executed else 1.0

    @property
    def flops(self) -> int:
        """Floating-point operations: + - * / of every thread."""
        return sum(line.flops for line in self.lines)

    @property
    def intensity(self) -> float:
        """Floating-point operations per byte of global traffic; infinite without traffic."""
        if not self.global_bytes:
            return float("inf") if self.flops else 0.0
        return self.flops / self.global_bytes

    def table(self, width: int = 100) -> str:
        """The report as plain text: findings, totals, and the counts of every line beside its source.

        Args:
            width: Columns of the text; at least 72, and 72 if it is less.
        """
        return format_report(self, width)


def inspect_kernel(
    kernel: Callable[..., Any],
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    *args: Any,
    trace: tuple[int, ...] | None = None,
    names: Sequence[str] | None = None,
    max_steps: int = MAX_STEPS,
) -> KernelReport:
    """Run a CUDA kernel without a GPU, and report its mistakes and its use of memory.

    The kernel's Python source is interpreted, for all threads of a block in lockstep, and blocks run one after the other. Functions that
    it calls are interpreted too. Neither numba.cuda nor a GPU is needed.

    Args:
        kernel: The kernel: a Python function, or what `cuda.jit` makes of one, also in numba's simulator.
        grid: Number of blocks, along one to three dimensions.
        block: Number of threads of a block, along one to three dimensions.
        args: The kernel's arguments: NumPy arrays of one to three dimensions, numbers, and tuples of numbers. Arrays are copied; an array
            that is passed twice is one array for the kernel.
        trace: Position of the block whose statements are kept in order, such as (0, 0, 0).
        names: Names of the arguments in the report, one per argument; without them, the kernel's parameters.
        max_steps: Number of statements of a block after which the kernel is taken to run without end.

    Returns:
        The report. `report.arrays` has the results.

    Raises:
        KernelError: If the kernel uses what the interpreter or the compiler for a GPU does not support, needs more memory than a block
            has, has no source, or does not end.
        TypeError: If kernel is no function, or an argument is of another type or of another number than the kernel's parameters.
        ValueError: If the grid or the block has a size that no GPU accepts, trace is not in the grid, or names are too few, too many
            or alike.
    """
    function = find_function(kernel)
    if function is None:
        raise TypeError(f"inspect_kernel expected a kernel, a Python function or what cuda.jit makes of one; got {kernel!r}")
    whole_grid, whole_block = _size("grid", grid), _size("block", block)
    check_launch(whole_grid, whole_block)
    try:
        check_arrays(function.python)
    except ValueError as error:
        raise KernelError(str(error)) from None
    check_language(function, compiled=function.python is not kernel)
    traced = None if trace is None else _traced(trace, whole_grid)
    parameters = _parameters(function, args)
    labels = parameters if names is None else list(names)
    if len(set(labels)) != len(args) or len(labels) != len(args):
        raise ValueError(f"names expected a different name for each of the {len(args)} arguments, got {labels}")
    recorder = Recorder(whole_grid, whole_block, traced)
    arguments, arrays = _arguments(args, labels, recorder)
    check_types(function.python, dict(zip(parameters, arguments, strict=True)))
    interpreter = Interpreter(recorder, function, max_steps)
    for number, position in enumerate(blocks(whole_grid)):
        recorder.begin_block(number)
        interpreter.run_block(position, dict(zip(parameters, arguments, strict=True)))
        recorder.end_block()
    return _report(function.name, function.file, recorder, arrays)


def _size(name: str, value: Any) -> Position:
    """Three sizes."""
    sizes = value if isinstance(value, (tuple, list)) else (value,)
    whole = all(isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size >= 1 for size in sizes)
    if not 1 <= len(sizes) <= 3 or not whole:
        raise ValueError(f"{name} expected one to three integers of at least 1, got {value!r}")
    x, y, z = (*map(int, sizes), *(1,) * (3 - len(sizes)))
    return x, y, z


def _traced(trace: tuple[int, ...], grid: Position) -> Position:
    """The position of the block to trace."""
    x, y, z = (*trace, *(0,) * (3 - len(trace)))[:3]
    if not (1 <= len(trace) <= 3 and 0 <= x < grid[0] and 0 <= y < grid[1] and 0 <= z < grid[2]):
        raise ValueError(f"trace expected the position of a block in the grid {grid}, got {trace}")
    return int(x), int(y), int(z)


def _parameters(function: Any, args: tuple[Any, ...]) -> list[str]:
    """The names of the kernel's parameters."""
    names = list(function.signature.parameters)
    if len(names) != len(args):
        raise TypeError(f"{function.name} expected {len(names)} arguments ({', '.join(names)}), got {len(args)}")
    return names


def _arguments(args: tuple[Any, ...], labels: Sequence[str], recorder: Recorder) -> tuple[list[Any], dict[str, Memory]]:
    """The kernel's arguments, in which arrays are memories, and these memories by name."""
    arguments: list[Any] = []
    arrays: dict[str, Memory] = {}
    seen: dict[int, Memory] = {}
    for value, name in zip(args, labels, strict=True):
        if isinstance(value, np.ndarray) and 1 <= value.ndim <= 3 and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            if id(value) not in seen:
                seen[id(value)] = Memory(name, "global", value.shape, value.dtype, data=value)
                recorder.add_global(seen[id(value)])
            arguments.append(seen[id(value)])
            arrays[name] = seen[id(value)]
        elif all(isinstance(element, Number) for element in (value if isinstance(value, tuple) else (value,))):
            arguments.append(value)
        else:
            what = f"{value.ndim} dimensions of {value.dtype}" if isinstance(value, np.ndarray) else repr(value)
            expected = "a number, a tuple of numbers, or a NumPy array of numbers with one to three dimensions"
            raise TypeError(f"argument {name} expected {expected}; got {what}")
    return arguments, arrays


def _report(name: str, file: str, recorder: Recorder, arrays: dict[str, Memory]) -> KernelReport:
    def in_order(counts: Any) -> list[Any]:
        return sorted(counts, key=lambda count: (count.place.file != file, count.place.file, count.place.line))

    places = recorder.places
    return KernelReport(
        name, file, recorder.grid, recorder.block_shape,
        {label: memory.array for label, memory in arrays.items()},
        list(recorder.out_of_bounds.values()), list(recorder.uninitialized.values()), list(recorder.races.values()),
        list(recorder.divergent.values()),
        in_order(recorder.accesses.values()), in_order(recorder.lines.values()), recorder.trace, recorder.shared_bytes, recorder.barriers,
        {(memory, kind, places[line][:2]): counts for (memory, kind, line), counts in recorder.cells.items()},
    )  # fmt: skip
