"""Launches of the student's kernels and of examples in the interpreter of `minitorch.cuda`, step by step for one warp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitorch import cuda_kernels, cuda_ops, operators
from minitorch.cuda import KernelError, KernelReport, inspect_kernel
from minitorch.cuda.lanes import WARP
from minitorch.cuda.memory import count_sectors, count_wavefronts
from minitorch.cuda.recorder import Step, StepAccess
from minitorch.kernels.cuda.device import number_function
from project.lab.explorers import kernel_examples as examples

MAX_STEPS = 20_000
"""Statements of a block after which a kernel is taken to run without end; the longest of these launches needs some hundreds."""

VERBS = {"read": ("reads", "read"), "write": ("writes", "write"), "atomic": ("atomically changes", "atomically change")}
"""For one thread and for several."""


@dataclass(frozen=True)
class Launch:
    """A kernel with everything that its launch needs.

    Attributes:
        title: Its name in the menu.
        purpose: What it computes here, in a sentence.
        kernel: Makes the kernel.
        grid: The number of blocks, along one to three dimensions.
        block: The number of threads per block, likewise.
        args: Makes the arguments.
        task: The task in which the student writes it; "" for an example.
        source: The name of the student's function in the manifest.
    """

    title: str
    purpose: str
    kernel: Callable[[], Any]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: Callable[[], Sequence[Any]]
    task: str = ""
    source: str = ""


def counted(size: int, dtype: Any = np.float32) -> np.ndarray:
    """The numbers 0, 1, 2 …"""
    return np.arange(size, dtype=dtype)


def empty(size: int) -> np.ndarray:
    """An array of zeros."""
    return np.zeros(size, np.float32)


def _map_args() -> list[Any]:
    layout = (8, 8)
    return [empty(64), layout, (8, 1), 64, counted(64), layout, (1, 8)]


def _reduce_args() -> list[Any]:
    return [empty(2), (2, 1), (1, 1), 2, counted(2 * cuda_ops.REDUCE_BLOCK), (2, cuda_ops.REDUCE_BLOCK), (cuda_ops.REDUCE_BLOCK, 1), 1, 0.0]


def _product_args() -> list[Any]:
    side, inner = cuda_ops.BLOCK_DIM, 2 * cuda_ops.BLOCK_DIM
    out = empty(side * side), (1, side, side), (side * side, side, 1), side * side
    a = counted(side * inner), (1, side, inner), (side * inner, inner, 1)
    b = counted(inner * side), (1, inner, side), (inner * side, side, 1)
    return [*out, *a, *b]


YOURS = (
    Launch(
        "map", "Negates a matrix (8, 8) that is transposed in storage, in two blocks.",
        lambda: cuda_ops.tensor_map(number_function(operators.neg)), (2,), (32,), _map_args, "3.3", "minitorch.cuda_ops:tensor_map",
    ),
    Launch(
        "reduce", "Sums two rows, one per block.",
        lambda: cuda_ops.tensor_reduce(number_function(operators.add)), (2,), (cuda_ops.REDUCE_BLOCK,), _reduce_args,
        "3.3", "minitorch.cuda_ops:tensor_reduce",
    ),
    Launch(
        "sum_practice", "Sums 64 numbers, 32 per block.",
        lambda: cuda_ops._sum_practice, (2,), (cuda_ops.PRACTICE_BLOCK,), lambda: [empty(2), counted(64), 64],
        "3.3", "minitorch.cuda_ops:_sum_practice",
    ),
    Launch(
        "mm_practice", "Multiplies two matrices (16, 16) in one block.",
        lambda: cuda_ops._mm_practice, (1,), (cuda_ops.PRACTICE_BLOCK, cuda_ops.PRACTICE_BLOCK),
        lambda: [empty(256), counted(256), counted(256), 16], "3.4", "minitorch.cuda_ops:_mm_practice",
    ),
    Launch(
        "matrix product", "Multiplies two matrices in two steps along the inner dimension.",
        lambda: cuda_ops._tensor_matrix_multiply, (1, 1, 1), (cuda_ops.BLOCK_DIM, cuda_ops.BLOCK_DIM), _product_args,
        "3.4", "minitorch.cuda_ops:_tensor_matrix_multiply",
    ),
    Launch(
        "transpose", "Transposes a matrix (64, 32), tile by tile.",
        lambda: cuda_kernels.transpose_kernel, (1, 2), (cuda_kernels.TILE, cuda_kernels.TILE), lambda: [empty(2048), counted(2048), 64, 32],
        "3.6", "minitorch.cuda_kernels:transpose_kernel",
    ),
    Launch(
        "sum", "Sums 1,500 numbers in two blocks.",
        lambda: cuda_kernels.sum_kernel, (2,), (cuda_kernels.SUM_THREADS,), lambda: [empty(2), counted(1500), 1500],
        "3.7", "minitorch.cuda_kernels:sum_kernel",
    ),
)  # fmt: skip
"""The kernels that the student writes, on small inputs."""


def _digits() -> np.ndarray:
    return np.random.default_rng(0).integers(0, examples.BINS, 64).astype(np.float32)


EXAMPLES = (
    Launch("copy", "Copies 60 numbers.", lambda: examples.copy, (2,), (32,), lambda: [empty(60), counted(60), 60]),
    Launch(
        "strided copy: uncoalesced", "Copies every 8th of 512 numbers.",
        lambda: examples.strided_copy, (2,), (32,), lambda: [empty(64), counted(512), 8],
    ),
    Launch(
        "copy without a guard: out of bounds", "Copies 50 numbers with 64 threads.",
        lambda: examples.copy_without_guard, (2,), (32,), lambda: [empty(50), counted(50)],
    ),
    Launch(
        "transpose without a tile: uncoalesced", "Transposes a matrix (64, 64).",
        lambda: examples.naive_transpose, (2, 2), (32, 32), lambda: [empty(4096).reshape(64, 64), counted(4096).reshape(64, 64)],
    ),
    Launch(
        "sums of rows: bank conflicts", "Sums the rows of a matrix (32, 32), one per thread.",
        lambda: examples.row_sums, (1,), (32,), lambda: [empty(32), counted(1024).reshape(32, 32)],
    ),
    Launch("signs: divergent", "Writes 1 and -1 in turns.", lambda: examples.signs, (2,), (32,), lambda: [empty(64)]),
    Launch(
        "reversal without a barrier: races", "Reverses 64 numbers in one block of two warps.",
        lambda: examples.reverse_without_barrier, (1,), (64,), lambda: [empty(64), counted(64)],
    ),
    Launch(
        "barrier in a branch", "Copies 50 numbers through shared memory.",
        lambda: examples.barrier_in_a_branch, (2,), (32,), lambda: [empty(50), counted(50), 50],
    ),
    Launch(
        "histogram: races", "Counts 64 numbers from 0 to 7.",
        lambda: examples.racing_histogram, (2,), (32,), lambda: [np.zeros(8, np.int32), _digits()],
    ),
    Launch(
        "histogram with atomics", "Counts 64 numbers from 0 to 7.",
        lambda: examples.atomic_histogram, (2,), (32,), lambda: [np.zeros(8, np.int32), _digits()],
    ),
)  # fmt: skip
"""Textbook kernels."""

REPAIRED = {
    "strided copy: uncoalesced": Launch(
        "strided copy", "The same 64 numbers, stored one after the other.",
        lambda: examples.strided_copy, (2,), (32,), lambda: [empty(64), counted(64), 1],
    ),
    "copy without a guard: out of bounds": Launch(
        "copy", "Copies 50 numbers with 64 threads.", lambda: examples.copy, (2,), (32,), lambda: [empty(50), counted(50), 50],
    ),
    "transpose without a tile: uncoalesced": Launch(
        "transpose", "Transposes a matrix (64, 64), tile by tile.", lambda: examples.tiled_transpose, (2, 2), (32, 32),
        lambda: [empty(4096).reshape(64, 64), counted(4096).reshape(64, 64)],
    ),
    "sums of rows: bank conflicts": Launch(
        "sums of rows", "Sums the rows of a matrix (32, 32), one per thread.",
        lambda: examples.padded_row_sums, (1,), (32,), lambda: [empty(32), counted(1024).reshape(32, 32)],
    ),
    "signs: divergent": Launch("signs", "Writes 1 and -1 in turns.", lambda: examples.computed_signs, (2,), (32,), lambda: [empty(64)]),
    "reversal without a barrier: races": Launch(
        "reversal", "Reverses 64 numbers in one block of two warps.",
        lambda: examples.reverse, (1,), (64,), lambda: [empty(64), counted(64)],
    ),
    "barrier in a branch": Launch(
        "barrier for all", "Copies 50 numbers through shared memory.",
        lambda: examples.barrier_for_all, (2,), (32,), lambda: [empty(50), counted(50), 50],
    ),
    "histogram: races": EXAMPLES[-1],
}  # fmt: skip
"""What repairs the mistake of an example."""

LAUNCHES = {f"Task {each.task}: {each.title}" if each.task else each.title: each for each in (*YOURS, *EXAMPLES)}
"""All of them by their names in the menu."""


def run(launch: Launch, block: tuple[int, int, int] | None) -> KernelReport:
    """Run a launch and trace one block, or none.

    Raises:
        NotImplementedError: If the kernel is a stub.
        KernelError: If the kernel cannot be interpreted, or the launch is one that no GPU accepts.
    """
    kernel = launch.kernel()
    code = getattr(getattr(kernel, "py_func", kernel), "__code__", None)
    if code is not None and code.co_names == ("NotImplementedError",):
        kernel(*[None] * code.co_argcount)
    try:
        return inspect_kernel(kernel, launch.grid, launch.block, *launch.args(), trace=block, max_steps=MAX_STEPS)
    except (TypeError, ValueError) as error:  # the student's block is too large, or the kernel has other parameters
        raise KernelError(str(error)) from error


# One warp, step by step


@dataclass(frozen=True)
class WarpAccess:
    """What the threads of one warp access in a step.

    Attributes:
        access: The access of the whole block.
        lanes: The threads of the warp, from 0 to 31.
        cells: The element that each of them accesses.
        transactions: Global memory: sectors of 32 bytes. Shared memory: passes.
        ideal: As many as are needed for these bytes.
        conflicts: Shared memory: the degree of the bank conflict; otherwise 0.
    """

    access: StepAccess
    lanes: np.ndarray
    cells: np.ndarray
    transactions: int
    ideal: int
    conflicts: int = 0

    def sentence(self) -> str:
        """What it costs, in a sentence."""
        one, several = VERBS[self.access.kind]
        who = f"1 thread {one}" if len(self.lanes) == 1 else f"{len(self.lanes)} threads {several}"
        if self.access.space == "global":
            cost = f"{self.transactions} sectors of 32 bytes" if self.transactions != 1 else "1 sector of 32 bytes"
            enough = "" if self.transactions <= self.ideal else f", where {self.ideal} would do"
            return f"{who} {self.access.memory}: {cost}{enough}."
        if self.access.space == "shared":
            cost = "no bank conflict" if self.conflicts <= 1 else f"a {self.conflicts}-way bank conflict"
            return f"{who} {self.access.memory} in shared memory: {cost}."
        return f"{who} local memory, which is each thread's own."


@dataclass(frozen=True)
class WarpStep:
    """A step of the traced block, as one warp takes part in it.

    Attributes:
        step: The step.
        active: Whether each thread of the warp executes it.
        accesses: What the warp accesses.
    """

    step: Step
    active: np.ndarray
    accesses: list[WarpAccess]


def warp_steps(report: KernelReport, warp: int, most: int) -> list[WarpStep]:
    """The steps in which a thread of a warp is active, up to a number.

    Args:
        report: A report with a trace.
        warp: The number of the warp in its block.
        most: The largest number of steps.
    """
    found: list[WarpStep] = []
    for step in report.trace:
        active = step.active[WARP * warp : WARP * (warp + 1)]
        if active.any():
            found.append(WarpStep(step, active, [each for access in step.accesses if (each := _of_warp(access, warp)) is not None]))
            if len(found) == most:
                break
    return found


def _of_warp(access: StepAccess, warp: int) -> WarpAccess | None:
    """The part of an access that one warp makes; None if it makes none."""
    mine = access.lanes // WARP == warp
    lanes, cells = access.lanes[mine], access.cells[mine]
    if not len(lanes):
        return None
    itemsize = access.dtype.itemsize
    if access.space == "global":
        _, sectors, _, ideal = count_sectors(cells, lanes, itemsize)
        return WarpAccess(access, lanes % WARP, cells, sectors, ideal)
    if access.space == "shared":
        _, passes, degree = count_wavefronts(cells, lanes, itemsize)
        return WarpAccess(access, lanes % WARP, cells, passes, max(1, itemsize // 4), degree)
    return WarpAccess(access, lanes % WARP, cells, 0, 0)


def sentence(shown: WarpStep) -> str:
    """What happens in a step, in a sentence or two."""
    count = int(shown.active.sum())
    who = (
        "All 32 threads of the warp are"
        if count == WARP
        else "1 thread of the warp is"
        if count == 1
        else f"{count} threads of the warp are"
    )
    if shown.step.kind == "barrier":
        return f"{who} at a barrier, and wait for the other threads of the block."
    what = " ".join(each.sentence() for each in shown.accesses)
    return f"{who} active. {what}".strip()
