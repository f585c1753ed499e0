"""Convolution, pooling and normalization of volumes in minitorch.torch, without PyTorch: values are NumPy's."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch import nn
from minitorch.torch.nn import functional as F

VOLUMES = np.random.default_rng(0).standard_normal((2, 4, 5, 6, 7))
Triple = tuple[int, int, int]


def windows(x: np.ndarray, kernel: Triple, stride: Triple, padding: Triple, dilation: Triple, fill: float) -> np.ndarray:
    """The windows of volumes (B, C, D, H, W), shape (B, C, D', H', W', KD, KH, KW)."""
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)], constant_values=fill)
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    found = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3, 4))
    steps, taps = (tuple(slice(None, None, step) for step in sizes) for sizes in (stride, dilation))
    return found[(slice(None), slice(None), *steps, *taps)]


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation", "groups"),
    [
        ((1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1), ((3, 2, 4), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1),
        ((2, 3, 2), (2, 1, 3), (2, 1, 0), (1, 2, 3), 2), ((5, 6, 7), (1, 1, 1), (0, 0, 0), (1, 1, 1), 4),
    ],
)  # fmt: skip
def test_convolution_equals_numpy(kernel: Triple, stride: Triple, padding: Triple, dilation: Triple, groups: int) -> None:
    weight = np.random.default_rng(1).standard_normal((8, 4 // groups, *kernel))
    bias = np.arange(8.0)
    found = windows(VOLUMES, kernel, stride, padding, dilation, 0)
    inputs, kernels = np.split(found, groups, 1), np.split(weight, groups)
    expected = np.concatenate([np.einsum("bcdhwxyz,ocxyz->bodhw", *pair) for pair in zip(inputs, kernels, strict=True)], 1)
    x, w, b = map(torch.tensor, (VOLUMES, weight, bias))
    out = F.conv3d(x, w, b, stride, padding, dilation, groups)
    np.testing.assert_allclose(out.numpy(), expected + bias[:, None, None, None], rtol=1e-10, atol=1e-12)
    alone = F.conv3d(x[1], w, None, stride, padding, dilation, groups)
    np.testing.assert_allclose(alone.numpy(), expected[1], rtol=1e-10, atol=1e-12)


def test_gradients_of_a_convolution_agree_with_finite_differences() -> None:
    x = torch.tensor(VOLUMES[:1, :2, :3, :3, :2], requires_grad=True)
    w = torch.tensor(VOLUMES[:2, :2, :2, :2, :2], requires_grad=True)
    b = torch.tensor([0.5, -0.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, w, b: F.conv3d(x, w, b, (2, 1, 1), (1, 0, 1)), (x, w, b))


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [
        ((2, 2, 2), (2, 2, 2), (0, 0, 0), (1, 1, 1)),
        ((3, 2, 1), (1, 2, 3), (1, 1, 0), (1, 1, 1)),
        ((3, 1, 2), (1, 1, 2), (1, 0, 1), (2, 3, 4)),
    ],
)
def test_maxima_equal_numpy(kernel: Triple, stride: Triple, padding: Triple, dilation: Triple) -> None:
    expected = windows(VOLUMES, kernel, stride, padding, dilation, -np.inf).max((5, 6, 7))
    np.testing.assert_array_equal(nn.MaxPool3d(kernel, stride, padding, dilation)(torch.tensor(VOLUMES)).numpy(), expected)


@pytest.mark.parametrize("count_include_pad", [True, False])
def test_means_equal_numpy(count_include_pad: bool) -> None:
    kernel, stride, padding = (3, 2, 3), (1, 2, 2), (1, 1, 0)
    sums, counts = (windows(x, kernel, stride, padding, (1, 1, 1), 0).sum((5, 6, 7)) for x in (VOLUMES, np.ones_like(VOLUMES)))
    out = nn.AvgPool3d(kernel, stride, padding, count_include_pad=count_include_pad)(torch.tensor(VOLUMES))
    np.testing.assert_allclose(out.numpy(), sums / (18 if count_include_pad else counts), rtol=1e-12)


def test_of_equal_numbers_the_first_one_receives_the_gradient() -> None:
    x = torch.ones(1, 1, 2, 2, 2, requires_grad=True)
    F.max_pool3d(x, 2).sum().backward()
    assert x.grad.flatten().tolist() == [1] + [0] * 7


def test_a_layer_has_pytorch_s_parameters_and_text() -> None:
    layer = nn.Conv3d(4, 6, (3, 1, 2), padding=(1, 0, 0), groups=2, dtype=torch.float64)
    assert {name: tuple(x.shape) for name, x in layer.named_parameters()} == {"weight": (6, 2, 3, 1, 2), "bias": (6,)}
    assert layer.weight.abs().max() <= 12**-0.5
    assert repr(layer) == "Conv3d(4, 6, kernel_size=(3, 1, 2), stride=(1, 1, 1), padding=(1, 0, 0), groups=2)"
    assert layer(torch.tensor(VOLUMES)).shape == (2, 6, 5, 6, 6)


def test_every_channel_of_a_batch_is_normalized() -> None:
    out = nn.BatchNorm3d(4, eps=0, dtype=torch.float64)(torch.tensor(VOLUMES)).detach().numpy()
    mean, deviation = (fn(VOLUMES, (0, 2, 3, 4), keepdims=True) for fn in (np.mean, np.std))
    np.testing.assert_allclose(out, (VOLUMES - mean) / deviation, rtol=1e-10, atol=1e-12)


ONES = torch.ones(1, 4, 3, 3, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F.conv3d(torch.ones(3, 3), torch.ones(1, 4, 1, 1, 1)), "conv3d expected input of shape (B, C, D, H, W) and weight of"),
        (
            lambda: F.conv3d(ONES, torch.ones(1, 3, 1, 1, 1)),
            "KW), got torch.Size([1, 4, 3, 3, 3]), torch.Size([1, 3, 1, 1, 1]) and 1 groups",
        ),
        (lambda: F.conv3d(ONES, torch.ones(1, 4, 4, 1, 1)), "conv3d expected a depth of at least 4 with its padding, got 3"),
        (lambda: nn.Conv3d(4, 6, 1, groups=4), "Conv3d expected groups that divide the channels 4 and 6, got 4"),
        (
            lambda: F.max_pool3d(torch.ones(3, 3, 3), 1),
            "pooling expected volumes of shape (B, C, D, H, W) or (C, D, H, W), got torch.Size([3, 3, 3])",
        ),
        (lambda: nn.BatchNorm3d(4)(ONES[0]), "BatchNorm3d expected input of shape (N, C, D, H, W), got (4, 3, 3, 3)"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("call", [lambda: F.max_pool3d(ONES, 1, return_indices=True), lambda: F.avg_pool3d(ONES, 1, divisor_override=2)])
def test_options_that_are_not_supported_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(NotImplementedError, match="supports"):
        call()


def test_sizes_may_be_empty() -> None:
    for batch, depth in itertools.product((0, 1), (2, 3)):
        x, weight = (torch.ones(shape, dtype=torch.float64) for shape in ((batch, 4, depth, 3, 3), (2, 4, 2, 2, 2)))
        assert F.conv3d(x, weight).shape == (batch, 2, depth - 1, 2, 2)
