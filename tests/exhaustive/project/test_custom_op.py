"""Custom operators: their values and gradients, the errors that their checks catch, and the table of the comparison."""

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, SimpleBackend, float32, nn, tensor
from project.custom_op import BiasSiLU, BiasSiLUFunction, ComposedSiLU, LinearFunction, MyLinear, SummedSiLU


@pytest.mark.parametrize("backend", [SimpleBackend, FastBackend])
def test_layers_accept_any_leading_shape_and_have_the_built_in_parameters(backend):
    own, other = MyLinear(3, 2, device=backend, dtype=float32), nn.Linear(3, 2, device=backend, dtype=float32)
    own.load_state_dict(other.state_dict())
    x = tensor(np.arange(12).reshape(2, 2, 3) / 10, backend, dtype=float32)
    np.testing.assert_allclose(own(x).to_numpy(), other(x).to_numpy(), rtol=1e-6, atol=1e-7)
    silu = BiasSiLU(3, backend, float32)
    for other in (ComposedSiLU, SummedSiLU):
        np.testing.assert_allclose(silu(x).to_numpy(), other(3, backend, float32)(x).to_numpy(), rtol=1e-6)
    assert (silu(x).dtype, silu(x).shape, silu(x).backend) == (float32, (2, 2, 3), backend)


def test_second_derivatives_equal_those_of_the_composition():
    values = np.array([[1.0, -2.0]]), np.array([[3.0, 4.0], [0.5, 1.0]]), np.array([0.5, 1.0])

    def second(fn, *arrays):
        leaves = [tensor(value, FastBackend, requires_grad=True) for value in arrays]
        out = fn(*leaves)
        firsts = minitorch.grad((out * out).sum(), leaves, create_graph=True)
        total = sum((first * first).sum() for first in firsts)
        return [found.tolist() for found in minitorch.grad(total, leaves)]

    silu = (
        second(BiasSiLUFunction.apply, values[0], values[2]),
        second(lambda x, bias: (x + bias) * (x + bias).sigmoid(), values[0], values[2]),
    )
    linear = second(LinearFunction.apply, *values), second(lambda x, weight, bias: x @ weight.t() + bias, *values)
    for own, other in (silu, linear):
        for mine, theirs in zip(own, other, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9)
