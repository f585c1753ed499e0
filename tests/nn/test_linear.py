"""Linear functions and fused bias and relu: values from NumPy and gradients from finite differences."""

import numpy as np
import pytest

from minitorch import grad_check, tensor
from minitorch.nn.linears import bias_relu, linear
from tests.nn.checks import leaf, refuses

RNG = np.random.default_rng(0)
X, WEIGHT, BIAS = RNG.standard_normal((2, 4, 3)), RNG.standard_normal((5, 3)), RNG.standard_normal(5)


@pytest.mark.parametrize("x", [X, X[0], X[0, 0], X[:, :0]], ids=lambda x: str(x.shape))
def test_linear_is_the_product_with_the_rows_of_weight_plus_the_bias(backend, x):
    out = linear(tensor(x, backend), tensor(WEIGHT, backend), tensor(BIAS, backend))
    assert out.shape == (*x.shape[:-1], 5)
    np.testing.assert_allclose(out.to_numpy(), x @ WEIGHT.T + BIAS, rtol=1e-12)
    np.testing.assert_allclose(linear(tensor(x, backend), tensor(WEIGHT, backend)).to_numpy(), x @ WEIGHT.T, rtol=1e-12)


def test_gradients_of_linear_agree_with_finite_differences(backend):
    operands = [tensor(values, backend) for values in (X[:, :2], WEIGHT[:3], BIAS[:3])]
    grad_check(lambda *operands: linear(*operands) * linear(*operands), *operands)


def test_linear_without_features_is_the_bias():
    out = linear(tensor(np.zeros((3, 4, 0))), tensor(np.zeros((2, 0))), tensor([1.0, 2.0]))
    assert out.shape == (3, 4, 2)
    assert out[1, 3].tolist() == [1.0, 2.0]


def test_shapes_of_linear_are_checked():
    x, weight = tensor(X), tensor(WEIGHT)
    asked = "linear expected input of shape (…, in_features) and weight of shape (out_features, in_features), got"
    refuses(ValueError, f"{asked} (2, 4, 3) and (3, 5); the last size of both must be the same", linear, x, weight.t())
    refuses(ValueError, f"{asked} () and (5, 3); the last size of both must be the same", linear, tensor(1.0), weight)
    refuses(ValueError, f"{asked} (2, 4, 3) and (3,); the last size of both must be the same", linear, x, weight[0])
    refuses(ValueError, "… expected bias of shape (5,) for weight of shape (5, 3), got (3,)", linear, x, weight, weight[0])


def test_the_gradient_is_0_where_the_sum_is_0_and_nan_propagates(backend):
    x, b = leaf([[1.0, -2.0, np.nan], [1.5, 3.0, 1.0]], backend), leaf([-1.0, 2.0, 0.0], backend)
    y = bias_relu(x, b)
    np.testing.assert_array_equal(y.to_numpy(), [[0, 0, np.nan], [0.5, 5, 1]])
    y.sum().backward()
    assert x.grad.tolist() == [[0, 0, 1], [1, 1, 1]]
    assert b.grad.tolist() == [1, 1, 2]


def test_operands_and_gradients_may_have_any_layout(backend):
    wide, biases = np.arange(24.0).reshape(4, 6) - 12, np.arange(8.0) - 4
    x, b = leaf(wide, backend), leaf(biases, backend)
    y = bias_relu(x.permute(1, 0)[1:5], b[::2])
    expected = wide.T[1:5] + biases[::2]
    np.testing.assert_array_equal(y.to_numpy(), np.maximum(expected, 0))
    gradient = np.arange(16.0).reshape(4, 4)
    y.backward(tensor(gradient, backend).permute(1, 0))
    through = np.where(expected > 0, gradient.T, 0)
    np.testing.assert_array_equal(x.grad.to_numpy()[:, 1:5].T, through)
    np.testing.assert_array_equal(b.grad.to_numpy()[::2], through.sum(0))


def test_an_empty_input_gives_the_bias_a_zero_gradient(backend):
    x, b = leaf(np.zeros((0, 3)), backend), leaf([1.0, 2.0, 3.0], backend)
    bias_relu(x, b).backward(tensor(np.zeros((0, 3)), backend))
    assert (x.grad.shape, b.grad.tolist()) == ((0, 3), [0, 0, 0])


@pytest.mark.parametrize("bias", [(4,), (2, 1), (1, 3)])
def test_a_bias_must_match_the_input(bias):
    message = f"… expected a bias that broadcasts to the shape of input, (3,), got {bias}; insert dimensions of size 1 with view"
    refuses(ValueError, message, bias_relu, tensor(np.zeros(3)), tensor(np.zeros(bias)))
