"""Losses: values by hand and from NumPy, gradients from finite differences, and a comparison with PyTorch."""

import math

import numpy as np
import pytest

from minitorch import float32, float64, grad_check, tensor
from minitorch.nn.losses import cross_entropy, nll_loss
from tests.nn.test_losses import CLASSES, LOGITS, leaf, negative_log_softmax


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
def test_logits_of_a_thousand_are_exact(backend, dtype):
    logits = leaf([[1000.0, -1000.0], [1000.0, -1000.0], [-1000.0, -1000.0], [1000.0, 1000.0]], backend, dtype)
    losses = cross_entropy(logits, tensor(np.array([0, 1, 0, 1]), backend), reduction="none")
    assert losses.dtype == dtype
    np.testing.assert_allclose(losses.to_numpy(), [0.0, 2000.0, math.log(2), math.log(2)], rtol=1e-6)
    losses.sum().backward()
    np.testing.assert_allclose(logits.grad.to_numpy(), [[0, 0], [1, -1], [-0.5, 0.5], [0.5, -0.5]], atol=1e-7)


def test_classes_are_weighted(backend):
    weights = np.array([1.0, 0.5, 4.0])
    target, weight = tensor(CLASSES, backend), tensor(weights, backend)
    each = negative_log_softmax(LOGITS)[range(4), CLASSES] * weights[CLASSES]
    for reduction, expected in (("none", each), ("sum", [each.sum()]), ("mean", [each.sum() / weights[CLASSES].sum()])):
        got = cross_entropy(tensor(LOGITS, backend), target, reduction=reduction, weight=weight)
        np.testing.assert_allclose(got.to_numpy(), expected, rtol=1e-12)
        got = nll_loss(tensor(-negative_log_softmax(LOGITS), backend), target, reduction=reduction, weight=weight)
        np.testing.assert_allclose(got.to_numpy(), expected, rtol=1e-12)
    grad_check(lambda x: cross_entropy(x, target, weight=weight, label_smoothing=0.2), tensor(LOGITS, backend))
