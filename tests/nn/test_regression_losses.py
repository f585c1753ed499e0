"""Losses of numbers: values by hand, gradients, weights, dtypes, and shapes that broadcast."""

import math

import numpy as np
import pytest

from minitorch import FastBackend, float16, float32, float64, grad_check, nn, tensor
from minitorch.nn import huber_loss, l1_loss, mse_loss, smooth_l1_loss, soft_margin_loss
from tests.autograd.test_double_backward import assert_second_derivatives
from tests.nn.checks import leaf, refuses
from tests.nn.test_losses import REDUCED


@REDUCED
def test_mse_loss_is_the_squared_difference(backend, reduction):
    x, t = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[1.0, 0.0], [4.0, 2.0]])
    got = mse_loss(tensor(x, backend), tensor(t, backend), reduction=reduction)
    assert got.tolist() == {"mean": 3.5, "sum": 14.0, "none": [[0.0, 4.0], [1.0, 9.0]]}[reduction]
    grad_check(lambda a, b: mse_loss(a, b, reduction=reduction), tensor(x, backend), tensor(t, backend))


def test_l1_loss_is_the_absolute_difference(backend):
    x, t = tensor([1.0, 2.0, -3.0], backend, requires_grad=True), tensor([3.0, 2.0, -4.0], backend, requires_grad=True)
    assert l1_loss(x, t, reduction="none").tolist() == [2, 0, 1]
    assert l1_loss(x, t).tolist() == 1
    l1_loss(x, t, reduction="sum").backward()
    assert (x.grad.tolist(), t.grad.tolist()) == ([-1, 0, 1], [1, 0, -1])
    assert math.isnan(l1_loss(tensor([math.nan], backend), tensor([1.0], backend)).item())


def test_smooth_l1_loss_is_quadratic_near_0(backend):
    x, t = tensor([0.5, -0.5, 2.0, 1.0, 0.0], backend), tensor([0.0, 0.0, -1.0, 0.0, 0.0], backend)
    assert smooth_l1_loss(x, t, reduction="none").tolist() == [0.125, 0.125, 2.5, 0.5, 0]
    assert smooth_l1_loss(x, t, reduction="none", beta=0.25).tolist() == [0.375, 0.375, 2.875, 0.875, 0]
    assert smooth_l1_loss(x, t, reduction="sum", beta=0).tolist() == 5
    near = tensor([0.2, -0.5, 2.0, -1.5], backend), tensor([0.1, 0.2, -1.0, 1.0], backend)
    grad_check(lambda a, b: smooth_l1_loss(a, b, reduction="sum", beta=0.25), *near)
    for loss in (l1_loss, smooth_l1_loss):
        assert_second_derivatives(lambda a, b, loss=loss: loss(a * a, b * b, reduction="none"), [x.to_numpy() for x in near], backend)


@pytest.mark.parametrize("loss", [mse_loss, l1_loss, smooth_l1_loss, huber_loss], ids=lambda loss: loss.__name__)
def test_other_shapes_broadcast_with_a_warning(loss, backend):
    x, t = leaf([[1.0, 2.0], [3.0, 4.0]], backend), leaf([1.0, 0.0], backend)
    with pytest.warns(UserWarning, match=r"a loss of input \(2, 2\) and target \(2,\) broadcasts them; give both the same shape") as seen:
        got = loss(x, t, reduction="sum")
    assert seen[0].filename == __file__
    expanded = leaf([[1.0, 0.0], [1.0, 0.0]], backend)
    assert got.tolist() == loss(x, expanded, reduction="sum").tolist()
    got.backward(), loss(x, expanded, reduction="sum").backward()
    assert t.grad.tolist() == expanded.grad.sum(0, False).tolist()


def test_the_older_arguments_select_a_reduction():
    x, t = tensor([1.0, 3.0]), tensor([0.0, 1.0])
    assert mse_loss(x, t, False).tolist() == mse_loss(x, t, reduction="sum").tolist() == 5.0
    assert nn.MSELoss(reduce=False)(x, t).tolist() == [1.0, 4.0]
    assert nn.MSELoss(True, reduction="sum")(x, t).tolist() == 2.5


def test_errors_are_weighted(backend):
    x, t, w = (tensor(v, backend) for v in ([1.0, 3.0], [0.0, 1.0], [3.0, 1.0]))
    assert mse_loss(x, t, weight=w, reduction="none").tolist() == [3.0, 4.0]
    assert [mse_loss(x, t, weight=w).tolist(), l1_loss(x, t, weight=w).tolist()] == [7 / 4, 5 / 4]
    assert [huber_loss(x, t, weight=w).tolist(), huber_loss(x, t, "sum", weight=w).tolist()] == [1.5, 3.0]
    refuses(ValueError, "… expected weight of the shape of input, (2,), got (1,); expand it", mse_loss, x, t, weight=w[:1])


DTYPES = {"f16": float16, "f32": float32, "f64": float64, "int": np.dtype(np.int64)}


@pytest.mark.parametrize(
    ("dtypes", "expected", "that_of_input"),
    [("f32 f64", "f64", "f32"), ("f64 f32", "f64", "f64"), ("f32 int", "f32", "f32"), ("int f32", "f32", None), ("f32 f16", "f32", "f32")],
)
def test_two_dtypes_promote(dtypes, expected, that_of_input):
    x, t = (tensor([1, 0], FastBackend, dtype=DTYPES[name]) for name in dtypes.split())
    for loss in (mse_loss, l1_loss, smooth_l1_loss):
        assert loss(x, t).dtype == DTYPES[expected]
    for loss in (huber_loss, soft_margin_loss):
        if that_of_input:
            assert loss(x, t).dtype == DTYPES[that_of_input]
        else:
            refuses(TypeError, "… expected a Tensor of floats as input, got int64; convert it: input.to(float32)", loss, x, t)


def test_integers_alone_have_no_loss():
    x = tensor(np.array([1, 0]))
    message = "… expected input or target of floating-point numbers, got int64 and int64; convert one: input.to(float32)"
    refuses(TypeError, message, mse_loss, x, x)


def test_invalid_thresholds_are_refused():
    x = tensor([1.0])
    refuses(ValueError, "… expected beta of at least 0, got -1", smooth_l1_loss, x, x, beta=-1)
    refuses(ValueError, "… expected delta above 0, got 0", huber_loss, x, x, delta=0)
