"""Losses, as functions and layers: values by hand and from NumPy, gradients, weights, and ignored samples."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import integers

import minitorch.torch
from minitorch import FastBackend, SimpleBackend, Tensor, float32, float64, grad_check, int32, nn, tensor, uint8
from minitorch.nn import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    mse_loss,
    multi_margin_loss,
    nll_loss,
)
from tests.nn.checks import leaf, refuses

REDUCED = pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
LOGITS = np.array([[1.0, -2.0, 0.5], [3.0, 3.0, -1.0], [0.0, 0.0, 0.0], [-4.0, 2.0, 9.0]])
CLASSES = np.array([2, 0, 1, 1])


def reduce_losses(losses, reduction):
    """The expected loss, from the losses of the elements."""
    return {"mean": np.array(losses.mean()), "sum": np.array(losses.sum()), "none": losses}[reduction]


def softmax(logits):
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


# Multiclass classification


@REDUCED
def test_cross_entropy_is_the_negative_log_probability_of_the_right_class(backend, reduction):
    losses = -np.log(softmax(LOGITS)[range(4), CLASSES])
    got = cross_entropy(tensor(LOGITS, backend), tensor(CLASSES, backend), reduction=reduction)
    assert got.shape == reduce_losses(losses, reduction).shape
    np.testing.assert_allclose(got.to_numpy(), reduce_losses(losses, reduction), rtol=1e-13)


@REDUCED
def test_the_gradient_of_cross_entropy_is_softmax_minus_the_target(backend, reduction):
    logits = leaf(LOGITS, backend)
    loss = cross_entropy(logits, tensor(CLASSES, backend), reduction=reduction)
    weights = np.array([1.0, -2.0, 0.5, 3.0]) if reduction == "none" else np.array([3.0])
    loss.backward(tensor(weights, backend))
    each = softmax(LOGITS) - np.eye(3)[CLASSES]
    rows = weights[:, None] if reduction == "none" else 3.0 / (4 if reduction == "mean" else 1)
    np.testing.assert_allclose(logits.grad.to_numpy(), rows * each, atol=1e-15)


def test_a_backward_that_keeps_the_graph_can_be_repeated(backend):
    logits = leaf(LOGITS, backend)
    loss = cross_entropy(logits, tensor(CLASSES, backend))
    loss.backward(retain_graph=True)
    once = logits.grad.to_numpy()
    loss.backward()
    np.testing.assert_array_equal(logits.grad.to_numpy(), 2 * once)


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
def test_logits_and_classes_may_have_any_layout(backend, dtype):
    wide = np.asarray(np.random.default_rng(0).standard_normal((2, 3, 8)), dtype)
    numbers = np.array([0, 9, 2, 9, 1, 9, 2, 9])
    logits = tensor(wide, backend)[1, :, ::2].permute(1, 0)
    loss = cross_entropy(logits, tensor(numbers, backend, dtype=uint8)[::2], reduction="none")
    expected = -np.log(softmax(wide[1, :, ::2].T)[range(4), numbers[::2]])
    np.testing.assert_allclose(loss.to_numpy(), expected, rtol=1e-12 if dtype == float64 else 1e-5)


def test_one_class_has_loss_0_and_an_empty_batch_has_no_mean(backend):
    assert cross_entropy(tensor([[7.0], [-7.0]], backend), tensor(np.array([0, 0]), backend), reduction="none").tolist() == [0.0, 0.0]
    nothing = tensor(np.zeros((0, 3)), backend), tensor(np.zeros(0, np.int64), backend)
    assert cross_entropy(*nothing, reduction="sum").tolist() == 0.0
    assert math.isnan(cross_entropy(*nothing).item())


def test_an_impossible_class_has_an_infinite_loss_and_nan_stays_nan(backend):
    logits = tensor([[0.0, -math.inf], [0.0, -math.inf], [0.0, math.nan]], backend)
    losses = cross_entropy(logits, tensor(np.array([0, 1, 0]), backend), reduction="none").to_numpy()
    assert losses[0] == 0.0
    assert losses[1] == math.inf
    assert math.isnan(losses[2])


@settings(max_examples=20)
@given(integers(1, 20), integers(1, 20), integers(0, 2**32))
@example(64, 64, 0)
@example(1, 300, 0)
@example(300, 1, 0)
@example(2, 4100, 0)  # more classes than one block holds
def test_cross_entropy_of_any_size_agrees_on_both_backends(samples, classes, seed):
    rng = np.random.default_rng(seed)
    logits, target = rng.normal(0, 5, (samples, classes)), rng.integers(0, classes, samples)
    values = []
    for backend in (FastBackend, SimpleBackend)[: 2 if samples * classes < 2000 else 1]:
        x = leaf(logits, backend)
        loss = cross_entropy(x, tensor(target, backend))
        loss.backward()
        values += [(loss.item(), x.grad.to_numpy())]
    probabilities = softmax(logits)
    for loss, grad in values:
        assert loss == pytest.approx(-np.log(probabilities[range(samples), target]).mean(), rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(grad, (probabilities - np.eye(classes)[target]) / samples, atol=1e-13)


SHARES = np.array([[0.5, 0.25, 0.25], [1, 0, 0], [0, 0, 1], [0.1, 0.2, 0.7]])


@REDUCED
def test_targets_may_be_probabilities_of_classes(backend, reduction):
    losses = -(SHARES * np.log(softmax(LOGITS))).sum(1)
    got = cross_entropy(tensor(LOGITS, backend), tensor(SHARES, backend), reduction=reduction)
    np.testing.assert_allclose(got.to_numpy(), reduce_losses(losses, reduction), rtol=1e-13)


def test_the_gradient_by_probabilities_agrees_with_finite_differences(backend):
    grad_check(lambda x, t: cross_entropy(x, t), tensor(LOGITS[:2], backend), tensor(0.8 * SHARES[::3] + 0.05, backend))


@REDUCED
def test_nll_loss_is_the_negative_input_at_the_right_class(backend, reduction):
    logs = np.array([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]])
    target = tensor(np.array([2, 0]), backend)
    got = nll_loss(tensor(logs, backend), target, reduction=reduction)
    assert got.tolist() == {"mean": 3.5, "sum": 7.0, "none": [3.0, 4.0]}[reduction]
    x = leaf(logs, backend)
    nll_loss(x, target, reduction="sum").backward()
    assert x.grad.tolist() == [[0, 0, -1], [-1, 0, 0]]


def test_nll_loss_can_be_differentiated_twice():
    x = minitorch.torch.tensor(LOGITS, requires_grad=True)
    (slope,) = minitorch.torch.autograd.grad(nll_loss(x * x, minitorch.torch.tensor(CLASSES)), x, create_graph=True)
    chosen = np.eye(3)[CLASSES]
    np.testing.assert_allclose(slope.detach().numpy(), -2 * LOGITS * chosen / 4)
    slope.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), -2 * chosen / 4)


# Binary classification


@REDUCED
def test_binary_cross_entropy_is_the_negative_log_probability_of_the_target(backend, reduction):
    p, t = np.array([[0.25, 0.5], [0.9, 0.1]]), np.array([[1.0, 0.0], [1.0, 0.25]])
    losses = -(t * np.log(p) + (1 - t) * np.log(1 - p))
    got = binary_cross_entropy(tensor(p, backend), tensor(t, backend), reduction=reduction)
    np.testing.assert_allclose(got.to_numpy(), reduce_losses(losses, reduction), rtol=1e-13)
    grad_check(lambda x, y: binary_cross_entropy(x, y, reduction=reduction), tensor(p, backend), tensor(0.5 * t + 0.2, backend))


def test_a_probability_of_0_costs_100_and_has_a_finite_gradient(backend):
    p = leaf([0.0, 1.0, 0.0, 1.0], backend)
    losses = binary_cross_entropy(p, tensor([1.0, 0.0, 0.0, 1.0], backend), reduction="none")
    assert losses.tolist() == [100.0, 100.0, 0.0, 0.0]
    losses.sum().backward()
    np.testing.assert_allclose(p.grad.to_numpy(), [-1e12, 1e12, 0.0, 0.0])


def test_a_small_probability_keeps_its_precision(backend):
    assert binary_cross_entropy(tensor([1e-20], backend), tensor([0.0], backend)).item() == pytest.approx(1e-20, rel=1e-12, abs=0)


@REDUCED
def test_the_loss_of_logits_is_that_of_their_sigmoid(backend, reduction):
    x, t = np.array([[0.0, 2.0], [-3.0, 0.5]]), np.array([[1.0, 0.0], [0.0, 0.25]])
    p = 1 / (1 + np.exp(-x))
    losses = -(t * np.log(p) + (1 - t) * np.log(1 - p))
    got = binary_cross_entropy_with_logits(tensor(x, backend), tensor(t, backend), reduction=reduction)
    np.testing.assert_allclose(got.to_numpy(), reduce_losses(losses, reduction), rtol=1e-13)
    grad_check(lambda x, y: binary_cross_entropy_with_logits(x, y, reduction=reduction), tensor(x, backend), tensor(0.5 * t + 0.2, backend))


def test_binary_logits_of_a_thousand_are_exact(backend):
    x = leaf([1000.0, 1000.0, -1000.0, -1000.0, 0.0], backend)
    losses = binary_cross_entropy_with_logits(x, tensor([1.0, 0.0, 1.0, 0.0, 1.0], backend), reduction="none")
    assert losses.tolist() == [0.0, 1000.0, 1000.0, 0.0, pytest.approx(math.log(2))]
    losses.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, -1.0, 0.0, -0.5]


# All losses

PAIRS = [binary_cross_entropy, binary_cross_entropy_with_logits, mse_loss]
SIGNS, ROWS = np.array([1.0, -1.0, 1.0, -1.0]), (LOGITS, LOGITS[::-1].copy(), 2 * LOGITS)
CALLS = {
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"), ROWS[:2]),
    **dict.fromkeys(("cross_entropy", "nll_loss", "multi_margin_loss"), (LOGITS, CLASSES)),
    **dict.fromkeys(("binary_cross_entropy", "binary_cross_entropy_with_logits"), (0.5 + LOGITS / 99, 0.5 - LOGITS / 99)),
    **dict.fromkeys(("kl_div", "multilabel_soft_margin_loss", "poisson_nll_loss"), (LOGITS, 0.5 - LOGITS / 99)),
    **dict.fromkeys(("triplet_margin_loss", "triplet_margin_with_distance_loss"), ROWS),
    "gaussian_nll_loss": (*ROWS[:2], abs(LOGITS)),
    "margin_ranking_loss": (LOGITS[:, 0], LOGITS[:, 1], SIGNS),
    "hinge_embedding_loss": (LOGITS[:, 0], SIGNS),
    "cosine_embedding_loss": (*ROWS[:2], SIGNS),
    "ctc_loss": (LOGITS.reshape(4, 1, 3), np.array([[1, 2]]), [4], [2]),
}


@REDUCED
@pytest.mark.parametrize("name", CALLS)
def test_a_loss_of_either_tensor_is_of_its_class_and_without_dimensions_unless_it_is_not_reduced(name, reduction):
    found = []
    for make, kind in ((lambda x: tensor(x, FastBackend), Tensor), (minitorch.torch.tensor, minitorch.torch.Tensor)):
        loss = getattr(nn, name)(*(make(x) if isinstance(x, np.ndarray) else x for x in CALLS[name]), reduction=reduction)
        assert (type(loss), loss.dims) == (kind, 0 if reduction != "none" else loss.dims)
        assert (loss.dims, loss.dtype) == (loss.dims or int(name == "none"), float64)
        found.append(loss.numpy())
    np.testing.assert_allclose(*found, rtol=1e-14)
    assert found[0].size == 1 if reduction != "none" else found[0].ndim > 0


@pytest.mark.parametrize("loss", [cross_entropy, nll_loss, multi_margin_loss], ids=lambda loss: loss.__name__)
def test_a_single_sample_needs_no_batch(loss, backend):
    x, expected = tensor(LOGITS, backend), loss(tensor(LOGITS, backend), tensor(CLASSES, backend), reduction="none").tolist()[0]
    for shape in ((), (1,)):
        target = tensor(CLASSES[:1].reshape(shape), backend)
        assert [loss(x[0], target, reduction=how).tolist() for how in ("mean", "sum", "none")] == [pytest.approx(expected)] * 3
    weight = tensor(np.array([1.0, 1.0, 3.0]), backend)
    assert loss(x[0], target, weight=weight, reduction="none").tolist() == pytest.approx(3 * expected)


@REDUCED
def test_the_classes_of_pixels_are_in_the_second_dimension(backend, reduction):
    images = np.random.default_rng(0).standard_normal((2, 3, 2, 2))
    classes = np.array([[[0, 2], [1, 1]], [[2, 2], [0, -100]]])
    pixels = images.transpose(0, 2, 3, 1).reshape(8, 3)
    losses = np.append(negative_log_softmax(pixels)[range(7), classes.reshape(8)[:7]], 0)
    expected = {"mean": losses.sum() / 7, "sum": losses.sum(), "none": losses.reshape(2, 2, 2)}[reduction]
    got = cross_entropy(tensor(images, backend), tensor(classes, backend), reduction=reduction)
    np.testing.assert_allclose(got.to_numpy(), expected, rtol=1e-12)
    shares = softmax(pixels[::-1]).reshape(2, 2, 2, 3)
    losses = (shares.reshape(8, 3) * negative_log_softmax(pixels)).sum(1)
    got = cross_entropy(tensor(images, backend), tensor(shares.transpose(0, 3, 1, 2).copy(), backend), reduction=reduction)
    np.testing.assert_allclose(got.to_numpy(), reduce_losses(losses.reshape(2, 2, 2), reduction), rtol=1e-12)


def test_the_target_of_a_binary_loss_is_floating_point_and_has_the_shape_of_input():
    x = tensor([0.25, 0.5], FastBackend, dtype=float32)
    for target in map(tensor, (np.array([1, 0]), np.array([True, False]))):
        for loss in PAIRS[:2]:
            message = f"… expected target of float32, got {target.dtype.name}; convert it: target.to(input.dtype)"
            refuses(TypeError, message, loss, x, target)
    double = tensor([1.0, 0.0], FastBackend)
    assert binary_cross_entropy_with_logits(x, double).dtype == float64
    message = "… expected target of float32, got float64; convert it: target.to(input.dtype)"
    refuses(TypeError, message, binary_cross_entropy, x, double)
    message = "… expected input and target of the same shape, got (2, 1) and (2,); view one as the other"
    for loss in PAIRS[:2]:
        refuses(ValueError, message, loss, tensor([[0.5], [0.5]]), tensor([1.0, 0.0]))


def test_several_labels_may_be_integers():
    x, labels = tensor([[0.5, -1.0]], FastBackend, dtype=float32), tensor(np.array([[1, 0]]), FastBackend)
    loss = nn.multilabel_soft_margin_loss(x, labels)
    assert (loss.dtype, loss.item()) == (float32, nn.multilabel_soft_margin_loss(x, labels.to(float32)).item())


@pytest.mark.parametrize("loss", [cross_entropy, nll_loss], ids=lambda loss: loss.__name__)
def test_invalid_rows_and_classes_are_refused(loss, backend):
    x, target = tensor(LOGITS, backend), tensor(CLASSES, backend)
    rows = "… expected input of shape (C,), (N, C) or (N, C, d1, …) with at least one class, got {}"
    refuses(ValueError, rows.format("()"), loss, x.sum().reshape(()), target[:1])
    refuses(ValueError, rows.format("(4, 0)"), loss, x[:, :0], target)
    classes = "… expected as target class indices, int64 of shape (4,), for input of shape (4, 3), got {}"
    refuses(ValueError, classes.format("int64 of shape (3,)"), loss, x, target[:3])
    refuses(ValueError, classes.format("int64 of shape (4, 3)"), loss, x, tensor(np.ones((4, 3), int), backend))
    for dtype in (float64, int32, minitorch.bool_):
        message = f"{dtype.name}; convert it: target.to(int64)"
        refuses(TypeError, classes.format(message), loss, x, tensor([1, 0, 1, 1], backend, dtype=dtype))
    for wrong in (3, -1):
        message = f"… expected classes from 0 to 2, of 3, got {wrong} for sample 1"
        refuses(IndexError, message, loss, x, tensor(np.array([2, wrong, 1, 7]), backend))


@pytest.mark.parametrize("loss", [cross_entropy, nll_loss, *PAIRS], ids=lambda loss: loss.__name__)
def test_non_floating_inputs_and_unknown_reductions_are_refused(loss):
    x = tensor([[0.5, 0.5]])
    target = tensor([[1.0, 0.0]]) if loss in PAIRS else tensor(np.array([0]))
    refuses(TypeError, "… expected a Tensor as input, got list; make one with tensor(...)", loss, [[0.5, 0.5]], target)
    refuses(TypeError, "… expected a Tensor as target, got ndarray; make one with tensor(...)", loss, x, np.array([0]))
    if loss is not mse_loss:
        message = "… expected input of float64 or float32, got int64; convert it: input.to(float64)"
        refuses(TypeError, message, loss, tensor(np.array([[1, 0]])), target)
    refuses(ValueError, '… expected reduction "mean", "sum" or "none", got \'average\'', loss, x, target, reduction="average")


@pytest.mark.parametrize("wrong", [-0.25, 1.5, math.nan])
def test_probabilities_outside_0_and_1_are_refused(wrong):
    x, bad = tensor([[0.5, 0.5]]), tensor([[0.5, wrong]])
    refuses(ValueError, f"… expected probabilities from 0 to 1 as input, got {wrong}", binary_cross_entropy, bad, x)
    for loss in (binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy):
        refuses(ValueError, f"… expected probabilities from 0 to 1 as target, got {wrong}", loss, x, bad)


def negative_log_softmax(logits):
    """-ln softmax."""
    return np.log(np.exp(logits).sum(1, keepdims=True)) - logits


# Weighted classes


@pytest.mark.parametrize("ignored", [-100, 1, 7])
def test_ignored_samples_do_not_count(backend, ignored):
    classes = np.array([2, ignored, 0, ignored])
    x, target = tensor(LOGITS, backend, requires_grad=True), tensor(classes, backend)
    each = np.where([True, False, True, False], negative_log_softmax(LOGITS)[range(4), [2, 0, 0, 0]], 0)
    for reduction, expected in (("none", each), ("sum", each.sum()), ("mean", each.sum() / 2)):
        np.testing.assert_allclose(cross_entropy(x, target, reduction=reduction, ignore_index=ignored).to_numpy(), expected, rtol=1e-12)
        logs = tensor(-negative_log_softmax(LOGITS), backend)
        np.testing.assert_allclose(nll_loss(logs, target, reduction=reduction, ignore_index=ignored).to_numpy(), expected, rtol=1e-12)
    cross_entropy(x, target, ignore_index=ignored).backward()
    assert not x.grad.to_numpy()[[1, 3]].any()
    assert x.grad.to_numpy()[[0, 2]].any()
    assert math.isnan(cross_entropy(x, tensor(np.full(4, ignored), backend), ignore_index=ignored).item())


def test_label_smoothing_distributes_a_part_of_the_target(backend):
    expected = ((np.full((4, 3), 0.1) + 0.7 * np.eye(3)[CLASSES]) * negative_log_softmax(LOGITS)).sum(1)
    for target in (CLASSES, np.eye(3)[CLASSES]):
        got = cross_entropy(tensor(LOGITS, backend), tensor(target, backend), reduction="none", label_smoothing=0.3)
        np.testing.assert_allclose(got.to_numpy(), expected, rtol=1e-12)


def test_a_class_without_weight_may_be_impossible(backend):
    logits = tensor([[0.0, -math.inf]], backend)
    assert cross_entropy(logits, tensor(np.array([0]), backend), reduction="sum", weight=tensor([2.0, 0.0], backend)).tolist() == 0


def test_elements_and_positive_targets_are_weighted(backend):
    x, t, w = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.0, 0.25]), np.array([1.0, 2.0, 0.5])
    yes, no = np.log1p(np.exp(-x)), np.log1p(np.exp(x))
    logits, truth, weight = (tensor(v, backend) for v in (x, t, w))
    got = binary_cross_entropy_with_logits(logits, truth, reduction="none", weight=weight)
    np.testing.assert_allclose(got.to_numpy(), w * (t * yes + (1 - t) * no), rtol=1e-12)
    got = binary_cross_entropy(logits.sigmoid(), truth, reduction="none", weight=weight)
    np.testing.assert_allclose(got.to_numpy(), w * (t * yes + (1 - t) * no), rtol=1e-12)
    got = binary_cross_entropy_with_logits(logits, truth, reduction="none", pos_weight=tensor([3.0], backend))
    np.testing.assert_allclose(got.to_numpy(), 3 * t * yes + (1 - t) * no, rtol=1e-12)
    grad_check(lambda a: binary_cross_entropy_with_logits(a, truth, weight=weight, pos_weight=tensor([3.0], backend)), logits)


KEYWORD = "; pass it by keyword: reduction='none'"
PER_CLASS = "… expected as weight a Tensor of shape (3,), one element per class, got "
BROADCASTS = "… expected as {} a Tensor whose shape broadcasts to that of input, (2,), got {}"


def test_incompatible_arguments_are_refused():
    x, target, yes = tensor(LOGITS), tensor(CLASSES), tensor([0.5, 0.25])
    refuses(ValueError, PER_CLASS + "(4,)", cross_entropy, x, target, weight=tensor(np.ones(4)))
    refuses(ValueError, PER_CLASS + "[1, 1, 1]", nll_loss, x, target, weight=[1, 1, 1])
    refuses(ValueError, PER_CLASS + "'none'" + KEYWORD, cross_entropy, x, target, "none")
    shapes = [(tensor([1.0, 2.0, 3.0]), "(3,)"), (tensor([]), "(0,)"), (tensor([[1.0, 2.0]]), "(1, 2)")]
    for wrong, shown in [*shapes, (2.0, "2.0"), ("none", "'none'" + KEYWORD)]:
        for loss in (binary_cross_entropy, binary_cross_entropy_with_logits):
            refuses(ValueError, BROADCASTS.format("weight", shown), loss, yes, yes, wrong)
    refuses(ValueError, BROADCASTS.format("pos_weight", "(3,)"), binary_cross_entropy_with_logits, yes, yes, pos_weight=shapes[0][0])
    message = "… expected label_smoothing from 0 to 1, got 1.5, the share that is spread over all classes"
    refuses(ValueError, message, cross_entropy, x, target, label_smoothing=1.5)
    refuses(IndexError, "… expected classes from 0 to 2, of 3, got 3 for sample 1", cross_entropy, x, tensor(np.array([-100, 3, 0, 0])))
    for layer, wrong in ((nn.MSELoss, "max"), (nn.CTCLoss, "batchmean")):
        refuses(ValueError, f'… expected reduction "mean", "sum" or "none", got {wrong!r}', layer, reduction=wrong)
    assert nn.KLDivLoss(reduction="batchmean").reduction == "batchmean"


# Layers


def test_layers_store_weights_as_buffers_and_show_no_options():
    layer = nn.CrossEntropyLoss(tensor([1.0, 2.0, 3.0]), label_smoothing=0.1)
    assert list(layer.state_dict()) == ["weight"]
    assert layer.to(float32).weight.dtype == float32
    assert list(nn.CrossEntropyLoss().state_dict()) == []
    assert repr(nn.NLLLoss(reduction="sum")) == "NLLLoss()"
    assert nn.SmoothL1Loss(beta=0.25)(tensor([1.0]), tensor([0.0])).tolist() == 0.875
    assert list(nn.BCEWithLogitsLoss(pos_weight=tensor([2.0])).state_dict()) == ["pos_weight"]
