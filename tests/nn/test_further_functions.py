"""Losses with a margin for classes, whole channels and packed sequences: values by NumPy and by hand, and error messages."""

import math

import numpy as np
import pytest

from minitorch import grad_check, nn, tensor
from minitorch.nn import packed
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
