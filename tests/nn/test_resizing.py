"""Padding, interpolation, pixel shuffle, windows as columns, and grids: values by hand, and error messages."""

import numpy as np
import pytest

from minitorch import grad_check, nn, tensor
from minitorch.nn import PixelShuffle, PixelUnshuffle, Unfold, Upsample, UpsamplingNearest2d, fold, interpolate, pad, unfold
from tests.errors import raises

LINE = tensor([[0.0, 1.0, 2.0, 3.0, 4.0]])


# Padding


@pytest.mark.parametrize(
    ("mode", "widths", "out"),
    [
        ("constant", (1, 2), [0, 0, 1, 2, 3, 4, 0, 0]),
        ("reflect", (1, 2), [1, 0, 1, 2, 3, 4, 3, 2]),
        ("replicate", (1, 2), [0, 0, 1, 2, 3, 4, 4, 4]),
        ("circular", (1, 2), [4, 0, 1, 2, 3, 4, 0, 1]),
        ("circular", (5, 0), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]),
        ("constant", (-1, 2), [1, 2, 3, 4, 0, 0]),
        ("reflect", (-1, 2), [1, 2, 3, 4, 3, 2]),
        ("replicate", (-1, 2), [1, 2, 3, 4, 4, 4]),
        ("circular", (-1, 2), [1, 2, 3, 4, 1, 2]),  # from the other end of what remains
        ("circular", (2, -1), [2, 3, 0, 1, 2, 3]),
        ("circular", (-2, -3), []),
        ("constant", (-2, -3), []),
    ],
)
def test_elements_are_added_and_removed_at_both_ends(backend, mode, widths, out):
    x = LINE.to(backend)
    assert pad(x, widths, mode).tolist() == [out]
    if out:
        grad_check(lambda x: pad(x, widths, mode), x)


@pytest.mark.parametrize(
    ("widths", "mode", "value", "message"),
    [
        ((1,), "constant", None, "two widths for each of at most 2 dimensions, got (1,) (input (1, 5))"),
        ((1, 1), "mirror", None, "mode constant, reflect, replicate, circular, got 'mirror'"),
        ((5, 0), "reflect", None, "widths of at most 4 in mode 'reflect' for a size of 5, got (5, 0)"),
        ((6, 0), "circular", None, "widths of at most 5 in mode 'circular' for a size of 5, got (6, 0)"),
        ((-3, 3), "circular", None, "widths of at most 2 in mode 'circular' for a size of 5, got (-3, 3)"),
        ((-6, 3), "circular", None, "widths of at most 0 in mode 'circular' for a size of 5, got (-6, 3)"),
        ((-3, -3), "circular", None, "widths that leave dimension 1 of shape (1, 5) a size, got (-3, -3)"),
        ((-2, -3), "reflect", None, "widths that leave dimension 1 of shape (1, 5) a size, got (-2, -3)"),
        ((1, 1), "reflect", 2.0, "a value with mode \"constant\" only, got value 2.0 with mode 'reflect'; leave value out"),
    ],
)
def test_what_padding_refuses(widths, mode, value, message):
    with raises(ValueError, f"pad expected {message}"):
        pad(LINE, widths, mode, value)


# Interpolation


def test_the_nearest_element_is_found_from_edges_or_from_centers(backend):
    x = LINE.to(backend).unsqueeze(0)
    assert interpolate(x, 3).tolist() == [[[0, 1, 3]]]
    assert interpolate(x, 3, mode="nearest-exact").tolist() == [[[0, 2, 4]]]
    assert interpolate(x, scale_factor=0.5, mode="nearest-exact").tolist() == [[[1, 3]]]


def test_volumes_are_interpolated_along_every_dimension(backend):
    x = tensor(np.arange(8.0).reshape(1, 1, 2, 2, 2), backend)
    found = interpolate(x, 3, mode="trilinear", align_corners=True).to_numpy()[0, 0]
    np.testing.assert_allclose(found, np.add.outer(np.add.outer([0, 2, 4], [0, 1, 2]), [0, 0.5, 1]))
    grad_check(lambda x: interpolate(x, (1, 3, 4), mode="trilinear"), x)
    assert interpolate(x, 1, mode="area").tolist() == [[[[[3.5]]]]]


def test_antialiasing_averages_over_a_wider_filter():
    line = tensor(np.arange(8.0).reshape(1, 1, 2, 4))
    found = interpolate(line, (2, 2), mode="bilinear", antialias=True).to_numpy()
    weights = np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7
    np.testing.assert_allclose(found[0, 0], np.arange(8.0).reshape(2, 4) @ weights.T)


@pytest.mark.parametrize(
    ("dims", "options", "message"),
    [
        (2, {"size": 2}, "input of shape (B, C, L), (B, C, H, W) or (B, C, D, H, W), got (2, 2)"),
        (4, {}, "either size or scale_factor, got both or neither; pass one of them"),
        (3, {"size": 2, "mode": "bicubic"}, "mode nearest, nearest-exact, area, linear for input of shape (2, 2, 2), got 'bicubic'"),
        (4, {"size": 2, "antialias": True}, 'mode "bilinear" or "bicubic" with antialias, got \'nearest\''),
        (4, {"size": 2, "align_corners": False}, "align_corners=None with mode 'nearest', got False; leave align_corners out"),
        (
            4,
            {"size": 2, "recompute_scale_factor": True},
            "scale_factor with recompute_scale_factor, got size; leave recompute_scale_factor out",
        ),
        (4, {"scale_factor": 0.1}, "an output of at least one element, got the size (0, 0)"),
        (4, {"size": (2, 2, 2)}, "one number or 2, got (2, 2, 2)"),
    ],
)
def test_what_interpolation_refuses(dims, options, message):
    with raises(ValueError, f"interpolate expected {message}"):
        interpolate(tensor(np.ones((2,) * dims)), **options)


def test_layers_show_their_options():
    assert repr(Upsample(scale_factor=2)) == "Upsample(scale_factor=2.0, mode='nearest')"
    assert repr(Upsample(scale_factor=(2, 3), mode="bilinear")) == "Upsample(scale_factor=(2.0, 3.0), mode='bilinear')"
    assert repr(Upsample(5)) == "Upsample(size=5, mode='nearest')"
    assert repr(UpsamplingNearest2d(scale_factor=2)) == "UpsamplingNearest2d(scale_factor=2.0, mode='nearest')"
    assert repr(Unfold(2, stride=3)) == "Unfold(kernel_size=2, dilation=1, padding=0, stride=3)"
    assert repr(nn.ConstantPad1d(1, 2.0)) == "ConstantPad1d(padding=(1, 1), value=2.0)"


# Pixels and windows


def test_channels_become_pixels_and_back():
    x = tensor(np.arange(8.0).reshape(1, 4, 1, 2))
    found = PixelShuffle(2)(x)
    assert found.tolist() == [[[[0, 2, 1, 3], [4, 6, 5, 7]]]]
    assert PixelUnshuffle(2)(found).tolist() == x.tolist()


def test_windows_become_columns_and_back_without_a_batch():
    columns = unfold(tensor([[[1.0, 2.0, 3.0]]]), (1, 2))
    assert columns.tolist() == [[1, 2], [2, 3]]
    assert fold(columns, (1, 3), (1, 2)).tolist() == [[[1, 4, 3]]]
    with raises(ValueError, "unfold expected input of shape (B, C, H, W) or (C, H, W), got (1, 5)"):
        unfold(LINE, 2)
    with raises(ValueError, "fold expected input of shape (B, C · 2, 2), got (1, 2, 3)"):
        fold(tensor(np.ones((2, 3))), (1, 3), (1, 2))


# Grids


@pytest.mark.parametrize("corners", [False, True])
def test_the_identity_reads_every_pixel(backend, corners):
    image = tensor(np.arange(12.0).reshape(1, 2, 2, 3), backend)
    grid = nn.affine_grid(tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], backend), (1, 2, 2, 3), corners)
    assert type(grid) is type(image)
    np.testing.assert_allclose(nn.grid_sample(image, grid, align_corners=corners).to_numpy(), image.to_numpy(), atol=1e-12)
