"""Tasks 3.6 and 3.7: a transpose without bank conflicts, and a sum whose warps stay together. No GPU is needed."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import integers, sampled_from

from minitorch.cuda_kernels import SUM_ELEMENTS, SUM_THREADS, TILE, sum_kernel, transpose_kernel
from minitorch.kernels.cuda.device import blocks_for

from .kernel_checks import (
    assert_coalesced,
    assert_each_cell_once,
    assert_free_of_bank_conflicts,
    assert_warps_stay_together,
    launched,
)

few = settings(max_examples=15, deadline=None)
dtypes = sampled_from([np.float32, np.float64])


# Transpose


def transposed(a, spare=0):
    """The report of a transpose, with a number of blocks too many in both directions."""
    rows, columns = a.shape
    grid = blocks_for(columns, TILE) + spare, blocks_for(rows, TILE) + spare
    return launched(transpose_kernel, grid, (TILE, TILE), np.full(a.size, np.nan, a.dtype), a.reshape(-1), rows, columns)


def counted(rows, columns, dtype=np.float32):
    """The matrix 0, 1, 2 … row by row."""
    return np.arange(rows * columns, dtype=dtype).reshape(rows, columns)


def assert_transposed(report, a):
    out = report.arrays["out"].reshape(a.shape[1], a.shape[0])
    wrong = np.argwhere(out != a.T)
    if wrong.size:
        i, j = map(int, wrong[0])
        raise AssertionError(f"expected out[{i}, {j}] = a[{j}, {i}] = {a[j, i]}, got {out[i, j]}; {len(wrong)} of {a.size} are wrong")


@pytest.mark.task3_6
@few
@given(integers(1, 70), integers(1, 70), dtypes)
@example(1, 1, np.float32)
@example(TILE, TILE, np.float32)
@example(TILE - 1, TILE + 1, np.float32)
@example(TILE + 1, TILE - 1, np.float64)
@example(1, 65, np.float32)
@example(65, 1, np.float32)
def test_the_transpose_has_every_element_in_its_place(rows, columns, dtype):
    """Matrices of any size, whose edges cut through tiles; no thread reads or writes outside, and none reads what is not yet there."""
    a = counted(rows, columns, dtype)
    assert_transposed(transposed(a), a)


@pytest.mark.task3_6
def test_the_transpose_needs_no_exact_number_of_blocks():
    """Blocks without a tile do nothing."""
    a = counted(33, 20)
    assert_transposed(transposed(a, spare=1), a)


@pytest.mark.task3_6
def test_the_transpose_reads_and_writes_each_element_once():
    report = transposed(counted(40, 70))
    assert_each_cell_once(report, "a", "read")
    assert_each_cell_once(report, "out", "write")


@pytest.mark.task3_6
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_warps_of_the_transpose_read_and_write_consecutive_elements(dtype):
    """32 elements of 4 bytes fill 4 sectors of 32 bytes, of 8 bytes 8: also when out is written."""
    assert_coalesced(transposed(counted(64, 96, dtype)))


@pytest.mark.task3_6
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_transpose_has_no_bank_conflicts(dtype):
    """32 threads that read a column of a tile with 32 columns would all use the same bank."""
    report = transposed(counted(64, 96, dtype))
    assert report.select_accesses(space="shared"), "expected the tile to be in shared memory, got no access of shared memory"
    assert_free_of_bank_conflicts(report)


@pytest.mark.task3_6
def test_the_transpose_needs_one_barrier_and_one_tile():
    """Two tiles, or a barrier for every row, would keep other blocks waiting."""
    report = transposed(counted(TILE, TILE))
    assert report.barriers == 1, f"expected one barrier between writing and reading the tile, got {report.barriers}"
    most = (TILE + 1) * (TILE + 1) * 4
    assert report.shared_bytes <= most, f"expected one tile of at most {most} bytes in shared memory, got {report.shared_bytes} bytes"


# Sum


def summed(a, spare=0, trace=None):
    """The report of a sum, with a number of blocks too many."""
    blocks = blocks_for(len(a), SUM_ELEMENTS) + spare
    return launched(sum_kernel, blocks, SUM_THREADS, np.full(blocks, np.nan, a.dtype), a, len(a), trace=trace)


def assert_sums(report, a):
    out = report.arrays["out"]
    for block in range(len(out)):
        expected = int(a[block * SUM_ELEMENTS : (block + 1) * SUM_ELEMENTS].sum())
        assert out[block] == expected, f"expected out[{block}] = {expected}, got {out[block]}"


def odd_numbers(size, dtype=np.float64):
    """1, 3, 5 …: their sums are squares, and exact."""
    return 2 * np.arange(size, dtype=dtype) + 1


@pytest.mark.task3_7
@few
@given(integers(1, 2 * SUM_ELEMENTS + 1), dtypes)
@example(1, np.float32)
@example(SUM_THREADS - 1, np.float32)
@example(SUM_THREADS, np.float64)
@example(SUM_THREADS + 1, np.float32)
@example(SUM_ELEMENTS - 1, np.float32)
@example(SUM_ELEMENTS, np.float32)
@example(SUM_ELEMENTS + 1, np.float64)
def test_the_kernel_sums_the_elements_of_each_block(size, dtype):
    """The last block may have fewer elements, or a single one."""
    a = odd_numbers(size, dtype)
    assert_sums(summed(a), a)


@pytest.mark.task3_7
def test_a_block_without_elements_has_the_sum_0():
    a = odd_numbers(SUM_ELEMENTS)
    assert_sums(summed(a, spare=1), a)


@pytest.mark.task3_7
def test_the_sum_reads_each_element_once_and_writes_each_sum_once():
    report = summed(odd_numbers(2 * SUM_ELEMENTS + 77))
    assert_each_cell_once(report, "a", "read")
    assert_each_cell_once(report, "out", "write")


@pytest.mark.task3_7
def test_all_threads_of_the_sum_share_the_reading():
    """Each of the block's threads reads the same number of elements, so that none waits for another."""
    report = summed(odd_numbers(SUM_ELEMENTS), trace=(0,))
    lanes = [access.lanes for step in report.trace for access in step.accesses if access.memory == "a"]
    counts = np.bincount(np.concatenate(lanes), minlength=SUM_THREADS)
    share = SUM_ELEMENTS // SUM_THREADS
    assert set(counts.tolist()) == {share}, f"expected every thread to read {share} elements, got between {counts.min()} and {counts.max()}"


@pytest.mark.task3_7
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_warps_of_the_sum_read_consecutive_elements(dtype):
    """Threads that each read a part of their own would touch 32 sectors at a time."""
    assert_coalesced(summed(odd_numbers(2 * SUM_ELEMENTS, dtype)))


@pytest.mark.task3_7
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sum_has_no_bank_conflicts(dtype):
    assert_free_of_bank_conflicts(summed(odd_numbers(SUM_ELEMENTS, dtype)))


@pytest.mark.task3_7
def test_the_warps_of_the_sum_stay_together_until_one_is_left():
    """With 32 sums or more in a round, a warp works or rests as a whole: the last five rounds and the write of the result remain."""
    assert_warps_stay_together(summed(odd_numbers(SUM_ELEMENTS)), 6)


@pytest.mark.task3_7
def test_the_block_adds_its_sums_in_rounds():
    """4 warps write their sums; 7 rounds, of which the first has 2 warps at work, read two sums and write one: 4 + 8 · 3 + 1 = 29."""
    report = summed(odd_numbers(SUM_ELEMENTS))
    requests = sum(access.requests for access in report.select_accesses(space="shared"))
    assert requests <= 40, f"expected about 29 requests of warps for shared memory, got {requests}; do all threads add at the same time?"
