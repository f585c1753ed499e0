"""Distance losses, weights of classes and elements, ignored samples, and losses as layers; compared with PyTorch."""

import numpy as np

from minitorch import grad_check, tensor
from minitorch.nn.losses import cross_entropy, nll_loss
from tests.nn.test_loss_layers import BACKENDS, CLASSES, LOGITS, negative_log_softmax


@BACKENDS
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
