"""Embeddings: rows selected by index, and gradients summed over repeated rows."""

import numpy as np
import pytest

from minitorch import IndexingError, SimpleBackend, float32, float64, int32, tensor
from minitorch.nn.embeddings import embedding
from tests.nn.checks import leaf, refuses

TABLE = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])


def index_tensor(values, backend=SimpleBackend, dtype=None):
    return tensor(np.array(values, np.int64), backend, dtype=dtype)


@pytest.mark.parametrize("shape", [(), (0,), (4,), (2, 0), (2, 3), (2, 1, 3)])
def test_indices_may_have_any_shape(backend, shape):
    indices = np.random.default_rng(0).integers(0, 3, shape)
    weight = leaf(TABLE, backend)
    out = embedding(tensor(indices, backend), weight)
    assert out.shape == (*shape, 2)
    np.testing.assert_array_equal(out.to_numpy(), TABLE[indices])
    gradient = np.random.default_rng(1).standard_normal(out.shape)
    out.backward(tensor(gradient, backend))
    expected = np.zeros((3, 2))
    for row in range(3):
        expected[row] = gradient[indices == row].sum(0)
    np.testing.assert_allclose(weight.grad.to_numpy(), expected, atol=1e-15)


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
def test_tables_indices_and_gradients_may_have_any_layout(backend, dtype):
    wide = tensor(np.arange(24.0).reshape(2, 12), backend, requires_grad=True, dtype=dtype)
    table = wide[:, 1::3].permute(1, 0)  # rows (1, 13), (4, 16), (7, 19), (10, 22)
    indices = index_tensor([[3, 9, 1], [0, 9, 3]], backend, int32)[:, ::2].permute(1, 0)
    out = embedding(indices, table)
    assert out.dtype == dtype
    assert out.tolist() == [[[10, 22], [1, 13]], [[4, 16], [10, 22]]]
    (out.permute(2, 1, 0) * tensor(np.arange(1.0, 9.0).reshape(2, 2, 2), backend, dtype=dtype)).sum().backward()
    assert wide.grad.to_numpy()[:, 1::3].T.tolist() == [[3, 7], [2, 6], [0, 0], [1 + 4, 5 + 8]]
    assert not wide.grad.to_numpy()[:, 0::3].any()
    assert not wide.grad.to_numpy()[:, 2::3].any()


@pytest.mark.parametrize("padding", [1, -2])
def test_no_gradient_flows_into_the_padding_row(backend, padding):
    weight = leaf(TABLE, backend)
    out = embedding(index_tensor([1, 0, 1], backend), weight, padding_idx=padding)
    assert out.tolist() == [[2, 20], [1, 10], [2, 20]]
    out.sum().backward()
    assert weight.grad.tolist() == [[1, 1], [0, 0], [0, 0]]


def test_later_changes_of_the_indices_do_not_affect_the_gradient(backend):
    indices, weight = index_tensor([0, 0], backend), leaf(TABLE, backend)
    out = embedding(indices, weight)
    indices[0] = 2
    out.sum().backward()
    assert weight.grad.tolist() == [[2, 2], [0, 0], [0, 0]]


def test_the_result_is_a_copy_and_a_constant_without_gradients_of_the_table(backend):
    weight = tensor(TABLE, backend)
    out = embedding(index_tensor([0, 1, 2], backend), weight)
    assert out.is_constant()
    out[0, 0] = 77.0
    assert weight.tolist() == TABLE.tolist()


@pytest.mark.parametrize("wrong", [3, -1])
def test_an_index_out_of_range_is_named(backend, wrong):
    message = f"… expected indices from 0 to 2 for a table of 3 rows, got {wrong}"
    for indices in ([wrong], [[0, wrong], [9, 9]]):
        refuses(IndexingError, message, embedding, index_tensor(indices, backend), tensor(TABLE, backend))


def test_invalid_indices_and_tables_are_refused():
    weight, first = tensor(TABLE), index_tensor([0])
    refuses(TypeError, "… expected a Tensor as indices, got list; make one with tensor(...)", embedding, [0], weight)
    refuses(TypeError, "… expected a Tensor as weight, got ndarray; make one with tensor(...)", embedding, first, TABLE)
    message = "… expected indices of int64 or int32, got float64; convert them: indices.to(int64)"
    refuses(TypeError, message, embedding, tensor([0.0]), weight)
    refuses(ValueError, "… expected weight of shape (V, D), a row for each word, got (2,)", embedding, first, weight[0])
    refuses(IndexingError, "… expected padding_idx from -3 to 2 for 3 rows, got 3", embedding, first, weight, padding_idx=3)
