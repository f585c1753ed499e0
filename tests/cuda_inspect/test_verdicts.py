"""Verdicts on textbook kernels. The expected numbers are derived in the comments, for warps of 32 threads.

A sector has 32 bytes, which are 8 elements of float32; shared memory has 32 banks of 4 bytes.
"""

import inspect

import numpy as np
import pytest

from minitorch.cuda import KernelError, inspect_kernel
from tests.cuda_inspect import kernels

A = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 64
B = (A.T + 1).copy()


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def counts(report, memory, kind):
    (access,) = report.select_accesses(memory, kind)
    return access


# Coalescing


def test_a_copy_of_float32_takes_4_sectors_per_request():
    # A warp reads 32 · 4 = 128 contiguous bytes: 4 sectors, 1 cache line. 512 threads are 16 warps.
    a = np.arange(512, dtype=np.float32)
    report = inspect_kernel(kernels.copy, 2, 256, zeros(512), a)
    for access in (counts(report, "a", "read"), counts(report, "out", "write")):
        assert (access.elements, access.requests, access.sectors, access.cache_lines, access.ideal) == (512, 16, 64, 16, 64)
    assert report.coalescing == 1.0
    assert report.global_bytes == 2 * 512 * 4
    np.testing.assert_array_equal(report.arrays["out"], a)
    assert report.findings == []


@pytest.mark.parametrize(("stride", "sectors"), [(1, 4), (2, 8), (4, 16), (8, 32), (32, 32)])
def test_a_strided_read_touches_more_sectors(stride, sectors):
    # With stride s, a warp reads from 32 · s elements, that is 4 · s sectors; from s = 8 on, each element is in a sector of its own: 32.
    a = np.arange(32 * stride, dtype=np.float32)
    report = inspect_kernel(kernels.strided_copy, 1, 32, zeros(32), a, stride)
    access = counts(report, "a", "read")
    assert (access.requests, access.sectors, access.ideal, access.efficiency) == (1, sectors, 4, 4 / sectors)
    np.testing.assert_array_equal(report.arrays["out"], a[::stride])


def test_a_copy_that_starts_in_the_middle_of_a_sector_touches_one_sector_more():
    def shifted(out, a):
        i = kernels.cuda.grid(1)
        out[i] = a[i + 1]

    # Elements 1 to 32 are the bytes 4 to 131: sectors 0 to 4, cache lines 0 and 1.
    access = counts(inspect_kernel(shifted, 1, 32, zeros(32), zeros(33)), "a", "read")
    assert (access.sectors, access.cache_lines, access.ideal) == (5, 2, 4)


def test_an_element_that_a_whole_warp_reads_is_one_sector():
    def broadcast(out, a):
        out[kernels.cuda.grid(1)] = a[5]

    access = counts(inspect_kernel(broadcast, 1, 64, zeros(64), zeros(8)), "a", "read")
    assert (access.requests, access.sectors, access.ideal) == (2, 2, 2)


# Transposes. 64 × 64 elements: 128 warps, each of which reads and writes 32 elements.


@pytest.mark.parametrize(
    ("kernel", "written"), [(kernels.naive_transpose, 32), (kernels.tiled_transpose, 4), (kernels.padded_transpose, 4)]
)
def test_transposes_read_rows_and_the_naive_one_writes_32_sectors_per_request(kernel, written):
    # A warp reads a row: 4 sectors. The naive transpose writes a column: elements 64 · 4 = 256 bytes apart, 32 sectors.
    report = inspect_kernel(kernel, (2, 2), (32, 32), zeros(64, 64), A)
    np.testing.assert_array_equal(report.arrays["out"], A.T)
    assert report.findings == []
    assert (counts(report, "a", "read").sectors, counts(report, "out", "write").sectors) == (128 * 4, 128 * written)


@pytest.mark.parametrize(("kernel", "degree"), [(kernels.tiled_transpose, 32), (kernels.padded_transpose, 1)])
def test_the_tiled_transpose_reads_columns_of_shared_memory(kernel, degree):
    # A column of a tile 32 wide is in one bank: tile[x, y] is word 32 x + y, bank y.
    # A row 33 wide moves each element of a column to the next bank: (33 x + y) mod 32 = (x + y) mod 32.
    report = inspect_kernel(kernel, (2, 2), (32, 32), zeros(64, 64), A)
    written, read = counts(report, "tile", "write"), counts(report, "tile", "read")
    assert (written.degree, written.wavefronts) == (1, 128)
    assert (read.degree, read.wavefronts) == (degree, 128 * degree)
    assert report.bank_conflict_degree == degree
    assert report.shared_bytes == 32 * (33 if degree == 1 else 32) * 4


def test_doubles_are_served_half_a_warp_at_a_time():
    def doubles(out):
        cache = kernels.cuda.shared.array(64, np.float64)
        pos = kernels.cuda.threadIdx.x
        cache[pos] = 1.0
        cache[2 * pos] = 2.0
        kernels.cuda.syncthreads()
        out[pos] = cache[pos]

    # 16 contiguous doubles are 32 words in 32 banks: degree 1, two passes for a warp. With stride 2, thread t is in words 4 t and 4 t + 1:
    # threads t and t + 8 share a bank, degree 2, four passes.
    report = inspect_kernel(doubles, 1, 32, zeros(32, dtype=np.float64))
    first, second = sorted(report.select_accesses("cache", "write"), key=lambda access: access.place.line)
    assert (first.degree, first.wavefronts) == (1, 2)
    assert (second.degree, second.wavefronts) == (2, 4)


# Reductions of 256 elements in a block of 8 warps; the rounds have step 1, 2, …, 128, with 128, 64, …, 1 active threads.


@pytest.mark.parametrize("kernel", [kernels.sum_interleaved, kernels.sum_strided, kernels.sum_sequential])
def test_reductions_sum(kernel):
    a = np.arange(512, dtype=np.float32)
    report = inspect_kernel(kernel, 2, 256, zeros(2), a)
    np.testing.assert_array_equal(report.arrays["out"], [a[:256].sum(), a[256:].sum()])
    assert report.findings == []
    assert report.flops == 2 * 255


def line_of(kernel, text):
    """The number of the line of a kernel that contains a text."""
    lines, first = inspect.getsourcelines(kernel)
    return first + next(i for i, line in enumerate(lines) if text in line)


@pytest.mark.parametrize(
    ("kernel", "text", "diverged", "instructions", "degree"),
    [
        # Every second, fourth, … thread is active. Rounds with step 1 to 16 diverge in all 8 warps; with step 32, 64 and 128, one thread of
        # every warp, of every second and of one warp is active: 4, 2 and 1 warps, since every 2 · step-th thread adds. 8 · 5 + 4 + 2 + 1.
        (kernels.sum_interleaved, "pos % (2 * step)", 47, 47, 1),
        # The first 128, 64, 32 threads fill whole warps, 4 + 2 + 1; the rounds with 16, 8, 4, 2 and 1 threads diverge in one warp.
        (kernels.sum_strided, "if target < 256", 5, 12, 8),
        (kernels.sum_sequential, "if pos < half", 5, 12, 1),
    ],
)
def test_divergence_and_bank_conflicts_of_reductions(kernel, text, diverged, instructions, degree):
    report = inspect_kernel(kernel, 1, 256, zeros(1), zeros(256))
    (condition,), (body,) = [[n for n in report.lines if n.place.line == line_of(kernel, part)] for part in (text, "+= cache[")]
    assert (condition.branches, condition.diverged) == (8 * 8, diverged)
    assert (body.active, body.instructions) == (255, instructions)
    assert report.bank_conflict_degree == degree


def test_the_strided_reduction_has_bank_conflicts():
    # Thread t reads word 2 · step · t. Of a warp with 32 active threads, two share a bank with step 1, four with step 2, eight with step 4.
    # With step 8, 16 threads are in words 0, 16, 32, …: two banks, 8 in each. With step 16, 8 threads are all in bank 0: degree 8.
    # Then there are 4, 2 and 1.
    report = inspect_kernel(kernels.sum_strided, 1, 256, zeros(1), zeros(256))
    (written,) = report.select_accesses("cache", "write", line_of(kernels.sum_strided, "+= cache["))
    assert written.degree == 8
    assert written.requests == 4 + 2 + 1 + 5
    assert written.wavefronts == 4 * 2 + 2 * 4 + 1 * 8 + 8 + 8 + 4 + 2 + 1


# Products of 64 × 64 matrices in 2 × 2 blocks of 32 × 32 threads


@pytest.mark.parametrize(
    ("kernel", "reads", "sectors", "barriers", "degree"),
    [
        # Each of the 64 columns of out needs a[i, k] once. Per warp and k: 1 sector of a, which all threads share, and 4 of b; 128 warps,
        # 64 steps, and 512 sectors of out.
        (kernels.naive_product, 64, 128 * 64 * 5 + 512, 0, 0),
        # Each of the 2 blocks of a row loads a[i, k] once: 2 · 64² elements are loaded twice, 8 per sector, and 512 sectors of out.
        (kernels.tiled_product, 2, 2 * 2 * 4096 // 8 + 512, 4 * 2 * 2, 1),
    ],
)
def test_products_read_each_element_a_known_number_of_times(kernel, reads, sectors, barriers, degree):
    report = inspect_kernel(kernel, (2, 2), (32, 32), zeros(64, 64), A, B)
    np.testing.assert_allclose(report.arrays["out"], A @ B, rtol=1e-5)
    assert (report.count_cells("a") == reads).all()
    assert (report.count_cells("b") == reads).all()
    assert (report.count_cells("out", "write") == 1).all()
    assert (report.flops, report.sectors, report.intensity) == (2 * 64**3, sectors, 2 * 64**3 / (32 * sectors))
    assert report.findings == []
    # a_tile[ty, k] is one word for a whole warp, b_tile[k, tx] is a row.
    assert (report.bank_conflict_degree, report.barriers, report.warp_efficiency) == (degree, barriers, 1.0)


# Wrong kernels


def test_a_missing_guard_is_out_of_bounds():
    # 512 threads for 500 elements: threads 244 to 255 of block 1 have i = 500 to 511.
    a = np.arange(500, dtype=np.float32)
    report = inspect_kernel(kernels.copy_without_guard, 2, 256, zeros(500), a)
    line = line_of(kernels.copy_without_guard, "out[i] =")
    assert [str(finding) for finding in report.findings] == [
        f"line {line}: thread (244, 0, 0) of block (1, 0, 0) reads a[500], but a has 500 elements (12 accesses in total)",
        f"line {line}: thread (244, 0, 0) of block (1, 0, 0) writes out[500], but out has 500 elements (12 accesses in total)",
    ]
    np.testing.assert_array_equal(report.arrays["out"], a)


def test_a_histogram_with_atomics_counts_and_has_no_race():
    values = np.arange(512) % 10
    report = inspect_kernel(kernels.histogram, 4, 128, zeros(10, dtype=np.int64), values)
    np.testing.assert_array_equal(report.arrays["counts"], np.bincount(values))
    np.testing.assert_array_equal(report.count_cells("counts", "atomic"), np.bincount(values))
    assert report.findings == []


def test_a_histogram_without_atomics_races_within_and_between_blocks():
    # Both blocks, of 4 threads each, count to elements 0 and 1: thread 0 and 2 to element 0.
    report = inspect_kernel(kernels.racy_histogram, 2, 4, zeros(2, dtype=np.int64), np.arange(8) % 2)
    kinds = [(race.kind, race.between_blocks, race.count) for race in report.races]
    assert ("write-write", False, 4) in kinds  # two elements in each of two blocks
    assert ("read-write", False, 4) in kinds
    assert any(between for _, between, _ in kinds)
    first = next(race for race in report.races if race.kind == "write-write" and not race.between_blocks)
    assert (first.memory, first.index, first.first.thread, first.second.thread) == ("counts", (0,), (0, 0, 0), (2, 0, 0))
    assert report.arrays["counts"].tolist() == [2, 2]  # one update per block is kept


def test_a_barrier_orders_global_memory_within_a_block():
    def neighbors(out, a):
        i = kernels.cuda.grid(1)
        first = kernels.cuda.blockIdx.x * 64
        a[i] = i
        kernels.cuda.syncthreads()
        out[i] = a[first + (i + 1) % 64]

    report = inspect_kernel(neighbors, 3, 64, zeros(192), zeros(192))
    assert report.findings == []
    np.testing.assert_array_equal(report.arrays["out"], np.roll(np.arange(192).reshape(3, 64), -1, axis=1).reshape(-1))


def test_a_missing_barrier_is_a_race_in_shared_memory():
    # Thread t writes cache[t]; thread 63 - t reads it.
    report = inspect_kernel(kernels.reverse_without_barrier, 1, 64, zeros(64), np.arange(64, dtype=np.float32))
    (race,) = report.races
    written = line_of(kernels.reverse_without_barrier, "cache[pos] = ")
    assert (race.memory, race.space, race.kind, race.count) == ("cache", "shared", "read-write", 64)
    assert (race.first.place.line, race.second.place.line) == (written, written + 1)
    assert str(race) == (
        f"line {written}: thread (0, 0, 0) of block (0, 0, 0) writes cache[0], and thread (63, 0, 0) reads it in line {written + 1}: "
        "no barrier orders the two (64 elements in total)"
    )


def test_a_product_without_its_second_barrier_overwrites_tiles_that_others_read():
    report = inspect_kernel(kernels.product_without_second_barrier, (2, 2), (32, 32), zeros(64, 64), A, B)
    # The second tile is written while the first is read: each element of both tiles, in each of four blocks.
    assert {(race.memory, race.kind, race.count) for race in report.races} == {(tile, "read-write", 4096) for tile in ("a_tile", "b_tile")}


def test_a_barrier_in_a_branch_is_divergent():
    # Threads 0 to 39 of 64 reach it.
    report = inspect_kernel(kernels.barrier_in_a_branch, 1, 64, zeros(64), zeros(64))
    (barrier,) = report.divergent_barriers
    line = line_of(kernels.barrier_in_a_branch, "syncthreads")
    assert (barrier.place.line, len(barrier.waiting), len(barrier.missing), barrier.returned) == (line, 40, 24, False)
    assert str(barrier) == (
        f"line {line}: 40 threads of block (0, 0, 0), such as (0, 0, 0), wait at cuda.syncthreads() "
        "for 24 threads, such as (40, 0, 0), which do not reach it"
    )


def test_a_barrier_after_a_return_is_divergent():
    report = inspect_kernel(kernels.barrier_after_return, 1, 64, zeros(64), zeros(64), 63)
    (barrier,) = report.divergent_barriers
    assert (barrier.missing, barrier.returned) == (((63, 0, 0),), True)
    assert str(barrier).endswith("wait at cuda.syncthreads() for thread (63, 0, 0), which has returned")


def test_a_read_of_shared_memory_that_nothing_has_written_is_reported():
    report = inspect_kernel(kernels.reads_unwritten, 1, 32, zeros(32))
    line = line_of(kernels.reads_unwritten, "out[pos] =")
    assert [str(finding) for finding in report.findings] == [
        f"line {line}: thread (0, 0, 0) of block (0, 0, 0) reads cache[0], which nothing has written: shared memory is not initialized"
    ]
    assert np.isnan(report.arrays["out"][0])
    assert (report.arrays["out"][1:] == 1).all()


def test_a_loop_without_end_is_an_error():
    with pytest.raises(KernelError, match="has executed 1000 statements and has not ended; check the loop's condition, or raise max_steps"):
        inspect_kernel(kernels.endless, 1, 32, zeros(32), max_steps=1000)
