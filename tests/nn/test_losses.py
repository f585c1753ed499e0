"""Losses: values by hand and from NumPy, gradients from finite differences, and a comparison with PyTorch."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.strategies import integers

from minitorch import FastBackend, SimpleBackend, float32, float64, grad_check, int32, tensor
from minitorch.nn.losses import binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy, mse_loss, nll_loss
from tests.errors import raises

BACKENDS = pytest.mark.parametrize("backend", [SimpleBackend, FastBackend], ids=lambda backend: backend.name)
REDUCED = pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
LOGITS = np.array([[1.0, -2.0, 0.5], [3.0, 3.0, -1.0], [0.0, 0.0, 0.0], [-4.0, 2.0, 9.0]])
CLASSES = np.array([2, 0, 1, 1])


def leaf(values, backend=SimpleBackend, dtype=None):
    return tensor(values, backend, requires_grad=True, dtype=dtype)


def reduce_losses(losses, reduction):
    """The expected loss, from the losses of the elements."""
    return {"mean": np.array([losses.mean()]), "sum": np.array([losses.sum()]), "none": losses}[reduction]


def softmax(logits):
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


# Multiclass classification


@BACKENDS
@REDUCED
def test_cross_entropy_is_the_negative_log_probability_of_the_right_class(backend, reduction):
    losses = -np.log(softmax(LOGITS)[range(4), CLASSES])
    got = cross_entropy(tensor(LOGITS, backend), tensor(CLASSES, backend), reduction=reduction)
    assert got.shape == reduce_losses(losses, reduction).shape
    np.testing.assert_allclose(got.to_numpy(), reduce_losses(losses, reduction), rtol=1e-13)


@BACKENDS
def test_the_default_reduction_is_the_mean(backend):
    """Two rows with equal logits, for two and for four classes."""
    two = cross_entropy(tensor([[5.0, 5.0], [1.0, 1.0]], backend), tensor(np.array([0, 1]), backend))
    assert two.item() == pytest.approx(math.log(2), rel=1e-15)
    four = cross_entropy(tensor([[5.0] * 4], backend), tensor(np.array([3]), backend))
    assert four.item() == pytest.approx(math.log(4), rel=1e-15)


@BACKENDS
@REDUCED
def test_the_gradient_of_cross_entropy_is_softmax_minus_the_target(backend, reduction):
    logits = leaf(LOGITS, backend)
    loss = cross_entropy(logits, tensor(CLASSES, backend), reduction=reduction)
    weights = np.array([1.0, -2.0, 0.5, 3.0]) if reduction == "none" else np.array([3.0])
    loss.backward(tensor(weights, backend))
    each = softmax(LOGITS) - np.eye(3)[CLASSES]
    rows = weights[:, None] if reduction == "none" else 3.0 / (4 if reduction == "mean" else 1)
    np.testing.assert_allclose(logits.grad.to_numpy(), rows * each, atol=1e-15)


@BACKENDS
def test_the_gradient_of_cross_entropy_agrees_with_finite_differences(backend):
    target = tensor(CLASSES, backend)
    grad_check(lambda x: cross_entropy(x, target, reduction="sum"), tensor(LOGITS, backend))
    grad_check(lambda x: cross_entropy(x, target, reduction="none") * cross_entropy(x, target, reduction="none"), tensor(LOGITS, backend))


@BACKENDS
def test_a_backward_that_keeps_the_graph_can_be_repeated(backend):
    logits = leaf(LOGITS, backend)
    loss = cross_entropy(logits, tensor(CLASSES, backend))
    loss.backward(retain_graph=True)
    once = logits.grad.to_numpy()
    loss.backward()
    np.testing.assert_array_equal(logits.grad.to_numpy(), 2 * once)


@BACKENDS
@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
def test_logits_and_classes_may_have_any_layout(backend, dtype):
    wide = np.asarray(np.random.default_rng(0).standard_normal((2, 3, 8)), dtype)
    numbers = np.array([0, 9, 2, 9, 1, 9, 2, 9], np.int32)
    logits = tensor(wide, backend)[1, :, ::2].permute(1, 0)
    loss = cross_entropy(logits, tensor(numbers, backend, dtype=int32)[::2], reduction="none")
    expected = -np.log(softmax(wide[1, :, ::2].T)[range(4), numbers[::2]])
    np.testing.assert_allclose(loss.to_numpy(), expected, rtol=1e-12 if dtype == float64 else 1e-5)


@BACKENDS
def test_one_class_has_loss_0_and_an_empty_batch_has_no_mean(backend):
    assert cross_entropy(tensor([[7.0], [-7.0]], backend), tensor(np.array([0, 0]), backend), reduction="none").tolist() == [0.0, 0.0]
    nothing = tensor(np.zeros((0, 3)), backend), tensor(np.zeros(0, np.int64), backend)
    assert cross_entropy(*nothing, reduction="sum").tolist() == [0.0]
    assert math.isnan(cross_entropy(*nothing).item())


@BACKENDS
def test_an_impossible_class_has_an_infinite_loss_and_nan_stays_nan(backend):
    logits = tensor([[0.0, -math.inf], [0.0, -math.inf], [0.0, math.nan]], backend)
    losses = cross_entropy(logits, tensor(np.array([0, 1, 0]), backend), reduction="none").to_numpy()
    assert losses[0] == 0.0
    assert losses[1] == math.inf
    assert math.isnan(losses[2])


@given(integers(1, 40), integers(1, 40), integers(0, 2**32))
@example(64, 64, 0)
@example(1, 300, 0)
@example(300, 1, 0)
@example(3, 5000, 0)
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


@BACKENDS
@REDUCED
def test_targets_may_be_probabilities_of_classes(backend, reduction):
    shares = np.array([[0.5, 0.25, 0.25], [1, 0, 0], [0, 0, 1], [0.1, 0.2, 0.7]])
    losses = -(shares * np.log(softmax(LOGITS))).sum(1)
    got = cross_entropy(tensor(LOGITS, backend), tensor(shares, backend), reduction=reduction)
    np.testing.assert_allclose(got.to_numpy(), reduce_losses(losses, reduction), rtol=1e-13)
    grad_check(lambda x, t: cross_entropy(x, t), tensor(LOGITS, backend), tensor(0.8 * shares + 0.05, backend))


@BACKENDS
@REDUCED
def test_nll_loss_is_the_negative_input_at_the_right_class(backend, reduction):
    logs = np.array([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]])
    target = tensor(np.array([2, 0]), backend)
    got = nll_loss(tensor(logs, backend), target, reduction=reduction)
    assert got.tolist() == {"mean": [3.5], "sum": [7.0], "none": [3.0, 4.0]}[reduction]
    x = leaf(logs, backend)
    nll_loss(x, target, reduction="sum").backward()
    assert x.grad.tolist() == [[0, 0, -1], [-1, 0, 0]]


# Binary classification


@BACKENDS
@REDUCED
def test_binary_cross_entropy_is_the_negative_log_probability_of_the_target(backend, reduction):
    p, t = np.array([[0.25, 0.5], [0.9, 0.1]]), np.array([[1.0, 0.0], [1.0, 0.25]])
    losses = -(t * np.log(p) + (1 - t) * np.log(1 - p))
    got = binary_cross_entropy(tensor(p, backend), tensor(t, backend), reduction=reduction)
    np.testing.assert_allclose(got.to_numpy(), reduce_losses(losses, reduction), rtol=1e-13)
    grad_check(lambda x, y: binary_cross_entropy(x, y, reduction=reduction), tensor(p, backend), tensor(0.5 * t + 0.2, backend))


@BACKENDS
def test_a_probability_of_0_costs_100_and_has_a_finite_gradient(backend):
    p = leaf([0.0, 1.0, 0.0, 1.0], backend)
    losses = binary_cross_entropy(p, tensor([1.0, 0.0, 0.0, 1.0], backend), reduction="none")
    assert losses.tolist() == [100.0, 100.0, 0.0, 0.0]
    losses.sum().backward()
    np.testing.assert_allclose(p.grad.to_numpy(), [-1e12, 1e12, 0.0, 0.0])


@BACKENDS
def test_a_small_probability_keeps_its_precision(backend):
    assert binary_cross_entropy(tensor([1e-20], backend), tensor([0.0], backend)).item() == pytest.approx(1e-20, rel=1e-12, abs=0)


@BACKENDS
@REDUCED
def test_the_loss_of_logits_is_that_of_their_sigmoid(backend, reduction):
    x, t = np.array([[0.0, 2.0], [-3.0, 0.5]]), np.array([[1.0, 0.0], [0.0, 0.25]])
    p = 1 / (1 + np.exp(-x))
    losses = -(t * np.log(p) + (1 - t) * np.log(1 - p))
    got = binary_cross_entropy_with_logits(tensor(x, backend), tensor(t, backend), reduction=reduction)
    np.testing.assert_allclose(got.to_numpy(), reduce_losses(losses, reduction), rtol=1e-13)
    grad_check(lambda x, y: binary_cross_entropy_with_logits(x, y, reduction=reduction), tensor(x, backend), tensor(0.5 * t + 0.2, backend))


@BACKENDS
def test_binary_logits_of_a_thousand_are_exact(backend):
    x = leaf([1000.0, 1000.0, -1000.0, -1000.0, 0.0], backend)
    losses = binary_cross_entropy_with_logits(x, tensor([1.0, 0.0, 1.0, 0.0, 1.0], backend), reduction="none")
    assert losses.tolist() == [0.0, 1000.0, 1000.0, 0.0, pytest.approx(math.log(2))]
    losses.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, -1.0, 0.0, -0.5]


# Regression


@BACKENDS
@REDUCED
def test_mse_loss_is_the_squared_difference(backend, reduction):
    x, t = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[1.0, 0.0], [4.0, 2.0]])
    got = mse_loss(tensor(x, backend), tensor(t, backend), reduction)
    assert got.tolist() == {"mean": [3.5], "sum": [14.0], "none": [[0.0, 4.0], [1.0, 9.0]]}[reduction]
    grad_check(lambda a, b: mse_loss(a, b, reduction), tensor(x, backend), tensor(t, backend))


# All losses

PAIRS = [binary_cross_entropy, binary_cross_entropy_with_logits, mse_loss]


@pytest.mark.parametrize("loss", PAIRS, ids=lambda loss: loss.__name__)
def test_integer_and_bool_targets_take_the_dtype_of_the_input(loss):
    x = tensor([0.25, 0.5], FastBackend, dtype=float32)
    for target in ([1, 0], [True, False]):
        got = loss(x, tensor(np.array(target), FastBackend))
        assert (got.dtype, got.item()) == (float32, loss(x, tensor([1.0, 0.0], FastBackend, dtype=float32)).item())


@pytest.mark.parametrize("loss", PAIRS, ids=lambda loss: loss.__name__)
def test_elementwise_losses_need_equal_shapes(loss):
    message = f"{loss.__name__} expected input and target of the same shape, got (2, 1) and (2,); view one as the other"
    with raises(ValueError, message):
        loss(tensor([[0.5], [0.5]]), tensor([1.0, 0.0]))


@pytest.mark.parametrize("loss", [cross_entropy, nll_loss], ids=lambda loss: loss.__name__)
@BACKENDS
def test_invalid_rows_and_classes_are_refused(loss, backend):
    name, x = loss.__name__, tensor(LOGITS, backend)
    with raises(ValueError, f"{name} expected input of shape (N, C) with at least one class, got (3,)"):
        loss(x[0], tensor(np.array([1]), backend))
    with raises(ValueError, f"{name} expected input of shape (N, C) with at least one class, got (4, 0)"):
        loss(x[:, :0], tensor(CLASSES, backend))
    asked = f"{name} expected as target the classes of 4 samples, int64 of shape (4,), for input of shape (4, 3), got"
    with raises(ValueError, f"{asked} int64 of shape (3,)"):
        loss(x, tensor(CLASSES[:3], backend))
    with raises(TypeError, f"{asked} float64 of shape (4,)"):
        loss(x, tensor([2.0, 0.0, 1.0, 1.0], backend))
    for wrong in (3, -1):
        with raises(ValueError, f"{name} expected classes from 0 to 2, of 3, got {wrong} for sample 1"):
            loss(x, tensor(np.array([2, wrong, 1, 7]), backend))


@pytest.mark.parametrize("loss", [cross_entropy, nll_loss, *PAIRS], ids=lambda loss: loss.__name__)
def test_non_floating_inputs_and_unknown_reductions_are_refused(loss):
    name, x = loss.__name__, tensor([[0.5, 0.5]])
    target = tensor([[1.0, 0.0]]) if loss in PAIRS else tensor(np.array([0]))
    with raises(TypeError, f"{name} expected a Tensor as input, got list; make one with tensor(...)"):
        loss([[0.5, 0.5]], target)
    with raises(TypeError, f"{name} expected a Tensor as target, got ndarray; make one with tensor(...)"):
        loss(x, np.array([0]))
    with raises(TypeError, f"{name} expected input of float64 or float32, got int64; convert it: input.to(float64)"):
        loss(tensor(np.array([[1, 0]])), target)
    with raises(ValueError, f'{name} expected reduction "mean", "sum" or "none", got \'average\''):
        loss(x, target, reduction="average")


@pytest.mark.parametrize("wrong", [-0.25, 1.5, math.nan])
def test_probabilities_outside_0_and_1_are_refused(wrong):
    x, bad = tensor([[0.5, 0.5]]), tensor([[0.5, wrong]])
    with raises(ValueError, f"binary_cross_entropy expected probabilities from 0 to 1 as input, got {wrong}"):
        binary_cross_entropy(bad, x)
    for loss in (binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy):
        with raises(ValueError, f"{loss.__name__} expected probabilities from 0 to 1 as target, got {wrong}"):
            loss(x, bad)


def test_losses_agree_with_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    functional, rng = torch.nn.functional, np.random.default_rng(0)
    logits, shares = rng.normal(0, 3, (6, 5)), rng.random((6, 5))
    classes = rng.integers(0, 5, 6)
    trials = [
        (cross_entropy, functional.cross_entropy, logits, classes),
        (cross_entropy, functional.cross_entropy, logits, shares),
        (nll_loss, functional.nll_loss, logits, classes),
        (binary_cross_entropy, functional.binary_cross_entropy, np.clip(logits, 0, 1), shares),
        (binary_cross_entropy_with_logits, functional.binary_cross_entropy_with_logits, 100 * logits, shares),
        (mse_loss, functional.mse_loss, logits, shares),
    ]
    for ours, theirs, x, t in trials:
        for reduction in ("mean", "sum", "none"):
            for backend in (SimpleBackend, FastBackend):
                a, b = leaf(x, backend), torch.tensor(x, requires_grad=True)
                got, expected = ours(a, tensor(t, backend), reduction=reduction), theirs(b, torch.tensor(t), reduction=reduction)
                np.testing.assert_allclose(got.to_numpy().reshape(expected.shape), expected.detach().numpy(), rtol=1e-12)
                (got * got).sum().backward()
                (expected * expected).sum().backward()
                np.testing.assert_allclose(a.grad.to_numpy(), b.grad.numpy(), rtol=1e-8, atol=1e-12)  # its 1e-12 is a float32
