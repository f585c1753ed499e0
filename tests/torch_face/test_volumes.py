"""Normalization of volumes in minitorch.torch, without PyTorch: values are NumPy's."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch import nn

VOLUMES = np.random.default_rng(0).standard_normal((2, 4, 5, 6, 7))


def test_every_channel_of_a_batch_is_normalized() -> None:
    out = nn.BatchNorm3d(4, eps=0, dtype=torch.float64)(torch.tensor(VOLUMES)).detach().numpy()
    mean, deviation = (fn(VOLUMES, (0, 2, 3, 4), keepdims=True) for fn in (np.mean, np.std))
    np.testing.assert_allclose(out, (VOLUMES - mean) / deviation, rtol=1e-10, atol=1e-12)


def test_volumes_without_a_batch_are_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("BatchNorm3d expected input of shape (N, C, D, H, W), got (4, 3, 3, 3)")):
        nn.BatchNorm3d(4)(torch.ones(4, 3, 3, 3))
