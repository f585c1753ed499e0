"""Probes of Module 6: fused attention on CUDA. The submission's process interprets the kernel; no GPU is needed."""

from __future__ import annotations

import math

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, check_equal
from course.staff.probes.module2 import UNTOUCHED, rng
from course.staff.probes.module3_cuda_kernels import SECONDS, SECTOR, array, check_at_most, check_findings, findings
from course.staff.probes.module6_attention import attended
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import numbers, seeds

TILE, CLOSE = 32, 1e-4

NAMES = ["out", "query", "key", "value", "scale", "causal"]

CASES = [
    (1, 1, 1, 1, 1, True), (2, 33, 33, 64, 64, True), (1, 32, 32, 32, 32, True), (1, 31, 65, 3, 33, True), (1, 66, 3, 33, 3, True),
    (2, 3, 64, 63, 2, False), (1, 33, 31, 2, 64, False),
]  # fmt: skip
"""Heads, queries, keys, elements of a query, elements of a value, and whether causal."""


def launched(p: Program, arrays: list[np.ndarray], causal: bool, scale: float | None = None) -> Value:
    """The report of a launch."""
    query, _, value = arrays
    heads, length, size = query.shape
    grid = heads, math.ceil(length / TILE)
    out = array(p, np.full((heads, length, value.shape[2]), float(UNTOUCHED)))
    kernel, inputs = p.find("minitorch.language.cuda_attention:attention_kernel"), [array(p, x) for x in arrays]
    factor = p.find("numpy:float32")(scale or 1 / math.sqrt(size))
    report = p.find("minitorch.cuda:inspect_kernel")(kernel, grid, (TILE, TILE), out, *inputs, factor, causal, names=NAMES)
    return p.label(report, f"inspect_kernel(attention_kernel, {grid}, (32, 32), …) for shapes {', '.join(str(x.shape) for x in arrays)}")


def drawn(seed: int, heads: int, length: int, keys: int, size: int, columns: int) -> list[np.ndarray]:
    """Query, key and value."""
    draw = rng(seed)
    return [numbers(shape, draw) for shape in ((heads, length, size), (heads, keys, size), (heads, keys, columns))]


def mask_of(length: int, keys: int, causal: bool) -> np.ndarray:
    """Whether each query attends to each key."""
    return np.tri(length, keys, keys - length, dtype=bool) if causal else np.ones((length, keys), bool)


@probe("6.5b", "the kernel computes attention for any lengths and widths", weight=4, seed=seeds, count=1, seconds=SECONDS)
def attends(p: Program, seed: int) -> Check:
    """Causal and not, with queries without keys."""
    parts = [drawn(seed + number, *sizes) for number, (*sizes, _) in enumerate(CASES)]
    got = yield [launched(p, arrays, case[-1]).arrays["out"] for arrays, case in zip(parts, CASES, strict=True)]
    for found, arrays, (_, length, keys, *_, causal) in zip(got, parts, CASES, strict=True):
        check_equal(found, attended(arrays, mask_of(length, keys, causal)), CLOSE, of=f"attention of {length} queries and {keys} keys")


@probe(
    "6.5b",
    "the kernel has no race, all its threads reach its barriers, and it stays inside of its arrays",
    weight=2,
    seed=seeds,
    count=1,
    seconds=SECONDS,
)
def attends_without_mistakes(p: Program, seed: int) -> Check:
    """At the edges of tiles, too."""
    for found in (yield [findings(p, launched(p, drawn(seed, *sizes), causal)) for *sizes, causal in CASES]):
        check_findings(found)


SCORES = [
    [1.0] + [0.0] * TILE, [1000.0] + [0.0] * TILE, [0.0] * TILE + [1000.0], [-1000.0] * TILE + [0.0], [-1000.0] * TILE + [-2000.0],
    [0.0] * TILE + [math.nan],
]  # fmt: skip
"""The scores of one query: small ones, large ones in the first tile and in the second, low ones, and NaN."""


@probe("6.5b", "large scores do not overflow, NaN is not hidden, and the scale is the argument", weight=1, seconds=SECONDS)
def large(p: Program) -> Check:
    """A thousand in both directions."""
    requests, rights = [], []
    for scores in map(np.array, SCORES):
        arrays = [np.full((1, 1, 1), 2.0), scores.reshape(1, -1, 1), np.arange(TILE + 1.0).reshape(1, -1, 1)]
        requests.append(launched(p, arrays, False, scale=0.5).arrays["out"])
        weights = np.exp(scores - scores.max())
        rights.append(np.full((1, 1, 1), weights @ np.arange(TILE + 1.0) / weights.sum()))
    for got, right in zip((yield requests), rights, strict=True):
        check_equal(got, right, CLOSE)


@probe(
    "6.5b",
    "a block reads each element of its queries, keys and values once, and writes each output once",
    weight=2,
    examples=[(64, 96, 32, False), (32, 96, 64, True), (96, 96, 32, True)],
    seconds=SECONDS,
)
def reads_once(p: Program, length: int, keys: int, size: int, causal: bool) -> Check:
    """In whole tiles, in which all sectors are full."""
    report = launched(p, drawn(length, 1, length, keys, size, size), causal)
    counts = [report.count_cells(name) for name in ("query", "key", "value", "out")]
    *reads, again, writes, sectors = yield [*counts, report.count_cells("out", "write"), report.sectors]
    needed = mask_of(length, keys, causal).reshape(length // TILE, TILE, keys).any(1).sum(0)
    rights = np.ones((1, length, size)), *[np.repeat(needed, size).reshape(1, keys, size)] * 2
    for got, right, name in zip(reads, rights, ("query", "key", "value"), strict=True):
        check_equal(got, right, of=f"reads of each element of {name}")
    check_equal(again, np.zeros((1, length, size)), of="reads of each element of out")
    check_equal(writes, np.ones((1, length, size)), of="writes of each element of out")
    check_equal(sectors, int(2 * length * size + 2 * needed.sum() * size) * 4 // SECTOR, of="sectors")


@probe("6.5b", "the threads of a warp use different banks of shared memory", weight=1, seconds=SECONDS)
def uses_banks(p: Program) -> Check:
    """With rows of 64 elements."""
    report = launched(p, drawn(3, 1, TILE + 1, TILE + 1, 64, 64), False)
    degree, memory = yield [report.bank_conflict_degree, report.shared_bytes]
    check_equal(degree, 1, of="threads that wait for the same bank of shared memory")
    check_at_most([memory], 48 * 1024, "bytes of shared memory")
