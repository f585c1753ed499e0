"""Pooling with stride and padding: by hand, and against a plain loop."""

import math

import numpy as np
import pytest

from minitorch import float32, float64, grad_check, tensor
from minitorch.nn.pooling import AdaptiveAvgPool2d, adaptive_avg_pool2d, avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from tests.nn.checks import leaf, refuses

POOLS = pytest.mark.parametrize("pool", [max_pool2d, avg_pool2d], ids=lambda pool: pool.__name__)
IMAGE = np.array([[[[1.0, 5.0, 2.0, 0.0], [3.0, 4.0, 8.0, 7.0], [0.0, -1.0, 6.0, 6.0], [-5.0, -2.0, 6.0, 6.0]]]])

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
    refuses(ValueError, "… expected input of shape (B, C, H, W), got (1, 4, 4)", pool, x[0], 2)
    refuses(TypeError, "… expected a Tensor of floats, got int64; make one with tensor(...)", pool, tensor(IMAGE.astype(np.int64)), 2)
    refuses(TypeError, "… expected a Tensor of floats, got ndarray; make one with tensor(...)", pool, IMAGE, 2)
    refuses(ValueError, "… expected kernel_size of at least 1, got (2, 0)", pool, x, (2, 0))
    refuses(ValueError, "… expected stride of at least 1, got 0", pool, x, 2, 0)
    refuses(ValueError, "… expected padding of at least 0, got -1", pool, x, 2, 2, -1)
    for wrong, error in ((1.5, TypeError), ((1, 2.5), TypeError), ("2", TypeError), ((1, 2, 3), ValueError)):
        refuses(error, f"… expected kernel_size as an integer or two, got {wrong!r}", pool, x, wrong)
    message = "… expected padding of at most half of kernel_size (3, 2), got (2, 0); windows may not lie in the padding"
    refuses(ValueError, message, pool, x, (3, 2), 1, (2, 0))
    asked = "… expected images no smaller than a window of (7, 2) with padding (1, 0)"
    refuses(ValueError, f"{asked}, got input of shape (1, 1, 4, 4); take smaller windows", pool, x, (7, 2), 1, (1, 0))


@pytest.mark.parametrize("pool", [max_pool1d, avg_pool1d], ids=lambda pool: pool.__name__)
def test_sequences_have_three_dimensions(pool):
    refuses(ValueError, "… expected input of shape (B, C, L), got (1, 1, 4, 4)", pool, tensor(IMAGE), 2)


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
    np.testing.assert_allclose(AdaptiveAvgPool2d((None, 1))(x).to_numpy(), x.to_numpy().mean(3, keepdims=True), rtol=1e-12)
    assert repr(AdaptiveAvgPool2d((None, 1))) == "AdaptiveAvgPool2d(output_size=(None, 1))"


def test_gradients_of_overlapping_windows_agree_with_finite_differences(backend):
    grad_check(lambda x: adaptive_avg_pool2d(x, (2, 3)) * adaptive_avg_pool2d(x, (2, 3)), tensor(distinct((1, 2, 3, 4)) / 5, backend))


def test_invalid_output_sizes_are_refused():
    x = tensor(IMAGE)
    refuses(ValueError, "… expected input of shape (B, C, H, W), got (1, 4, 4)", adaptive_avg_pool2d, x[0], 1)
    refuses(ValueError, "… expected output_size of at least 1, got (0, 1)", adaptive_avg_pool2d, x, (0, 1))
    refuses(TypeError, "… expected output_size as an integer or two, got (1.5, 1)", adaptive_avg_pool2d, x, (1.5, 1))
    refuses(ValueError, "… expected output_size as an integer or two, got (1, 2, 3)", adaptive_avg_pool2d, x, (1, 2, 3))
    refuses(ValueError, "… expected non-empty images, got input of shape (1, 1, 0, 4)", adaptive_avg_pool2d, x[:, :, :0], 1)
