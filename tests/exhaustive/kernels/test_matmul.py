"""A single row times a matrix agrees with NumPy, for every layout of the matrix and sizes around those of the loops."""

from itertools import product

import numpy as np
import pytest

from minitorch import FastBackend, tensor
from minitorch.kernels.matmul import PARALLEL_THRESHOLD, ROW_WIDTH, plan, row_kernels
from tests.marks import needs_compiler

LAYOUTS = {
    "row by row": lambda b: b,
    "column by column": lambda b: b.transpose(-1, -2).contiguous().transpose(-1, -2),
    "every second column": lambda b: interleaved(b)[..., ::2],
    "rows with gaps": lambda b: interleaved(b)[..., : b.shape[-1]],
}
"""The matrix with the same numbers in another layout; of the last two, the second has other numbers."""


def interleaved(b):
    """Twice as many columns; those with even numbers are b's."""
    return tensor(np.repeat(b.to_numpy(), 2, axis=-1), FastBackend)


def integers(*shape, dtype=np.float64):
    """Small integers, so that sums are exact in any order."""
    return np.random.default_rng(sum(shape)).integers(-9, 10, shape).astype(dtype)


def check(a, b):
    """Compare a product with NumPy's."""
    np.testing.assert_array_equal((a @ b).to_numpy(), a.to_numpy() @ b.to_numpy())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_row_times_a_matrix_of_any_size(layout):
    for inner, columns in product((0, 1, 3, 4, 5, 8, 9), (1, 2, 7, 33)):
        b = LAYOUTS[layout](tensor(integers(inner, columns), FastBackend))
        check(tensor(integers(1, inner), FastBackend), b)
        check(tensor(integers(inner, 3), FastBackend)[:, 1:2].transpose(0, 1), b)  # the row is a column of a matrix


@needs_compiler
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_in_several_tiles_on_one_thread_and_on_several(layout, dtype):
    many = PARALLEL_THRESHOLD // ROW_WIDTH
    for inner, columns in ((2, ROW_WIDTH - 1), (2, ROW_WIDTH), (2, ROW_WIDTH + 1), (3, 2 * ROW_WIDTH + 5), (many + 1, ROW_WIDTH + 1)):
        b = LAYOUTS[layout](tensor(integers(inner, columns, dtype=dtype), FastBackend))
        out = tensor(integers(1, inner, dtype=dtype), FastBackend) @ b
        assert out.dtype == dtype
        check(tensor(integers(1, inner, dtype=dtype), FastBackend), b)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_batch_of_rows_has_a_matrix_for_each(layout):
    b = LAYOUTS[layout](tensor(integers(2, 1, 5, 6), FastBackend))
    check(tensor(integers(1, 3, 1, 5), FastBackend), b)
    check(tensor(integers(2, 3, 1, 5), FastBackend), b)
    check(tensor(integers(5), FastBackend), b)


def test_rows_of_integers_are_exact():
    check(tensor(integers(1, 5, dtype=np.int64), FastBackend), tensor(integers(5, 3, dtype=np.int64), FastBackend))
    check(tensor(integers(1, 5, dtype=np.int32), FastBackend), tensor(integers(5, 3), FastBackend))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fractions_are_rounded_as_usual(dtype):
    random = np.random.default_rng(0)
    a, b = random.standard_normal((1, 1001)), random.standard_normal((1001, 50))
    factors = tensor(a, FastBackend, dtype=dtype), tensor(b, FastBackend, dtype=dtype)
    for layout in ("row by row", "column by column"):
        error = np.abs((factors[0] @ LAYOUTS[layout](factors[1])).to_numpy() - a @ b)
        assert error.max() < 1001 * np.finfo(dtype).eps


def test_a_matrix_is_copied_only_if_neither_its_rows_nor_its_columns_are_contiguous():
    used = {}
    for name, layout in LAYOUTS.items():
        b = layout(tensor(integers(5, 6), FastBackend))
        kernel, _ = plan((1, 6), (6, 1), (1, 5), (5, 1), b.shape, b.stride(), np.dtype(float), 1)
        used[name] = kernel is row_kernels().serial
    assert used == {"row by row": True, "column by column": True, "every second column": False, "rows with gaps": True}
