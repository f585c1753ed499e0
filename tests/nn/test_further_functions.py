"""Losses with a margin for classes, whole channels, pooling with options and resizing: values by NumPy and by hand, and error messages."""

import math

import numpy as np
import pytest

from minitorch import grad_check, nn, tensor
from minitorch.nn import packed
from minitorch.nn.window_options import avg_pool2d_with_options, max_pool2d_with_indices, max_unpool2d
from tests.errors import raises
from tests.nn.checks import integers, refuses

X = np.random.default_rng(0).standard_normal((2, 3, 5, 4))
SCORES = np.array([[0.5, 1.0, -1.0], [2.0, 0.0, 1.5]])


# Losses


def test_scores_within_the_margin_of_the_target_s_cost(backend):
    x, labels = tensor(SCORES, backend), integers([0, 2], backend)
    assert nn.multi_margin_loss(x, labels, reduction="none").tolist() == [0.5, 0.5]  # (1.5 + 0) / 3 and (1.5 + 0) / 3
    assert nn.multi_margin_loss(x, labels, 2, 2.0, reduction="none").tolist() == pytest.approx([(2.5**2 + 0.5**2) / 3] * 2)
    weighted = nn.MultiMarginLoss(weight=tensor([1.0, 1.0, 3.0], backend), reduction="sum")
    assert weighted(x, labels).item() == pytest.approx(0.5 + 1.5)
    assert nn.multi_margin_loss(x[0], labels[:1].reshape(1), reduction="none").shape == ()
    grad_check(lambda a: nn.multi_margin_loss(a, labels, 2, 2.0), x)


def test_what_multi_margin_loss_refuses():
    x, loss = tensor(SCORES), nn.multi_margin_loss
    refuses(ValueError, "… expected p=1 or p=2, got 3", loss, x, integers([0, 2]), p=3)
    refuses(ValueError, "… expected input (N, C) and target (N,), got (2, 3) and (3,)", loss, x, integers([0, 2, 1]))
    refuses(ValueError, "… expected class indices from 0 to 2, got 0 to 3", loss, x, integers([0, 3]))


def test_several_labels_are_a_binary_cross_entropy_each(backend):
    target = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    losses = np.logaddexp(0, -SCORES) * target + np.logaddexp(0, SCORES) * (1 - target)
    found = nn.MultiLabelSoftMarginLoss(reduction="none")(tensor(SCORES, backend), tensor(target, backend))
    np.testing.assert_allclose(found.to_numpy(), losses.mean(1))


def test_triplets_are_compared_by_any_distance():
    anchor, positive, negative = (tensor(np.array(rows)) for rows in ([[0.0, 0.0]], [[3.0, 4.0]], [[1.0, 1.0]]))
    largest = lambda a, b: (a - b).abs().max(1, keepdim=False)  # noqa: E731
    loss = nn.TripletMarginWithDistanceLoss(distance_function=largest, margin=0.5)
    assert loss(anchor, positive, negative).item() == 4 - 1 + 0.5
    near = nn.triplet_margin_with_distance_loss(anchor, negative, positive, largest, 5.0, swap=True)
    assert near.item() == 1 - 3 + 5  # from the positive to the negative vector it is 3, less than 4


# Channels


def test_channels_are_divided_by_their_neighbours(backend):
    squares = np.pad(X**2, [(0, 0), (1, 1), (0, 0), (0, 0)])
    total = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    expected = X / (2 + 0.3 / 3 * total) ** 0.75
    np.testing.assert_allclose(nn.LocalResponseNorm(3, 0.3, k=2.0)(tensor(X, backend)).to_numpy(), expected)
    with raises(ValueError, "local_response_norm expected input of shape (N, C, …) with three dimensions or more, got (2, 3)"):
        nn.local_response_norm(tensor(SCORES), 2)


def test_groups_of_channels_are_interleaved():
    assert nn.ChannelShuffle(2)(tensor([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]])).tolist() == [[0, 3, 1, 4, 2, 5]]
    with raises(ValueError, "channel_shuffle expected input of shape (N, C, …) and groups that divide C, got (2, 3) and 2"):
        nn.channel_shuffle(tensor(SCORES), 2)


# Windows


def test_maxima_of_any_output_size(backend):
    found = nn.adaptive_max_pool2d(tensor(X, backend), (3, 4)).to_numpy()
    np.testing.assert_array_equal(found, np.stack([X[:, :, rows].max(2) for rows in (slice(0, 2), slice(1, 4), slice(3, 5))], 2))
    with raises(ValueError, "adaptive_max_pool2d expected non-empty images, got input of shape (1, 1, 0, 2)"):
        nn.adaptive_max_pool2d(tensor(np.zeros((1, 1, 0, 2))), 1)


def test_maxima_and_their_positions_come_back_to_their_places(backend):
    image = np.array([[[[1.0, 5.0, 2.0], [7.0, 3.0, 4.0], [6.0, 8.0, 9.0]]]])
    values, indices = max_pool2d_with_indices(tensor(image, backend), 2, ceil_mode=True)
    assert values.tolist() == [[[[7, 4], [8, 9]]]]
    assert indices.tolist() == [[[[3, 5], [7, 8]]]]
    assert max_unpool2d(values, indices, (3, 3)).tolist() == [[[[0, 0, 0], [7, 0, 4], [0, 8, 9]]]]
    dilated, positions = max_pool2d_with_indices(tensor(image, backend), 2, 1, dilation=2)
    assert (dilated.tolist(), positions.tolist()) == ([[[[9]]]], [[[[8]]]])
    grad_check(lambda x: max_pool2d_with_indices(x, 3, 2, 1, 1, True)[0], tensor(X[:, :1], backend))
    grad_check(lambda x: max_unpool2d(x, integers([[[[3, 5], [7, 8]]]], backend), (3, 3)), values)


def test_what_lies_outside_does_not_count_in_a_mean(backend):
    ones = tensor(np.ones((1, 1, 3, 3)), backend)
    np.testing.assert_allclose(avg_pool2d_with_options(ones, 2, 2, 1, count_include_pad=False).to_numpy(), 1)
    padded = [[1 / 4, 1 / 2], [1 / 2, 1]]
    np.testing.assert_allclose(avg_pool2d_with_options(ones, 2, 2, 1).to_numpy()[0, 0], padded)
    np.testing.assert_allclose(avg_pool2d_with_options(ones, 2, 2, 0, ceil_mode=True).to_numpy(), np.ones((1, 1, 2, 2)))
    grad_check(lambda x: avg_pool2d_with_options(x, (2, 3), 2, 1, True, False), tensor(X[:, :1], backend))


def test_what_windows_refuse():
    message = "max_pool2d expected images no smaller than a window of (6, 2), got input of shape (2, 3, 5, 4); take smaller windows"
    refuses(ValueError, message, max_pool2d_with_indices, tensor(X), (6, 2))
    refuses(ValueError, "avg_pool2d expected input of shape (B, C, H, W), got (2, 3)", avg_pool2d_with_options, tensor(SCORES), 2)
    one = tensor(np.ones((1, 1, 1, 1)))
    refuses(ValueError, "… expected positions from 0 to 3, got 4 to 4", max_unpool2d, one, integers([[[[4]]]]), (2, 2))
    message = "… expected input and indices of the same shape (B, C, H, W), got (1, 1, 1, 1) and (1, 1, 1, 2)"
    refuses(ValueError, message, max_unpool2d, one, integers([[[[0, 1]]]]), (2, 2))


# Resizing


def test_antialiasing_averages_over_a_wider_filter():
    line = tensor(np.arange(8.0).reshape(1, 1, 2, 4))
    found = nn.interpolate(line, (2, 2), mode="bilinear", antialias=True).to_numpy()
    weights = np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7
    np.testing.assert_allclose(found[0, 0], np.arange(8.0).reshape(2, 4) @ weights.T)
    with raises(ValueError, 'interpolate expected mode "bilinear" or "bicubic" with antialias, got \'nearest\''):
        nn.interpolate(line, 2, antialias=True)


# Packed sequences


def test_sequences_are_packed_and_padded_again(backend):
    padded = tensor(np.arange(12.0).reshape(3, 2, 2), backend)
    sizes = packed.batch_sizes_of([2, 3])
    assert sizes == [2, 2, 1]
    data = packed.pack(padded, sizes, [1, 0])
    assert data.tolist() == [[2, 3], [0, 1], [6, 7], [4, 5], [10, 11]]
    assert packed.unpack(data, sizes, [1, 0], 4, -1.0).tolist() == [
        [[0, 1], [2, 3]],
        [[4, 5], [6, 7]],
        [[-1, -1], [10, 11]],
        [[-1, -1], [-1, -1]],
    ]
    grad_check(lambda x: packed.unpack(packed.pack(x, sizes, [1, 0]), sizes, [1, 0], 3, 0.0), padded)


def test_logsigmoid_and_hardsigmoid_have_limits_at_infinity():
    x = tensor([-math.inf, math.inf], requires_grad=True)
    assert nn.logsigmoid(x).tolist() == [-math.inf, 0.0]
    nn.hardsigmoid(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
