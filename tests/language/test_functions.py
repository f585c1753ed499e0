"""Task 6.2: layer normalization, GELU and embedding: values by hand or from NumPy, gradients by finite differences."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, lists

from minitorch import Tensor, grad_check, tensor
from minitorch.language.functions import Gelu, Lookup, Normalize, embedding, gelu, layer_norm

from ..strategies import small_floats
from ..tensor_strategies import laid_out, strides_in_order, tensors

CLOSE = {"rtol": 1e-9, "atol": 1e-12}

few = settings(max_examples=25)


def leaf(values):
    return tensor(values, requires_grad=True)


def normalized(rows, eps):
    """Rows of the last dimension, normalized by NumPy."""
    rows = np.asarray(rows, np.float64)
    return (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + eps)


def weights_for(shape):
    """Distinct numbers, some negative, as the gradient of a result."""
    return np.cos(np.arange(1.0, 1 + math.prod(shape))).reshape(shape)


def gradients_of(f, *leaves):
    """The gradients of leaves when that of f's result is `weights_for` its shape."""
    out = f(*leaves)
    out.backward(tensor(weights_for(out.shape)))
    return [x.grad.to_numpy() for x in leaves]


def differences(f, x, step=1e-5):
    """The same gradient by central differences of a function of NumPy arrays."""
    found = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        found[index] = ((f(up) - f(down)) * weights_for(f(x).shape)).sum() / (2 * step)
    return found


# Layer normalization


@pytest.mark.task6_2
def test_a_row_by_hand():
    out = Normalize.apply(tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]), 0.0)
    np.testing.assert_allclose(out.to_numpy(), [[-math.sqrt(1.5), 0, math.sqrt(1.5)]] * 2, **CLOSE)


@pytest.mark.task6_2
def test_eps_is_added_to_the_variance_before_the_root():
    # the mean of the squared distances from 2 is 1, so the divisor is the root of 1 + 3
    np.testing.assert_allclose(Normalize.apply(tensor([1.0, 3.0]), 3.0).to_numpy(), [-0.5, 0.5], **CLOSE)


@pytest.mark.task6_2
@pytest.mark.parametrize("shape", [(4,), (1, 3), (2, 3), (2, 3, 4), (2, 1, 2, 3)])
def test_each_row_of_the_last_dimension_is_normalized_by_itself(shape):
    x = np.random.default_rng(0).normal(3, 2, shape)
    np.testing.assert_allclose(Normalize.apply(tensor(x), 1e-5).to_numpy(), normalized(x, 1e-5), **CLOSE)


@pytest.mark.task6_2
@few
@given(tensors(small_floats))
def test_rows_of_any_layout_are_normalized_as_by_numpy(x):
    x = x if x.dims else x.view(1)
    before = x.to_numpy().copy()
    np.testing.assert_allclose(Normalize.apply(x, 0.5).to_numpy(), normalized(before, 0.5), rtol=1e-7, atol=1e-7)
    assert np.array_equal(x.to_numpy(), before), "the input has changed"


@pytest.mark.task6_2
def test_rows_of_equal_numbers_become_zeros_and_have_a_finite_gradient():
    x = leaf([[5.0, 5.0, 5.0], [0.0, 0.0, 0.0]])
    out = Normalize.apply(x, 1e-5)
    assert np.array_equal(out.to_numpy(), np.zeros((2, 3)))
    out.backward(tensor([[1.0, 2.0, 6.0], [0.0, 3.0, 0.0]]))
    expected = np.array([[-2, -1, 3], [-1, 2, -1]]) / math.sqrt(1e-5)
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-9)


@pytest.mark.task6_2
def test_a_row_of_one_number_is_zero_and_has_no_gradient():
    x = leaf([[3.0], [-2.0]])
    out = Normalize.apply(x, 1e-5)
    assert out.to_numpy().tolist() == [[0.0], [0.0]]
    out.backward(tensor([[1.0], [2.0]]))
    assert x.grad.to_numpy().tolist() == [[0.0], [0.0]]


@pytest.mark.task6_2
def test_numbers_far_from_zero_keep_their_digits():
    x = np.array([[1e8, 1e8 + 1, 1e8 + 3]])
    np.testing.assert_allclose(Normalize.apply(tensor(x), 1e-5).to_numpy(), normalized(x - 1e8, 1e-5), rtol=1e-7)


@pytest.mark.task6_2
@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 2, 3)])
@pytest.mark.parametrize("eps", [1e-5, 0.7])
def test_the_gradient_of_a_row_is_that_of_finite_differences(shape, eps):
    x = np.random.default_rng(1).normal(1, 2, shape)
    (found,) = gradients_of(lambda x: Normalize.apply(x, eps), leaf(x))
    np.testing.assert_allclose(found, differences(lambda x: normalized(x, eps), x), rtol=1e-5, atol=1e-8)


@pytest.mark.task6_2
def test_the_gradient_of_a_row_sums_to_zero_because_a_shift_changes_nothing():
    (found,) = gradients_of(lambda x: Normalize.apply(x, 1e-5), leaf(np.random.default_rng(2).normal(size=(3, 5))))
    np.testing.assert_allclose(found.sum(1), 0, atol=1e-12)
    assert np.abs(found).min() > 1e-6


@pytest.mark.task6_2
def test_weight_and_bias_scale_and_shift_every_row():
    x, weight, bias = (np.random.default_rng(3).normal(size=shape) for shape in ((2, 3, 4), (4,), (4,)))
    out = layer_norm(tensor(x), tensor(weight), tensor(bias))
    np.testing.assert_allclose(out.to_numpy(), normalized(x, 1e-5) * weight + bias, **CLOSE)
    wide = layer_norm(tensor(x), tensor(weight), tensor(bias), 2.0)
    np.testing.assert_allclose(wide.to_numpy(), normalized(x, 2.0) * weight + bias, **CLOSE)


@pytest.mark.task6_2
def test_weight_bias_and_input_receive_the_gradients_of_numpy():
    x, weight, bias = (np.random.default_rng(4).normal(size=shape) for shape in ((2, 3, 4), (4,), (4,)))
    d_x, d_weight, d_bias = gradients_of(layer_norm, leaf(x), leaf(weight), leaf(bias))
    g = weights_for(x.shape)
    np.testing.assert_allclose(d_bias, g.sum((0, 1)), **CLOSE)
    np.testing.assert_allclose(d_weight, (g * normalized(x, 1e-5)).sum((0, 1)), **CLOSE)
    np.testing.assert_allclose(d_x, differences(lambda x: normalized(x, 1e-5) * weight + bias, x), rtol=1e-5, atol=1e-8)


@pytest.mark.task6_2
def test_normalize_is_one_function_that_saves_what_it_needs():
    out = Normalize.apply(leaf([[1.0, 2.0, 4.0]]), 1e-5)
    assert out.history.last_fn is Normalize
    assert sum(value.numel() for value in out.history.ctx.saved_values if isinstance(value, Tensor)) <= 2 * 3 + 2


# GELU


def gelu_of(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.task6_2
def test_gelu_by_hand():
    out = gelu(tensor([0.0, 1.0, -1.0, 30.0, -30.0]))
    np.testing.assert_allclose(out.to_numpy(), [0, 0.8411919906082768, -0.15880800939172324, 30, 0], **CLOSE)


@pytest.mark.task6_2
@few
@given(tensors(small_floats))
def test_gelu_is_that_of_numpy(x):
    before = x.to_numpy().copy()
    np.testing.assert_allclose(Gelu.apply(x).to_numpy(), gelu_of(before), rtol=1e-9, atol=1e-9)
    assert np.array_equal(x.to_numpy(), before), "the input has changed"


@pytest.mark.task6_2
def test_the_gradient_of_gelu_is_that_of_finite_differences():
    x = np.concatenate([np.linspace(-4, 4, 33), [0.0]]).reshape(2, 17)
    (found,) = gradients_of(gelu, leaf(x))
    np.testing.assert_allclose(found, differences(gelu_of, x), rtol=1e-6, atol=1e-9)


@pytest.mark.task6_2
def test_far_from_zero_gelu_is_a_relu():
    x = leaf([100.0, -100.0, 1e4, -1e4])
    out = gelu(x)
    out.backward(tensor([2.0, 2.0, 3.0, 3.0]))
    np.testing.assert_allclose(out.to_numpy(), [100, 0, 1e4, 0], **CLOSE)
    np.testing.assert_allclose(x.grad.to_numpy(), [2, 0, 3, 0], **CLOSE)


@pytest.mark.task6_2
def test_gelu_is_one_function():
    assert Gelu.apply(leaf([1.0])).history.last_fn is Gelu


# Embedding


TABLE = np.arange(12.0).reshape(4, 3) ** 1.5


@pytest.mark.task6_2
@pytest.mark.parametrize("tokens", [[2], [0, 3], [[1, 1, 2], [3, 0, 1]], [[[0]], [[3]]]])
def test_each_token_becomes_its_row(tokens):
    out = embedding(tensor(np.array(tokens)), tensor(TABLE))
    assert out.shape == (*np.shape(tokens), 3)
    np.testing.assert_array_equal(out.to_numpy(), TABLE[np.array(tokens)])


@pytest.mark.task6_2
def test_a_table_may_have_any_layout():
    weight = Tensor(laid_out(TABLE, strides_in_order(TABLE.shape, (1, 0))))
    np.testing.assert_array_equal(embedding(tensor(np.array([3, 1])), weight).to_numpy(), TABLE[[3, 1]])


@pytest.mark.task6_2
def test_the_gradients_of_a_row_that_occurs_several_times_are_added():
    weight = leaf(TABLE)
    out = embedding(tensor(np.array([[2, 0], [2, 2]])), weight)
    out.backward(tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[10.0, 20.0, 30.0], [100.0, 200.0, 300.0]]]))
    assert weight.grad.to_numpy().tolist() == [[4, 5, 6], [0, 0, 0], [111, 222, 333], [0, 0, 0]]


@pytest.mark.task6_2
@few
@given(lists(integers(0, 3), min_size=1, max_size=9))
def test_the_gradient_of_the_table_is_that_of_a_product_with_one_hot_rows(tokens):
    weight = leaf(TABLE)
    out = embedding(tensor(np.array(tokens)), weight)
    g = weights_for(out.shape)
    out.backward(tensor(g))
    np.testing.assert_allclose(weight.grad.to_numpy(), np.eye(4)[tokens].T @ g, **CLOSE)


@pytest.mark.task6_2
def test_a_table_used_twice_receives_both_gradients():
    weight = leaf(TABLE)
    out = embedding(tensor(np.array([1])), weight) + embedding(tensor(np.array([1])), weight) * 10
    out.sum().backward()
    assert weight.grad.to_numpy().tolist() == [[0] * 3, [11] * 3, [0] * 3, [0] * 3]


@pytest.mark.task6_2
def test_tokens_that_change_before_the_backward_pass_do_not_matter():
    weight, tokens = leaf(TABLE), tensor(np.array([1, 2]))
    out = embedding(tokens, weight)
    tokens[0] = 3
    out.sum().backward()
    assert weight.grad.to_numpy()[:, 0].tolist() == [0, 1, 1, 0]


@pytest.mark.task6_2
def test_the_gradient_has_the_dtype_of_the_table():
    weight = tensor(TABLE, dtype="float32", requires_grad=True)
    embedding(tensor(np.array([1])), weight).sum().backward()
    assert weight.grad.dtype == np.float32


@pytest.mark.task6_2
def test_lookup_is_one_function_and_saves_no_table():
    out = Lookup.apply(tensor(np.array([1, 2])), leaf(TABLE))
    assert out.history.last_fn is Lookup
    assert not any(isinstance(value, Tensor) for value in out.history.ctx.saved_values)


@pytest.mark.task6_2
def test_grad_check_agrees():
    x, weight, bias = (np.random.default_rng(5).normal(size=shape) for shape in ((2, 4), (4,), (4,)))
    grad_check(layer_norm, leaf(x), leaf(weight), leaf(bias))
    grad_check(gelu, leaf(x))
    grad_check(lambda table: embedding(tensor(np.array([1, 1, 0])), table), leaf(x))
