"""Distance losses, weights of classes and elements, ignored samples, and losses as layers; compared with PyTorch."""

import math

import numpy as np
import pytest

from minitorch import FastBackend, SimpleBackend, float32, grad_check, nn, tensor
from minitorch.nn import BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss, SmoothL1Loss
from minitorch.nn.losses import binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy, l1_loss, nll_loss, smooth_l1_loss
from tests.autograd.test_double_backward import assert_second_derivatives
from tests.errors import raises

BACKENDS = pytest.mark.parametrize("backend", [SimpleBackend, FastBackend], ids=lambda backend: backend.name)
LOGITS = np.array([[1.0, -2.0, 0.5], [3.0, 3.0, -1.0], [0.0, 0.0, 0.0], [-4.0, 2.0, 9.0]])
CLASSES = np.array([2, 0, 1, 1])


def negative_log_softmax(logits):
    """-ln softmax."""
    return np.log(np.exp(logits).sum(1, keepdims=True)) - logits


# Distance losses


@BACKENDS
def test_l1_loss_is_the_absolute_difference(backend):
    x, t = tensor([1.0, 2.0, -3.0], backend, requires_grad=True), tensor([3.0, 2.0, -4.0], backend, requires_grad=True)
    assert l1_loss(x, t, "none").tolist() == [2, 0, 1]
    assert l1_loss(x, t).tolist() == [1]
    l1_loss(x, t, "sum").backward()
    assert (x.grad.tolist(), t.grad.tolist()) == ([-1, 0, 1], [1, 0, -1])
    assert math.isnan(l1_loss(tensor([math.nan], backend), tensor([1.0], backend)).item())


@BACKENDS
def test_smooth_l1_loss_is_quadratic_near_0(backend):
    x, t = tensor([0.5, -0.5, 2.0, 1.0, 0.0], backend), tensor([0.0, 0.0, -1.0, 0.0, 0.0], backend)
    assert smooth_l1_loss(x, t, "none").tolist() == [0.125, 0.125, 2.5, 0.5, 0]
    assert smooth_l1_loss(x, t, "none", beta=0.25).tolist() == [0.375, 0.375, 2.875, 0.875, 0]
    assert smooth_l1_loss(x, t, "sum", beta=0).tolist() == [5]
    near = tensor([0.2, -0.5, 2.0, -1.5], backend), tensor([0.1, 0.2, -1.0, 1.0], backend)
    grad_check(lambda a, b: smooth_l1_loss(a, b, "sum", 0.25), *near)
    for loss in (l1_loss, smooth_l1_loss):
        assert_second_derivatives(lambda a, b, loss=loss: loss(a * a, b * b, "none"), [x.to_numpy() for x in near], backend)


# Weighted classes


@BACKENDS
@pytest.mark.parametrize("ignored", [-100, 1, 7])
def test_ignored_samples_do_not_count(backend, ignored):
    classes = np.array([2, ignored, 0, ignored])
    x, target = tensor(LOGITS, backend, requires_grad=True), tensor(classes, backend)
    each = np.where([True, False, True, False], negative_log_softmax(LOGITS)[range(4), [2, 0, 0, 0]], 0)
    for reduction, expected in (("none", each), ("sum", [each.sum()]), ("mean", [each.sum() / 2])):
        np.testing.assert_allclose(cross_entropy(x, target, reduction=reduction, ignore_index=ignored).to_numpy(), expected, rtol=1e-12)
        logs = tensor(-negative_log_softmax(LOGITS), backend)
        np.testing.assert_allclose(nll_loss(logs, target, reduction=reduction, ignore_index=ignored).to_numpy(), expected, rtol=1e-12)
    cross_entropy(x, target, ignore_index=ignored).backward()
    assert not x.grad.to_numpy()[[1, 3]].any()
    assert x.grad.to_numpy()[[0, 2]].any()
    assert math.isnan(cross_entropy(x, tensor(np.full(4, ignored), backend), ignore_index=ignored).item())


@BACKENDS
def test_label_smoothing_distributes_a_part_of_the_target(backend):
    spread = np.full((4, 3), 0.1) + 0.7 * np.eye(3)[CLASSES]
    expected = (spread * negative_log_softmax(LOGITS)).sum(1)
    x = tensor(LOGITS, backend)
    got = cross_entropy(x, tensor(CLASSES, backend), reduction="none", label_smoothing=0.3)
    np.testing.assert_allclose(got.to_numpy(), expected, rtol=1e-12)
    got = cross_entropy(x, tensor(np.eye(3)[CLASSES], backend), reduction="none", label_smoothing=0.3)
    np.testing.assert_allclose(got.to_numpy(), expected, rtol=1e-12)


@BACKENDS
def test_a_class_without_weight_may_be_impossible(backend):
    logits = tensor([[0.0, -math.inf]], backend)
    assert cross_entropy(logits, tensor(np.array([0]), backend), reduction="sum", weight=tensor([2.0, 0.0], backend)).tolist() == [0]


@BACKENDS
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


def test_incompatible_arguments_are_refused():
    x, target = tensor(LOGITS), tensor(CLASSES)
    with raises(ValueError, "cross_entropy expected as weight a Tensor of shape (3,), one element per class, got (4,)"):
        cross_entropy(x, target, weight=tensor(np.ones(4)))
    with raises(ValueError, "nll_loss expected as weight a Tensor of shape (3,), one element per class, got [1, 1, 1]"):
        nll_loss(x, target, weight=[1, 1, 1])
    named = "; pass it by keyword: reduction='none'"
    with raises(ValueError, f"cross_entropy expected as weight a Tensor of shape (3,), one element per class, got 'none'{named}"):
        cross_entropy(x, target, "none")
    yes = tensor([0.5, 0.25])
    for loss in (binary_cross_entropy, binary_cross_entropy_with_logits):
        broadcasts = f"{loss.__name__} expected as weight a Tensor whose shape broadcasts to that of input, (2,), got"
        for wrong, got in (
            (tensor([1.0, 2.0, 3.0]), "(3,)"),
            (tensor([]), "(0,)"),
            (tensor([[1.0, 2.0]]), "(1, 2)"),
            (2.0, "2.0"),
            ("none", f"'none'{named}"),
        ):
            with raises(ValueError, f"{broadcasts} {got}"):
                loss(yes, yes, wrong)
    broadcasts = "binary_cross_entropy_with_logits expected as pos_weight a Tensor whose shape broadcasts to that of input, (2,), got (3,)"
    with raises(ValueError, broadcasts):
        binary_cross_entropy_with_logits(yes, yes, pos_weight=tensor([1.0, 2.0, 3.0]))
    with raises(ValueError, "cross_entropy expected label_smoothing from 0 to 1, got 1.5, the share that is spread over all classes"):
        cross_entropy(x, target, label_smoothing=1.5)
    with raises(ValueError, "cross_entropy expected classes from 0 to 2, of 3, got 3 for sample 1"):
        cross_entropy(x, tensor(np.array([-100, 3, 0, 0])))
    with raises(ValueError, "smooth_l1_loss expected beta of at least 0, got -1"):
        smooth_l1_loss(x, x, beta=-1)
    with raises(ValueError, "l1_loss expected input and target of the same shape, got (4, 3) and (3,); view one as the other"):
        l1_loss(x, x[0])
    with raises(ValueError, 'MSELoss expected reduction "mean", "sum" or "none", got \'max\''):
        MSELoss("max")


# Layers


def test_layers_store_weights_as_buffers_and_show_their_reduction():
    layer = CrossEntropyLoss(tensor([1.0, 2.0, 3.0]), label_smoothing=0.1)
    assert list(layer.state_dict()) == ["weight"]
    assert layer.to(float32).weight.dtype == float32
    assert list(CrossEntropyLoss().state_dict()) == []
    assert repr(NLLLoss(reduction="sum")) == "NLLLoss(reduction='sum')"
    assert repr(L1Loss()) == "L1Loss()"
    assert SmoothL1Loss(beta=0.25)(tensor([1.0]), tensor([0.0])).tolist() == [0.875]
    assert list(BCEWithLogitsLoss(pos_weight=tensor([2.0])).state_dict()) == ["pos_weight"]


def test_loss_layers_agree_with_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    rng = np.random.default_rng(0)
    x, other, weights = rng.standard_normal((6, 4)), rng.standard_normal((6, 4)), rng.random(4)
    classes, probabilities, truth = rng.integers(0, 4, 6), rng.random((6, 4)), rng.dirichlet(np.ones(4), 6)
    some = np.where([True, False, True, True, True, False], classes, -100)
    logs = -negative_log_softmax(x)
    trials = [
        *[(name, settings, x, other) for name in ("MSELoss", "L1Loss", "SmoothL1Loss") for settings in ({}, {"reduction": "sum"})],
        ("SmoothL1Loss", {"beta": 0.25, "reduction": "none"}, x, other),
        ("BCELoss", {}, probabilities, truth),
        ("BCELoss", {"weight": weights, "reduction": "none"}, probabilities, truth),
        ("BCEWithLogitsLoss", {}, x, truth),
        ("BCEWithLogitsLoss", {"weight": weights, "pos_weight": 2 * weights}, x, truth),
        ("NLLLoss", {}, logs, classes),
        ("NLLLoss", {"weight": weights, "ignore_index": 2}, logs, classes),
        *[("CrossEntropyLoss", {"reduction": reduction}, x, some) for reduction in ("mean", "sum", "none")],
        *[
            ("CrossEntropyLoss", {"weight": weights, "label_smoothing": 0.2, "reduction": reduction}, x, target)
            for reduction in ("mean", "sum", "none")
            for target in (classes, some, truth)
        ],
        ("CrossEntropyLoss", {"ignore_index": 1, "label_smoothing": 0.1}, x, classes),
    ]
    for name, settings, values, target in trials:
        b = torch.tensor(values, requires_grad=True)
        arrays = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in settings.items()}
        expected = getattr(torch.nn, name)(**arrays)(b, torch.tensor(target))
        given = rng.standard_normal(tuple(expected.shape))
        expected.backward(torch.tensor(given))
        for backend in (SimpleBackend, FastBackend):
            a = tensor(values, backend, requires_grad=True)
            arrays = {k: tensor(v, backend) if isinstance(v, np.ndarray) else v for k, v in settings.items()}
            got = getattr(nn, name)(**arrays)(a, tensor(target, backend))
            got.backward(tensor(given if given.shape else [given], backend))
            np.testing.assert_allclose(got.to_numpy().reshape(expected.shape), expected.detach().numpy(), rtol=1e-10, err_msg=name)
            np.testing.assert_allclose(a.grad.to_numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-12, err_msg=name)
