"""The student's CUDA kernel of attention in the interpreter, with a check of its outputs, and what its blocks read."""

from __future__ import annotations

import math

import numpy as np

from course.manifest import ROOT
from minitorch.cuda import KernelError, KernelReport
from minitorch.language import cuda_attention as student
from project.lab.cards import WrongResult
from project.lab.explorers.kernel_lab import Launch, run
from project.lab.explorers.language_layers import checked

SIZE = 64
"""Numbers of a query, a key and a value."""

LONGEST = 160
"""The longest text; the interpreter needs about a second for it."""

SOURCE = "minitorch.language.cuda_attention:attention_kernel"


def inspect(length: int, causal: bool) -> KernelReport:
    """Return the report of one head with so many tokens.

    Raises:
        NotImplementedError: If the kernel is a stub.
        WrongResult: If the kernel cannot be run, or an output is wrong and no mistake of its threads explains it.
    """
    query, key, value = np.random.default_rng(0).normal(size=(3, 1, length, SIZE)).astype(np.float32)
    args = [np.full_like(query, np.nan), query, key, value, np.float32(1 / math.sqrt(SIZE)), causal]
    grid, block = (1, math.ceil(length / student.TILE)), (student.TILE, student.TILE)
    try:
        report = run(Launch("attention", "", lambda: student.attention_kernel, grid, block, lambda: args, "6.5b", SOURCE), None)
    except KernelError as error:
        raise WrongResult(f"attention_kernel cannot be run: {str(error).replace(f'{ROOT}/', '')}") from error
    if not report.findings:
        out = next(iter(report.arrays.values()))
        checked("attention_kernel(out, query, key, value, 1/8, …): out", out, expected(query, key, value, causal))
    return report


def expected(query: np.ndarray, key: np.ndarray, value: np.ndarray, causal: bool) -> np.ndarray:
    """Return attention by NumPy."""
    scores = query.astype(float) @ key.astype(float).transpose(0, 2, 1) / math.sqrt(SIZE)
    if causal:
        scores = np.where(np.tri(scores.shape[1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value


def tile_reads(report: KernelReport) -> np.ndarray:
    """Return how often all blocks together read each tile of keys: the most of its elements, shape (1, tiles)."""
    _, _, key, _ = report.arrays  # by position: the student may rename them
    reads = report.count_cells(key).max((0, 2))
    return np.array([[reads[start : start + student.TILE].max() for start in range(0, len(reads), student.TILE)]])


def traffic(report: KernelReport) -> tuple[int, int]:
    """Return the numbers that the kernel reads and writes in global memory, and those of one kernel each for scores, softmax and sums."""
    length = next(iter(report.arrays.values())).shape[1]
    mine = sum(int(report.count_cells(name, kind).sum()) for name in report.arrays for kind in ("read", "write"))
    blocks = math.ceil(length / student.TILE)
    products = 2 * length * SIZE * blocks + length * length * (SIZE // student.TILE) + length * SIZE * blocks
    return mine, products + 3 * length * length + length * SIZE
