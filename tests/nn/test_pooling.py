"""Pooling of sequences, images and volumes, with all options: by hand, and against a plain loop; layers."""

import math

import numpy as np
import pytest

from minitorch import float32, float64, grad_check, int64, nn, tensor
from minitorch.nn import adaptive_avg_pool2d, avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d, max_unpool2d
from tests.nn.checks import integers, leaf, refuses

POOLS = pytest.mark.parametrize("pool", [max_pool2d, avg_pool2d], ids=lambda pool: pool.__name__)
IMAGE = np.array([[[[1.0, 5.0, 2.0, 0.0], [3.0, 4.0, 8.0, 7.0], [0.0, -1.0, 6.0, 6.0], [-5.0, -2.0, 6.0, 6.0]]]])
VOLUMES = np.random.default_rng(0).standard_normal((2, 4, 5, 6, 7))

SIZES = [  # shape, kernel_size, stride, padding
    ((2, 3, 4, 6), 2, None, 0),
    ((1, 2, 5, 7), (3, 2), (2, 1), (1, 0)),
    ((1, 1, 4, 4), 3, 1, 1),
    ((2, 1, 3, 3), 2, 3, 1),
    ((1, 1, 2, 3), (2, 3), (1, 2), (1, 1)),
]
"""Windows that are adjacent, overlapping or spaced; that do not divide the image; and that extend past two edges at once."""


def distinct(shape, seed=0):
    """Numbers that are all clearly different, many of them negative."""
    size = math.prod(shape)
    return (np.random.default_rng(seed).permutation(size).reshape(shape) - 0.7 * size) / 4


def pair(x):
    return (x, x) if isinstance(x, int) else x


def expected_pooling(x, kernel, stride, padding, of_window, edge):
    """Pooling by its definition: pad the image, and go from window to window."""
    (kh, kw), (sh, sw), (ph, pw) = pair(kernel), pair(kernel if stride is None else stride), pair(padding)
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)), constant_values=edge)
    rows, columns = range(0, padded.shape[2] - kh + 1, sh), range(0, padded.shape[3] - kw + 1, sw)
    return np.array([[of_window(padded[:, :, i : i + kh, j : j + kw], axis=(2, 3)) for j in columns] for i in rows]).transpose(2, 3, 0, 1)


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
@pytest.mark.parametrize(("shape", "kernel", "stride", "padding"), SIZES)
def test_windows_may_have_any_size_stride_and_padding(backend, dtype, shape, kernel, stride, padding):
    values = distinct(shape).astype(dtype)
    x = tensor(values, backend)
    largest = max_pool2d(x, kernel, stride, padding)
    mean = avg_pool2d(x, kernel, stride, padding)
    assert (largest.dtype, mean.dtype) == (dtype, dtype)
    np.testing.assert_array_equal(largest.to_numpy(), expected_pooling(values, kernel, stride, padding, np.max, -np.inf))
    np.testing.assert_allclose(mean.to_numpy(), expected_pooling(values, kernel, stride, padding, np.mean, 0), rtol=1e-5, atol=1e-5)


def test_in_a_tie_the_gradient_goes_to_the_first_element_in_row_major_order(backend):
    x = leaf([[[[1.0, 1.0, 0.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]], backend)
    max_pool2d(x, 2).backward(tensor([[[[5.0, 7.0]]]], backend))
    assert x.grad.tolist() == [[[[5, 0, 0, 7], [0, 0, 0, 0]]]]
    x = leaf([[[[1.0, 3.0, 3.0, 3.0]]]], backend)
    max_pool2d(x, (1, 2), 1).backward(tensor([[[[1.0, 10.0, 100.0]]]], backend))
    assert x.grad.tolist() == [[[[0, 11, 100, 0]]]]


@pytest.mark.parametrize(
    ("pool", "values", "out", "gradient"),
    [
        pytest.param(max_pool2d, [[-3.0, -1.0], [-2.0, -4.0]], [[-3, -1], [-2, -4]], 1, id="is never the maximum of negative numbers"),
        pytest.param(avg_pool2d, [[4.0, 8.0], [12.0, 16.0]], [[1, 2], [3, 4]], 0.25, id="counts toward the mean"),
    ],
)
def test_padding(backend, pool, values, out, gradient):
    x = leaf([[values]], backend)
    y = pool(x, 2, padding=1)
    assert y.tolist() == [[out]]
    y.sum().backward()
    assert x.grad.tolist() == [[[[gradient] * 2] * 2]]


def test_nan_is_the_maximum_and_infinity_exceeds_all_numbers(backend):
    x = leaf([[[[1.0, math.nan, -math.inf, math.inf], [math.nan, 5.0, 1.0, 2.0]]]], backend)
    out = max_pool2d(x, 2)
    assert math.isnan(out[0, 0, 0, 0])
    assert out[0, 0, 0, 1] == math.inf
    out.backward(tensor([[[[3.0, 4.0]]]], backend))
    assert x.grad.tolist() == [[[[0, 3, 0, 4], [0, 0, 0, 0]]]]


@POOLS
def test_images_and_gradients_may_have_any_layout(backend, pool):
    values = distinct((4, 7, 2, 1))
    x = leaf(values, backend)
    out = pool(x.permute(3, 2, 0, 1)[:, :, :, 1:], 2)  # shape (1, 2, 4, 6)
    of_window = np.max if pool is max_pool2d else np.mean
    np.testing.assert_allclose(
        out.to_numpy(), expected_pooling(values.transpose(3, 2, 0, 1)[:, :, :, 1:], 2, None, 0, of_window, 0), rtol=1e-12
    )
    y = leaf(np.ascontiguousarray(values.transpose(3, 2, 0, 1)[:, :, :, 1:]), backend)
    gradient = tensor(distinct((1, 3, 2, 2), seed=1), backend).permute(0, 3, 2, 1)
    out.backward(gradient)
    pool(y, 2).backward(gradient.contiguous())
    np.testing.assert_array_equal(x.grad.to_numpy().transpose(3, 2, 0, 1)[:, :, :, 1:], y.grad.to_numpy())
    assert not x.grad.to_numpy()[:, 0].any()


@POOLS
def test_an_empty_batch_gives_an_empty_result(backend, pool):
    assert pool(leaf(np.zeros((0, 2, 4, 4)), backend), 2).shape == (0, 2, 2, 2)


def test_sequences_are_pooled_along_their_length(backend):
    x = tensor([[[1.0, 4.0, 2.0, 8.0, 6.0]]], backend)
    assert max_pool1d(x, 2).tolist() == [[[4, 8]]]
    assert max_pool1d(x, 3, 2, 1).tolist() == [[[4, 8, 8]]]
    assert avg_pool1d(x, 2).tolist() == [[[2.5, 5]]]
    assert avg_pool1d(x, 2, 3, 1).tolist() == [[[0.5, 5]]]
    grad_check(lambda t: max_pool1d(t, 2, 1) * avg_pool1d(t, 2, 1), x)


@POOLS
def test_wrong_sizes_are_refused(pool):
    x = tensor(IMAGE)
    refuses(ValueError, "… expected input of shape (B, C, H, W) or (C, H, W), got (4, 4)", pool, x[0, 0], 2)
    refuses(TypeError, "… expected a Tensor of floats, got int64; convert it: x.to(float32)", pool, tensor(IMAGE.astype(np.int64)), 2)
    refuses(TypeError, "… expected a Tensor of floats, got ndarray; make one with tensor(...)", pool, IMAGE, 2)
    refuses(ValueError, "… expected kernel_size of at least 1, got (2, 0)", pool, x, (2, 0))
    refuses(ValueError, "… expected stride of at least 1, got 0", pool, x, 2, 0)
    refuses(ValueError, "… expected padding of at least 0, got -1", pool, x, 2, 2, -1)
    for wrong, error in ((1.5, TypeError), ((1, 2.5), TypeError), ("2", TypeError), ((1, 2, 3), ValueError)):
        refuses(error, f"… expected kernel_size as an integer or two, got {wrong!r}", pool, x, wrong)
    message = "… expected padding of at most half of kernel_size (3, 2), got (2, 0); windows may not lie in the padding"
    refuses(ValueError, message, pool, x, (3, 2), 1, (2, 0))
    asked = "… expected input no smaller than a window of (7, 2) with padding (1, 0), got size (4, 4); take smaller windows"
    refuses(ValueError, asked, pool, x, (7, 2), 1, (1, 0))


def test_options_of_one_kind_of_pooling_are_checked():
    refuses(ValueError, "… expected dilation of at least 1, got 0", max_pool2d, tensor(IMAGE), 2, dilation=0)
    message = "… expected divisor_override other than 0, got 0; leave it out to divide by the number of elements"
    refuses(ValueError, message, avg_pool2d, tensor(IMAGE), 2, divisor_override=0)
    refuses(ValueError, message, avg_pool3d, tensor(VOLUMES), 2, divisor_override=0)


@pytest.mark.parametrize("pool", [max_pool1d, avg_pool1d], ids=lambda pool: pool.__name__)
def test_sequences_have_two_or_three_dimensions(pool):
    refuses(ValueError, "… expected input of shape (B, C, L) or (C, L), got (1, 1, 4, 4)", pool, tensor(IMAGE), 2)
    message = "… expected input no smaller than a window of (5,) with padding (0,), got size (4,); take smaller windows"
    refuses(ValueError, message, pool, tensor(IMAGE[0]), 5)
    refuses(ValueError, "… expected stride of at least 1, got 0", pool, tensor(IMAGE[0]), 2, 0)
    refuses(ValueError, "… expected kernel_size as an integer, got (1, 2)", pool, tensor(IMAGE[0]), (1, 2))


def test_a_single_input_needs_no_batch(backend):
    x = tensor(IMAGE, backend)
    assert max_pool2d(x[0], 2).tolist() == [[[5, 8], [0, 6]]]
    assert avg_pool2d(x[0], 4).tolist() == [[[2.875]]]
    assert max_pool1d(x[0, 0], 4).tolist() == [[5], [8], [6], [6]]
    assert avg_pool1d(x[0, 0], 4).tolist() == [[2], [5.5], [2.75], [1.25]]
    assert adaptive_avg_pool2d(x[0], 1).tolist() == [[[2.875]]]


# Options

THREE = np.array([[[[1.0, 5.0, 2.0], [7.0, 3.0, 4.0], [6.0, 8.0, 9.0]]]])


def test_maxima_and_their_positions_come_back_to_their_places(backend):
    values, indices = max_pool2d(tensor(THREE, backend), 2, ceil_mode=True, return_indices=True)
    assert (values.tolist(), indices.tolist(), indices.dtype) == ([[[[7, 4], [8, 9]]]], [[[[3, 5], [7, 8]]]], int64)
    assert max_unpool2d(values, indices, 2, output_size=(3, 3)).tolist() == [[[[0, 0, 0], [7, 0, 4], [0, 8, 9]]]]
    assert max_unpool2d(values[0], indices[0], 2, output_size=(3, 3)).tolist() == [[[0, 0, 0], [7, 0, 4], [0, 8, 9]]]
    dilated, positions = max_pool2d(tensor(THREE, backend), 2, 1, dilation=2, return_indices=True)
    assert (dilated.tolist(), positions.tolist()) == ([[[[9]]]], [[[[8]]]])
    x = tensor(distinct((2, 1, 5, 4)) / 5, backend)
    grad_check(lambda x: max_pool2d(x, 3, 2, 1, 1, True, True)[0], x)
    grad_check(lambda x: max_pool2d(x, (2, 3), 2, 1, (3, 1), True), x)
    grad_check(lambda x: max_unpool2d(x, integers([[[[3, 5], [7, 8]]]], backend), 2, output_size=(3, 3)), values)


def test_where_all_elements_are_minus_infinity_the_first_one_in_the_image_is_the_maximum(backend):
    x = tensor(np.full((1, 1, 4, 4), -math.inf), backend)
    assert max_pool2d(x, 3, 1, 1, 2, return_indices=True)[1].tolist() == [[[[5, 4], [1, 0]]]]


def test_what_lies_outside_does_not_count_in_a_mean(backend):
    ones = tensor(np.ones((1, 1, 3, 3)), backend)
    np.testing.assert_allclose(avg_pool2d(ones, 2, 2, 1, count_include_pad=False).to_numpy(), 1)
    np.testing.assert_allclose(avg_pool2d(ones, 2, 2, 1).to_numpy()[0, 0], [[1 / 4, 1 / 2], [1 / 2, 1]])
    np.testing.assert_allclose(avg_pool2d(ones, 2, 2, 0, ceil_mode=True).to_numpy(), np.ones((1, 1, 2, 2)))
    np.testing.assert_allclose(avg_pool1d(ones[0, 0], 2, ceil_mode=True).to_numpy(), np.ones((3, 2)))
    sums = [[4 / 3, 2 / 3], [2 / 3, 1 / 3]]
    np.testing.assert_allclose(avg_pool2d(ones, 2, ceil_mode=True, divisor_override=3).to_numpy()[0, 0], sums)
    grad_check(lambda x: avg_pool2d(x, (2, 3), 2, 1, True, False), tensor(distinct((2, 1, 5, 4)) / 5, backend))


def test_what_the_inverse_of_max_pooling_refuses():
    one = tensor(np.ones((1, 1, 1, 1)))
    refuses(ValueError, "… expected positions from 0 to 3, got 4 to 4", max_unpool2d, one, integers([[[[4]]]]), 2)
    message = "… expected input and indices of the same shape, got (1, 1, 1, 1) and (1, 1, 1, 2)"
    refuses(ValueError, message, max_unpool2d, one, integers([[[[0, 1]]]]), 2)
    message = "… expected output_size less than stride (2, 2) away from (2, 2), got (2, 4)"
    refuses(ValueError, message, max_unpool2d, one, integers([[[[0]]]]), 2, output_size=(2, 4))


# Volumes


def windows_of_volumes(x, kernel, stride, padding, dilation, fill):
    """The windows of volumes (B, C, D, H, W), shape (B, C, D', H', W', KD, KH, KW)."""
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)], constant_values=fill)
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    found = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3, 4))
    steps, taps = (tuple(slice(None, None, step) for step in sizes) for sizes in (stride, dilation))
    return found[(slice(None), slice(None), *steps, *taps)]


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [
        ((2, 2, 2), (2, 2, 2), (0, 0, 0), (1, 1, 1)),
        ((3, 2, 1), (1, 2, 3), (1, 1, 0), (1, 1, 1)),
        ((3, 1, 2), (1, 1, 2), (1, 0, 1), (2, 3, 4)),
    ],
)
def test_maxima_of_volumes_and_their_positions_equal_numpy(backend, kernel, stride, padding, dilation):
    expected = windows_of_volumes(VOLUMES, kernel, stride, padding, dilation, -np.inf).max((5, 6, 7))
    values, indices = nn.MaxPool3d(kernel, stride, padding, dilation, return_indices=True)(tensor(VOLUMES, backend))
    np.testing.assert_array_equal(values.to_numpy(), expected)
    chosen = np.take_along_axis(VOLUMES.reshape(2, 4, -1), indices.to_numpy().reshape(2, 4, -1), 2)
    np.testing.assert_array_equal(chosen.reshape(expected.shape), expected)


@pytest.mark.parametrize("count_include_pad", [True, False])
def test_means_of_volumes_equal_numpy(backend, count_include_pad):
    kernel, stride, padding = (3, 2, 3), (1, 2, 2), (1, 1, 0)
    sums, counts = (windows_of_volumes(x, kernel, stride, padding, (1, 1, 1), 0).sum((5, 6, 7)) for x in (VOLUMES, np.ones_like(VOLUMES)))
    x = tensor(VOLUMES, backend)
    out = nn.AvgPool3d(kernel, stride, padding, count_include_pad=count_include_pad)(x)
    np.testing.assert_allclose(out.to_numpy(), sums / (18 if count_include_pad else counts), rtol=1e-12)
    np.testing.assert_allclose(avg_pool3d(x[0], kernel, stride, padding, divisor_override=-5).to_numpy(), sums[0] / -5, rtol=1e-12)


def test_of_equal_numbers_in_a_volume_the_first_one_receives_the_gradient(backend):
    x = leaf(np.ones((1, 1, 2, 2, 2)), backend)
    max_pool3d(x, 2).sum().backward()
    assert x.grad.to_numpy().reshape(-1).tolist() == [1] + [0] * 7


def test_what_pooling_of_volumes_refuses():
    volumes = "(B, C, D, H, W) or (C, D, H, W)"
    for pool in (max_pool3d, avg_pool3d, nn.adaptive_avg_pool3d, nn.adaptive_max_pool3d):
        refuses(ValueError, f"… expected input of shape {volumes}, got (3, 3, 3)", pool, tensor(np.ones((3, 3, 3))), 1)
    refuses(ValueError, "… expected kernel_size as an integer or three, got (2, 2)", max_pool3d, tensor(VOLUMES), (2, 2))
    message = "… expected input no smaller than a window of (1, 8) with padding (0, 0), got size (6, 7); take smaller windows"
    refuses(ValueError, message, max_pool3d, tensor(VOLUMES), (1, 1, 8))


# Windows that fill the image


def adaptive_pooling(x, size):
    """Adaptive pooling by its definition: window i of n is from ⌊i · H / n⌋ to ⌈(i + 1) · H / n⌉."""
    (rows, columns), (height, width) = size, x.shape[2:]
    high = [slice(math.floor(i * height / rows), math.ceil((i + 1) * height / rows)) for i in range(rows)]
    wide = [slice(math.floor(j * width / columns), math.ceil((j + 1) * width / columns)) for j in range(columns)]
    return np.array([[x[:, :, r, c].mean((2, 3)) for c in wide] for r in high]).transpose(2, 3, 0, 1)


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 2), (4, 6), (5, 7), (3, 1)], ids=str)
def test_adaptive_windows_are_averaged(backend, size):
    values = distinct((2, 3, 4, 6))
    np.testing.assert_allclose(adaptive_avg_pool2d(tensor(values, backend), size).to_numpy(), adaptive_pooling(values, size), rtol=1e-12)


def test_a_single_size_counts_for_both_dimensions_and_none_keeps_the_input_size(backend):
    x = tensor(distinct((1, 2, 4, 6)), backend)
    np.testing.assert_array_equal(adaptive_avg_pool2d(x, 2).to_numpy(), adaptive_avg_pool2d(x, (2, 2)).to_numpy())
    assert adaptive_avg_pool2d(x, None).tolist() == x.tolist()
    np.testing.assert_allclose(nn.AdaptiveAvgPool2d((None, 1))(x).to_numpy(), x.to_numpy().mean(3, keepdims=True), rtol=1e-12)
    assert repr(nn.AdaptiveAvgPool2d((None, 1))) == "AdaptiveAvgPool2d(output_size=(None, 1))"


def test_gradients_of_overlapping_windows_agree_with_finite_differences(backend):
    grad_check(lambda x: adaptive_avg_pool2d(x, (2, 3)) * adaptive_avg_pool2d(x, (2, 3)), tensor(distinct((1, 2, 3, 4)) / 5, backend))


@pytest.mark.parametrize("size", [(3, 4), (2, 3), (1, 2), (7, 5)], ids=str)
def test_adaptive_maxima_and_their_positions(backend, size):
    values = distinct((2, 3, 5, 4))
    found, indices = nn.adaptive_max_pool2d(tensor(values, backend), size, return_indices=True)
    (rows, columns), (height, width) = size, (5, 4)
    for i in range(rows):
        for j in range(columns):
            r = slice(math.floor(i * height / rows), math.ceil((i + 1) * height / rows))
            c = slice(math.floor(j * width / columns), math.ceil((j + 1) * width / columns))
            np.testing.assert_array_equal(found.to_numpy()[:, :, i, j], values[:, :, r, c].max((2, 3)))
    chosen = np.take_along_axis(values.reshape(2, 3, -1), indices.to_numpy().reshape(2, 3, -1), 2)
    np.testing.assert_array_equal(found.to_numpy().reshape(2, 3, -1), chosen)
    assert nn.adaptive_max_pool2d(tensor(values, backend), size).tolist() == found.tolist()


def test_adaptive_pooling_of_sequences_and_volumes(backend):
    line = tensor([[[1.0, 4.0, 2.0, 8.0, 6.0]]], backend)
    np.testing.assert_allclose(nn.adaptive_avg_pool1d(line, 2).to_numpy(), [[[7 / 3, 16 / 3]]])
    assert nn.adaptive_max_pool1d(line[0], 2, return_indices=True)[1].tolist() == [[1, 3]]
    x = tensor(VOLUMES, backend)
    halves = [slice(0, 3), slice(2, 5)]
    expected = np.stack([VOLUMES[:, :, half].reshape(2, 4, 3, 2, 3, 7).mean((2, 4, 5)) for half in halves], 2)[..., None]
    np.testing.assert_allclose(nn.adaptive_avg_pool3d(x, (2, 2, 1)).to_numpy(), expected, rtol=1e-12)
    values, indices = nn.AdaptiveMaxPool3d((2, 2, 1), return_indices=True)(x)
    expected = np.stack([VOLUMES[:, :, half].reshape(2, 4, 3, 2, 3, 7).max((2, 4, 5)) for half in halves], 2)[..., None]
    np.testing.assert_array_equal(values.to_numpy(), expected)
    chosen = np.take_along_axis(VOLUMES.reshape(2, 4, -1), indices.to_numpy().reshape(2, 4, -1), 2)
    np.testing.assert_array_equal(chosen.reshape(expected.shape), expected)


def test_invalid_output_sizes_are_refused():
    x = tensor(IMAGE)
    refuses(ValueError, "… expected input of shape (B, C, H, W) or (C, H, W), got (4, 4)", adaptive_avg_pool2d, x[0, 0], 1)
    refuses(ValueError, "… expected output_size of at least 1, got (0, 1)", adaptive_avg_pool2d, x, (0, 1))
    refuses(TypeError, "… expected output_size as an integer or two, got (1.5, 1)", adaptive_avg_pool2d, x, (1.5, 1))
    refuses(ValueError, "… expected output_size as an integer or two, got (1, 2, 3)", adaptive_avg_pool2d, x, (1, 2, 3))
    for pool in (adaptive_avg_pool2d, nn.adaptive_max_pool2d):
        refuses(ValueError, "… expected input with elements in every channel, got size (0, 4)", pool, x[:, :, :0], 1)


# Layers


def test_layers_show_their_sizes_and_call_their_functions():
    x = tensor(IMAGE)
    assert nn.MaxPool2d(2)(x).tolist() == [[[[5, 8], [0, 6]]]]
    assert nn.MaxPool2d(2, 1, return_indices=True)(x)[1].shape == (1, 1, 3, 3)
    assert nn.AvgPool2d((1, 2))(x).shape == (1, 1, 4, 2)
    assert nn.MaxUnpool2d(2)(*nn.MaxPool2d(2, return_indices=True)(x)).tolist()[0][0][1] == [0, 0, 8, 0]
    assert repr(nn.MaxPool2d(3, 2)) == "MaxPool2d(kernel_size=3, stride=2, padding=0, dilation=1, ceil_mode=False)"
    assert repr(nn.AvgPool1d(3)) == "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))"
    assert repr(nn.MaxUnpool2d(3, 2)) == "MaxUnpool2d(kernel_size=(3, 3), stride=(2, 2), padding=(0, 0))"
    assert repr(nn.AdaptiveMaxPool3d(2, True)) == "AdaptiveMaxPool3d(output_size=2)"
    assert (nn.MaxPool2d(3).stride, nn.AvgPool3d(3).stride) == (3, 3)


@pytest.mark.parametrize(
    "layer", [nn.MaxPool2d, nn.AvgPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.MaxUnpool2d], ids=lambda layer: layer.__name__
)
def test_layers_refuse_invalid_sizes_at_construction(layer):
    refuses(ValueError, "… expected stride of at least 1, got 0", layer, 2, stride=0)
    refuses(ValueError, "… expected padding of at least 0, got -1", layer, 2, padding=-1)


def test_further_sizes_are_refused_at_construction():
    message = "… expected padding of at most half of kernel_size (3, 3), got (2, 2); windows may not lie in the padding"
    refuses(ValueError, message, nn.MaxPool2d, 3, padding=2)
    refuses(ValueError, "AdaptiveAvgPool2d expected output_size of at least 1, got (0, 1)", nn.AdaptiveAvgPool2d, (0, None))
