"""Activations: values from Python's math module, gradients and extreme inputs."""

import math

import numpy as np
import pytest

from minitorch import FastBackend, SimpleBackend, float32, float64, tensor
from minitorch.nn import GELU, LeakyReLU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh
from minitorch.nn.activations import gelu, leaky_relu, relu, sigmoid, silu, tanh
from tests.nn.checks import refuses

POINTS = [-6.0, -3.5, -1.25, -0.5, -1e-3, 0.0, 1e-3, 0.75, 2.0, 5.5]
ROOT = math.sqrt(2 / math.pi)

CURVES = {  # each formula as in its paper
    "relu": (relu, lambda x: max(x, 0.0)),
    "leaky_relu": (lambda x: leaky_relu(x, 0.2), lambda x: x if x > 0 else 0.2 * x),
    "gelu": (gelu, lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2))),
    "gelu of tanh": (lambda x: gelu(x, "tanh"), lambda x: x * 0.5 * (1 + math.tanh(ROOT * (x + 0.044715 * x**3)))),
    "silu": (silu, lambda x: x / (1 + math.exp(-x))),
    "sigmoid": (sigmoid, lambda x: 1 / (1 + math.exp(-x))),
    "tanh": (tanh, math.tanh),
}
EACH = pytest.mark.parametrize("name", CURVES)


@EACH
@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
def test_every_element_follows_the_formula_of_the_paper(name, backend, dtype):
    ours, formula = CURVES[name]
    points = np.array(POINTS, dtype)
    y = ours(tensor(points, backend))
    assert y.dtype == dtype
    np.testing.assert_allclose(y.to_numpy(), [formula(float(x)) for x in points], rtol=1e-13 if dtype == float64 else 2e-6, atol=1e-14)


@EACH
@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
def test_compiled_gradients_equal_those_of_plain_loops(name, dtype):
    points, given = np.linspace(-9, 9, 2500).astype(dtype), np.linspace(-2, 2, 2500).astype(dtype)
    found = []
    for backend, kind in ((SimpleBackend, float64), (FastBackend, dtype)):
        x = tensor(points.astype(kind), backend, requires_grad=True)
        CURVES[name][0](x).backward(tensor(given.astype(kind), backend))
        assert x.grad.dtype == kind
        found.append(x.grad.to_numpy())
    np.testing.assert_allclose(found[1], found[0], atol=1e-13 if dtype == float64 else 1e-6)


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
@pytest.mark.parametrize("name", ["gelu", "gelu of tanh", "silu"])
def test_extreme_inputs_give_zero_or_the_input_and_infinite_ones_nan_as_in_pytorch(name, backend, dtype):
    far = np.array([-1e15, -1000, 1000, 1e15, math.inf, -math.inf, math.nan], dtype)
    x = tensor(far, backend, requires_grad=True)
    y = CURVES[name][0](x)
    np.testing.assert_array_equal(y.to_numpy(), [0, 0, *far[2:5], math.nan, math.nan])  # -∞ · 0 is NaN
    y.backward(tensor(np.ones(7, dtype), backend))
    np.testing.assert_array_equal(x.grad.to_numpy(), [0, 0, 1, 1, math.nan, math.nan, math.nan])


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
def test_small_values_keep_their_precision(backend, dtype):
    points = np.array([-11.0, -9.0, -7.0], dtype)
    y = gelu(tensor(points, backend)).to_numpy()
    np.testing.assert_allclose(
        y, [x * 0.5 * math.erfc(-x / math.sqrt(2)) for x in points.tolist()], rtol=1e-12 if dtype == float64 else 1e-5
    )


def test_relu_keeps_nan_and_has_gradient_zero_at_0(backend):
    x = tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0], backend, requires_grad=True)
    y = relu(x)
    np.testing.assert_array_equal(y.to_numpy(), [math.nan, math.inf, 0, 0, 0, 1])
    y.backward(tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], backend))
    assert x.grad.tolist() == [1, 2, 0, 0, 0, 6]


def test_the_gradient_of_leaky_relu_at_0_is_the_negative_slope():
    x = tensor([0.0, 1.0, -1.0], requires_grad=True)
    leaky_relu(x, 0.25).sum().backward()
    assert x.grad.tolist() == [0.25, 1, 0.25]
    assert leaky_relu(x).tolist() == [0, 1, -0.01]


def test_layers_call_their_functions():
    x = tensor(np.array([[-1.0, 0.5, 2.0]]))
    pairs = [(GELU(), gelu(x)), (GELU("tanh"), gelu(x, "tanh")), (SiLU(), silu(x)), (LeakyReLU(0.3), leaky_relu(x, 0.3)), (ReLU(), relu(x))]
    pairs += [(Sigmoid(), x.sigmoid()), (Tanh(), x.tanh())]
    for layer, expected in pairs:
        assert layer(x).tolist() == expected.tolist()
        assert layer.state_dict() == {}
    powers = np.exp(x.to_numpy())
    np.testing.assert_allclose(Softmax(1)(x).to_numpy(), powers / powers.sum(), rtol=1e-14)
    np.testing.assert_allclose(LogSoftmax(-1)(x).to_numpy(), np.log(powers / powers.sum()), rtol=1e-14)
    assert Softmax(0)(x).tolist() == [[1, 1, 1]]
    shown = ["GELU(approximate='none')", "GELU(approximate='tanh')", "SiLU()", "LeakyReLU(negative_slope=0.3)", "ReLU()", "Sigmoid()"]
    assert [repr(layer) for layer, _ in pairs[:6]] == shown
    assert repr(LogSoftmax(-1)) == "LogSoftmax(dim=-1)"


def test_anything_but_a_floating_tensor_is_refused():
    refuses(TypeError, "… expected a Tensor of floats, got list; make one with tensor(...)", gelu, [1.0])
    refuses(TypeError, "… expected a Tensor of floats, got int64; convert it: x.to(float32)", silu, tensor(np.array([1, 2])))
    refuses(ValueError, '… expected approximate "none" or "tanh", got \'erf\'', gelu, tensor([1.0]), "erf")
    refuses(ValueError, '… expected approximate "none" or "tanh", got None', GELU, None)
