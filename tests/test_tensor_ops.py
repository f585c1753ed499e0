"""Task 2.3: the map, zip and reduce kernels on storages, and the forward functions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import data, sampled_from

from minitorch import Context, Tensor, TensorData, tensor
from minitorch.tensor_functions import EQ, LT, Exp, IsClose, Log, Mul, Permute, ReLU, Sigmoid, Sum
from minitorch.tensor_ops import tensor_map, tensor_reduce, tensor_zip

from .tensor_strategies import (
    arrays,
    assert_close_tensor,
    broadcast_pairs,
    broadcast_shapes,
    few_numbers,
    laid_out,
    layouts,
    positions_of,
    shapes,
    tensor_data,
)

MATRIX = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def assert_written(out, expected):
    """Fail unless a kernel has written exactly these numbers, and nothing between or after the elements of out."""
    assert_close_tensor(Tensor(out), expected)
    elsewhere = np.delete(out._storage, positions_of(out.shape, out.strides, out.offset).reshape(-1))
    assert np.isnan(elsewhere).all(), f"written beside the elements of out, which has shape {out.shape} and strides {out.strides}"


# The kernels, on storages


@pytest.mark.task2_3
def test_map_reads_and_writes_by_strides():
    """x + 10 of a row-major matrix, into a column-major out: each element goes to its own index."""
    out = np.zeros(6)
    tensor_map(lambda x: x + 10)(out, (2, 3), (1, 2), MATRIX.reshape(-1), (2, 3), (3, 1))
    assert out.tolist() == [11, 14, 12, 15, 13, 16]


@pytest.mark.task2_3
def test_map_broadcasts_its_input():
    """An input of shape (2, 1) fills an out of shape (2, 3): each of its elements fills a whole row."""
    out = np.zeros(6)
    tensor_map(lambda x: 2 * x)(out, (2, 3), (3, 1), np.array([1.0, 5.0]), (2, 1), (1, 1))
    assert out.tolist() == [2, 2, 2, 10, 10, 10]


@pytest.mark.task2_3
@given(broadcast_shapes(), data())
def test_map_works_on_any_layout(two_shapes, draw):
    """out and input may have any memory order, with gaps; the input may have fewer dimensions or sizes of 1."""
    small, other = two_shapes
    shape = np.broadcast_shapes(small, other)
    x = draw.draw(tensor_data(shape=small))
    out = laid_out(np.zeros(shape), *draw.draw(layouts(shape)))
    calls = []

    def fn(v):
        calls.append(v)
        return 3 * v + 1

    tensor_map(fn)(*out.tuple(), *x.tuple())
    assert len(calls) == math.prod(shape), f"expected {math.prod(shape)} calls of fn, one for each element of out, got {len(calls)}"
    assert_written(out, np.broadcast_to(3 * x.array() + 1, shape))


@pytest.mark.task2_3
def test_zip_takes_its_arguments_in_order():
    """a - b of a row (1, 2, 3) and a column (10, 20): the row varies along the last dimension, the column along the first."""
    out = np.zeros(6)
    tensor_zip(lambda a, b: a - b)(out, (2, 3), (3, 1), np.array([1.0, 2.0, 3.0]), (3,), (1,), np.array([10.0, 20.0]), (2, 1), (1, 1))
    assert out.tolist() == [-9, -8, -7, -19, -18, -17]


@pytest.mark.task2_3
@given(broadcast_shapes(), data())
def test_zip_works_on_any_layout(two_shapes, draw):
    """out and both inputs have their own strides, and either input may be smaller than out."""
    a, b = (draw.draw(tensor_data(shape=shape)) for shape in two_shapes)
    shape = np.broadcast_shapes(*two_shapes)
    out = laid_out(np.zeros(shape), *draw.draw(layouts(shape)))
    tensor_zip(lambda v, w: v - 2 * w)(*out.tuple(), *a.tuple(), *b.tuple())
    assert_written(out, a.array() - 2 * b.array())


@pytest.mark.task2_3
@pytest.mark.parametrize(("dim", "shape", "expected"), [(0, (1, 3), [5, 7, 9]), (1, (2, 1), [6, 15])])
def test_reduce_folds_the_named_dimension(dim, shape, expected):
    """The sums of a matrix with two rows: along dimension 0 those of its columns, along dimension 1 those of its rows."""
    out = TensorData.zeros(shape)
    tensor_reduce(lambda x, y: x + y)(*out.tuple(), MATRIX.reshape(-1), (2, 3), (3, 1), dim)
    assert out.array().reshape(-1).tolist() == expected


@pytest.mark.task2_3
def test_reduce_begins_with_what_stands_in_out():
    """A reduction starts from the values in out: starting from 100 and 200, the sums of two rows are 106 and 215."""
    out = np.array([100.0, 200.0])
    tensor_reduce(lambda x, y: x + y)(out, (2, 1), (1, 1), MATRIX.reshape(-1), (2, 3), (3, 1), 1)
    assert out.tolist() == [106, 215]


@pytest.mark.task2_3
def test_reduce_folds_in_order():
    """The first argument is the result so far, the second the next element, from index 0 on: ((9·10 + 1)·10 + 2)·10 + 3."""
    out = np.array([9.0])
    tensor_reduce(lambda so_far, x: 10 * so_far + x)(out, (1,), (1,), np.array([1.0, 2.0, 3.0]), (3,), (1,), 0)
    assert out.tolist() == [9123]


@pytest.mark.task2_3
@given(shapes, data())
def test_reduce_works_on_any_layout(shape, draw):
    """Whichever dimension is reduced, and whatever the memory order of out and input, each result receives the right elements in order."""
    dim = draw.draw(sampled_from(range(len(shape))))
    a = draw.draw(tensor_data(shape=shape))
    out_shape = (*shape[:dim], 1, *shape[dim + 1 :])
    starts = draw.draw(arrays(shape=out_shape))
    out = laid_out(starts, *draw.draw(layouts(out_shape)))
    tensor_reduce(lambda so_far, x: x - 2 * so_far)(*out.tuple(), *a.tuple(), dim)
    expected = starts
    for i in range(shape[dim]):
        expected = np.take(a.array(), [i], axis=dim) - 2 * expected
    assert_written(out, expected)


@pytest.mark.task2_3
def test_kernels_take_a_tensor_of_no_dimensions():
    """A tensor of shape () has one element, and its index is empty."""
    out = np.zeros(1)
    tensor_map(lambda x: -x)(out, (), (), np.array([4.0]), (), ())
    assert out.tolist() == [-4]
    tensor_zip(lambda x, y: x - y)(out, (), (), np.array([4.0]), (), (), np.array([7.0]), (), ())
    assert out.tolist() == [-3]
    out = np.zeros(2)
    tensor_zip(lambda x, y: x - y)(out, (2,), (1,), np.array([4.0, 5.0]), (2,), (1,), np.array([7.0]), (), ())
    assert out.tolist() == [-3, -2]


@pytest.mark.task2_3
def test_kernels_take_a_tensor_without_elements():
    """With a size of 0 there is nothing to write; a reduction over no elements leaves the values in out."""
    nothing = np.zeros(0)
    tensor_map(lambda x: -x)(nothing, (0, 3), (3, 1), nothing, (0, 3), (3, 1))
    tensor_zip(lambda x, y: x - y)(nothing, (0, 3), (3, 1), nothing, (0, 3), (3, 1), np.ones(3), (3,), (1,))
    out = np.array([1.0, 2.0, 3.0])
    tensor_reduce(lambda x, y: x + y)(out, (1, 3), (3, 1), nothing, (0, 3), (3, 1), 0)
    assert out.tolist() == [1, 2, 3]
    tensor_reduce(lambda x, y: x + y)(nothing, (0, 1), (1, 1), nothing, (0, 3), (3, 1), 1)


# The forward functions


@pytest.mark.task2_3
@pytest.mark.parametrize(
    ("function", "inputs", "expected"),
    [
        (Mul, ([2.0, -1.5], [7.0, 4.0]), [14.0, -6.0]),
        (Sigmoid, ([0.0, 2.0, -2.0],), [0.5, 1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2))]),
        (Sigmoid, ([1000.0, -1000.0],), [1.0, 0.0]),
        (ReLU, ([3.0, 0.25, 0.0, -3.0],), [3.0, 0.25, 0.0, 0.0]),
        (Log, ([1.0, 0.0, 50.0],), [math.log(1 + 1e-6), math.log(1e-6), math.log(50 + 1e-6)]),
        (Exp, ([0.0, 1.0, -2.0],), [1.0, math.e, math.exp(-2)]),
        (LT, ([1.0, 2.0, 2.0, -2.0], [2.0, 1.0, 2.0, 1.0]), [True, False, False, True]),
        (EQ, ([2.0, 2.0, 2.0, 2.0], [2.0, 3.0, 2.0 + 1e-9, -2.0]), [True, False, False, False]),
        (IsClose, ([2.0, 2.0, 2.0, 0.0], [2.009, 1.991, 2.011, 0.01]), [True, True, False, False]),
        (IsClose, ([2.0, -5.0], [1.989, 5.0]), [False, False]),
    ],
)
def test_forward_computes_the_function_element_by_element(function, inputs, expected):
    """forward takes tensors and returns a tensor with the function's values; comparisons return bool."""
    inputs = [tensor(values) for values in inputs]
    result = function.forward(Context(), *inputs)
    assert_close_tensor(result, expected)
    assert result.dtype.kind == ("b" if function in (LT, EQ, IsClose) else "f")


@pytest.mark.task2_3
@pytest.mark.parametrize(("function", "on_arrays"), [(Mul, np.multiply), (LT, np.less), (EQ, np.equal)])
@given(pair=broadcast_pairs(few_numbers))
def test_forward_broadcasts(function, on_arrays, pair):
    """Two tensors whose shapes broadcast give a result of the common shape."""
    a, b = pair
    assert_close_tensor(function.forward(Context(), a, b), on_arrays(a.to_numpy(), b.to_numpy()))


@pytest.mark.task2_3
@pytest.mark.parametrize(("dim", "expected"), [(0, [[5.0, 7.0, 9.0]]), (1, [[6.0], [15.0]])])
def test_forward_of_sum_keeps_the_dimension(dim, expected):
    """Sum along one dimension returns a tensor in which that dimension has size 1."""
    assert_close_tensor(Sum.forward(Context(), tensor(MATRIX), dim), expected)


@pytest.mark.task2_3
def test_forward_of_permute_moves_dimensions():
    """Dimension i of the result is dimension order[i] of the input; (1, 2, 0) turns shape (2, 3, 4) into (3, 4, 2)."""
    array = np.arange(24.0).reshape(2, 3, 4)
    assert_close_tensor(Permute.forward(Context(), tensor(array), (1, 2, 0)), array.transpose(1, 2, 0))


@pytest.mark.task2_3
def test_forward_of_permute_is_a_view():
    """Permute copies no elements: writing into the result changes the input."""
    x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    Permute.forward(Context(), x, (1, 0))[2, 0] = 30.0
    assert x[0, 2] == 30.0


@pytest.mark.task2_3
@pytest.mark.parametrize("function", [Sigmoid, ReLU, Log, Exp, Mul, LT, EQ, IsClose])
def test_forward_leaves_its_inputs_as_they_are(function):
    """forward does not modify its inputs: the result has its own storage."""
    inputs = [tensor([1.0, 2.0]), tensor([2.0, 1.0])][: 2 if function in (Mul, LT, EQ, IsClose) else 1]
    result = function.forward(Context(), *inputs)
    assert [x.tolist() for x in inputs] == [[1.0, 2.0], [2.0, 1.0]][: len(inputs)]
    assert all(result._tensor._storage is not x._tensor._storage for x in inputs)
