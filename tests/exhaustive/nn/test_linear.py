"""Linear functions and fused bias and relu: values from NumPy, gradients from finite differences, and a comparison with PyTorch."""

import numpy as np
import pytest

from minitorch import float32, float64, tensor
from minitorch.nn.linears import bias_relu
from tests.nn.test_linear import leaf


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
@pytest.mark.parametrize(("shape", "bias"), [((40, 37), (37,)), ((2, 4, 3), (3,)), ((2, 3, 4, 5), (3, 1, 1)), ((3, 2), (1,)), ((4,), ())])
def test_bias_relu_and_its_gradients_equal_relu_of_the_sum(backend, dtype, shape, bias):
    rng = np.random.default_rng(1)
    values, biases, gradient = (rng.standard_normal(size).astype(dtype) for size in (shape, bias, shape))
    x, b = leaf(values, backend), leaf(biases, backend)
    y = bias_relu(x, b)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.to_numpy(), np.maximum(values + biases, 0))
    y.backward(tensor(gradient, backend))
    through = np.where(values + biases > 0, gradient, 0)
    summed = tuple(d for d in range(len(shape)) if d < len(shape) - len(bias) or bias[d - len(shape)] == 1 != shape[d])
    np.testing.assert_array_equal(x.grad.to_numpy(), through)
    np.testing.assert_allclose(b.grad.to_numpy(), through.sum(summed).reshape(bias), rtol=1e-5, atol=1e-5 if dtype == float32 else 1e-12)
