"""Tasks 3.3 and 3.4: kernels read global memory no more often than they need to, and make no mistake that a GPU may hide.

The interpreter of `minitorch.cuda` runs the kernels' Python source and counts the accesses, on a GPU and in the simulator alike.
"""

import numpy as np
import pytest

from minitorch import operators
from minitorch.cuda import inspect_kernel
from minitorch.cuda_ops import (
    BLOCK_DIM,
    PRACTICE_BLOCK,
    REDUCE_BLOCK,
    THREADS_PER_BLOCK,
    _mm_practice,
    _sum_practice,
    _tensor_matrix_multiply,
    tensor_map,
    tensor_reduce,
    tensor_zip,
)
from minitorch.kernels.cuda.device import blocks_for, jit, number_function

from ..kernel_checks import assert_accesses

T = BLOCK_DIM


def row(size):
    """The arguments of a kernel for a contiguous vector: its storage, shape and strides."""
    return np.arange(1.0, size + 1), (size,), (1,)


def mapped(size):
    """The report of map, with a block too many."""
    return inspect_kernel(
        tensor_map(number_function(operators.neg)), blocks_for(size, THREADS_PER_BLOCK) + 1, THREADS_PER_BLOCK, *row(size), size, *row(size)
    )


def zipped(size):
    """The report of zip, with a block too many."""
    grid = blocks_for(size, THREADS_PER_BLOCK) + 1
    return inspect_kernel(tensor_zip(number_function(operators.mul)), grid, THREADS_PER_BLOCK, *row(size), size, *row(size), *row(size))


def reduced(length):
    """The report of a reduction of two rows, with as many blocks as it takes."""
    cells = blocks_for(length, REDUCE_BLOCK)
    out, a = (np.zeros(2 * cells), (2, cells), (cells, 1), 2 * cells), (np.ones(2 * length), (2, length), (length, 1))
    return inspect_kernel(tensor_reduce(number_function(operators.add)), 2 * cells, REDUCE_BLOCK, *out, *a, 1, 0.0)


def practiced_sum(size):
    """The report of _sum_practice."""
    blocks = blocks_for(size, PRACTICE_BLOCK)
    return inspect_kernel(jit(_sum_practice), blocks, PRACTICE_BLOCK, np.zeros(blocks), np.ones(size), size)


def practiced_product(size):
    """The report of _mm_practice."""
    arrays = [np.ones(size * size) for _ in range(3)]
    return inspect_kernel(jit(_mm_practice), 1, (PRACTICE_BLOCK, PRACTICE_BLOCK), *arrays, size)


def product(rows, inner, columns):
    """The report of the product of two batches of two matrices."""
    grid = blocks_for(rows, T), blocks_for(columns, T), 2
    out = np.zeros(2 * rows * columns), (2, rows, columns), (rows * columns, columns, 1), 2 * rows * columns
    a = np.ones(2 * rows * inner), (2, rows, inner), (rows * inner, inner, 1)
    b = np.ones(2 * inner * columns), (2, inner, columns), (inner * columns, columns, 1)
    return inspect_kernel(jit(_tensor_matrix_multiply), grid, (T, T), *out, *a, *b)


def assert_once(report):
    """The kernel reads each element of its inputs once, and writes each element of out once without reading it."""
    out, *inputs = report.arrays
    for name in inputs:
        assert_accesses(report, name, "read", 1)
    assert_accesses(report, out, "write", 1)
    assert_accesses(report, out, "read", 0)


def assert_free_of_mistakes(report):
    assert not report.findings, "\n".join(map(str, report.findings))


# Task 3.3


@pytest.mark.task3_3
def test_map_reads_each_element_from_global_memory_once():
    """No thread repeats the work of another."""
    assert_once(mapped(2 * THREADS_PER_BLOCK + 1))


@pytest.mark.task3_3
def test_map_reads_an_expanded_element_once_for_each_element_of_out():
    """A column of two elements, expanded to shape (2, 3) by a stride of 0."""
    report = inspect_kernel(
        tensor_map(number_function(operators.neg)),
        1,
        THREADS_PER_BLOCK,
        np.zeros(6),
        (2, 3),
        (3, 1),
        6,
        np.array([1.0, 5.0]),
        (2, 3),
        (1, 0),
    )
    _, a = report.arrays
    assert_accesses(report, a, "read", [3, 3])


@pytest.mark.task3_3
def test_zip_reads_each_element_from_global_memory_once():
    """No thread repeats the work of another."""
    assert_once(zipped(2 * THREADS_PER_BLOCK + 1))


@pytest.mark.task3_3
@pytest.mark.parametrize("length", [1, REDUCE_BLOCK - 1, REDUCE_BLOCK, REDUCE_BLOCK + 1])
def test_reduce_reads_each_element_from_global_memory_once(length):
    """The threads of a block exchange their results in shared memory. Beyond REDUCE_BLOCK elements, two blocks share a row."""
    assert_once(reduced(length))


@pytest.mark.task3_3
@pytest.mark.parametrize("size", [1, PRACTICE_BLOCK - 1, PRACTICE_BLOCK, 2 * PRACTICE_BLOCK + 1])
def test_sum_practice_reads_each_number_from_global_memory_once(size):
    """The threads of a block exchange their sums in shared memory."""
    assert_once(practiced_sum(size))


@pytest.mark.task3_3
@pytest.mark.parametrize(
    ("report_of", "size"),
    [
        (mapped, THREADS_PER_BLOCK + 1),
        (zipped, THREADS_PER_BLOCK + 1),
        (reduced, REDUCE_BLOCK - 1),
        (reduced, REDUCE_BLOCK),
        (practiced_sum, PRACTICE_BLOCK + 1),
    ],
)
def test_the_threads_of_an_operation_stay_inside_of_its_arrays_and_wait_for_one_another(report_of, size):
    """On a GPU, an access outside of an array or a missing barrier may go unnoticed."""
    assert_free_of_mistakes(report_of(size))


# Task 3.4


@pytest.mark.task3_4
@pytest.mark.parametrize("size", [1, 3, PRACTICE_BLOCK])
def test_mm_practice_reads_each_element_from_global_memory_once(size):
    """Each is needed by `size` threads, which read it from shared memory."""
    assert_once(practiced_product(size))


SIZES = [(1, 1, 1), (T, T, T), (T + 1, T - 1, 2 * T), (2 * T, T + 1, 2 * T + 1)]
"""Rows, inner size and columns: fewer than a tile has, exactly as many, and more."""


@pytest.mark.task3_4
@pytest.mark.parametrize(("rows", "inner", "columns"), SIZES)
def test_each_block_of_a_product_reads_its_tiles_from_global_memory_once(rows, inner, columns):
    """A row of a is needed by as many blocks as out has tiles side by side; a column of b, by as many as it has one below the other."""
    report = product(rows, inner, columns)
    _, a, b = report.arrays
    assert_accesses(report, a, "read", blocks_for(columns, T))
    assert_accesses(report, b, "read", blocks_for(rows, T))


@pytest.mark.task3_4
@pytest.mark.parametrize(("rows", "inner", "columns"), SIZES)
def test_a_product_writes_each_element_of_out_once(rows, inner, columns):
    """Sums grow in the threads, not in global memory."""
    report = product(rows, inner, columns)
    out, *_ = report.arrays
    assert_accesses(report, out, "write", 1)
    assert_accesses(report, out, "read", 0)


@pytest.mark.task3_4
@pytest.mark.parametrize(
    ("report_of", "sizes"), [(practiced_product, (PRACTICE_BLOCK,)), (product, (T, T, T)), (product, (T + 1, 2 * T - 1, T + 2))]
)
def test_the_threads_of_a_product_stay_inside_of_its_arrays_and_wait_for_one_another(report_of, sizes):
    """On a GPU, an access outside of an array or a missing barrier may go unnoticed."""
    assert_free_of_mistakes(report_of(*sizes))
