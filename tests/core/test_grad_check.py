"""grad_check: what it passes, what it catches and what it says."""

import re

import numpy as np
import pytest

from minitorch import float32, grad_central_difference, grad_check, int64, tensor
from tests.autograd.conftest import function, leaf
from tests.errors import raises


def test_grad_check_passes_a_right_backward_and_leaves_the_gradients_in_its_inputs():
    a, b = tensor([1.5, -2.0, 0.5]), tensor([[0.5], [3.0]])
    grad_check(lambda x, y: x * y + x.exp(), a, b)
    assert a.requires_grad
    np.testing.assert_allclose(a.grad.to_numpy(), 3.5 + 2 * np.exp([1.5, -2.0, 0.5]))
    grad_check(lambda x, y: x * y, a, b)  # and again: old gradients are forgotten
    np.testing.assert_allclose(b.grad.to_numpy(), [[0.0], [0.0]])


def test_grad_check_works_on_computed_transposed_sliced_and_empty_tensors():
    x = leaf(np.arange(1.0, 7.0).reshape(2, 3))
    for value in (x.sum(0), x.permute(1, 0), x[:, 1:], x[1], x[1:1], (x * 2).sum()):
        grad_check(lambda a: a * a + a.log(), value)
        assert value.grad.shape == value.shape
    grad_check(lambda a: a * 3, tensor(2.0))


def test_grad_check_checks_every_entry():
    wrong = function(lambda ctx, a: a * 2, lambda ctx, grad_output: grad_output * tensor([[2.0, 2.0, 2.0], [2.0, 2.0, 5.0]]))
    with pytest.raises(AssertionError) as failure:
        grad_check(lambda a, b: a + wrong.apply(b), tensor([1.0]), tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    message = re.sub(r"2\.0000\d+|1\.9999\d+", "2.0", str(failure.value))
    assert message == "at input 1, index (1, 2), where it is 6.0: backward gave 5.0, expected 2.0 (central difference)"


@pytest.mark.parametrize(("sign", "part"), [(1, 1.005), (1, 0.995), (-1, 1.005)], ids=["more", "less", "negative"])
def test_grad_check_tolerates_a_hundredth_and_no_more(sign, part):
    nearly = function(
        lambda ctx, a, factor: ctx.save_for_backward(a, factor) or a * a * sign,
        lambda ctx, grad_output: grad_output * ctx.saved_values[0] * (2 * sign * ctx.saved_values[1]),
    )
    x = tensor([100.0])  # derivative ±200: a hundredth of it is 2, half a hundredth 1
    grad_check(lambda a: nearly.apply(a, part), x)
    with pytest.raises(AssertionError):
        grad_check(lambda a: nearly.apply(a, 1 + 4 * (part - 1)), x)


def test_grad_check_takes_infinite_derivatives_and_nan_for_what_they_are():
    with pytest.raises(AssertionError, match="backward gave inf, expected nan"):
        grad_check(lambda a: a.sqrt(), tensor([0.0]))

    with pytest.raises(AssertionError, match="backward gave nan, expected"):
        grad_check(function(lambda ctx, a: a * 2, lambda ctx, grad_output: grad_output * float("nan")).apply, tensor([1.0]))


def test_grad_check_notices_a_gradient_that_does_not_arrive():
    with raises(AssertionError, "no gradient reached input 1 of grad_check; is every function on the way to the result differentiable?"):
        grad_check(lambda a, b: a * b.detach(), tensor([1.0]), tensor([2.0]))


@pytest.mark.parametrize("dtype", [float32, int64])
def test_grad_check_wants_float64(dtype):
    with raises(
        TypeError, f"grad_check expected inputs of float64, got {dtype.name} for input 1; its rounding errors exceed differences of 1e-6"
    ):
        grad_check(lambda a, b: a * b, tensor([1.0]), tensor([2], dtype=dtype))


def test_grad_check_notices_a_gradient_of_another_shape(monkeypatch):
    monkeypatch.setattr("minitorch.core.gradients.sum_to_shape", lambda gradient, shape: gradient)  # as a wrong Sum would leave it
    with raises(AssertionError, "input 0 of grad_check has shape (3,) and a gradient of shape (2, 3); they must be the same"):
        grad_check(lambda a: a * tensor(np.ones((2, 3))), tensor([1.0, 2.0, 3.0]))


def test_grad_central_difference_probes_one_entry():
    x, y = tensor([1.0, 2.0]), tensor([[3.0], [5.0]])
    found = [grad_central_difference(lambda a, b: a * b * b, x, y, arg=1, ind=(i, 0)) for i in range(2)]
    np.testing.assert_allclose(found, [18.0, 30.0], rtol=1e-6)  # 2b · (1 + 2)
    assert abs(grad_central_difference(lambda a: a * a * a, x, ind=[1], epsilon=0.1) - 12.01) < 1e-9  # its error is epsilon²
    assert (x.tolist(), y.tolist()) == ([1.0, 2.0], [[3.0], [5.0]])
