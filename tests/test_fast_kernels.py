"""Task 3.1: map, zip and reduce, compiled and parallel: the kernels on storages, and tensors on the compiled backend.

A kernel receives its storages from the first element on, and shapes and strides as arrays. The dimensions of out may have any memory
order, without gaps; inputs may have any layout.
"""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import data, permutations

from minitorch import FastBackend, Tensor, TensorData, cat, tensor
from minitorch.fast_ops import callable_from_kernels, tensor_map, tensor_reduce, tensor_zip
from minitorch.kernels.jit import compiler_is_off

from .parallel import assert_shares_its_loop
from .tensor_strategies import assert_close_tensor, broadcast_shapes, laid_out, shapes, strides_in_order, tensor_data

MANY = (30, 40) if compiler_is_off() else (300, 1000)
"""A shape with so many elements that several threads are at work at the same time; without the compiler there is one, and it is slow."""

MATRIX = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@callable_from_kernels
def tripled(x):
    return 3 * x + 1


@callable_from_kernels
def less_twice(x, y):
    return x - 2 * y


@callable_from_kernels
def sum_of(x, y):
    return x + y


@callable_from_kernels
def next_digit(so_far, x):
    return 10 * so_far + x


map_kernel, zip_kernel, reduce_kernel = cache(tensor_map), cache(tensor_zip), cache(tensor_reduce)  # compiled once for all tests


def arrays_of(*operands):
    """A kernel's arguments: for each operand the storage, and shape and strides as arrays."""
    given = []
    for x in operands:
        storage, shape, strides = x.tuple()
        given += [storage, np.array(shape, np.int32), np.array(strides, np.int32)]
    return given


def rows(array):
    """Row-major TensorData with an array's elements, followed by NaN."""
    return laid_out(np.array(array, dtype=float), strides_in_order(np.shape(array), range(np.ndim(array))))


def columns(array):
    """TensorData with an array's elements, the first dimension varying fastest."""
    return laid_out(np.array(array, dtype=float), strides_in_order(np.shape(array), range(np.ndim(array))[::-1]))


def unwritten(shape, order=None):
    """TensorData for a result: NaN, without gaps, its dimensions in this memory order, the last one varying fastest."""
    return laid_out(np.full(shape, np.nan), strides_in_order(shape, range(len(shape)) if order is None else order))


def mapped(a, out):
    """The result after the kernel has written it."""
    map_kernel(tripled)(*arrays_of(out, a))
    return Tensor(out)


def zipped(a, b, out):
    zip_kernel(less_twice)(*arrays_of(out, a, b))
    return Tensor(out)


def reduced(fn, a, dim, out):
    reduce_kernel(fn)(*arrays_of(out, a), dim)
    return Tensor(out)


def many():
    """Integers for a tensor of that many elements, so that sums are exact."""
    return np.arange(MANY[0] * MANY[1], dtype=float).reshape(MANY) % 1009


# Map


@pytest.mark.task3_1
def test_map_reads_and_writes_by_strides():
    """3x + 1 of a row-major matrix, into a column-major out: each element goes to its own index."""
    assert mapped(rows(MATRIX), columns(np.zeros((2, 3)))).to_numpy().tolist() == [[4, 7, 10], [13, 16, 19]]


@pytest.mark.task3_1
def test_map_of_stride_aligned_tensors():
    """out and input have the same shape and strides, both row-major or both column-major."""
    for layout in (rows, columns):
        assert mapped(layout(MATRIX), layout(np.zeros((2, 3)))).to_numpy().tolist() == [[4, 7, 10], [13, 16, 19]]


@pytest.mark.task3_1
def test_tensors_with_the_same_strides_are_not_aligned_if_their_shapes_differ():
    """A row of shape (1, 3) and an out of shape (2, 3) may both have strides (3, 1): the row is used twice."""
    row = TensorData(np.array([1.0, 2.0, 3.0, np.nan, np.nan, np.nan]), (1, 3), (3, 1))
    assert mapped(row, rows(np.zeros((2, 3)))).to_numpy().tolist() == [[4, 7, 10], [4, 7, 10]]


@pytest.mark.task3_1
def test_map_of_many_elements_that_several_threads_share():
    """Every iteration needs its own index buffer: threads that share one overwrite each other's index."""
    numbers = many()
    for x in (columns(numbers), rows(numbers)):
        assert_close_tensor(mapped(x, unwritten(MANY)), 3 * numbers + 1)
    assert_close_tensor(mapped(rows(numbers[:1]), unwritten(MANY)), np.broadcast_to(3 * numbers[:1] + 1, MANY))


@pytest.mark.task3_1
@given(broadcast_shapes(), data())
@example(((), ()), None)
@example(((0, 3), (0, 3)), None)
@example(((1,), (2, 0)), None)
def test_map_works_on_any_layout(two_shapes, draw):
    """The input may have any memory order, with gaps, fewer dimensions or sizes of 1; there may be no elements at all."""
    small, other = two_shapes
    shape = np.broadcast_shapes(small, other)
    x = rows(np.full(small, 2.0)) if draw is None else draw.draw(tensor_data(shape=small))
    out = unwritten(shape, None if draw is None else draw.draw(permutations(range(len(shape)))))
    expected = np.broadcast_to(3 * x.array() + 1, shape)
    assert_close_tensor(mapped(x, out), expected)


# Zip


@pytest.mark.task3_1
def test_zip_takes_its_arguments_in_order():
    """x - 2y of a row (1, 2, 3) and a column (10, 20): the row varies along the last dimension, the column along the first."""
    result = zipped(rows([1.0, 2.0, 3.0]), rows([[10.0], [20.0]]), rows(np.zeros((2, 3))))
    assert result.to_numpy().tolist() == [[-19, -18, -17], [-39, -38, -37]]


@pytest.mark.task3_1
@pytest.mark.parametrize("out_layout", [rows, columns])
@pytest.mark.parametrize("a_layout", [rows, columns])
@pytest.mark.parametrize("b_layout", [rows, columns])
def test_three_tensors_are_aligned_only_if_all_strides_are_the_same(out_layout, a_layout, b_layout):
    """x - 2y of two matrices, each row-major or column-major, into an out that is either."""
    result = zipped(a_layout(MATRIX), b_layout(10 * MATRIX), out_layout(np.zeros((2, 3))))
    assert result.to_numpy().tolist() == [[-19, -38, -57], [-76, -95, -114]]


@pytest.mark.task3_1
@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_an_input_with_the_strides_of_out_is_not_aligned_if_its_shape_differs(first):
    """A row of shape (1, 3) and a matrix of shape (2, 3), all with strides (3, 1): the row is used twice."""
    row = TensorData(np.array([1.0, 2.0, 3.0, np.nan, np.nan, np.nan]), (1, 3), (3, 1))
    a, b = (row, rows(MATRIX)) if first else (rows(MATRIX), row)
    assert zipped(a, b, rows(np.zeros((2, 3)))).to_numpy().tolist() == (
        [[-1, -2, -3], [-7, -8, -9]] if first else [[-1, -2, -3], [2, 1, 0]]
    )


@pytest.mark.task3_1
def test_zip_of_many_elements_that_several_threads_share():
    """A row-major and a column-major matrix; then a row and a column, which broadcast."""
    numbers = many()
    assert_close_tensor(zipped(rows(numbers), columns(numbers), unwritten(MANY)), -numbers)
    row, column = numbers[:1], numbers[:, :1]
    assert_close_tensor(zipped(rows(row), rows(column), unwritten(MANY)), row - 2 * column)


@pytest.mark.task3_1
@given(broadcast_shapes(), data())
@example(((), ()), None)
@example(((0, 3), (1, 3)), None)
def test_zip_works_on_any_layout(two_shapes, draw):
    """out and both inputs have their own strides, and either input may be smaller than out."""
    shape = np.broadcast_shapes(*two_shapes)
    a, b = (rows(np.full(size, 2.0)) if draw is None else draw.draw(tensor_data(shape=size)) for size in two_shapes)
    out = unwritten(shape, None if draw is None else draw.draw(permutations(range(len(shape)))))
    assert_close_tensor(zipped(a, b, out), a.array() - 2 * b.array())


# Reduce


@pytest.mark.task3_1
@pytest.mark.parametrize(("dim", "expected"), [(0, [[5, 7, 9]]), (1, [[6], [15]])])
def test_reduce_folds_the_named_dimension(dim, expected):
    """The sums of a matrix with two rows: along dimension 0 those of its columns, along dimension 1 those of its rows."""
    for layout in (rows, columns):
        assert reduced(sum_of, layout(MATRIX), dim, rows(np.zeros(np.shape(expected)))).to_numpy().tolist() == expected


@pytest.mark.task3_1
def test_reduce_begins_with_what_stands_in_out():
    """A reduction starts from the values in out: starting from 100 and 200, the sums of two rows are 106 and 215."""
    assert reduced(sum_of, rows(MATRIX), 1, rows([[100.0], [200.0]])).to_numpy().tolist() == [[106], [215]]


@pytest.mark.task3_1
def test_reduce_folds_in_order():
    """The first argument is the result so far, the second the next element, from index 0 on: ((9·10 + 1)·10 + 2)·10 + 3."""
    assert reduced(next_digit, rows([1.0, 2.0, 3.0]), 0, rows([9.0])).to_numpy().tolist() == [9123]


@pytest.mark.task3_1
def test_reduce_of_no_elements_leaves_what_stands_in_out():
    """A dimension of size 0 has nothing to reduce."""
    assert reduced(sum_of, rows(np.zeros((2, 0))), 1, rows([[7.0], [8.0]])).to_numpy().tolist() == [[7], [8]]
    assert reduced(sum_of, rows(np.zeros((2, 0))), 0, rows(np.zeros((1, 0)))).to_numpy().tolist() == [[]]


@pytest.mark.task3_1
@pytest.mark.parametrize("dim", [0, 1])
def test_reduce_of_many_elements_that_several_threads_share(dim):
    """Two sums of very many numbers, and very many sums of three: threads divide the results, and no two may write the same one."""
    numbers = many()
    for x in (numbers.reshape((2, -1) if dim else (-1, 2)), np.stack([numbers, numbers, numbers], axis=dim)):
        sums = x.sum(dim, keepdims=True)
        for layout in (rows, columns):
            assert_close_tensor(reduced(sum_of, layout(x), dim, rows(np.zeros(sums.shape))), sums)


@pytest.mark.task3_1
@given(shapes, data())
def test_reduce_works_on_any_layout(shape, draw):
    """Input and out may have any memory order; the result has size 1 in the reduced dimension."""
    x = draw.draw(tensor_data(shape=shape))
    dim = draw.draw(permutations(range(len(shape))))[0]
    begin = np.arange(1.0, 1 + x.size // shape[dim]).reshape([1 if d == dim else size for d, size in enumerate(shape)])
    out = laid_out(begin, strides_in_order(begin.shape, draw.draw(permutations(range(len(shape))))))
    assert_close_tensor(reduced(sum_of, x, dim, out), begin + x.array().sum(dim, keepdims=True))


# In parallel


@pytest.mark.task3_1
@pytest.mark.skipif(compiler_is_off(), reason="NUMBA_DISABLE_JIT=1: nothing is compiled, so nothing runs in parallel")
@pytest.mark.parametrize("kind", ["map", "zip", "reduce"])
def test_the_loop_over_the_elements_is_shared_among_threads(kind, capsys):
    """The kernel is compiled by njit with parallel=True, and its loop over the elements of out is a prange, as numba's report says."""
    out, x = rows(np.zeros((2, 3))), columns(MATRIX)
    if kind == "map":
        mapped(x, out)
        kernel = map_kernel(tripled)
    elif kind == "zip":
        zipped(x, x, out)
        kernel = zip_kernel(less_twice)
    else:
        reduced(sum_of, x, 1, rows(np.zeros((2, 1))))
        kernel = reduce_kernel(sum_of)
    assert_shares_its_loop(kernel, capsys)


# Tensors


def fast(array):
    return tensor(np.asarray(array, dtype=float).tolist(), backend=FastBackend, requires_grad=True)


@pytest.mark.task3_1
def test_tensors_of_the_compiled_backend_compute():
    """A permuted matrix times a row, summed along a dimension: the new kernels compute each step."""
    x, row = fast(MATRIX), fast([10.0, 100.0])
    assert_close_tensor((x.permute(1, 0) * row).sum(1), np.array([[410.0], [520.0], [630.0]]))
    assert_close_tensor(-x, -MATRIX)
    assert_close_tensor(x.sum(), [21.0])


@pytest.mark.task3_1
def test_gradients_flow_through_the_compiled_backend():
    """For the sum of x times a row, the gradient of x is the row in each of its rows; the gradient of the row is the column sums of x."""
    x, row = fast(MATRIX), fast([[10.0, 100.0, 1000.0]])
    (x * row).sum().backward()
    assert_close_tensor(x.grad, [[10.0, 100.0, 1000.0]] * 2)
    assert_close_tensor(row.grad, [[5.0, 7.0, 9.0]])


@pytest.mark.task3_1
def test_results_may_lie_between_other_elements():
    """The halves of a matrix are swapped in place; the gradient of a part is written where the part is, and nowhere else."""
    x, both = fast(MATRIX), fast(np.hstack([MATRIX, 10 * MATRIX]))
    assert_close_tensor(cat([both[:, 3:], both[:, :3]], 1), np.hstack([10 * MATRIX, MATRIX]))
    part = x[:, :2]
    (part * part).sum().backward()
    assert_close_tensor(x.grad, [[2.0, 4.0, 0.0], [8.0, 10.0, 0.0]])
