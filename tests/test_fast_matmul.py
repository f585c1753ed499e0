"""Task 3.2: the matrix product, compiled and parallel: the kernel on storages, and `@` on the compiled backend.

A kernel receives three tensors of three dimensions: storages from the first element on, and shapes and strides as arrays.
"""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import composite, data, integers, permutations, sampled_from

from minitorch import FastBackend, Tensor, TensorData, tensor
from minitorch.fast_ops import tensor_matrix_multiply
from minitorch.kernels.jit import compiler_is_off

from .parallel import assert_shares_its_loop
from .tensor_strategies import assert_close_tensor, laid_out, layouts, strides_in_order

MANY = (9, 8, 7) if compiler_is_off() else (160, 130, 150)
"""Rows, inner size and columns of a product so large that several threads are at work at the same time."""

LONG = 60 if compiler_is_off() else 1_000_000
"""The inner size of a product whose result is one number."""

TIMES = 2 if compiler_is_off() else 50
"""So many times that number is computed."""

A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
B = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
A_TIMES_B = [[14, 140], [32, 320]]


def arrays_of(*operands):
    """A kernel's arguments: for each operand the storage, and shape and strides as arrays."""
    given = []
    for x in operands:
        storage, shape, strides = x.tuple()
        given += [storage, np.array(shape, np.int32), np.array(strides, np.int32)]
    return given


def ordered(array, order=(0, 1, 2)):
    """TensorData with an array's elements and its dimensions in this memory order, the last one varying fastest."""
    return laid_out(np.array(array, dtype=float), strides_in_order(np.shape(array), order))


def product(a, b, out=None):
    """The result after the kernel has written it."""
    if out is None:
        out = ordered(np.full((max(a.shape[0], b.shape[0]), a.shape[1], b.shape[2]), np.nan))
    tensor_matrix_multiply(*arrays_of(out, a, b))
    return Tensor(out)


def numbers(*shape):
    """Small integers, so that sums are exact; no two rows or columns are alike."""
    return np.random.default_rng(3).integers(-9, 10, shape).astype(float)


@pytest.mark.task3_2
def test_the_product_of_two_matrices():
    """Rows of (1 2 3), (4 5 6) times columns of (1 2 3), (10 20 30): 14 140, 32 320."""
    assert product(ordered([A]), ordered([B])).to_numpy().tolist() == [A_TIMES_B]


@pytest.mark.task3_2
@pytest.mark.parametrize("b_order", [(0, 1, 2), (0, 2, 1)], ids=["b row by row", "b column by column"])
@pytest.mark.parametrize("a_order", [(0, 1, 2), (0, 2, 1)], ids=["a row by row", "a column by column"])
def test_factors_may_be_transposed(a_order, b_order):
    """The same product, each factor row-major or column-major."""
    assert product(ordered([A], a_order), ordered([B], b_order)).to_numpy().tolist() == [A_TIMES_B]


@pytest.mark.task3_2
def test_the_result_is_written_by_its_strides():
    """out is column-major; its old contents do not matter."""
    out = ordered([np.full((2, 2), 1000.0)], (0, 2, 1))
    assert product(ordered([A]), ordered([B]), out).to_numpy().tolist() == [A_TIMES_B]


@pytest.mark.task3_2
def test_every_matrix_of_a_batch_has_its_own_product():
    """Two matrices times two: the factors of the second product are two and three times those of the first, so the product is six times."""
    result = product(ordered([A, 2 * A]), ordered([B, 3 * B]))
    assert result.to_numpy().tolist() == [A_TIMES_B, [[84, 840], [192, 1920]]]


@pytest.mark.task3_2
@pytest.mark.parametrize("one", ["a", "b"])
def test_a_batch_of_size_1_serves_all_matrices(one):
    """A batch of one matrix times a batch of two: the one is used twice, although its stride along the batch is not 0."""
    twice = ordered([A, 2 * A]) if one == "b" else ordered([B, 2 * B])
    single = B if one == "b" else A
    behind = np.concatenate([single.reshape(-1), np.full(6, np.nan)])  # what a step along the batch would lead to
    single = TensorData(behind, (1, *single.shape), (6, single.shape[1], 1))
    a, b = (twice, single) if one == "b" else (single, twice)
    assert product(a, b).to_numpy().tolist() == [A_TIMES_B, [[28, 280], [64, 640]]]


@pytest.mark.task3_2
def test_a_product_that_several_threads_share():
    """A long row times a column, many times, then a large product of any layout: no two threads may write the same element."""
    row, column = numbers(1, 1, LONG), numbers(1, LONG, 1)
    expected, a, b = row @ column, ordered(row), ordered(column)
    for _ in range(TIMES):  # on a busy machine the threads may come one after the other, and nothing is lost
        assert_close_tensor(product(a, b), expected)
    n, k, m = MANY
    a, b = numbers(2, n, k), numbers(1, k, m)
    for order in ((0, 1, 2), (2, 1, 0)):
        assert_close_tensor(product(ordered(a, order), ordered(b, order)), a @ b)


@composite
def factors(draw):
    """Two arrays of three dimensions that can be multiplied; the batch of either may have size 1."""
    batch, n, k, m = (draw(integers(1, 4)) for _ in range(4))
    return numbers(draw(sampled_from([1, batch])), n, k), numbers(draw(sampled_from([1, batch])), k, m)


@pytest.mark.task3_2
@given(factors(), data())
@example((np.ones((2, 3, 0)), np.ones((2, 0, 4))), None)
@example((np.ones((2, 0, 3)), np.ones((1, 3, 2))), None)
@example((np.ones((1, 1, 1)), np.ones((1, 1, 1))), None)
def test_the_product_of_factors_of_any_layout(two, draw):
    """Factors and result may have any memory order, the factors with gaps; with an empty inner dimension the sums are 0."""
    a, b = (ordered(x) if draw is None else laid_out(x, *draw.draw(layouts(x.shape))) for x in two)
    expected = two[0] @ two[1]
    out = ordered(np.full(expected.shape, np.nan), (0, 1, 2) if draw is None else draw.draw(permutations(range(3))))
    assert_close_tensor(product(a, b, out), expected)


@pytest.mark.task3_2
@pytest.mark.skipif(compiler_is_off(), reason="NUMBA_DISABLE_JIT=1: nothing is compiled, so nothing runs in parallel")
def test_the_outer_loop_is_shared_among_threads(capsys):
    """The kernel is compiled by njit with parallel=True, and one of its loops is a prange, as numba's report says."""
    product(ordered([A]), ordered([B]))
    assert_shares_its_loop(tensor_matrix_multiply, capsys)


@pytest.mark.task3_2
def test_no_index_is_worked_out():
    """A position is the sum of indices times strides: the kernel creates no index buffer and calls no function of tensor_data."""
    product(ordered([A]), ordered([B]))
    used = getattr(getattr(tensor_matrix_multiply, "py_func", tensor_matrix_multiply), "__code__", None)
    calls = {"to_index", "index_to_position", "broadcast_index", "empty", "zeros"} & set(used.co_names if used else ())
    assert calls == set(), f"expected no index buffers and no calls, found {', '.join(sorted(calls))}"


# Tensors


def fast(array):
    return tensor(np.asarray(array, dtype=float).tolist(), backend=FastBackend, requires_grad=True)


@pytest.mark.task3_2
@pytest.mark.parametrize(
    ("a_batch", "b_batch"),
    [((), ()), ((2,), (2,)), ((2,), (1,)), ((1,), (2,)), ((), (2,)), ((2,), ()), ((2, 1), (3,)), ((3, 2), (3, 2))],
    ids=str,
)
def test_tensors_are_multiplied_over_the_last_two_dimensions(a_batch, b_batch):
    """The dimensions before the last two are a batch, and broadcast."""
    a, b = numbers(*a_batch, 2, 3), numbers(*b_batch, 3, 4)
    assert_close_tensor(fast(a) @ fast(b), a @ b)
    assert_close_tensor(fast(np.swapaxes(a, -2, -1)).transpose(-2, -1) @ fast(b), a @ b)


@pytest.mark.task3_2
@pytest.mark.parametrize("batches", [((), ()), ((2,), (1,))], ids=str)
def test_the_gradients_of_a_product_are_its_slopes(batches):
    """The gradient of each factor agrees with finite differences of the weighted sum of the product."""
    a, b = numbers(*batches[0], 2, 3), numbers(*batches[1], 3, 4)
    weights = numbers(*(a @ b).shape)
    x, y = fast(a), fast(b)
    ((x @ y) * fast(weights)).sum().backward()
    for leaf, array, changed in ((x, a, lambda c: c @ b), (y, b, lambda c: a @ c)):
        slopes = np.empty(array.shape)
        for index in np.ndindex(array.shape):
            step = np.zeros(array.shape)
            step[index] = 0.5  # the product is linear in each factor: no step is too large
            slopes[index] = (weights * (changed(array + step) - changed(array - step))).sum()
        assert_close_tensor(leaf.grad, slopes)
