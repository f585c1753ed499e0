"""Convolution after the course: its kernels on any geometry, on one thread and several; nn.conv1d and nn.conv2d; errors."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minitorch import FastBackend, SimpleBackend, SimpleOps, Tensor, TensorBackend, from_numpy, zeros
from minitorch.core import kernel
from minitorch.fast_conv import Conv1dFun, Conv2dFun
from minitorch.kernels import conv_matmul as conv_products
from minitorch.nn import convolution
from minitorch.nn.convolution import conv1d, conv2d
from minitorch.nn.transposed import conv_transpose1d
from tests.marks import needs_compiler

QUICK = settings(max_examples=80, deadline=None, database=None)


def windows(image: np.ndarray, taps: Any, stride: Any, padding: Any, dilation: Any) -> np.ndarray:
    """The elements under each tap: shape (B, C, taps down, taps across, H, W) of the result."""
    padded = np.pad(image, [(0, 0), (0, 0), *((p, p) for p in padding)])
    sizes = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(padded.shape[2:], taps, stride, dilation, strict=True)]
    rows, columns = (d * np.arange(k).reshape(-1, 1) + s * np.arange(n) for n, k, s, d in zip(sizes, taps, stride, dilation, strict=True))
    return padded[:, :, rows[:, None, :, None], columns[None, :, None, :]]


def numpy_convolution(image: np.ndarray, weight: np.ndarray, stride: Any, padding: Any, dilation: Any, groups: int) -> np.ndarray:
    """The convolution of arrays, group by group."""
    met = windows(image, weight.shape[2:], stride, padding, dilation)
    parts = zip(np.split(met, groups, 1), np.split(weight, groups), strict=True)
    return np.concatenate([np.einsum("bcklhw,ockl->bohw", a, b) for a, b in parts], 1)


def integers(*shape: int, seed: int = 0) -> np.ndarray:
    """Small integers, so that sums are exact."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(float)


def in_layout(array: np.ndarray, order: Any, backend: TensorBackend = FastBackend) -> Tensor:
    """A leaf with an array's elements, with its dimensions in this order in memory."""
    made = from_numpy(np.ascontiguousarray(array.transpose(order)), backend=backend).requires_grad_()
    return made.permute(*np.argsort(order).tolist())


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, ...]:
    """Images, weights and settings that fit together."""
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    batch, inner, outer = (draw(st.integers(1, 3)) for _ in range(3))
    taps, stride, dilation = ([draw(st.integers(1, 3)) for _ in range(2)] for _ in range(3))
    padding = [draw(st.integers(0, 3)) for _ in range(2)]
    least = [max(1, d * (k - 1) + 1 - 2 * p) for d, k, p in zip(dilation, taps, padding, strict=True)]
    size = [n + draw(st.integers(0, 8)) for n in least]
    image, weight = integers(batch, inner * groups, *size), integers(outer * groups, inner, *taps, seed=1)
    return image, weight, tuple(stride), tuple(padding), tuple(dilation), groups


def make_case(
    image: Any, weight: Any, stride: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1
) -> tuple[Any, ...]:
    """A case of the given shapes."""
    return integers(*image), integers(*weight, seed=1), stride, padding, dilation, groups


LARGE = [
    make_case((2, 3, 40, 21), (5, 3, 3, 3), padding=(1, 1)),  # more columns than one chunk has
    make_case((3, 20, 6, 7), (4, 20, 2, 2)),  # more taps than are added at a time
    make_case((1, 2, 33, 400), (3, 2, 3, 5), (2, 3), (1, 2)),
    make_case((40, 3, 3, 4), (5, 3, 2, 2)),  # small images, processed together
    make_case((9, 4, 5, 5), (6, 2, 3, 3), (2, 2), (1, 1), groups=2),
    make_case((2, 6, 9, 9), (6, 1, 3, 3), padding=(2, 2), dilation=(2, 2), groups=6),
    make_case((2, 2, 7, 7), (3, 2, 1, 1), (3, 3)),  # strides larger than the kernel: parts of the input are unused
    make_case((2, 1, 2, 2), (2, 1, 5, 5), padding=(4, 4)),  # kernels larger than the images
]


def check(given_case: tuple[Any, ...], orders: Any = ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))) -> None:
    """Check that result and gradients equal the products written out."""
    image, weight, stride, padding, dilation, groups = given_case
    bias = integers(len(weight), seed=2)
    x, w, b = in_layout(image, orders[0]), in_layout(weight, orders[1]), from_numpy(bias, backend=FastBackend).requires_grad_()
    out = conv2d(x, w, b, stride, padding, dilation, groups)
    expected = numpy_convolution(image, weight, stride, padding, dilation, groups) + bias.reshape(-1, 1, 1)
    np.testing.assert_array_equal(out.to_numpy(), expected)
    factors = integers(*expected.shape, seed=3)
    grads: dict[str, np.ndarray] = {}
    for name, leaf in (("x", x), ("w", w)):
        leaf.register_hook(lambda grad, name=name: grads.update({name: grad.to_numpy()}))
    out.backward(in_layout(factors, orders[2]).detach())
    assert b.grad is not None
    np.testing.assert_array_equal(b.grad.to_numpy(), factors.sum((0, 2, 3)))
    met = windows(image, weight.shape[2:], stride, padding, dilation)
    pairs = zip(np.split(met, groups, 1), np.split(factors, groups, 1), strict=True)
    np.testing.assert_array_equal(grads["w"], np.concatenate([np.einsum("bcklhw,bohw->ockl", a, f) for a, f in pairs]))
    # an image of element numbers shows to which window and tap each element went; 0 is the padding
    places = windows(1 + np.arange(image.size).reshape(image.shape), weight.shape[2:], stride, padding, dilation)
    pairs = zip(np.split(weight, groups), np.split(factors, groups, 1), strict=True)
    sent = np.concatenate([np.einsum("ockl,bohw->bcklhw", a, f) for a, f in pairs], 1)
    sums = np.bincount(places.reshape(-1), sent.reshape(-1), image.size + 1)[1:]
    np.testing.assert_array_equal(grads["x"], sums.reshape(image.shape))


@needs_compiler
@pytest.mark.parametrize(("channels", "size", "taps", "times"), [(57, 8, 3, 1), (56, 8, 3, 0), (57, 9, 3, 0), (64, 8, 1, 1), (63, 8, 1, 0)])
def test_a_narrow_result_of_a_long_window_is_one_product(
    monkeypatch: pytest.MonkeyPatch, channels: int, size: int, taps: int, times: int
) -> None:
    calls = []
    whole = convolution.conv_matmul
    monkeypatch.setattr(convolution, "conv_matmul", lambda *args: calls.append(args) or whole(*args))
    image, weight = integers(2, channels, size, size), integers(3, channels, taps, taps, seed=1)
    bias = integers(3, seed=2)
    out = conv2d(*(from_numpy(array, backend=FastBackend) for array in (image, weight, bias)), padding=taps // 2)
    expected = numpy_convolution(image, weight, (1, 1), (taps // 2,) * 2, (1, 1), 1) + bias.reshape(3, 1, 1)
    np.testing.assert_array_equal(out.to_numpy(), expected)
    assert len(calls) == times


def test_same_padding_in_one_product_puts_the_odd_zero_at_the_end() -> None:
    image, weight = integers(1, 128, 4, 4), integers(2, 128, 2, 2, seed=1)
    out = conv2d(from_numpy(image, backend=FastBackend), from_numpy(weight, backend=FastBackend), padding="same")
    behind = np.pad(image, ((0, 0), (0, 0), (0, 1), (0, 1)))
    np.testing.assert_array_equal(out.to_numpy(), numpy_convolution(behind, weight, (1, 1), (0, 0), (1, 1), 1))


def test_float32_stays_float32_with_full_precision() -> None:
    random = np.random.default_rng(0)
    image, weight = random.standard_normal((3, 4, 9, 10)), random.standard_normal((5, 4, 3, 3))
    x, w = (from_numpy(array.astype(np.float32), backend=FastBackend).requires_grad_() for array in (image, weight))
    out = conv2d(x, w, padding=1)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out.to_numpy(), numpy_convolution(image, weight, (1, 1), (1, 1), (1, 1), 1), rtol=1e-5, atol=1e-5)
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == np.float32


@pytest.mark.parametrize("function", [Conv2dFun.apply, conv2d], ids=["published", "nn"])
def test_dtypes_promote_and_gradients_have_the_dtype_of_their_tensor(function: Any) -> None:
    x = from_numpy(integers(1, 1, 3, 3).astype(np.float32)).requires_grad_()
    w = from_numpy(integers(1, 1, 2, 2)).requires_grad_()
    out = function(x, w)
    assert out.dtype == np.float64
    out.sum().backward()
    assert x.grad is not None
    assert w.grad is not None
    assert (x.grad.dtype, w.grad.dtype) == (np.float32, np.float64)
    assert function(from_numpy(np.ones((1, 1, 3, 3), np.int64)), w.detach()).dtype == np.float64


@pytest.mark.parametrize("backend", [SimpleBackend, FastBackend], ids=lambda backend: backend.name)
def test_both_kinds_of_conv1d_equal_results_by_hand(backend: TensorBackend) -> None:
    """0 1 2 3 by 1 2 3: the course's convolution gives 8 14 8 3; PyTorch's only windows that fit, 8 14; stride 2 and zeros: 3 14 3."""
    x, w = (from_numpy(np.array([[values]], float), backend=backend) for values in ([0, 1, 2, 3], [1, 2, 3]))
    bias = from_numpy(np.array([100.0]), backend=backend)
    assert Conv1dFun.apply(x, w).to_numpy().tolist() == [[[8, 14, 8, 3]]]
    assert conv1d(x, w).to_numpy().tolist() == [[[8, 14]]]
    assert conv1d(x, w, bias).to_numpy().tolist() == [[[108, 114]]]
    assert conv1d(x, w, padding="same").to_numpy().tolist() == [[[3, 8, 14, 8]]]
    assert conv1d(x, w, stride=2, padding=2).to_numpy().tolist() == [[[0, 8, 8]]]
    assert conv1d(x, w[:, :, :2], dilation=3).to_numpy().tolist() == [[[6]]]
    assert conv1d(x, w[:, :, :2], padding="same").to_numpy().tolist() == [
        [[2, 5, 8, 3]]
    ]  # of an odd number of zeros, one more is on the right


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_non_finite_values_affect_only_their_windows(value: float) -> None:
    """Also if a window extends past the end of a row, next to the start of the following row."""
    image = integers(1, 1, 4, 5)
    image[0, 0, 2, 0] = value
    for taps in ((1, 2), (1, 3), (3, 3), (2, 1)):
        out = Conv2dFun.apply(from_numpy(image), from_numpy(np.ones((1, 1, *taps)))).to_numpy()
        met = np.zeros((4, 5), bool)
        met[max(0, 3 - taps[0]) : 3, 0] = True
        np.testing.assert_array_equal(np.isfinite(out[0, 0]), ~met)
        if not math.isnan(value):
            assert (out[0, 0][met] == value).all()


@needs_compiler
@pytest.mark.parametrize("shape", [(0, 2, 4, 4), (2, 0, 4, 4)], ids=str)
def test_gradients_are_zeros_without_images_or_channels(shape: tuple[int, ...]) -> None:
    x, w = zeros(shape, FastBackend, requires_grad=True), zeros((3, shape[1], 2, 2), FastBackend, requires_grad=True)
    for function in (Conv2dFun.apply, conv2d):
        function(x, w).sum().backward()
        for leaf in (x, w):
            assert leaf.grad is not None
            assert not leaf.grad.to_numpy().any()


@needs_compiler
def test_only_gradients_that_are_needed_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("correlate", "accumulate_weight_gradient"):
        kernel = getattr(conv_products, name)
        monkeypatch.setattr(conv_products, name, lambda *args, name=name, kernel=kernel: (calls.append(name), kernel(*args)))
    x, w = from_numpy(integers(1, 1, 6, 6)), from_numpy(integers(1, 1, 2, 2)).requires_grad_()
    Conv2dFun.apply(x, w).sum().backward()
    assert calls == ["correlate", "accumulate_weight_gradient"]
    calls.clear()
    Conv2dFun.apply(x.requires_grad_(), w.detach()).sum().backward()
    assert calls == ["correlate", "correlate"]


# Errors


class FarOps(SimpleOps):
    name = "far"
    cuda = True


def far(*shape: int) -> Tensor:
    return zeros(shape, TensorBackend(FarOps))


def message(call: Any, error: type[Exception] = ValueError) -> str:
    with pytest.raises(error) as raised:
        call()
    return str(raised.value)


@pytest.mark.parametrize("function", [Conv1dFun.apply, conv1d], ids=["published", "nn"])
def test_a_wrong_number_of_dimensions_is_refused(function: Any) -> None:
    assert message(lambda: function(zeros((2, 5)), zeros((3, 2, 2)))) == (
        "conv1d expected an input of shape (B, C, W) and a weight of shape (O, C, K), got (2, 5) and (3, 2, 2); "
        "view puts in a dimension of size 1"
    )


@pytest.mark.parametrize("function", [Conv2dFun.apply, conv2d], ids=["published", "nn"])
def test_images_have_four_dimensions(function: Any) -> None:
    assert message(lambda: function(zeros((2, 5, 5)), zeros((3, 2, 2, 2)))) == (
        "conv2d expected an input of shape (B, C, H, W) and a weight of shape (O, C, KH, KW), got (2, 5, 5) and (3, 2, 2, 2); "
        "view puts in a dimension of size 1"
    )


def test_a_wrong_number_of_channels_is_refused() -> None:
    assert message(lambda: Conv2dFun.apply(zeros((1, 2, 5, 5)), zeros((4, 3, 2, 2)))) == (
        "conv2d expected input with 3 channels (weight (4, 3, 2, 2)), got 2 (input (1, 2, 5, 5)); "
        "pass input of shape (B, 3, H, W) or weight of shape (O, 2, KH, KW)"
    )
    assert message(lambda: conv2d(zeros((1, 2, 5, 5)), zeros((4, 3, 2, 2)), groups=3)) == (
        "conv2d expected input with 9 channels and a multiple of 3 output channels (weight (4, 3, 2, 2), groups 3), "
        "got 2 channels (input (1, 2, 5, 5)) and 4; a weight for groups=3 has shape (O, C / groups, KH, KW)"
    )


@pytest.mark.parametrize("function", [Conv1dFun.apply, conv1d], ids=["published", "nn"])
def test_a_gpu_without_a_convolution_is_refused(function: Any) -> None:
    expected = 'conv1d expected tensors on the CPU, got them on far; move them: x.to("cpu")'
    assert message(lambda: function(far(1, 1, 3), far(1, 1, 2)), RuntimeError) == expected


@pytest.fixture
def textbook_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library without the optimized convolutions: none of their functions may run."""
    optimized = {key: value for key, value in kernel._optimized.items() if key[0] not in ("conv1d", "conv2d")}
    monkeypatch.setattr(kernel, "_optimized", optimized)
    for name in ("correlate", "accumulate_weight_gradient"):
        monkeypatch.setattr(convolution, name, None)


@pytest.mark.usefixtures("textbook_kernels")
@pytest.mark.parametrize(
    "case",
    [
        make_case((2, 3, 7, 5), (4, 3, 3, 2)),
        make_case((2, 1, 9, 8), (3, 1, 3, 2), (2, 3), (2, 1), (1, 2)),
        make_case((3, 6, 5, 5), (6, 2, 3, 3), (2, 2), (1, 1), groups=3),
        make_case((2, 1, 2, 2), (2, 1, 5, 5), padding=(4, 4), dilation=(1, 1)),
        make_case((2, 2, 7, 7), (3, 2, 1, 1), (3, 3)),
    ],
)
def test_without_optimized_kernels_the_course_s_convolution_computes_everything(case: tuple[Any, ...]) -> None:
    check(case)


@pytest.mark.usefixtures("textbook_kernels")
def test_sequences_are_convolved_by_the_course_s_convolution_as_well() -> None:
    x, w = from_numpy(np.array([[[1.0, 2, 3, 4]]])).requires_grad_(), from_numpy(np.array([[[1.0, 10]]])).requires_grad_()
    out = conv1d(x, w, from_numpy(np.array([0.5])), stride=2, padding=1, dilation=2)
    assert out.to_numpy().tolist() == [[[20.5, 42.5]]]
    out.sum().backward()
    assert x.grad is not None
    assert w.grad is not None
    assert (x.grad.to_numpy().tolist(), w.grad.to_numpy().tolist()) == ([[[0, 11, 0, 10]]], [[[2, 6]]])


@pytest.mark.usefixtures("textbook_kernels")
def test_a_transposed_convolution_needs_no_optimized_kernel() -> None:
    x, w = from_numpy(np.array([[[1.0, 2]]])).requires_grad_(), from_numpy(np.array([[[1.0, 10, 100]]])).requires_grad_()
    out = conv_transpose1d(x, w, stride=2)
    assert out.to_numpy().tolist() == [[[1, 10, 102, 20, 200]]]
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.to_numpy().tolist() == [[[111, 111]]]


def test_a_device_may_register_its_own_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(kernel, "_optimized", dict(kernel._optimized))
    kernel.register_kernel("conv1d", "far", lambda out, x, w, reverse: asked.append((x.shape, w.shape, reverse)))
    backend = TensorBackend(FarOps)
    x, w = zeros((2, 1, 3), backend, requires_grad=True), zeros((4, 1, 2), backend, requires_grad=True)
    out = Conv1dFun.apply(x, w)
    assert out.shape == (2, 4, 3)
    out.backward(out.detach())
    assert asked == [((2, 1, 3), (4, 1, 2), False), ((2, 4, 3), (1, 4, 2), True), ((1, 2, 3), (4, 2, 3), False)]


@pytest.mark.parametrize(
    ("settings", "error", "expected"),
    [
        ({"bias": zeros((4,))}, ValueError, "conv2d expected a bias of shape (3,), one element per output channel, got (4,)"),
        ({"stride": 0}, ValueError, "conv2d expected stride of at least 1, got 0"),
        ({"stride": (1, 2, 3)}, ValueError, "conv2d expected stride as an integer or two, got (1, 2, 3)"),
        ({"dilation": 1.5}, TypeError, "conv2d expected dilation as an integer or two, got 1.5"),
        ({"padding": -1}, ValueError, "conv2d expected padding of at least 0, got -1"),
        ({"padding": "full"}, ValueError, 'conv2d expected padding as a number, "same" or "valid", got \'full\''),
        (
            {"padding": "same", "stride": 2},
            ValueError,
            'conv2d expected a stride of 1 with padding="same", got (2, 2); give padding as a number',
        ),
        (
            {"dilation": 5, "padding": 2},
            ValueError,
            "conv2d expected an input no smaller than its windows of 11, got 5 and 4 zeros around it "
            "(input (1, 2, 5, 5), weight (3, 2, 3, 3)); pass more padding",
        ),
    ],
)
def test_invalid_settings_are_named(settings: dict[str, Any], error: type[Exception], expected: str) -> None:
    assert message(lambda: conv2d(zeros((1, 2, 5, 5)), zeros((3, 2, 3, 3)), **settings), error) == expected


def test_a_kernel_without_taps_is_refused() -> None:
    expected = "conv1d expected a kernel of at least one tap, got weight (3, 2, 0)"
    assert message(lambda: conv1d(zeros((1, 2, 5)), zeros((3, 2, 0)))) == expected


# Against PyTorch


@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed; pip install -r requirements.torch.txt")
@QUICK
@given(cases(), st.booleans())
@example(LARGE[0], True)
def test_conv2d_and_its_gradients_agree_with_pytorch(one: Any, biased: bool) -> None:
    import torch

    image, weight, *settings = one
    bias = integers(len(weight), seed=2) if biased else None
    ours = [None if array is None else from_numpy(array, backend=FastBackend).requires_grad_() for array in (image, weight, bias)]
    theirs = [None if array is None else torch.tensor(array, requires_grad=True) for array in (image, weight, bias)]
    out, expected = conv2d(*ours, *settings), torch.nn.functional.conv2d(*theirs, *settings)
    np.testing.assert_array_equal(out.to_numpy(), expected.detach().numpy())
    factors = integers(*out.shape, seed=3)
    out.backward(from_numpy(factors, backend=FastBackend))
    expected.backward(torch.from_numpy(factors))
    for x, y in zip(ours, theirs, strict=True):
        if x is not None:
            np.testing.assert_array_equal(x.grad.to_numpy(), y.grad.numpy())
