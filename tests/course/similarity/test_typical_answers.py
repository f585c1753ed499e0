"""The typical answers are right, also after every rewrite: their results equal a formula, NumPy, or a count by hand."""

import math

import numpy as np
import pytest

import minitorch
import minitorch.fast_conv
import minitorch.tensor_data
import minitorch.tensor_ops
from course.staff.similarity.typical import typical_answers

from .disguises import disguise


@pytest.fixture
def form():
    """The rewrite of an answer: none."""
    return ""


def functions(name, form, file):
    """The names that a file of an answer defines, together with those that the course's file provides."""
    module = {"tensor_data": minitorch.tensor_data, "tensor_ops": minitorch.tensor_ops, "fast_conv": minitorch.fast_conv}.get(file)
    namespace = dict(vars(module)) if module else {}
    exec(disguise(typical_answers()[name], form)[f"minitorch/{file}.py"], namespace)
    return namespace


@pytest.mark.parametrize("name", typical_answers())
def test_typical_operators_are_right(name, form):
    own = functions(name, form, "operators")
    for x in (-1000.0, -2.0, 0.0, 0.5, 3.0, 700.0):
        exact = 1 / (1 + math.exp(-x)) if x > -700 else 0.0
        assert own["sigmoid"](x) == pytest.approx(exact, abs=1e-9)
    assert [own["is_close"](x, y) for x, y in ((1, 1.009), (1.009, 1), (1, 1.02), (1.02, 1))] == [True, True, False, False]
    assert [own["max"](x, y) for x, y in ((1.0, 2.0), (2.0, 1.0), (-3.0, -3.0))] == [2.0, 2.0, -3.0]
    assert own["map"](lambda x: x + 1)([1, 2, 3]) == [2, 3, 4]
    assert own["zipWith"](lambda x, y: x - y)([5, 7, 9], [1, 2]) == [4, 5]
    assert own["reduce"](lambda x, y: 2 * x + y, 1)([1, 2, 3]) == 19
    assert own["reduce"](lambda x, y: x * y, 1)([]) == 1


@pytest.mark.parametrize("name", typical_answers())
def test_typical_backpropagation_is_right(name, form):
    own = functions(name, form, "autodiff")
    x, y = minitorch.Scalar(2.0), minitorch.Scalar(3.0)
    a = x * y
    b = a + x
    z = b * a + 1.0  # z = (xy + x) · xy + 1: dz/dx = 2xy² + 2xy = 48, dz/dy = 2x²y + x² = 28
    order = list(own["topological_sort"](z))
    assert order[0] is z
    ids = [v.unique_id for v in order]
    assert len(ids) == len(set(ids))
    assert not any(v.is_constant() for v in order)
    assert {x.unique_id, y.unique_id, a.unique_id, b.unique_id} <= set(ids)
    assert ids.index(b.unique_id) < ids.index(a.unique_id) < min(ids.index(x.unique_id), ids.index(y.unique_id))
    own["backpropagate"](z, 1.0)
    assert (x.derivative, y.derivative) == (48.0, 28.0)


@pytest.mark.parametrize("name", typical_answers())
def test_typical_broadcasting_is_right(name, form):
    own = functions(name, form, "tensor_data")
    large = [((2, 3, 1), (3, 4), (2, 3, 4)), ((1,), (5, 5), (5, 5)), ((5, 1), (2, 1, 4), (2, 5, 4))]
    for shape1, shape2, expected in (*large, ((2, 3), (2, 3), (2, 3)), ((), (2,), (2,))):
        assert own["shape_broadcast"](shape1, shape2) == expected
        assert own["shape_broadcast"](shape2, shape1) == expected
    with pytest.raises(own["IndexingError"]):
        own["shape_broadcast"]((5, 7), (5, 5))
    index = [9, 9]
    own["broadcast_index"]([1, 2, 3], (2, 3, 4), (3, 1), index)
    assert list(index) == [2, 0]
    own["broadcast_index"]([1, 2, 3], (2, 3, 4), (1, 4), index)
    assert list(index) == [0, 3]


@pytest.mark.parametrize("name", typical_answers())
def test_typical_operations_are_right(name, form):
    own = functions(name, form, "tensor_ops")
    a = np.arange(1.0, 7.0).reshape(2, 3)
    column = np.array([[10.0], [20.0]])

    def arguments(array):
        shape, strides = (np.array(some, np.int32) for some in (array.shape, [s // 8 for s in array.strides]))
        return array.ravel(order="K"), shape, strides

    def result(operation, function, out, *arrays, dim=()):
        given = [part for array in arrays for part in arguments(array)]
        own[operation](function)(out.reshape(-1), *arguments(out)[1:], *given, *dim)
        return out.tolist()

    assert result("tensor_map", lambda x: 2 * x + 1, np.zeros((3, 2)), a.T) == [[3, 9], [5, 11], [7, 13]]
    assert result("tensor_map", lambda x: -x, np.zeros((2, 3)), column) == [[-10, -10, -10], [-20, -20, -20]]
    assert result("tensor_zip", lambda x, y: x - y, np.zeros((2, 3)), a, column) == [[-9, -8, -7], [-16, -15, -14]]
    assert result("tensor_reduce", lambda x, y: x + y, np.full((2, 1), 100.0), a, dim=[1]) == [[106], [115]]
    assert result("tensor_reduce", lambda x, y: x * y, np.full((1, 3), 1.0), a, dim=[0]) == [[4, 10, 18]]


@pytest.mark.parametrize("name", typical_answers())
@pytest.mark.parametrize("reverse", [False, True])
def test_typical_convolutions_are_right(name, form, reverse):
    kernel = functions(name, form, "fast_conv")["_tensor_conv1d"]
    random = np.random.default_rng(1)
    for width, taps in ((5, 3), (2, 3), (6, 1)):
        x, w = random.standard_normal((2, 3, width)), random.standard_normal((4, 3, taps))
        padded = np.pad(x, ((0, 0), (0, 0), (taps - 1, 0) if reverse else (0, taps - 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, taps, axis=2)
        expected = np.einsum("bcwk,ock->bow", windows[..., ::-1] if reverse else windows, w)
        out = np.full((2, 4, width), 7.0)
        flat = [part for array in (x, w) for part in (array.ravel(), np.array(array.shape), np.array(array.strides) // 8)]
        kernel(out.reshape(-1), np.array(out.shape), np.array(out.strides) // 8, out.size, *flat, reverse)
        np.testing.assert_allclose(out, expected, atol=1e-12)
