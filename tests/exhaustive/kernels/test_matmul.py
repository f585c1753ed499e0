"""Products agree with NumPy, for every layout and for sizes around those of the loops, whatever the caches."""

from itertools import product

import numpy as np
import pytest

from minitorch import FastBackend, from_numpy, tensor
from minitorch.kernels import matmul
from minitorch.kernels.matmul import PARALLEL_THRESHOLD, ROW_WIDTH, plan, row_kernels
from minitorch.kernels.tiles import ROWS, VECTOR, lanes
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


@pytest.mark.parametrize("columns", [16, 17])
def test_operands_that_may_not_be_written_and_operands_of_two_dtypes(columns):
    a, b = integers(8, 12, dtype=np.float32), integers(12, columns, dtype=np.float32)
    b.flags.writeable = False
    check(from_numpy(a, backend=FastBackend), from_numpy(b, backend=FastBackend))
    check(tensor(a, FastBackend), tensor(b, FastBackend, dtype=np.float64))


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


# Tiles that fit the caches

CACHES = {"small": {1: 4 << 10, 2: 32 << 10}, "large": {1: 128 << 10, 2: 4 << 20}}
"""Sizes of the caches in bytes, by level. Of the small ones, blocks are 16 numbers deep and tiles 64 rows high."""

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 111, 113, 127, 128, 129, 193, 257)
"""Sizes around those of tiles, of blocks and of the rows that the innermost loop adds to at once."""


@pytest.fixture(params=CACHES)
def caches(request, monkeypatch):
    """Plan products as on a processor with these caches."""
    monkeypatch.setattr(matmul, "cache_bytes", CACHES[request.param].__getitem__)
    plan.cache_clear()
    yield
    plan.cache_clear()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_any_size_fill_tiles_of_any_size(caches, dtype):
    random = np.random.default_rng(0)
    sizes = [random.permutation(np.repeat(SIZES, 5)) for _ in range(3)]  # each size five times as rows, inner and columns
    for number, (rows, inner, columns) in enumerate(zip(*sizes, strict=True)):
        layouts = list(LAYOUTS.values())
        a = layouts[number % 4](tensor(integers(rows, inner, dtype=dtype), FastBackend))
        check(a, layouts[number // 4 % 4](tensor(integers(inner, columns, dtype=dtype), FastBackend)))


def test_results_do_not_depend_on_the_caches(monkeypatch):
    random = np.random.default_rng(0)
    a, b = (tensor(random.standard_normal((150, 150)), FastBackend) for _ in range(2))
    results = []
    for sizes in CACHES.values():
        monkeypatch.setattr(matmul, "cache_bytes", sizes.__getitem__)
        plan.cache_clear()
        results.append((a @ b).to_numpy())
    plan.cache_clear()
    np.testing.assert_array_equal(*results)


def test_blocks_and_tiles_fit_the_caches(caches):
    first, second = map(matmul.cache_bytes, (1, 2))
    _, (_, _, height, depth, *_) = plan((1000, 128), (1, 1000), (1000, 500), (500, 1), (500, 128), (128, 1), np.dtype(np.float32), 1)
    row_bytes = 4 * matmul.tile_width(128, 4)
    assert depth == 16 or first // 4 < depth * row_bytes <= first // 2
    assert height % ROWS == 0
    assert height <= 64 + ROWS or height * row_bytes <= second // 4
    kernel, (_, _, height, *_) = plan((1000, 128), (128, 1), (1000, 50), (50, 1), (50, 128), (128, 1), np.dtype(np.float32), 1)
    assert kernel is matmul.unpacked_kernel(row_bytes // 4, 4)
    assert height * 200 <= second // 4 < (height + ROWS) * 200  # 50 numbers in a row of a


@pytest.mark.parametrize("itemsize", [4, 8])
@pytest.mark.parametrize(
    ("columns", "vectors"),
    [(1.0, 1), (2.0, 2), (3.0, 3), (3.5, 2), (4.0, 2), (5.0, 3), (6.0, 3), (7.0, 2), (8.0, 2), (48.5, 3), (64.0, 3)],
)
def test_tiles_are_as_wide_as_takes_the_least_time(columns, vectors, itemsize):
    width = VECTOR // itemsize
    assert matmul.tile_width(int(columns * width), itemsize) == vectors * width


def test_columns_that_do_not_fill_a_vector_are_in_shorter_ones():
    assert [lanes(columns, 4) for columns in (1, 2, 3, VECTOR // 4 - 1)] == [1, 2, 2, VECTOR // 8]
    assert matmul.tile_width(3, 4) == 4  # two vectors, more than there are columns, so b is packed


def test_cache_sizes_are_read_from_linux(tmp_path):
    described = (("1", "Instruction", "64K"), ("1", "Data", "48K"), ("2", "Unified", "1024K"))
    for number, values in enumerate(described):
        (tmp_path / f"index{number}").mkdir()
        for name, value in zip(("level", "type", "size"), values, strict=True):
            (tmp_path / f"index{number}" / name).write_text(value + "\n")
    (tmp_path / "index9").mkdir()  # says nothing
    assert [matmul.cache_bytes(level, str(tmp_path)) for level in (1, 2)] == [48 << 10, 1 << 20]
    assert [matmul.cache_bytes(level, str(tmp_path / "absent")) for level in (1, 2)] == [32 << 10, 256 << 10]


def test_rows_are_divided_among_as_many_tiles_as_are_computed(monkeypatch):
    monkeypatch.setattr(matmul, "cache_bytes", {1: 48 << 10, 2: 1 << 20}.__getitem__)
    plan.cache_clear()
    columns = VECTOR // 2  # in float32 two vectors
    for rows, is_packed in product((1365 * 200, 1365 * 200 + 1, ROWS, 4, 0), (False, True)):
        strides = (1, max(1, rows)) if is_packed else (columns, 1)
        _, (_, tiles, height, *_) = plan((rows, columns), strides, (rows, 8), (8, 1), (8, columns), (columns, 1), np.dtype(np.float32), 1)
        assert height % ROWS == 0
        assert tiles * height >= rows > (tiles - 1) * height or tiles == rows == 0
    plan.cache_clear()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_tiles_of_a_matrix_used_where_it_is_overlap_at_the_edges(dtype, layout):
    """Sizes around one and two tiles, and an inner dimension of a single number."""
    width = VECTOR // np.dtype(dtype).itemsize
    for rows, columns in product((ROWS, ROWS + 1, 2 * ROWS - 1), (1, 2, 3, width - 1, width, 2 * width + 1, 3 * width, 4 * width - 1)):
        for inner in (1, 5):
            b = LAYOUTS[layout](tensor(integers(2, inner, columns, dtype=dtype), FastBackend))
            check(tensor(integers(2, rows, inner, dtype=dtype), FastBackend), b)


@pytest.mark.parametrize("dtypes", list(product((np.bool_, np.int32, np.float32), (np.bool_, np.uint8, np.float64))))
def test_factors_of_any_two_dtypes(dtypes):
    for rows in (3, ROWS):
        factors = [integers(*shape).astype(dtype) for shape, dtype in zip(((rows, 5), (5, 20)), dtypes, strict=True)]
        check(*[from_numpy(array, backend=FastBackend) for array in factors])
