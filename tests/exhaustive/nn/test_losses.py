"""Losses: values by hand and from NumPy, gradients from finite differences, and a comparison with PyTorch."""

import math

import numpy as np
import pytest

from minitorch import float32, float64, tensor
from minitorch.nn.losses import cross_entropy
from tests.nn.test_losses import BACKENDS, leaf


@BACKENDS
@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
def test_logits_of_a_thousand_are_exact(backend, dtype):
    logits = leaf([[1000.0, -1000.0], [1000.0, -1000.0], [-1000.0, -1000.0], [1000.0, 1000.0]], backend, dtype)
    losses = cross_entropy(logits, tensor(np.array([0, 1, 0, 1]), backend), reduction="none")
    assert losses.dtype == dtype
    np.testing.assert_allclose(losses.to_numpy(), [0.0, 2000.0, math.log(2), math.log(2)], rtol=1e-6)
    losses.sum().backward()
    np.testing.assert_allclose(logits.grad.to_numpy(), [[0, 0], [1, -1], [-0.5, 0.5], [0.5, -0.5]], atol=1e-7)
