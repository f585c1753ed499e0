"""Probes of Module 3: CUDA kernels that suit the hardware. The submission's process interprets them; no GPU is needed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_equal, number
from course.staff.probes.module2 import UNTOUCHED, rng
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, numbers, seeds

KERNELS = "minitorch.cuda_kernels"

SECTOR = 32
"""Bytes of a sector of global memory."""

SECONDS = 60.0
"""Time limit for an answer that requires the interpreter."""


def array(p: Program, values: np.ndarray, dtype: str = "float32") -> Value:
    """An array in the child."""
    return p.find("numpy:array")(values.tolist(), dtype=dtype)


def findings(p: Program, report: Value) -> Value:
    """The sentences about races, missing barriers, and accesses outside of arrays or of memory that nothing has written."""
    found = p.find("builtins:list")(p.find("builtins:map")(p.find("builtins:str"), report.findings))
    return p.label(found, f"the findings of {report!r}")


def counts(p: Program, report: Value, objects: Value, name: str) -> Value:
    """An attribute of every object of a list in a report."""
    values = p.find("builtins:list")(p.find("builtins:map")(p.find("operator:attrgetter")(name), objects))
    return p.label(values, f"{name} of {report!r}")


def check_findings(got: Any) -> None:
    """Check that the interpreter found no mistake."""
    check_equal(got, [], of="mistakes")


def check_at_most(got: list[int], most: int, of: str) -> None:
    """Check a sum of counts."""
    total = sum(map(number, got))
    if total > most:
        raise Wrong(f"{of}: expected at most {most}, got {total:g}")


# Task 3.6

TILE = 32

EDGES = [(1, 1, 0), (32, 32, 1), (31, 33, 2), (33, 31, 3), (1, 40, 4), (40, 1, 5), (50, 70, 6)]
"""Rows and columns at the edges of tiles, and seeds."""


def transpose(p: Program, a: np.ndarray, dtype: str = "float32", spare: int = 0) -> Value:
    """The report of a transpose, with a number of blocks too many in both directions."""
    rows, columns = a.shape
    grid = math.ceil(columns / TILE) + spare, math.ceil(rows / TILE) + spare
    out, source = array(p, np.full(a.size, float(UNTOUCHED)), dtype), array(p, a.reshape(-1), dtype)
    kernel, names = p.find(f"{KERNELS}:transpose_kernel"), ["out", "a", "rows", "columns"]
    report = p.find("minitorch.cuda:inspect_kernel")(kernel, grid, (TILE, TILE), out, source, rows, columns, names=names)
    return p.label(report, f"inspect_kernel(transpose_kernel, {grid}, (32, 32), …) for {rows} × {columns} numbers of {dtype}")


@probe("3.6", "the kernel transposes matrices of any size", weight=4, examples=EDGES, seconds=SECONDS)
def transposes(p: Program, rows: int, columns: int, seed: int) -> Check:
    """With one block too many in both directions for some sizes."""
    a = numbers((rows, columns), rng(seed))
    (got,) = yield [transpose(p, a, spare=seed % 2).arrays["out"]]
    check_equal(got, a.T.reshape(-1), EXACT)


@probe(
    "3.6",
    "the transpose has no race, all its threads reach its barriers, and it stays inside of its arrays",
    weight=2,
    examples=EDGES,
    seconds=SECONDS,
)
def transposes_without_mistakes(p: Program, rows: int, columns: int, seed: int) -> Check:
    """At the edges of tiles, too."""
    (got,) = yield [findings(p, transpose(p, numbers((rows, columns), rng(seed)), spare=seed % 2))]
    check_findings(got)


@probe(
    "3.6",
    "the warps of the transpose touch each sector of global memory once to read a, and once to write out",
    weight=2,
    examples=[(32, 64, "float32"), (96, 32, "float64"), (64, 64, "float32")],
    seconds=SECONDS,
)
def transposes_coalesced(p: Program, rows: int, columns: int, dtype: str) -> Check:
    """With whole tiles, in which all sectors are full."""
    a = numbers((rows, columns), rng(rows))
    report = transpose(p, a, dtype)
    got, reads, writes = yield [report.sectors, report.count_cells("a"), report.count_cells("out", "write")]
    check_equal(reads, np.ones(a.size), of="reads of each element of a")
    check_equal(writes, np.ones(a.size), of="writes of each element of out")
    check_equal(got, 2 * a.size * np.dtype(dtype).itemsize // SECTOR, of="sectors")


@probe(
    "3.6", "the transpose has one tile in shared memory, no bank conflicts, and one barrier", weight=2, count=1, seconds=SECONDS, seed=seeds
)
def transposes_through_a_tile(p: Program, seed: int) -> Check:
    """In one block, for both dtypes."""
    a = numbers((TILE, TILE), rng(seed))
    reports = [transpose(p, a, dtype) for dtype in ("float32", "float64")]
    degrees, barriers, size = [report.bank_conflict_degree for report in reports], reports[0].barriers, reports[0].shared_bytes
    *got, waits, memory = yield [*degrees, barriers, size]
    check_equal(got, [1, 1], of="threads that wait for the same bank of shared memory (float32, float64)")
    check_equal(waits, 1, of="barriers")
    check_at_most([memory], 4 * (TILE + 1) ** 2, "bytes of shared memory")


# Task 3.7

THREADS, ELEMENTS = 128, 1024
"""Threads of a block, and the elements that it sums."""

SIZES = [(1, 0), (127, 1), (128, 2), (129, 3), (1023, 4), (1024, 5), (1025, 6), (2500, 7)]
"""Sizes at the edges of blocks, and seeds."""


def block_sums(p: Program, a: np.ndarray, dtype: str = "float64", spare: int = 0, trace: tuple[int, ...] | None = None) -> Value:
    """The report of a sum, with a number of blocks too many."""
    blocks = math.ceil(a.size / ELEMENTS) + spare
    out, names = array(p, np.full(blocks, float(UNTOUCHED)), dtype), ["out", "a", "size"]
    kernel = p.find(f"{KERNELS}:sum_kernel")
    report = p.find("minitorch.cuda:inspect_kernel")(kernel, blocks, THREADS, out, array(p, a, dtype), a.size, trace=trace, names=names)
    return p.label(report, f"inspect_kernel(sum_kernel, {blocks}, {THREADS}, …) for {a.size} numbers of {dtype}")


@probe("3.7", "the kernel sums the elements of each block", weight=4, examples=SIZES, seconds=SECONDS)
def sums(p: Program, size: int, seed: int) -> Check:
    """A block without elements has the sum 0."""
    a, spare = numbers((size,), rng(seed)), seed % 2
    (got,) = yield [block_sums(p, a, spare=spare).arrays["out"]]
    starts = range(0, size, ELEMENTS)
    check_equal(got, np.array([a[start : start + ELEMENTS].sum() for start in starts] + [0.0] * spare), EXACT)


@probe(
    "3.7",
    "the sum has no race, all its threads reach its barriers, and it stays inside of its arrays",
    weight=2,
    examples=SIZES,
    seconds=SECONDS,
)
def sums_without_mistakes(p: Program, size: int, seed: int) -> Check:
    """At the edges of blocks, too."""
    (got,) = yield [findings(p, block_sums(p, numbers((size,), rng(seed)), spare=seed % 2))]
    check_findings(got)


@probe(
    "3.7",
    "the warps of the sum touch each sector of global memory once, and each thread reads its share",
    weight=2,
    examples=[("float32",), ("float64",)],
    seconds=SECONDS,
)
def sums_coalesced(p: Program, dtype: str) -> Check:
    """In two whole blocks, of which one is traced."""
    a = numbers((2 * ELEMENTS,), rng(7))
    report = block_sums(p, a, dtype, trace=(1,))
    accesses = p.find("itertools:chain").from_iterable(p.find("builtins:map")(p.find("operator:attrgetter")("accesses"), report.trace))
    of_a = p.find("builtins:filter")(p.function(1, lambda q, access: q.find("operator:eq")(access.memory, "a")), accesses)
    lanes = p.find("numpy:concatenate")(counts(p, report, of_a, "lanes"))
    sectors, reads, readers = yield [report.sectors, report.count_cells("a"), lanes]
    check_equal(reads, np.ones(a.size), of="reads of each element")
    check_equal(sectors, a.size * np.dtype(dtype).itemsize // SECTOR + 2, of="sectors")
    share = np.bincount(readers.astype(int).clip(0, THREADS), minlength=THREADS)
    check_equal(share, np.full(THREADS, ELEMENTS // THREADS), of="elements that each thread reads")


@probe(
    "3.7", "the warps of the sum stay together, and use different banks of shared memory", weight=2, count=1, seconds=SECONDS, seed=seeds
)
def sums_together(p: Program, seed: int) -> Check:
    """Only the rounds of less than a warp may divide one: five, and the write of the result."""
    report = block_sums(p, numbers((ELEMENTS,), rng(seed)), "float32")
    shared = report.select_accesses(space="shared")
    parted, degree, requests = yield [
        counts(p, report, report.lines, "diverged"),
        report.bank_conflict_degree,
        counts(p, report, shared, "requests"),
    ]
    check_at_most(parted, 6, "branches at which the threads of a warp part")
    check_equal(degree, 1, of="threads that wait for the same bank of shared memory")
    check_at_most(requests, 40, "requests of warps for shared memory")
