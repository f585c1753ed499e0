"""Convolution after the course: its kernels on any geometry, on one thread and several; nn.conv1d and nn.conv2d; volumes; layers;
errors."""

import math

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import minitorch.torch as torch
from minitorch import (
    FastBackend,
    SimpleBackend,
    SimpleOps,
    TensorBackend,
    float32,
    float64,
    from_numpy,
    grad_check,
    manual_seed,
    nn,
    tensor,
    zeros,
)
from minitorch.core import kernel
from minitorch.fast_conv import Conv1dFun, Conv2dFun
from minitorch.kernels import conv_matmul as conv_products
from minitorch.nn import convolution
from minitorch.nn.convolution import conv1d, conv2d
from minitorch.nn.transposed import conv_transpose1d, conv_transpose2d
from minitorch.nn.volumes import conv3d
from tests.errors import raises
from tests.marks import needs_compiler

QUICK = settings(max_examples=80, deadline=None, database=None)


def windows(image, taps, stride, padding, dilation):
    """The elements under each tap: shape (B, C, taps down, taps across, H, W) of the result."""
    padded = np.pad(image, [(0, 0), (0, 0), *((p, p) for p in padding)])
    sizes = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(padded.shape[2:], taps, stride, dilation, strict=True)]
    rows, columns = (d * np.arange(k).reshape(-1, 1) + s * np.arange(n) for n, k, s, d in zip(sizes, taps, stride, dilation, strict=True))
    return padded[:, :, rows[:, None, :, None], columns[None, :, None, :]]


def numpy_convolution(image, weight, stride, padding, dilation, groups):
    """The convolution of arrays, group by group."""
    met = windows(image, weight.shape[2:], stride, padding, dilation)
    parts = zip(np.split(met, groups, 1), np.split(weight, groups), strict=True)
    return np.concatenate([np.einsum("bcklhw,ockl->bohw", a, b) for a, b in parts], 1)


def integers(*shape, seed=0):
    """Small integers, so that sums are exact."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(float)


def in_layout(array, order, backend=FastBackend):
    """A leaf with an array's elements, with its dimensions in this order in memory."""
    made = from_numpy(np.ascontiguousarray(array.transpose(order)), backend=backend).requires_grad_()
    return made.permute(*np.argsort(order).tolist())


@st.composite
def cases(draw):
    """Images, weights and settings that fit together."""
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    batch, inner, outer = (draw(st.integers(1, 3)) for _ in range(3))
    taps, stride, dilation = ([draw(st.integers(1, 3)) for _ in range(2)] for _ in range(3))
    padding = [draw(st.integers(0, 3)) for _ in range(2)]
    least = [max(1, d * (k - 1) + 1 - 2 * p) for d, k, p in zip(dilation, taps, padding, strict=True)]
    size = [n + draw(st.integers(0, 8)) for n in least]
    image, weight = integers(batch, inner * groups, *size), integers(outer * groups, inner, *taps, seed=1)
    return image, weight, tuple(stride), tuple(padding), tuple(dilation), groups


def make_case(image, weight, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
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


def check(given_case, orders=((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))):
    """Check that result and gradients equal the products written out."""
    image, weight, stride, padding, dilation, groups = given_case
    bias = integers(len(weight), seed=2)
    x, w, b = in_layout(image, orders[0]), in_layout(weight, orders[1]), from_numpy(bias, backend=FastBackend).requires_grad_()
    out = conv2d(x, w, b, stride, padding, dilation, groups)
    expected = numpy_convolution(image, weight, stride, padding, dilation, groups) + bias.reshape(-1, 1, 1)
    np.testing.assert_array_equal(out.to_numpy(), expected)
    factors = integers(*expected.shape, seed=3)
    grads = {}
    for name, leaf in (("x", x), ("w", w)):
        leaf.register_hook(lambda grad, name=name: grads.update({name: grad.to_numpy()}))
    out.backward(in_layout(factors, orders[2]).detach())
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
def test_a_narrow_result_of_a_long_window_is_one_product(monkeypatch, channels, size, taps, times):
    calls = []
    whole = convolution.conv_matmul
    monkeypatch.setattr(convolution, "conv_matmul", lambda *args: calls.append(args) or whole(*args))
    image, weight = integers(2, channels, size, size), integers(3, channels, taps, taps, seed=1)
    bias = integers(3, seed=2)
    out = conv2d(*(from_numpy(array, backend=FastBackend) for array in (image, weight, bias)), padding=taps // 2)
    expected = numpy_convolution(image, weight, (1, 1), (taps // 2,) * 2, (1, 1), 1) + bias.reshape(3, 1, 1)
    np.testing.assert_array_equal(out.to_numpy(), expected)
    assert len(calls) == times


def test_same_padding_in_one_product_puts_the_odd_zero_at_the_end():
    image, weight = integers(1, 128, 4, 4), integers(2, 128, 2, 2, seed=1)
    out = conv2d(from_numpy(image, backend=FastBackend), from_numpy(weight, backend=FastBackend), padding="same")
    behind = np.pad(image, ((0, 0), (0, 0), (0, 1), (0, 1)))
    np.testing.assert_array_equal(out.to_numpy(), numpy_convolution(behind, weight, (1, 1), (0, 0), (1, 1), 1))


def test_float32_stays_float32_with_full_precision():
    random = np.random.default_rng(0)
    image, weight = random.standard_normal((3, 4, 9, 10)), random.standard_normal((5, 4, 3, 3))
    x, w = (from_numpy(array.astype(np.float32), backend=FastBackend).requires_grad_() for array in (image, weight))
    out = conv2d(x, w, padding=1)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out.to_numpy(), numpy_convolution(image, weight, (1, 1), (1, 1), (1, 1), 1), rtol=1e-5, atol=1e-5)
    out.sum().backward()
    assert x.grad.dtype == np.float32


def test_dtypes_promote_in_the_course_s_convolution_and_gradients_have_the_dtype_of_their_tensor():
    x = from_numpy(integers(1, 1, 3, 3).astype(np.float32)).requires_grad_()
    w = from_numpy(integers(1, 1, 2, 2)).requires_grad_()
    out = Conv2dFun.apply(x, w)
    assert out.dtype == np.float64
    out.sum().backward()
    assert (x.grad.dtype, w.grad.dtype) == (np.float32, np.float64)
    assert Conv2dFun.apply(from_numpy(np.ones((1, 1, 3, 3), np.int64)), w.detach()).dtype == np.float64


def test_the_layers_convolution_expects_one_dtype():
    x, w = from_numpy(np.ones((1, 1, 3, 3), np.float32)), from_numpy(np.ones((1, 1, 2, 2)))
    with raises(TypeError, "conv2d expected tensors of one dtype, got float32 and float64; convert one of them: x.to(y.dtype)"):
        conv2d(x, w)
    whole = (from_numpy(np.ones(shape, np.int64)) for shape in ((1, 1, 3, 3), (1, 1, 2, 2)))
    out = conv2d(*whole)
    assert (out.dtype, out.tolist()) == (np.int64, [[[[4, 4], [4, 4]]]])


def test_both_kinds_of_conv1d_equal_results_by_hand(backend):
    """0 1 2 3 by 1 2 3: the course's convolution gives 8 14 8 3; PyTorch's only windows that fit, 8 14; stride 2 and zeros: 3 14 3."""
    x, w = (from_numpy(np.array([[values]], float), backend=backend) for values in ([0, 1, 2, 3], [1, 2, 3]))
    bias = from_numpy(np.array([100.0]), backend=backend)
    assert Conv1dFun.apply(x, w).to_numpy().tolist() == [[[8, 14, 8, 3]]]
    assert conv1d(x, w).to_numpy().tolist() == [[[8, 14]]]
    assert conv1d(x, w, bias).to_numpy().tolist() == [[[108, 114]]]
    assert conv1d(x, w, padding="same").to_numpy().tolist() == [[[3, 8, 14, 8]]]
    assert conv1d(x, w, stride=2, padding=2).to_numpy().tolist() == [[[0, 8, 8]]]
    assert conv1d(x, w[:, :, :2], dilation=3).to_numpy().tolist() == [[[6]]]
    # of an odd number of zeros, one more is on the right
    assert conv1d(x, w[:, :, :2], padding="same").to_numpy().tolist() == [[[2, 5, 8, 3]]]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_non_finite_values_affect_only_their_windows(value):
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
def test_gradients_are_zeros_without_images_or_channels(shape):
    x, w = zeros(shape, FastBackend, requires_grad=True), zeros((3, shape[1], 2, 2), FastBackend, requires_grad=True)
    for function in (Conv2dFun.apply, conv2d):
        function(x, w).sum().backward()
        for leaf in (x, w):
            assert not leaf.grad.to_numpy().any()


@needs_compiler
def test_only_gradients_that_are_needed_are_computed(monkeypatch):
    calls = []
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


def far(*shape):
    return zeros(shape, TensorBackend(FarOps))


BOTH = [Conv1dFun.apply, conv1d, Conv2dFun.apply, conv2d]
DIMENSIONS = (
    "conv1d expected an input of shape (B, C, W) and a weight of shape (O, C, K), got (2, 5) and (3, 2, 2); "
    "view puts in a dimension of size 1",
    "conv2d expected an input of shape (B, C, H, W) and a weight of shape (O, C, KH, KW), got (2, 5, 5) and (3, 2, 2, 2); "
    "view puts in a dimension of size 1",
    "conv1d expected an input of shape (B, C, W) or (C, W) and a weight of shape (O, C, K), got (5,) and (3, 2, 2)",
    "conv2d expected an input of shape (B, C, H, W) or (C, H, W) and a weight of shape (O, C, KH, KW), got (2, 5, 5) and (3, 2, 2)",
)
CHANNELS = (
    "conv2d expected input with 3 channels (weight (4, 3, 2, 2)), got 2 (input (1, 2, 5, 5)); "
    "pass input of shape (B, 3, H, W) or weight of shape (O, 2, KH, KW)",
    "conv2d expected input with 9 channels and a multiple of 3 output channels (weight (4, 3, 2, 2), groups 3), "
    "got 2 channels (input (1, 2, 5, 5)) and 4; a weight for groups=3 has shape (O, C / groups, KH, KW)",
)
FAR = 'conv1d expected tensors on the CPU, got them on far; move them: x.to("cpu")'


@pytest.mark.parametrize(
    ("error", "call", "message"),
    [
        (ValueError, lambda: Conv1dFun.apply(zeros((2, 5)), zeros((3, 2, 2))), DIMENSIONS[0]),
        (ValueError, lambda: Conv2dFun.apply(zeros((2, 5, 5)), zeros((3, 2, 2, 2))), DIMENSIONS[1]),
        (ValueError, lambda: conv1d(zeros((5,)), zeros((3, 2, 2))), DIMENSIONS[2]),
        (ValueError, lambda: conv2d(zeros((2, 5, 5)), zeros((3, 2, 2))), DIMENSIONS[3]),
        (ValueError, lambda: Conv2dFun.apply(zeros((1, 2, 5, 5)), zeros((4, 3, 2, 2))), CHANNELS[0]),
        (ValueError, lambda: conv2d(zeros((1, 2, 5, 5)), zeros((4, 3, 2, 2)), groups=3), CHANNELS[1]),
        *[(RuntimeError, lambda f=f: f(far(1, 1, 3), far(1, 1, 2)), FAR) for f in BOTH[:2]],
        (
            ValueError,
            lambda: conv1d(zeros((1, 2, 5)), zeros((3, 2, 0))),
            "conv1d expected a kernel of at least one tap, got weight (3, 2, 0)",
        ),
    ],
)
def test_shapes_and_devices_that_do_not_fit_are_refused(error, call, message):
    with raises(error, message):
        call()


@pytest.fixture
def textbook_kernels(monkeypatch):
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
def test_without_optimized_kernels_the_course_s_convolution_computes_everything(case):
    check(case)


@pytest.mark.usefixtures("textbook_kernels")
@pytest.mark.parametrize(
    ("convolve", "x", "w", "out", "grad_x", "grad_w"),
    [
        (lambda x, w: conv1d(x, w, from_numpy(np.array([0.5])), 2, 1, 2), [1, 2, 3, 4], [1, 10], [20.5, 42.5], [0, 11, 0, 10], [2, 6]),
        (lambda x, w: conv_transpose1d(x, w, stride=2), [1, 2], [1, 10, 100], [1, 10, 102, 20, 200], [111, 111], [3, 3, 3]),
    ],
    ids=["convolution", "transposed convolution"],
)
def test_sequences_need_no_optimized_kernel(convolve, x, w, out, grad_x, grad_w):
    leaves = [from_numpy(np.array([[values]], float)).requires_grad_() for values in (x, w)]
    found = convolve(*leaves)
    assert found.to_numpy().tolist() == [[out]]
    found.sum().backward()
    assert [leaf.grad.to_numpy().tolist() for leaf in leaves] == [[[grad_x]], [[grad_w]]]


def test_a_device_may_register_its_own_convolution(monkeypatch):
    asked = []
    monkeypatch.setattr(kernel, "_optimized", dict(kernel._optimized))
    kernel.register_kernel("conv1d", "far", lambda out, x, w, reverse: asked.append((x.shape, w.shape, reverse)))
    backend = TensorBackend(FarOps)
    x, w = zeros((2, 1, 3), backend, requires_grad=True), zeros((4, 1, 2), backend, requires_grad=True)
    out = Conv1dFun.apply(x, w)
    assert out.shape == (2, 4, 3)
    out.backward(out.detach())
    assert asked == [((2, 1, 3), (4, 1, 2), False), ((2, 4, 3), (1, 4, 2), True), ((1, 2, 3), (4, 2, 3), False)]


WINDOWS = (
    "an input no smaller than its windows of 11, got 5 and 4 zeros around it (input (1, 2, 5, 5), weight (3, 2, 3, 3)); pass more padding"
)
STRIDE = 'a stride of 1 with padding="same", got (2, 2); give padding as a number'


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"bias": zeros((4,))}, ValueError, "a bias of shape (3,), one element per output channel, got (4,)"),
        ({"stride": 0}, ValueError, "stride of at least 1, got 0"),
        ({"stride": (1, 2, 3)}, ValueError, "stride as an integer or two, got (1, 2, 3)"),
        ({"dilation": 1.5}, TypeError, "dilation as an integer or two, got 1.5"),
        ({"padding": -1}, ValueError, "padding of at least 0, got -1"),
        ({"padding": "full"}, ValueError, 'padding as a number, "same" or "valid", got \'full\''),
        ({"padding": "same", "stride": 2}, ValueError, STRIDE),
        ({"dilation": 5, "padding": 2}, ValueError, WINDOWS),
    ],
)
def test_invalid_settings_are_named(settings, error, message):
    with raises(error, f"conv2d expected {message}"):
        conv2d(zeros((1, 2, 5, 5)), zeros((3, 2, 3, 3)), **settings)


def test_a_single_input_needs_no_batch():
    x, w = tensor([[1.0, 2.0]]), tensor([[[1.0, 10.0, 100.0]]])
    assert conv1d(x, w, padding=1).tolist() == [[210, 21]]
    assert conv2d(x.view(1, 1, 2), w.view(1, 1, 1, 3), padding=(0, 1)).tolist() == [[[210, 21]]]
    assert conv3d(x.view(1, 1, 1, 2), w.view(1, 1, 1, 1, 3), padding=(0, 0, 1)).tolist() == [[[[210, 21]]]]
    assert conv_transpose1d(x, w, stride=2).tolist() == [[1, 10, 102, 20, 200]]
    image = conv_transpose2d(x.view(1, 1, 2), w.view(1, 1, 1, 3), stride=2)
    assert image.tolist() == [[[1, 10, 102, 20, 200]]]


# Volumes

VOLUMES = np.random.default_rng(0).standard_normal((2, 4, 5, 6, 7))


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation", "groups"),
    [
        ((1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1), ((3, 2, 4), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1),
        ((2, 3, 2), (2, 1, 3), (2, 1, 0), (1, 2, 3), 2), ((5, 6, 7), (1, 1, 1), (0, 0, 0), (1, 1, 1), 4),
    ],
)  # fmt: skip
def test_a_convolution_of_volumes_equals_numpy(backend, kernel, stride, padding, dilation, groups):
    weight, bias = np.random.default_rng(1).standard_normal((8, 4 // groups, *kernel)), np.arange(8.0)
    padded = np.pad(VOLUMES, [(0, 0), (0, 0), *((p, p) for p in padding)])
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    steps, taps = (tuple(slice(None, None, step) for step in sizes) for sizes in (stride, dilation))
    met = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3, 4))[(slice(None), slice(None), *steps, *taps)]
    pairs = zip(np.split(met, groups, 1), np.split(weight, groups), strict=True)
    expected = np.concatenate([np.einsum("bcdhwxyz,ocxyz->bodhw", *pair) for pair in pairs], 1)
    x, w, b = (tensor(array, backend) for array in (VOLUMES, weight, bias))
    out = conv3d(x, w, b, stride, padding, dilation, groups)
    np.testing.assert_allclose(out.to_numpy(), expected + bias[:, None, None, None], rtol=1e-10, atol=1e-12)


def test_gradients_of_a_convolution_of_volumes_agree_with_finite_differences(backend):
    arrays = VOLUMES[:1, :2, :3, :3, :2], VOLUMES[:2, :2, :2, :2, :2], np.array([0.5, -0.5])
    x, w, b = (tensor(np.ascontiguousarray(array), backend) for array in arrays)
    grad_check(lambda x, w, b: conv3d(x, w, b, (2, 1, 1), (1, 0, 1)), x, w, b)


@pytest.mark.parametrize(("batch", "depth"), [(0, 2), (0, 3), (1, 2)])
def test_volumes_may_be_few(batch, depth):
    assert conv3d(zeros((batch, 4, depth, 3, 3)), zeros((2, 4, 2, 2, 2))).shape == (batch, 2, depth - 1, 2, 2)


ONES = zeros((1, 4, 3, 3, 3))


@pytest.mark.parametrize(
    ("x", "w", "message"),
    [
        (ONES[0, 0], zeros((1, 4, 1, 1, 1)), "got (3, 3, 3), (1, 4, 1, 1, 1) and 1 groups"),
        (ONES, zeros((1, 3, 1, 1, 1)), "got (1, 4, 3, 3, 3), (1, 3, 1, 1, 1) and 1 groups"),
    ],
)
def test_volumes_and_weights_that_do_not_fit_are_refused(x, w, message):
    expected = "conv3d expected input of shape (B, C, D, H, W) and weight of shape (O, C / groups, KD, KH, KW)"
    with raises(ValueError, f"{expected}, {message}"):
        conv3d(x, w)


def test_a_kernel_deeper_than_the_volume_or_without_taps_is_refused():
    with raises(ValueError, "conv3d expected a depth of at least 4 with its padding, got 3"):
        conv3d(ONES, zeros((1, 4, 4, 1, 1)))
    with raises(ValueError, "conv3d expected a kernel of at least one tap, got weight (1, 4, 0, 1, 1)"):
        conv3d(ONES, zeros((1, 4, 0, 1, 1)))


# Layers


@pytest.mark.parametrize(
    ("layer", "weight", "bias", "text"),
    [
        (nn.Conv1d(4, 6, 3), (6, 4, 3), (6,), "Conv1d(4, 6, kernel_size=(3,), stride=(1,))"),
        (nn.Conv1d(4, 6, 3, groups=2, bias=False), (6, 2, 3), None, "Conv1d(4, 6, kernel_size=(3,), stride=(1,), groups=2, bias=False)"),
        (nn.Conv2d(4, 6, (3, 2), 2), (6, 4, 3, 2), (6,), "Conv2d(4, 6, kernel_size=(3, 2), stride=(2, 2))"),
        (nn.Conv3d(4, 6, (3, 1, 2), padding=(1, 0, 0), groups=2), (6, 2, 3, 1, 2), (6,),
         "Conv3d(4, 6, kernel_size=(3, 1, 2), stride=(1, 1, 1), padding=(1, 0, 0), groups=2)"),
        (nn.Conv2d(1, 1, 2, padding="same", dilation=2, padding_mode="reflect"), (1, 1, 2, 2), (1,),
         "Conv2d(1, 1, kernel_size=(2, 2), stride=(1, 1), padding=same, dilation=(2, 2), padding_mode=reflect)"),
        (nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2), (4, 3, 3), (6,),
         "ConvTranspose1d(4, 6, kernel_size=(3,), stride=(2,), padding=(1,), output_padding=(1,), groups=2)"),
    ],
)  # fmt: skip
def test_layers_have_pytorchs_parameters_and_text(layer, weight, bias, text):
    assert layer.weight.shape == weight
    assert (layer.bias if bias is None else layer.bias.shape) == bias
    assert repr(layer) == text


@pytest.mark.parametrize(
    ("make", "fan_in"),
    [
        (lambda **place: nn.Conv1d(10, 200, 5, **place), 50),
        (lambda **place: nn.Conv2d(8, 100, 5, groups=2, **place), 100),
        (lambda **place: nn.ConvTranspose2d(50, 8, 5, **place), 200),
    ],
)
def test_initial_parameters_are_uniform_in_one_over_the_root_of_fan_in(make, fan_in):
    manual_seed(0)
    layer, bound = make(), fan_in**-0.5
    weight = layer.weight.to_numpy()
    assert 0.99 * bound < abs(weight).max() <= bound
    assert weight.mean() == pytest.approx(0, abs=0.05 * bound)
    assert weight.var() == pytest.approx(bound**2 / 3, rel=0.05)
    assert 0 < abs(layer.bias.to_numpy()).max() <= bound
    manual_seed(0)
    assert make().weight.tolist() == layer.weight.tolist()
    layer.reset_parameters()
    assert make().weight.tolist() != layer.weight.tolist()
    assert (layer.weight.dtype, layer.weight.backend) == (float32, FastBackend)
    other = make(device=SimpleBackend, dtype=float64)
    assert [(p.dtype, p.backend, p.is_leaf) for p in other.parameters()] == [(float64, SimpleBackend, True)] * 2


def with_weights(layer, weight, *bias):
    """A layer with given parameters."""
    for parameter, values in zip(layer.parameters(), (weight, *bias), strict=True):
        parameter.data = torch.tensor(values)
    return layer


def test_layers_pass_their_settings_on():
    layer = nn.Conv1d(2, 2, 2, stride=2, padding=1, dilation=2, groups=2)
    out = with_weights(layer, [[[1.0, 10.0]], [[100.0, 1000.0]]], [0.5, 0.25])(torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]))
    assert out.tolist() == [[[20.5, 42.5], [6000.25, 8600.25]]]  # 0 · 1 + 2 · 10, 2 · 1 + 4 · 10; then those of the second channel
    line = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]])
    layer = nn.Conv2d(1, 1, (1, 2), stride=(1, 2), padding=(0, 1), bias=False)
    assert with_weights(layer, [[[[1.0, 10.0]]]])(line).tolist() == [[[[10, 32, 4]]]]
    layer = nn.Conv2d(1, 1, (1, 2), padding="same", bias=False)
    assert with_weights(layer, [[[[1.0, 10.0]]]])(line).tolist() == [[[[21, 32, 43, 4]]]]
    layer = nn.Conv2d(1, 1, (1, 2), padding="same", bias=False, padding_mode="circular")
    assert with_weights(layer, [[[[1.0, 10.0]]]])(line).tolist() == [[[[21, 32, 43, 14]]]]
    layer = nn.Conv1d(1, 1, 1, padding=2, bias=False, padding_mode="reflect")
    assert with_weights(layer, [[[1.0]]])(line[0]).tolist() == [[[3, 2, 1, 2, 3, 4, 3, 2]]]


def test_the_output_size_of_a_transposed_convolution_replaces_output_padding():
    layer = with_weights(nn.ConvTranspose1d(1, 1, 3, stride=2, bias=False), [[[1.0, 10.0, 100.0]]])
    x = torch.tensor([[[1.0, 2.0]]])
    assert layer(x, output_size=[6]).tolist() == [[[1, 10, 102, 20, 200, 0]]]
    assert layer(x, output_size=(1, 1, 5)).tolist() == layer(x).tolist() == [[[1, 10, 102, 20, 200]]]
    for size in (4, 7):
        with raises(ValueError, f"ConvTranspose1d expected output_size from (5,) to (6,) for input of size (2,), got ({size},)"):
            layer(x, output_size=[size])
    with raises(ValueError, "ConvTranspose1d expected output_size of 1 or 3 numbers, got (5, 5)"):
        layer(x, output_size=(5, 5))


def test_layers_count_two_operations_for_a_tap():
    x = torch.zeros(1, 2, 4)
    for layer, taps in ((nn.Conv1d(2, 3, 3), 2 * 3 * 2 * 3), (nn.ConvTranspose1d(2, 3, 3), 2 * 4 * 3 * 3)):
        assert layer.flops((x,), layer(x)) == 2 * taps


@pytest.mark.parametrize(
    ("error", "call", "message"),
    [
        (ValueError, lambda: nn.Conv1d(1, 1, 0), "Conv1d expected kernel_size of at least 1, got 0"),
        (ValueError, lambda: nn.Conv2d(-1, 1, 3), "Conv2d expected in_channels and out_channels of at least 0, got -1, 1"),
        (ValueError, lambda: nn.Conv2d(1, 1, 3, groups=0), "Conv2d expected groups of at least 1, got 0"),
        (ValueError, lambda: nn.Conv2d(1, 1, (3, 0)), "Conv2d expected kernel_size of at least 1, got (3, 0)"),
        (ValueError, lambda: nn.Conv3d(4, 6, 3, groups=4), "Conv3d expected groups that divide 4 and 6 channels, got 4"),
        (ValueError, lambda: nn.Conv3d(1, 1, (1, 2)), "Conv3d expected kernel_size as an integer or three, got (1, 2)"),
        (ValueError, lambda: nn.Conv1d(1, 1, 2, stride=0), "Conv1d expected stride of at least 1, got 0"),
        (ValueError, lambda: nn.Conv2d(1, 1, 2, padding=-1), "Conv2d expected padding of at least 0, got -1"),
        (TypeError, lambda: nn.Conv2d(1, 1, 3, dilation=1.5), "Conv2d expected dilation as an integer or two, got 1.5"),
        (ValueError, lambda: nn.Conv2d(1, 1, 3, padding="full"), 'Conv2d expected padding as a number, "same" or "valid", got \'full\''),
        (ValueError, lambda: nn.Conv1d(1, 1, 3, 2, "same"),
         'Conv1d expected a stride of 1 with padding="same", got (2,); give padding as a number'),
        (ValueError, lambda: nn.Conv2d(1, 1, 3, padding_mode="mirror"),
         "Conv2d expected padding_mode zeros, reflect, replicate, circular, got 'mirror'"),
        (ValueError, lambda: nn.ConvTranspose2d(1, 1, 3, padding_mode="reflect"),
         "ConvTranspose2d expected padding_mode \"zeros\", got 'reflect'"),
        (TypeError, lambda: nn.Conv2d(1, 1, 1)(np.zeros((1, 1, 2, 2))),
         "conv2d expected a Tensor as input, got ndarray; make one with tensor(...)"),
    ],
)  # fmt: skip
def test_layers_refuse_what_does_not_fit(error, call, message):
    with raises(error, message):
        call()
