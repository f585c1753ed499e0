"""Connectionist temporal classification: sums over all alignments written out, and finite differences."""

import itertools

import numpy as np
import pytest

from minitorch import FastBackend, float16, float32, grad_check, nn, tensor
from tests.errors import raises
from tests.nn.checks import integers


def log_probabilities(*shape, seed=0):
    x = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def by_enumeration(log_probs, target, blank):
    """The loss of one sample (T, C): every sequence of classes that reads as the target without repetitions and blanks."""
    steps, classes = log_probs.shape
    total = 0.0
    for alignment in itertools.product(range(classes), repeat=steps):
        if [label for label, _ in itertools.groupby(alignment) if label != blank] == target:
            total += np.exp(sum(log_probs[t, label] for t, label in enumerate(alignment)))
    return -np.log(total) if total else np.inf


@pytest.mark.parametrize("blank", [0, 2])
def test_all_alignments_are_counted(backend, blank):
    x = log_probabilities(5, 4, 3)
    others = [label for label in range(3) if label != blank]
    targets = [[others[0], others[0]], [others[1], others[0]], [others[1]], []]
    steps = [5, 4, 1, 3]
    padded = integers([row + [-1] * (3 - len(row)) for row in targets], backend)
    expected = [by_enumeration(x[:count, n], row, blank) for n, (count, row) in enumerate(zip(steps, targets, strict=True))]
    lengths = integers([len(row) for row in targets])
    np.testing.assert_allclose(nn.ctc_loss(tensor(x, backend), padded, integers(steps), lengths, blank, "none").to_numpy(), expected)
    joined = integers([label for row in targets for label in row], backend)
    np.testing.assert_allclose(nn.CTCLoss(blank, "sum")(tensor(x, backend), joined, steps, lengths).item(), sum(expected))
    mean = np.mean([loss / max(len(row), 1) for loss, row in zip(expected, targets, strict=True)])
    np.testing.assert_allclose(nn.ctc_loss(tensor(x, backend), joined, steps, [2, 2, 1, 0], blank).item(), mean)


def test_a_single_sample_needs_no_batch():
    x = log_probabilities(4, 3)
    loss = nn.ctc_loss(tensor(x), integers([2, 1]), [4], [2], reduction="none")
    assert loss.shape == ()
    np.testing.assert_allclose(loss.item(), by_enumeration(x, [2, 1], 0))


def test_the_gradient_is_that_of_finite_differences(backend):
    targets = integers([[1, 1, 2], [2, 1, 0]], backend)
    grad_check(lambda x: nn.ctc_loss(x, targets, [5, 4], [3, 2]), tensor(log_probabilities(5, 2, 3), backend))
    grad_check(lambda x: nn.ctc_loss(x, targets, [5, 4], [0, 1], reduction="sum"), tensor(log_probabilities(5, 2, 3), backend))


def test_steps_past_the_end_of_an_input_have_no_gradient():
    x = tensor(log_probabilities(5, 2, 3), requires_grad=True)
    nn.ctc_loss(x, integers([[1], [2]]), [5, 2], [1, 1]).backward()
    np.testing.assert_allclose(x.grad.to_numpy().sum(2) * 2, -np.array([[1, 1]] * 2 + [[1, 0]] * 3), atol=1e-12)


@pytest.mark.parametrize(("zero_infinity", "loss", "gradient"), [(False, np.inf, np.nan), (True, 0.0, 0.0)])
def test_a_target_that_does_not_fit_has_an_infinite_loss(zero_infinity, loss, gradient):
    x = tensor(log_probabilities(2, 2, 3), requires_grad=True)
    losses = nn.ctc_loss(x, integers([[1, 1], [1, 2]]), [2, 2], [2, 2], reduction="none", zero_infinity=zero_infinity)
    assert losses.tolist() == [loss, pytest.approx(-x[0, 1, 1] - x[1, 1, 2])]
    losses.sum().backward()
    np.testing.assert_array_equal(x.grad.to_numpy()[:, 0], np.full((2, 3), gradient))
    np.testing.assert_allclose(x.grad.to_numpy()[:, 1], [[0, -1, 0], [0, 0, -1]])


def test_long_inputs_do_not_underflow():
    x = tensor(np.full((1000, 1, 2), -np.log(2.0), np.float32), FastBackend, requires_grad=True)
    loss = nn.ctc_loss(x, integers([1], FastBackend), [1000], [1], reduction="sum")
    assert loss.dtype == float32
    np.testing.assert_allclose(loss.item(), 1000 * np.log(2) - np.log(1000 * 1001 / 2), rtol=1e-5)
    loss.backward()
    assert np.isfinite(x.grad.to_numpy()).all()


X = tensor(log_probabilities(4, 2, 3))
DTYPE = "log_probs as a Tensor of float64 or float32, got float16; convert it: x.to(float32)"


@pytest.mark.parametrize(
    ("error", "args", "message"),
    [
        (TypeError, (X.to(float16), integers([1, 2]), [4, 4], [1, 1]), DTYPE),
        (ValueError, (X[0, 0], integers([1]), [1], [1]), "log_probs of shape (T, N, C) or (T, C), got (3,)"),
        (ValueError, (X, integers([1, 2]), [4, 4], [1, 1], 3), "blank from 0 to 2, got 3"),
        (ValueError, (X, integers([1, 2]), [4, 5], [1, 1]), "2 input_lengths from 1 to 4, got [4, 5]"),
        (ValueError, (X, integers([1, 2]), [4, 4], [1]), "2 target_lengths of at least 0, got [1]"),
        (TypeError, (X, X, [4, 4], [1, 1]), "targets as a Tensor of int64, got float64; convert it: x.to(int64)"),
        (ValueError, (X, integers([[1], [2]]), [4, 4], [2, 1]), "targets of shape (2, 2) or longer rows, or (3,), got (2, 1)"),
        (ValueError, (X, integers([1, 0]), [4, 4], [1, 1]), "labels from 0 to 2 other than the blank, 0, got 0"),
        (ValueError, (X, integers([1, 3]), [4, 4], [1, 1]), "labels from 0 to 2 other than the blank, 0, got 3"),
        (ValueError, (X, integers([1, 2]), [4, 4], [1, 1], 0, "max"), 'reduction "mean", "sum" or "none", got \'max\''),
    ],
)
def test_what_does_not_fit_is_refused(error, args, message):
    with raises(error, f"ctc_loss expected {message}"):
        nn.ctc_loss(*args)
