"""Stage 4 - The gradient of a convolution with respect to its weight, and the optimized kernels of the course's convolutions.

The gradients of a convolution are convolutions as well. The gradient of the input has a small weight and a large image, as the forward pass
has, and uses `conv.correlate`. The gradient of the weight has a large "weight" with thousands of taps, and a small result. It is a product
of the planes, (taps, positions), with the gradient of the output, (positions, channels), which is copied with its channels last.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numba import prange

from minitorch.core.kernel import register_kernel
from minitorch.core.recording import call
from minitorch.kernels.conv import (
    PARALLEL_THRESHOLD,
    Axis,
    Channels,
    Operand,
    aligned_zeros,
    axis,
    copy_images,
    correlate,
    correlation_kernels,
    plane_offsets,
    planes_for,
    weight_offsets,
)
from minitorch.kernels.elementwise import print_diagnostics
from minitorch.kernels.jit import code_key, jitable, launch, parallel, serial, threads
from minitorch.kernels.tiles import ROWS, VECTOR, VECTORS, copy_row, multiply_tile
from minitorch.tensor_data import TensorData

SHARES = 16
"""Maximum number of partial sums over the images; the same for any number of threads, so that results do not depend on it."""

MIN_SHARES = 4
"""Number of partial sums even if they are large."""

PARTIAL = 1 << 20
"""Target for the numbers in all partial sums."""


@cache
def accumulate_weight_gradient_kernels(itemsize: int) -> tuple[Any, Any]:
    """Make the sums of accumulate_weight_gradient for numbers of a size, for one thread and for several.

    The kernels' arguments are out, gradient and source (flat storages); the taps (an array with a row of offsets in the planes and a row of
    offsets in one channel of out); the number of tasks, the number of shares; and the tuples of `plan`.
    """
    key = code_key()
    width = VECTOR // itemsize
    span = VECTORS * width

    @jitable
    def padded_offsets(offsets):
        """Return the offsets of the taps, completed to whole tiles by some whose results are not used."""
        padded = aligned_zeros((len(offsets) + ROWS - 1) // ROWS * ROWS, offsets)
        for tap in range(len(offsets)):
            padded[tap] = offsets[tap]
        return padded

    @jitable
    def sums_for(taps, shares, counts, like):
        """Return a row of zeros for each share: for every tap, completed to whole tiles, the sums of all channels."""
        across, high = (counts[2] + width - 1) // width * width, (taps.shape[1] + ROWS - 1) // ROWS * ROWS
        return aligned_zeros(shares * counts[0] * high * across, like).reshape((shares, counts[0] * high * across))

    @jitable
    def add_tasks(start, stop, sums, gradient, source, taps, counts, image, planes, steps):
        """Compute the tasks from start to stop, numbered over images, then groups, then bands."""
        offsets, zero = padded_offsets(taps[0]), gradient.dtype.type(0)
        groups, bands, channels, sources = counts
        batch, rows, columns, height, width_, top, left = image
        g_batch, g_channel, g_row, g_column, s_batch, s_channel, s_row, s_column = steps
        images, band, row_step, row_length = planes[0], planes[1], planes[4], planes[7]
        across = (channels + width - 1) // width * width
        copy = aligned_zeros(planes[8], gradient)
        places = aligned_zeros(images * band * columns, offsets)
        lines = aligned_zeros(len(places) * across, gradient)  # a line for each position: its channels
        for task in range(start, stop):
            t, b = task // bands, task % bands * band
            t, group = t // groups * images, t % groups
            together, tall = min(images, batch - t), min(band, rows - b)
            position = group * sources * s_channel
            sizes = (sources, height, width_)
            copy_images(copy, source, t, together, position, s_batch, (s_channel, s_row, s_column), sizes, planes, top + b * row_step, left)
            n = 0
            for p in range(together):
                for row in range(tall):
                    at = (t + p) * g_batch + group * channels * g_channel + (b + row) * g_row
                    place = (p * planes[6] + row) * row_length
                    for column in range(columns):
                        places[n + column] = place + column
                        copy_row(lines, (n + column) * across, gradient, at + column * g_column, g_channel, zero, channels)
                    n += columns
            begin, whole = group * len(offsets) * across, across // span * span
            for j in range(0, whole if n else 0, span):  # the part of the lines stays in the cache
                for tap in range(0, len(offsets), ROWS):
                    multiply_tile(sums, begin, across, 1, copy, 0, offsets, places, lines, 0, across, 1, n, tap, j, ROWS, span, width, 1)
            for j in range(whole, across if n else 0, width):
                for tap in range(0, len(offsets), ROWS):
                    multiply_tile(sums, begin, across, 1, copy, 0, offsets, places, lines, 0, across, 1, n, tap, j, ROWS, width, width, 1)

    @jitable
    def write_out(out, sums, offsets, counts, o_group, o_channel):
        """Write the total of the partial sums to out."""
        groups, channels = counts[0], counts[2]
        across = (channels + width - 1) // width * width
        taps = sums.shape[1] // (groups * across)
        for group in range(groups):
            for channel in range(channels):
                for tap in range(len(offsets)):
                    k = (group * taps + tap) * across + channel
                    total = sums[0, k]
                    for share in range(1, len(sums)):
                        total += sums[share, k]
                    out[group * o_group + channel * o_channel + offsets[tap]] = total

    @serial
    def serial_kernel(out, gradient, source, taps, tasks, shares, counts, out_steps, image, planes, steps):
        _ = key
        sums = sums_for(taps, shares, counts, out)
        for share in range(shares):
            start, stop = share * tasks // shares, (share + 1) * tasks // shares
            add_tasks(start, stop, sums[share], gradient, source, taps, counts, image, planes, steps)
        write_out(out, sums, taps[1], counts, out_steps[0], out_steps[1])

    @parallel
    def parallel_kernel(out, gradient, source, taps, tasks, shares, counts, out_steps, image, planes, steps):
        _ = key
        sums = sums_for(taps, shares, counts, out)
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            start, stop = share * tasks // shares, (share + 1) * tasks // shares
            add_tasks(start, stop, sums[share], gradient, source, taps, counts, image, planes, steps)
        write_out(out, sums, taps[1], counts, out_steps[0], out_steps[1])

    return serial_kernel, parallel_kernel


@lru_cache(maxsize=4096)
def plan(
    rows: Axis, columns: Axis, channels: Channels, out_strides: tuple[int, ...], gradient_strides: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[Any, ...]:
    """Return the arguments of the kernels after the storages."""
    planes = planes_for(rows, columns, channels, MIN_SHARES)
    offsets = plane_offsets(rows, columns, planes, channels.size)
    o_channel, o_source, o_row, o_column = out_strides
    taps = np.stack([offsets, weight_offsets(rows, columns, channels.size, (o_source, o_row, o_column))])
    taps.flags.writeable = False
    bands = -(-rows.out // planes.band)
    counts = (channels.groups, bands, channels.out, channels.size)
    image = (channels.batch, rows.out, columns.out, rows.size, columns.size, rows.first, columns.first)
    tasks = -(-channels.batch // planes.images) * channels.groups * bands
    fitting = PARTIAL // (channels.groups * channels.out * len(offsets))
    shares = max(1, min(tasks, SHARES, max(fitting, MIN_SHARES)))  # 1 for an empty batch, whose sums are 0
    return taps, tasks, shares, counts, (channels.weight_step, o_channel), image, tuple(planes), (*gradient_strides, *strides)


def accumulate_weight_gradient(out: Operand, gradient: Operand, source: Operand, rows: Axis, columns: Axis, channels: Channels) -> None:
    """Compute the gradient of a weight, out = Σ over images and positions of gradient · shifted source.

    Args:
        out: The gradient of the weight, with strides of output channel, input channel, row and column.
        gradient: The gradient of the correlation's result, with `channels.out` channels in a group.
        source: The correlation's input, with `channels.size` channels in a group.
        rows: `out` is the number of rows of the gradient; each tap is a row of the result.
        columns: The same for columns.
        channels: `weight_step` is the stride between the results of consecutive groups.
    """
    results = channels.groups * channels.out * channels.size * len(rows.taps) * len(columns.taps)
    if not results:
        return
    work = results * channels.batch * rows.out * columns.out
    args = plan(rows, columns, channels, out.strides, gradient.strides, source.strides)
    serial_kernel, parallel_kernel = accumulate_weight_gradient_kernels(out.storage.itemsize)
    if work < PARALLEL_THRESHOLD or threads() == 1:
        call(serial_kernel, out.storage, gradient.storage, source.storage, *args)
    else:
        launch(parallel_kernel, out.storage, gradient.storage, source.storage, *args)


class CourseConv:
    """The optimized kernel of the course's convolution, anchored at the first tap or, if reverse, at the last.

    Args:
        dims: Spatial dimensions, 1 or 2.
    """

    def __init__(self, dims: int) -> None:
        self.dims = dims

    def __call__(self, out: TensorData, input: TensorData, weight: TensorData, reverse: bool) -> None:
        """Write the convolution into out."""
        batch, out_channels, height, width = self.in_two_dimensions(out.shape, 1)
        _, channels, input_height, input_width = self.in_two_dimensions(input.shape, 1)
        *_, rows, columns = self.in_two_dimensions(weight.shape, 1)
        result = Operand(out.tuple()[0], self.in_two_dimensions(out.strides, 0))
        source = Operand(input.tuple()[0], self.in_two_dimensions(input.strides, 0))
        kernel = Operand(weight.tuple()[0], self.in_two_dimensions(weight.strides, 0))
        if rows * columns > height * width and not reverse and batch * out_channels * height * width:
            down, across = tuple(range(height)), tuple(range(width))
            accumulate_weight_gradient(
                Operand(result.storage, swap_first_two(result.strides)),
                Operand(kernel.storage, swap_first_two(kernel.strides)),
                Operand(source.storage, swap_first_two(source.strides)),
                Axis(rows, input_height, 1, down, down),
                Axis(columns, input_width, 1, across, across),
                Channels(channels, 1, out_channels, batch),
            )
        else:
            sign = -1 if reverse else 1
            down, across = range(0, sign * rows, sign), range(0, sign * columns, sign)
            axes = axis(height, input_height, down), axis(width, input_width, across)
            correlate(result, source, kernel, *axes, Channels(batch, 1, out_channels, channels))

    def in_two_dimensions(self, layout: tuple[int, ...], fill: int) -> tuple[int, ...]:
        """Return a shape or strides with rows and columns; 1D images become a single row."""
        first, second, *rest = map(int, layout)
        return (first, second, *rest) if self.dims == 2 else (first, second, fill, *rest)

    def parallel_diagnostics(self, level: int = 1) -> None:
        """Print numba's diagnostics of the correlation's parallel loop, for the operand types of an earlier call."""
        print_diagnostics(*correlation_kernels(4), level)


def swap_first_two(strides: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides with the first two dimensions swap_first_two."""
    first, second, *rest = strides
    return (second, first, *rest)


register_kernel("conv1d", "fast", CourseConv(1))
register_kernel("conv2d", "fast", CourseConv(2))
