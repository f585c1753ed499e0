"""Stage 7 - Volumes: convolution and pooling, composed of those of images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.core.creation import stack
from minitorch.nn.convolution import ConvNd, conv2d, resolve_padding
from minitorch.nn.padding import pad
from minitorch.nn.pooling import (
    AvgPoolNd,
    MaxPoolNd,
    adaptive_avg_pool,
    adaptive_layer,
    adaptive_max_pool,
    as_indices,
    avg_pool,
    check_divisor,
    check_window_sizes,
    max_pool,
    output_sizes,
)
from minitorch.ops.checks import Sizes, as_sizes, check_float_tensor, check_tensor
from minitorch.tensor import Tensor
from minitorch.torch.promotion import require_numbers, require_one_dtype
from minitorch.torch.saved import needing, saves


@saves(0, 1)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve volumes with a kernel: convolutions of images, for which the kernel's planes are further channels.

    Args:
        input: Volumes, shape (B, C, D, H, W), or a single one, shape (C, D, H, W).
        weight: Shape (O, C / groups, KD, KH, KW).
        bias: See `conv1d` for this, the other arguments and the errors.
        stride: Step between windows; one number, or one for each of D, H and W.

    Returns:
        Shape (B, O, D', H', W').
    """
    op = "conv3d"
    if check_tensor(op, input, "input").dims not in (4, 5) or weight.dims != 5 or input.shape[-4] != weight.shape[1] * groups:
        raise ValueError(
            "conv3d expected input of shape (B, C, D, H, W) and weight of shape (O, C / groups, KD, KH, KW), "
            f"got {tuple(input.shape)}, {tuple(weight.shape)} and {groups} groups"
        )
    if not weight.shape[2]:
        raise ValueError(f"{op} expected a kernel of at least one tap, got weight {tuple(weight.shape)}")
    require_one_dtype(op, require_numbers(op, input), weight, bias)
    volumes = input if input.dims == 5 else input.unsqueeze(0)
    steps, gaps = as_sizes(op, "stride", stride, 1, 3), as_sizes(op, "dilation", dilation, 1, 3)
    before, after = resolve_padding(op, padding, steps, gaps, weight.shape[2:])
    step, gap, planes = steps[0], gaps[0], weight.shape[2]
    depth = (volumes.shape[2] + before[0] + after[0] - gap * (planes - 1) - 1) // step + 1
    if depth < 1:
        own = volumes.shape[2] + before[0] + after[0]
        raise ValueError(f"conv3d expected a depth of at least {gap * (planes - 1) + 1} with its padding, got {own}")
    padded = pad(volumes, (0, 0, 0, 0, before[0], after[0]))
    taps = [padded[:, :, k * gap : k * gap + (depth - 1) * step + 1 : step] for k in range(planes)]
    batch, channels, _, *sizes = volumes.shape
    images = stack(taps, 2).permute(0, 3, 1, 2, 4, 5).reshape(batch * depth, channels * planes, *sizes)
    kernel = weight.reshape(weight.shape[0], weight.shape[1] * planes, *weight.shape[3:])
    out = conv2d(images, kernel, bias, steps[1:], padding if isinstance(padding, str) else before[1:], gaps[1:], groups)
    out = out.reshape(batch, depth, *out.shape[1:]).permute(0, 2, 1, 3, 4)
    return out if input.dims == 5 else out.squeeze(0)


# Pooling


def _in_two_steps(op: str, input: Any, pool: Callable[..., Any], sizes: Sequence[tuple[int, ...]], neutral: Sequence[int]) -> Any:
    """Pool volumes by a function of images (B, C, H, W): first each image, then from image to image.

    Args:
        op: Name of the function, for the error message.
        input: Volumes, shape (B, C, D, H, W) or (C, D, H, W).
        pool: The function of images and sizes, which returns tensors or pairs with the positions of maxima.
        sizes: Its arguments, each for D, H and W.
        neutral: For each of them the value that changes nothing.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If it has neither four nor five dimensions.
    """
    *outer, depth, height, width = check_volumes(op, input)
    maps = math.prod(outer)
    first = pool(input.reshape(1, maps * depth, height, width), *[size[1:] for size in sizes])
    values, inner = first if isinstance(first, tuple) else (first, None)
    *_, rows, columns = values.shape
    last = pool(values.reshape(1, maps, depth, rows * columns), *[(size[0], same) for size, same in zip(sizes, neutral, strict=True)])
    values, between = last if isinstance(last, tuple) else (last, None)
    shape = (*outer, values.shape[2], rows, columns)
    if inner is None or between is None:
        return values.reshape(*shape)
    chosen = between.to_numpy().reshape(maps, -1)  # positions in columns of images, whose elements were chosen before
    within = np.take_along_axis(inner.to_numpy().reshape(maps, depth * rows * columns), chosen, 1)
    return values.reshape(*shape), as_indices((chosen // (rows * columns) * (height * width) + within).reshape(shape), input)


def check_volumes(op: str, input: Any) -> tuple[int, ...]:
    """Return the shape of volumes.

    Raises:
        TypeError: If input is not a floating-point Tensor.
        ValueError: If it has neither four nor five dimensions.
    """
    if check_float_tensor(op, input).dims not in (4, 5):
        raise ValueError(f"{op} expected input of shape (B, C, D, H, W) or (C, D, H, W), got {tuple(input.shape)}")
    return tuple(input.shape)


@saves(0)
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maximum over windows of volumes, shape (B, C, D, H, W) or (C, D, H, W); for the arguments and errors see `max_pool2d`."""
    op = "max_pool3d"
    sizes = check_window_sizes(op, 3, kernel_size, stride, padding, dilation)
    return _in_two_steps(
        op, input, lambda x, *sizes: max_pool(op, 2, x, *sizes, ceil_mode=ceil_mode, return_indices=return_indices), sizes, (1, 1, 0, 1)
    )


@saves(0)
def avg_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean over windows of volumes, shape (B, C, D, H, W) or (C, D, H, W); for the arguments and errors see `avg_pool2d`."""
    op = "avg_pool3d"
    kernel, step, border, _ = check_window_sizes(op, 3, kernel_size, stride, padding)
    check_divisor(op, divisor_override)
    options = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad, "divisor_override": None if divisor_override is None else 1}
    sums = _in_two_steps(op, input, lambda x, *sizes: avg_pool(op, 2, x, *sizes, **options), (kernel, step, border), (1, 1, 0))
    return sums if divisor_override is None else sums * (1 / divisor_override)


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Average pooling of volumes, shape (B, C, D, H, W) or (C, D, H, W), to a given size; see `adaptive_avg_pool2d`."""
    out = _adaptive("adaptive_avg_pool3d", input, output_size, adaptive_avg_pool)
    return out if set(out.shape[-3:]) == {1} else needing(out, input)  # one mean needs nothing


@saves(0)
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Any:
    """Max pooling of volumes, shape (B, C, D, H, W) or (C, D, H, W), to a given size; see `adaptive_max_pool2d`."""
    return _adaptive("adaptive_max_pool3d", input, output_size, adaptive_max_pool, return_indices)


def _adaptive(op: str, input: Any, output_size: Any, pool: Callable[..., Any], *options: Any) -> Any:
    """Adaptive pooling of volumes by that of images."""
    size = output_sizes(op, output_size, check_volumes(op, input)[-3:])
    return _in_two_steps(op, input, lambda x, size: pool(op, 2, x, size, *options), [size], [size[1] * size[2]])


# Layers


class Conv3d(ConvNd):
    """Convolution of volumes. See `conv3d`; for the arguments see `ConvNd`."""

    dims, function = 3, staticmethod(conv3d)


class MaxPool3d(MaxPoolNd):
    """Maximum over windows of volumes. See `max_pool3d`; for the arguments see `MaxPoolNd`."""

    dims, function = 3, staticmethod(max_pool3d)


class AvgPool3d(AvgPoolNd):
    """Mean over windows of volumes. See `avg_pool3d`; for the arguments see `AvgPoolNd`."""

    dims, function = 3, staticmethod(avg_pool3d)


AdaptiveAvgPool3d = adaptive_layer("AdaptiveAvgPool3d", 3, adaptive_avg_pool3d)
AdaptiveMaxPool3d = adaptive_layer("AdaptiveMaxPool3d", 3, adaptive_max_pool3d)
