"""Activations: values from Python's math module, gradients from finite differences, extreme inputs, and a comparison with PyTorch."""

import numpy as np

from minitorch import grad_check, tensor
from tests.autograd.test_double_backward import assert_second_derivatives
from tests.nn.test_activations import CURVES, EACH, POINTS


@EACH
def test_gradients_agree_with_finite_differences(name, backend):
    factors = tensor(np.linspace(-2, 3, 9), backend)
    grad_check(lambda x: CURVES[name][0](x) * factors, tensor([x for x in POINTS if x], backend))


@EACH
def test_gradients_have_gradients(name, backend):
    assert_second_derivatives(CURVES[name][0], [np.array([-2.0, -0.3, 0.4, 1.5])], backend)


def test_activations_accept_any_layout(backend):
    values = np.arange(-6.0, 6.0).reshape(3, 4)
    ours, formula = CURVES["silu"]
    x = tensor(values, backend, requires_grad=True)
    y = ours(x.t()[1:])
    np.testing.assert_allclose(y.to_numpy(), np.vectorize(formula)(values.T[1:]), rtol=1e-12)
    y.sum().backward()
    assert not x.grad.to_numpy()[:, 0].any()
