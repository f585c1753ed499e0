"""Losses with a margin and of distributions: values by hand and by NumPy, and error messages."""

import numpy as np
import pytest

from minitorch import grad_check, nn, tensor
from tests.nn.checks import integers, refuses

SCORES = np.array([[0.5, 1.0, -1.0], [2.0, 0.0, 1.5]])


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
    refuses(TypeError, "… expected target of int64, got float64; convert it: target.to(int64)", loss, x, tensor([0.0, 2.0]))
    refuses(
        ValueError,
        "… expected as weight a Tensor of shape (3,), one element per class, got (2,)",
        loss,
        x,
        integers([0, 2]),
        weight=x[:, 0],
    )
    refuses(IndexError, "… expected class indices from 0 to 2, got 0 to 3", loss, x, integers([0, 3]))


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
    near = nn.triplet_margin_with_distance_loss(anchor, negative, positive, distance_function=largest, margin=5.0, swap=True)
    assert near.item() == 1 - 3 + 5  # from the positive to the negative vector it is 3, less than 4


def test_tensors_with_other_numbers_of_dimensions_are_refused():
    x, row = tensor(SCORES), tensor(SCORES[0])
    message = "… expected tensors with the same number of dimensions, got {}; view one as the other"
    shapes = "input1 (2, 3), input2 (2, 3), target (3,)"
    refuses(ValueError, message.format(shapes), nn.margin_ranking_loss, x, x, row)
    for loss in (nn.triplet_margin_loss, nn.triplet_margin_with_distance_loss):
        refuses(ValueError, message.format("anchor (2, 3), positive (3,), negative (2, 3)"), loss, x, row, x)
        refuses(ValueError, "… expected margin above 0, got 0", loss, x, x, x, margin=0)
    message = "… expected inputs (N, D) and target (N,), or (D,) and (), got inputs {} and {} and target {}"
    refuses(ValueError, message.format((2, 3), (2, 3), (2, 1)), nn.cosine_embedding_loss, x, x, x[:, :1])
    refuses(ValueError, message.format((3,), (3,), (1,)), nn.cosine_embedding_loss, row, row, row[:1])
    refuses(
        TypeError, "… expected a Tensor of floats as target, got int64; convert it: target.to(float32)", nn.kl_div, x, integers([1, 2, 3])
    )
    refuses(
        TypeError,
        "… expected a Tensor of floats as input, got int64; convert it: input.to(float32)",
        nn.hinge_embedding_loss,
        integers([1]),
        row,
    )


def test_variances_may_be_shared(backend):
    x, target, var = (tensor(v, backend) for v in (SCORES, 0 * SCORES, np.array([0.5, 2.0])))
    expected = 0.5 * (np.log([[0.5], [2.0]]) + SCORES**2 / [[0.5], [2.0]])
    for given in (var, var.unsqueeze(1)):
        np.testing.assert_allclose(nn.gaussian_nll_loss(x, target, given, reduction="none").to_numpy(), expected)
    same = nn.gaussian_nll_loss(x, target, 4.0, reduction="sum").item()
    assert same == pytest.approx(0.5 * (6 * np.log(4) + (SCORES**2).sum() / 4))
    message = "… expected var of shape (2, 3), (2,) or the first with size 1 in one dimension, got {}"
    for shape in ((3,), (1, 1), (2, 3, 1)):
        refuses(ValueError, message.format(shape), nn.gaussian_nll_loss, x, target, tensor(np.ones(shape), backend))
    message = "… expected variances of at least 0, got a negative one; pass exp(x) or softplus(x) as var"
    for negative in (-1.0, -var):
        refuses(ValueError, message, nn.gaussian_nll_loss, x, target, negative)


def test_a_divergence_is_averaged_over_the_batch():
    logs, target = tensor(np.log([[0.5, 0.5], [0.25, 0.75]])), tensor([[0.5, 0.5], [0.5, 0.5]])
    total = 0.5 * np.log(2) + 0.5 * np.log(2 / 3)
    assert nn.kl_div(logs, target, reduction="batchmean").item() == pytest.approx(total / 2)
    assert nn.kl_div(logs[0, :1].reshape(()), target[0, :1].reshape(()), reduction="batchmean").tolist() == 0
