"""Tensors made from nothing: their numbers, shapes, dtypes and backend, and what random ones promise."""

import numpy as np
import pytest

import minitorch
from minitorch import SimpleBackend, SimpleOps, TensorBackend, arange, eye, full, linspace, manual_seed, ones, rand, randn, zeros
from minitorch.core.dtypes import float32, float64
from tests.errors import raises
from tests.op_table import DTYPES

MADE = [
    (zeros, ((2, 3),), [[0, 0, 0], [0, 0, 0]]), (zeros, (3,), [0, 0, 0]), (zeros, ((),), 0), (zeros, ((0, 2),), np.zeros((0, 2))),
    (ones, ([2, 3],), [[1, 1, 1], [1, 1, 1]]), (ones, ((),), 1), (full, ((2, 2), 7), [[7, 7], [7, 7]]), (full, ((), True), 1),
    (arange, (4,), [0, 1, 2, 3]), (arange, (0,), []), (arange, (-2,), []), (arange, (2, 5), [2, 3, 4]), (arange, (1, 10, 4), [1, 5, 9]),
    (arange, (5, 0, -2), [5, 3, 1]), (linspace, (0, 4, 5), [0, 1, 2, 3, 4]), (linspace, (3, 1, 1), [3]), (linspace, (0, 1, 0), []),
    (eye, (2,), [[1, 0], [0, 1]]), (eye, (0,), np.zeros((0, 0))),
]  # fmt: skip


@pytest.mark.parametrize(("make", "arguments", "expected"), MADE, ids=[f"{make.__name__}{arguments}" for make, arguments, _ in MADE])
def test_the_numbers_are_these_in_every_dtype(make, arguments, expected):
    expected = np.array(expected)
    for dtype in DTYPES:
        x = make(*arguments, dtype=dtype)
        assert (x.dtype, x.shape, x.requires_grad) == (dtype, expected.shape, False)
        assert (x.to_numpy() == expected.astype(dtype)).all()
    x = make(*arguments)
    assert x.dtype == float64
    assert (x.to_numpy() == expected).all()


@pytest.mark.parametrize(
    ("make", "arguments"),
    [(zeros, (2,)), (ones, (2,)), (full, (2, 1.5)), (arange, (2,)), (linspace, (0, 1, 2)), (eye, (2,)), (rand, (2,)), (randn, (2,))],
)
def test_every_maker_takes_a_backend_a_dtype_and_whether_to_keep_a_gradient(make, arguments):
    backend = TensorBackend(SimpleOps)
    x = make(*arguments, backend=backend, requires_grad=True, dtype="float32")
    assert x.backend is backend
    assert x.is_leaf()
    assert x.dtype == float32
    assert make(*arguments).backend is SimpleBackend
    minitorch.set_default_dtype(float32)
    try:
        assert make(*arguments).dtype == float32
    finally:
        minitorch.set_default_dtype(float64)


def test_numbers_between_whole_ones():
    assert arange(0.0, 1.0, 0.25).tolist() == [0, 0.25, 0.5, 0.75]
    assert linspace(-1, 1, 5).tolist() == [-1, -0.5, 0, 0.5, 1]
    assert full((1,), 0.1).tolist() == [0.1]


@pytest.mark.parametrize("make", [rand, randn])
def test_the_same_seed_gives_the_same_numbers(make):
    manual_seed(3)
    first, second = make((2, 3)).tolist(), make((2, 3)).tolist()
    manual_seed(3)
    assert make((2, 3)).tolist() == first
    assert make((2, 3)).tolist() == second
    assert first != second
    manual_seed(4)
    assert make((2, 3)).tolist() != first


def test_rand_is_uniform_from_0_to_1():
    manual_seed(0)
    values = rand((20, 500)).to_numpy()
    assert (values.min() >= 0, values.max() < 1) == (True, True)
    counts = np.histogram(values, bins=10, range=(0, 1))[0]
    assert abs(counts - 1000).max() < 150  # five standard deviations


def test_randn_is_normal():
    manual_seed(0)
    values = randn((20, 500)).to_numpy()
    assert abs(values.mean()) < 0.05
    assert abs(values.std() - 1) < 0.04
    assert abs((np.abs(values) < 1).mean() - 0.6827) < 0.025
    assert abs((np.abs(values) < 2).mean() - 0.9545) < 0.011


BOUNDS = "expected whole numbers from -2147483648 to 2147483647 for int32, got"


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (lambda: arange(0, 1, 0), ValueError, "arange expected a step other than 0"),
        (lambda: linspace(0, 1, -1), ValueError, "linspace expected sizes of at least 0, got (-1,)"),
        (lambda: linspace(0, 1, 2.5), TypeError, "linspace expected whole numbers, got 2.5; write it as (2, 3)"),
        (lambda: eye(-1), ValueError, "eye expected sizes of at least 0, got (-1,)"),
        (lambda: ones((2, -1)), ValueError, "ones expected sizes of at least 0, got (2, -1)"),
        (lambda: full((1.5,), 0), TypeError, "full expected whole numbers, got (1.5,); write it as (2, 3)"),
        (lambda: rand((2, -1)), ValueError, "rand expected sizes of at least 0, got (2, -1)"),
        (lambda: randn("a"), TypeError, "randn expected whole numbers, got 'a'; write it as (2, 3)"),
        (lambda: randn((2,), dtype="int64"), TypeError,
         "randn expected a dtype of float64 or float32, got int64, which cannot represent fractions"),
        (lambda: full((2,), 2.5, dtype="int32"), ValueError, f"full {BOUNDS} 2.5"),
        (lambda: arange(0, 1, 0.5, dtype="int32"), ValueError, f"arange {BOUNDS} [0.0, 0.5]"),
        (lambda: linspace(0, 1, 3, dtype="int32"), ValueError, f"linspace {BOUNDS} [0.0, 0.5, 1.0]"),
        (lambda: zeros((1,) * 33), ValueError, "zeros expected at most 32 dimensions, got 33"),
    ],
)  # fmt: skip
def test_a_misuse_is_told(misuse, error, message):
    with raises(error, message):
        misuse()
