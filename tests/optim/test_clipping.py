"""Gradients kept within bounds: by hand, and as PyTorch does it where it is installed."""

import math

import numpy as np
import pytest

import minitorch.torch as torch_names
from minitorch import Parameter, Scalar, SimpleBackend, tensor
from minitorch.optim import clip_grad_norm_, clip_grad_value_, get_total_norm
from tests.errors import raises
from tests.nn.checks import refuses


def with_gradient(gradient, backend=SimpleBackend, dtype=None):
    p = Parameter(tensor(np.zeros(np.shape(gradient)), backend, dtype=dtype))
    p.value.grad = tensor(gradient, backend, dtype=dtype)
    return p


def scalar(derivative):
    p = Parameter(Scalar(0.0))
    p.value.derivative = derivative
    return p


def test_gradients_that_are_too_long_together_become_shorter_by_one_factor(backend):
    p, q, r = with_gradient([[3.0, 0.0]], backend), with_gradient([-4.0], backend), Parameter(tensor([1.0], backend))
    assert clip_grad_norm_([p, q, r], 1.0).item() == 5.0
    np.testing.assert_allclose(p.value.grad.to_numpy(), [[0.6, 0.0]], rtol=1e-6)
    np.testing.assert_allclose(q.value.grad.to_numpy(), [-0.8], rtol=1e-6)
    assert r.value.grad is None


@pytest.mark.parametrize(("norm_type", "norm"), [(1, 7.0), (2.0, 5.0), (3, 91.0 ** (1 / 3)), (0.5, (3**0.5 + 2) ** 2), (math.inf, 4.0)])
def test_the_norm_is_one_of_many(norm_type, norm):
    p, q = with_gradient([3.0, 0.0]), with_gradient([-4.0])
    assert clip_grad_norm_([p, q], 1e9, norm_type).item() == pytest.approx(norm, rel=1e-12)
    clip_grad_norm_([p, q], 1.0, norm_type)
    assert clip_grad_norm_([p, q], 1.0, norm_type).item() == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize(
    ("gradient", "bound", "norm"), [([3.0, 4.0], 5.1, 5.0), ([3.0, -4.0], math.inf, 5.0), ([3.0, math.inf], math.inf, math.inf)]
)
def test_gradients_that_are_short_enough_stay(gradient, bound, norm):
    p = with_gradient(gradient)
    assert (clip_grad_norm_([p], bound).item(), p.value.grad.tolist()) == (norm, gradient)


def test_scalars_are_clipped_alike():
    p, q, r = scalar(3.0), scalar(-4.0), Parameter(5)
    assert clip_grad_norm_((each for each in [p, q, r]), 1.0) == 5.0
    assert (p.value.derivative, q.value.derivative) == pytest.approx((0.6, -0.8), rel=1e-6)
    clip_grad_value_([p, q, r], 0.7)
    assert (p.value.derivative, q.value.derivative) == pytest.approx((0.6, -0.7), rel=1e-6)


def test_a_parameter_that_comes_twice_counts_once():
    p = with_gradient([3.0, 4.0])
    assert clip_grad_norm_([p, p], 2.5).item() == 5.0
    np.testing.assert_allclose(p.value.grad.to_numpy(), [1.5, 2.0], rtol=1e-6)


def test_one_parameter_and_none():
    assert clip_grad_norm_(with_gradient([3.0]), 1.0).item() == 3.0
    assert clip_grad_norm_([Parameter(tensor([1.0]))], 1.0).item() == 0.0
    assert clip_grad_norm_([], 1.0).item() == 0.0
    assert clip_grad_norm_([with_gradient(np.zeros((0, 2)))], 1.0).item() == 0.0


def test_a_norm_that_is_not_finite_can_be_an_error():
    for wrong, norm in (([math.inf, 1.0], "inf"), ([math.nan, 1.0], "nan")):
        p = with_gradient(wrong)
        message = f"clip_grad_norm_ expected a finite norm, got {norm}; find out which gradient is infinite or NaN, or pass "
        with raises(RuntimeError, message + "error_if_nonfinite=False"):
            clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
        np.testing.assert_array_equal(p.value.grad.to_numpy(), wrong)
    for wrong, other in ((math.inf, 0.0), (math.nan, math.nan)):
        p, q = with_gradient([wrong, 1.0]), with_gradient([2.0])
        assert not math.isfinite(clip_grad_norm_([p, q], 1.0).item())
        np.testing.assert_array_equal(p.value.grad.to_numpy(), [math.nan, other])
        np.testing.assert_array_equal(q.value.grad.to_numpy(), [other])


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0, math.inf])
def test_gradients_become_pytorchs(norm_type):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    gradients = [np.random.default_rng(n).standard_normal((3, n)) for n in (1, 4)]
    ours, theirs = [with_gradient(each) for each in gradients], [torch.zeros(each.shape, dtype=torch.float64) for each in gradients]
    for most in (100.0, 1.5, 0.0):
        for p, q, gradient in zip(ours, theirs, gradients, strict=True):
            p.value.grad, q.grad = tensor(gradient), torch.tensor(gradient)
        norms = get_total_norm([p.value.grad for p in ours], norm_type), torch.nn.utils.get_total_norm([q.grad for q in theirs], norm_type)
        assert norms[0].item() == pytest.approx(norms[1].item(), rel=1e-12)
        expected = torch.nn.utils.clip_grad_norm_(theirs, most, norm_type).item()
        assert clip_grad_norm_(ours, most, norm_type).item() == pytest.approx(expected, rel=1e-12)
        for p, q in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(p.value.grad.to_numpy(), q.grad.numpy(), rtol=1e-12)


def test_wrong_bounds_are_refused():
    p = with_gradient([1.0])
    refuses(ValueError, "… expected max_norm >= 0, got -1.0; try 1.0", clip_grad_norm_, [p], -1.0)
    for error, wrong in ((ValueError, 0), (TypeError, "2")):
        refuses(error, f"… expected norm_type above 0, or math.inf, got {wrong!r}; try 2.0", clip_grad_norm_, [p], 1.0, norm_type=wrong)
    refuses(TypeError, "… expected clip_value >= 0, got None; try 1.0", clip_grad_value_, [p], None)
    for clip in (clip_grad_norm_, clip_grad_value_):
        for wrong in ([3], 3):
            refuses(TypeError, "… expected Parameters, got int; pass module.parameters()", clip, wrong, 1.0)


def test_the_norm_is_a_tensor_of_the_gradients_class_dtype_and_device(backend):
    p = with_gradient([3.0, 4.0], backend, "float32")
    for norm in (clip_grad_norm_(p, math.inf), get_total_norm([p.value.grad])):
        assert (norm.shape, norm.dtype, norm.backend, norm.item()) == ((), "float32", backend, 5.0)
    x = torch_names.tensor([3.0, 4.0], requires_grad=True)
    (x * x).sum().backward()
    norm = clip_grad_norm_(x, torch_names.tensor(5.0))
    assert (type(norm), norm.item()) == (torch_names.Tensor, 10.0)
    assert x.grad.tolist() == pytest.approx([3.0, 4.0])
    assert torch_names.nn.utils.clip_grad_norm_ is clip_grad_norm_
