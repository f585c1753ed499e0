"""Stage 6 - Pooling with dilation, windows that reach past the end, the positions of maxima, and the inverse of max pooling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch.core.creation import cat
from minitorch.core.recording import constant
from minitorch.nn.padding import pad
from minitorch.nn.pooling import avg_pool2d, check_window_sizes
from minitorch.ops.checks import Sizes, as_pair, check_float_tensor
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData


def window_count(length: int, kernel: int, step: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Number of windows along a dimension. With ceil_mode, the last one may reach past the end, but begins before it."""
    slack = length + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-slack // step) if ceil_mode else slack // step) + 1
    return count - 1 if ceil_mode and (count - 1) * step >= length + padding else count


def _with_borders(input: Tensor, counts: Any, spans: Any, step: Any, padding: Any, fill: float) -> Tensor:
    """The images with borders, so that the windows end at the last row and column."""
    ends = [(n - 1) * s + span - size - p for n, s, span, size, p in zip(counts, step, spans, input.shape[2:], padding, strict=True)]
    return pad(input, (padding[1], ends[1], padding[0], ends[0]), "constant", fill)


def _counts(op: str, input: Tensor, kernel: Any, step: Any, padding: Any, dilation: Any, ceil_mode: bool) -> list[int]:
    """Height and width of the result.

    Raises:
        ValueError: If input has the wrong number of dimensions, or no window fits.
    """
    if check_float_tensor(op, input).dims != 4:
        raise ValueError(f"{op} expected input of shape (B, C, H, W), got {input.shape}")
    counts = [window_count(*sizes, ceil_mode) for sizes in zip(input.shape[2:], kernel, step, padding, dilation, strict=True)]
    if min(counts) < 1:
        raise ValueError(
            f"{op} expected images no smaller than a window of {kernel}, got input of shape {input.shape}; take smaller windows"
        )
    return counts


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """`max_pool2d` with further options, and the positions of the maxima.

    Args:
        input: Images, shape (B, C, H, W).
        kernel_size: Window size, an int or a pair (height, width).
        stride: Step between windows; kernel_size by default.
        padding: Rows and columns of -∞ on each side, at most half of kernel_size.
        dilation: Step between the elements of a window.
        ceil_mode: Whether the last windows may reach past the end.

    Returns:
        The maxima, shape (B, C, H', W'), and their positions in the image in row-major order, int64.

    Raises:
        TypeError: If input is not a floating-point Tensor, or a size is not an integer.
        ValueError: If input has the wrong number of dimensions, a size is out of range, or no window fits.
    """
    op = "max_pool2d"
    (kernel, step, border), gaps = check_window_sizes(op, kernel_size, stride, padding), as_pair(op, "dilation", dilation, 1)
    counts, width = _counts(op, input, kernel, step, border, gaps, ceil_mode), input.shape[3]
    padded = _with_borders(input, counts, [gap * (k - 1) + 1 for gap, k in zip(gaps, kernel, strict=True)], step, border, -math.inf)
    rows, columns = (  # of the elements of every window, shape (windows, elements)
        np.arange(count)[:, None] * s + np.arange(k) * gap for count, s, k, gap in zip(counts, step, kernel, gaps, strict=True)
    )
    windows = padded[:, :, rows[:, None, :, None], columns[None, :, None, :]].reshape(*input.shape[:2], *counts, -1)
    places = (rows - border[0])[:, None, :, None] * width + (columns - border[1])[None, :, None, :]
    chosen = Tensor.argmax(windows.detach(), 4, keepdim=False).to_numpy().astype(np.int64)
    numbers = np.take_along_axis(np.broadcast_to(places.reshape(*counts, -1), windows.shape), chosen[..., None], -1)[..., 0]
    indices = input._like(TensorData(np.ascontiguousarray(numbers).reshape(-1), numbers.shape))
    return Tensor.max(windows, 4, keepdim=False), indices


def max_unpool2d(input: Tensor, indices: Tensor, output_size: tuple[int, int]) -> Tensor:
    """Images of zeros with the maxima at their positions: a partial inverse of max pooling.

    Args:
        input: The maxima, shape (B, C, H', W').
        indices: Their positions, as from `max_pool2d_with_indices`, same shape; of several for one element, the last one counts.
        output_size: Height and width of the result.

    Returns:
        Shape (B, C, H, W).

    Raises:
        ValueError: If the shapes differ, or a position is outside.
    """
    if input.dims != 4 or indices.shape != input.shape:
        raise ValueError(f"max_unpool2d expected input and indices of the same shape (B, C, H, W), got {input.shape} and {indices.shape}")
    B, C, H, W = input.shape
    height, width = output_size
    places = indices.to_numpy().reshape(B * C, H * W)
    if places.size and not (places.min() >= 0 and places.max() < height * width):
        raise ValueError(f"max_unpool2d expected positions from 0 to {height * width - 1}, got {places.min()} to {places.max()}")
    source = np.full((B * C, height * width), input.numel())  # that of the zero
    source[np.arange(B * C)[:, None], places] = np.arange(input.numel()).reshape(places.shape)
    return cat([input.reshape(-1), input.zeros((1,))])[source].reshape(B, C, height, width)


def avg_pool2d_with_options(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """`avg_pool2d` with further options.

    Args:
        input: Images, shape (B, C, H, W).
        kernel_size: Window size, an int or a pair (height, width).
        stride: Step between windows; kernel_size by default.
        padding: Rows and columns of zeros on each side, at most half of kernel_size.
        ceil_mode: Whether the last windows may reach past the end; what lies beyond the padding does not count.
        count_include_pad: Whether the padding counts in the mean.

    Returns:
        Shape (B, C, H', W').

    Raises:
        TypeError: If input is not a floating-point Tensor, or a size is not an integer.
        ValueError: If input has the wrong number of dimensions, a size is out of range, or no window fits.
    """
    op = "avg_pool2d"
    kernel, step, border = check_window_sizes(op, kernel_size, stride, padding)
    counts = _counts(op, input, kernel, step, border, (1, 1), ceil_mode)
    means = avg_pool2d(_with_borders(input, counts, kernel, step, border, 0.0), kernel, step)
    shares = []
    for size, count, k, s, p in zip(input.shape[2:], counts, kernel, step, border, strict=True):
        starts, counted = np.arange(count) * s - p, p if count_include_pad else 0
        shares.append(k / (np.minimum(starts + k, size + counted) - np.maximum(starts, -counted)))
    factors = np.multiply.outer(*shares).astype(input.dtype)
    return means * input._like(TensorData(constant(factors.reshape(-1)), factors.shape))
