"""Convolution, pooling, padding and resizing against PyTorch's: values, gradients, representations, for either tensor on either backend."""

import numpy as np
import pytest

from minitorch import FastBackend, SimpleBackend, int64, tensor
from minitorch.torch.tensor import as_torch

from .torch_comparison import OTHER_NAMES, assert_equal, assert_same_gradients, leaves, nn, pair, row, torch, x

IMAGE, SINGLE, SEQUENCE, VOLUME = x(2, 4, 7, 6), x(4, 7, 6), x(2, 4, 9), x(2, 2, 5, 6, 7)
WITH_NAN = IMAGE.copy()
WITH_NAN[1, 2, 3, 3] = np.nan  # of two equal elements in a window, PyTorch takes the last and we take the first
POSITIONS = np.array([[[[0, 3], [9, 15]], [[5, 2], [8, 10]]]])

BORDERS = ("Zero", "Reflection", "Replication", "Circular")
FLAGS = (False, True)

LAYERS = [
    row("Conv1d", 4, 6, 3, on=[SEQUENCE]),
    row("Conv1d", 4, 6, 3, stride=2, padding=2, dilation=2, groups=2, on=[SEQUENCE]),
    row("Conv1d", 4, 4, 3, padding="same", dilation=2, groups=4, bias=False, on=[x(1, 4, 5)]),
    row("Conv1d", 2, 3, 4, padding="valid", on=[x(1, 2, 4)]),
    row("Conv1d", 4, 2, 4, padding="same", padding_mode="circular", on=[SEQUENCE]),
    row("Conv2d", 4, 2, 3, on=[IMAGE]),
    row("Conv2d", 4, 2, 3, on=[SINGLE]),
    row("Conv2d", 4, 6, (3, 2), stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=2, on=[IMAGE]),
    row("Conv2d", 4, 8, 3, padding="same", groups=4, bias=False, on=[IMAGE]),
    row("Conv2d", 4, 3, 1, stride=2, on=[IMAGE]),
    row("Conv2d", 4, 3, (7, 6), on=[IMAGE]),
    row("Conv2d", 4, 2, 3, padding=1, padding_mode="reflect", on=[IMAGE]),
    row("Conv2d", 4, 2, 3, padding=(1, 2), padding_mode="circular", on=[SINGLE]),
    row("Conv3d", 2, 4, 3, on=[VOLUME]),
    row("Conv3d", 2, 4, (3, 1, 2), stride=(2, 1, 3), padding=(2, 0, 1), dilation=(1, 2, 3), groups=2, on=[VOLUME]),
    row("Conv3d", 2, 2, (1, 3, 5), padding="same", bias=False, on=[VOLUME]),
    row("Conv3d", 2, 2, 3, padding=(1, 2, 0), padding_mode="replicate", on=[VOLUME[0]]),
    row("ConvTranspose1d", 4, 6, 3, on=[x(2, 4, 5)]),
    row("ConvTranspose1d", 4, 6, 3, 2, 1, 1, 2, False, 2, on=[x(2, 4, 5)]),
    row("ConvTranspose2d", 4, 2, 3, on=[SINGLE]),
    row("ConvTranspose2d", 4, 6, (3, 2), stride=(2, 3), padding=(1, 2), output_padding=(1, 0), groups=2, dilation=(2, 1), on=[IMAGE]),
    row("ConvTranspose3d", 2, 3, 2, on=[VOLUME[0]]),
    row("ConvTranspose3d", 2, 4, (3, 1, 2), (2, 1, 3), (1, 0, 1), (1, 0, 2), 2, False, (1, 2, 1), on=[VOLUME]),
    row("MaxPool1d", 2, on=[SEQUENCE]),
    row("MaxPool1d", 3, padding=1, dilation=2, return_indices=True, on=[SEQUENCE[0]]),
    row("MaxPool2d", (3, 2), stride=(1, 2), padding=(1, 0), on=[IMAGE]),
    row("MaxPool2d", 3, 2, 1, on=[WITH_NAN]),
    row("MaxPool2d", 2, on=[np.where(IMAGE > 0, -np.inf, IMAGE)]),
    *[row("MaxPool2d", size, 1, on=[np.round(IMAGE)]) for size in (2, (2, 3))],  # windows with equal elements
    row("MaxPool2d", 3, stride=2, padding=1, ceil_mode=True, return_indices=True, on=[IMAGE]),
    row("MaxPool3d", (3, 2, 3), stride=(1, 2, 3), padding=(1, 1, 0), dilation=(2, 1, 2), return_indices=True, on=[VOLUME]),
    row("MaxUnpool2d", 2, on=[x(1, 2, 2, 2), POSITIONS]),
    row("AvgPool1d", 3, stride=2, padding=1, count_include_pad=False, on=[SEQUENCE]),
    row("AvgPool2d", (3, 2), (1, 2), (1, 0), on=[IMAGE]),
    row("AvgPool2d", 3, 2, 1, on=[np.where(IMAGE > 1.5, np.inf, IMAGE)]),
    row("AvgPool2d", (2, 3), stride=2, padding=(1, 0), ceil_mode=True, count_include_pad=False, divisor_override=5, on=[IMAGE]),
    row("AvgPool3d", (3, 2, 3), stride=(1, 2, 3), padding=1, ceil_mode=True, count_include_pad=False, on=[VOLUME]),
    *[row(f"Adaptive{kind}Pool1d", 4, on=[SEQUENCE]) for kind in ("Avg", "Max")],
    *[row("AdaptiveAvgPool2d", size, on=[IMAGE]) for size in (1, 3, (2, None), (7, 6), (9, 4))],
    row("AdaptiveMaxPool2d", (4, 3), return_indices=True, on=[IMAGE]),
    row("AdaptiveAvgPool3d", (2, None, 3), on=[VOLUME]),
    row("AdaptiveMaxPool3d", (2, None, 3), return_indices=True, on=[VOLUME]),
    *[row(f"{kind}Pad1d", padding, on=[x(2, 3, 5)]) for kind in BORDERS for padding in (2, (1, 3))],
    *[row(f"{kind}Pad2d", padding, on=[IMAGE]) for kind in BORDERS for padding in (2, (1, 0, 3, 2))],
    *[row(f"{kind}Pad3d", (1, 0, 2, 3, -1, 2), on=[VOLUME]) for kind in BORDERS],
    row("ZeroPad2d", (1, -2, -1, 3), on=[IMAGE]),
    row("ConstantPad1d", (1, 3), 2.5, on=[x(2, 3, 5)]),
    row("ConstantPad2d", (-1, 3, 2, -3), -0.5, on=[IMAGE]),
    row("ConstantPad3d", 1, 3.5, on=[VOLUME]),
    *[row("Upsample", scale_factor=2, mode=mode, on=[IMAGE]) for mode in ("nearest", "nearest-exact", "bilinear", "bicubic")],
    row("Upsample", (5, 9), mode="bilinear", align_corners=True, on=[IMAGE]),
    row("Upsample", scale_factor=1.7, mode="trilinear", recompute_scale_factor=True, on=[VOLUME]),
    row("UpsamplingNearest2d", scale_factor=2, on=[IMAGE]),
    row("UpsamplingBilinear2d", (9, 4), on=[IMAGE]),
    row("PixelShuffle", 2, on=[IMAGE]),
    row("PixelUnshuffle", 2, on=[x(2, 3, 4, 6)]),
    row("Unfold", (3, 2), (2, 1), (1, 2), (2, 3), on=[IMAGE]),
    row("Fold", (4, 5), 2, on=[x(2, 8, 12)]),
    row("Fold", (7, 6), (3, 2), dilation=(2, 1), padding=(1, 2), stride=(2, 3), on=[x(12, 9)]),
]

MAX_OPTIONS = [(kernel, dilation, ceil, both) for kernel in ((2, None, 0), (3, 2, 1), (2, 3, 1)) for dilation in (1, 2) for ceil in FLAGS
               for both in FLAGS]  # fmt: skip
AVG_OPTIONS = [(*kernel, ceil, include) for kernel in ((2, None, 0), (3, 2, 1), (2, 3, 1)) for ceil in FLAGS for include in FLAGS]
PER_MODE = {"linear": SEQUENCE, "bilinear": IMAGE, "bicubic": IMAGE, "trilinear": VOLUME}

FUNCTIONS = [
    row("conv1d", on=[x(2, 4, 9), x(6, 4, 3), x(6)]),
    row("conv1d", None, 2, 2, 2, 2, on=[x(4, 9), x(6, 2, 3)]),
    row("conv2d", on=[IMAGE, x(3, 4, 2, 3), x(3)]),
    row("conv2d", None, (2, 1), (1, 2), (1, 2), 4, on=[IMAGE, x(4, 1, 2, 3)]),
    row("conv3d", None, (1, 2, 3), (2, 1, 0), (1, 2, 1), 2, on=[VOLUME, x(4, 1, 2, 3, 2)]),
    row("conv_transpose1d", on=[x(2, 4, 5), x(4, 3, 3), x(3)]),
    row("conv_transpose1d", None, 3, 2, 1, 2, 2, on=[x(2, 4, 5), x(4, 3, 3)]),
    row("conv_transpose2d", on=[IMAGE, x(4, 3, 2, 3), x(3)]),
    row("conv_transpose2d", None, (2, 3), (1, 0), (1, 2), 4, (1, 2), on=[SINGLE, x(4, 2, 2, 3)]),
    row("conv_transpose2d", None, 1, 1, (2, 1), 1, 3, on=[IMAGE, x(4, 2, 2, 3)]),
    row("conv_transpose3d", on=[VOLUME, x(2, 3, 2, 3, 1), x(3)]),
    row("conv_transpose3d", None, (1, 2, 3), (2, 1, 0), (1, 0, 2), 2, (3, 1, 2), on=[VOLUME, x(2, 2, 3, 3, 2)]),
    row("maxpool2d", (7, 3), on=[IMAGE]),
    row("avgpool2d", (7, 3), on=[IMAGE]),
    *[row("max_pool1d", *kernel, *options, on=[SEQUENCE]) for kernel, *options in MAX_OPTIONS],
    *[row("max_pool2d", *kernel, *options, on=[IMAGE]) for kernel, *options in MAX_OPTIONS],
    *[row("max_pool3d", *kernel, *options, on=[VOLUME[0]]) for kernel, *options in MAX_OPTIONS],
    row("max_pool2d", 2, on=[SINGLE]),
    *[row("avg_pool1d", *options, on=[SEQUENCE]) for options in AVG_OPTIONS],
    *[row("avg_pool2d", *options, divisor, on=[SINGLE]) for options in AVG_OPTIONS for divisor in (None, 3)],
    *[row("avg_pool3d", *options, divisor, on=[VOLUME]) for options in AVG_OPTIONS for divisor in (None, -3)],
    row("max_unpool2d", 2, 2, output_size=(1, 2, 5, 5), on=[x(1, 2, 2, 2), POSITIONS]),
    *[row(f"adaptive_avg_pool{len(on.shape) - 2}d", size, on=[on]) for on in (SEQUENCE, IMAGE, VOLUME) for size in (1, 3, 8)],
    *[
        row(f"adaptive_max_pool{len(on.shape) - 2}d", size, both, on=[on])
        for on in (SEQUENCE, IMAGE, VOLUME)
        for size in (1, 3, 8)
        for both in FLAGS
    ],
    row("adaptive_max_pool2d", (None, 2), on=[SINGLE]),
    row("pad", (1, 2), on=[x(3)]),
    row("pad", (1, -2, -1, 3, 2, 0), value=1.5, on=[IMAGE]),
    *[row("pad", (1, 2, 3, 0), mode, on=[IMAGE]) for mode in ("reflect", "replicate", "circular")],
    *[row("pad", widths, "circular", on=[x(2, 3, 5)]) for widths in ((-1, 2), (2, -1), (-2, -3), (5, 0), (-2, 3))],
    *[row("pad", widths, mode, on=[x(2, 3, 5)]) for widths in ((-1, 2), (-3, 4)) for mode in ("reflect", "replicate")],
    *[
        row("interpolate", size, mode=mode, on=[on])
        for mode in ("nearest", "nearest-exact", "area")
        for size in (3, 11)
        for on in (SEQUENCE, IMAGE, VOLUME)
    ],
    *[row("interpolate", 8, mode=mode, align_corners=corners, on=[on]) for mode, on in PER_MODE.items() for corners in (False, True)],
    *[
        row("interpolate", None, factor, mode, recompute_scale_factor=again, on=[on])
        for mode, on in {**PER_MODE, "nearest-exact": IMAGE}.items()
        for factor in (0.6, 1.7)
        for again in (None, True)
    ],
    *[row("interpolate", size, mode=mode, antialias=True, on=[IMAGE]) for mode in ("bilinear", "bicubic") for size in ((3, 4), (2, 9))],
    row("interpolate", (3, 9), mode="bilinear", align_corners=True, antialias=True, on=[IMAGE]),
    row("pixel_shuffle", 3, on=[x(2, 18, 2, 3)]),
    row("pixel_unshuffle", 3, on=[x(2, 2, 6, 3)]),
    row("unfold", (3, 2), (2, 1), (1, 2), (2, 3), on=[SINGLE]),
    row("fold", (7, 6), (3, 2), (2, 1), (1, 2), (2, 3), on=[x(2, 12, 9)]),
    *[row("affine_grid", (2, 3, 4, 5), corners, on=[x(2, 2, 3)]) for corners in FLAGS],
    *[
        row("grid_sample", "bilinear", border, corners, on=[IMAGE, x(2, 4, 5, 2)])
        for border in ("zeros", "border", "reflection")
        for corners in FLAGS
    ],
]


def compare(ours, theirs, inputs, others):
    """Check results and gradients; of pairs also the positions."""
    if isinstance(theirs, tuple):
        assert ours[1].dtype == int64
        assert type(ours[1]) is type(inputs[0])
        assert_equal(ours[1], theirs[1], "the positions")
        ours, theirs = ours[0], theirs[0]
    assert_same_gradients(ours, theirs, inputs, others)


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), LAYERS)
def test_a_layer_agrees_with_pytorch(name, args, settings, inputs):
    ours, theirs = pair(name, args, settings)
    assert repr(ours) == repr(theirs)
    a, b = leaves(inputs)
    compare(ours(*a), theirs(*b), a, b)
    for (key, parameter), (_, other) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert_equal(parameter.grad, other.grad, f"the gradient of {key}")


@pytest.mark.parametrize("backend", [SimpleBackend, FastBackend], ids=["course on simple", "torch on fast"])
@pytest.mark.parametrize(("name", "args", "settings", "inputs"), FUNCTIONS)
def test_a_function_agrees_with_pytorch(name, args, settings, inputs, backend):
    b = leaves(inputs)[1]
    a = [tensor(each, backend, requires_grad=each.dtype.kind == "f") for each in inputs]
    a = as_torch(a) if backend is FastBackend else a
    out, expected = (
        getattr(nn, name)(*a, *args, **settings),
        getattr(torch.nn.functional, OTHER_NAMES.get(name, name))(*b, *args, **settings),
    )
    assert all(type(each) is type(a[0]) for each in (out if isinstance(out, tuple) else [out]))
    compare(out, expected, a, b)


def test_pixels_are_read_from_the_nearest_place_as_in_pytorch():
    """Only the values: PyTorch's gradient with respect to the grid is 0, and we have none."""
    image, grid = IMAGE, x(2, 4, 5, 2)
    found = nn.grid_sample(tensor(image), tensor(grid), "nearest", "reflection", True)
    assert_equal(found, torch.nn.functional.grid_sample(torch.tensor(image), torch.tensor(grid), "nearest", "reflection", True), "pixels")


@pytest.mark.parametrize("size", [None, (14, 12), (1, 3, 13, 11)])
def test_a_transposed_convolution_gives_a_size_as_pytorchs_does(size):
    ours, theirs = pair("ConvTranspose2d", (4, 3, 3, 2, 1), {})
    a, b = leaves([IMAGE[:1]])
    compare(ours(*a, output_size=size), theirs(*b, output_size=size), a, b)
