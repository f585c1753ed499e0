"""Stage 4 - The gradient of a convolution with respect to its weight, and the optimized kernels of the course's convolutions.

The gradients of a convolution are convolutions as well. The gradient of the input has a small weight and a large image, as the forward pass
has, and uses `conv.correlate`. The gradient of the weight has a large "weight" with thousands of taps, and a small result. Each
result is then a long sum of accumulate_weight_gradient; two channels and four taps are accumulated at once, in registers.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numba import prange

from minitorch.core.kernel import register_kernel
from minitorch.core.recording import call
from minitorch.kernels.conv import (
    DEPTH,
    PARALLEL_THRESHOLD,
    Axis,
    Channels,
    Operand,
    aligned_zeros,
    axis,
    copy_band,
    correlate,
    correlation_kernels,
    plane_offsets,
    planes_for,
    weight_offsets,
)
from minitorch.kernels.elementwise import print_diagnostics
from minitorch.kernels.jit import IN_ANY_ORDER, code_key, jitable, launch, parallel, serial, threads
from minitorch.tensor_data import TensorData

SHARES = 16
"""Maximum number of partial sums over the images; the same for any number of threads, so that results do not depend on it."""

MIN_SHARES = 4
"""Number of partial sums even if they are large."""

PARTIAL = 1 << 20
"""Target for the numbers in all partial sums."""

LENGTH = 1024
"""Number of accumulate_weight_gradient accumulated before the next taps, so that the operands stay in the L1 cache."""


@cache
def accumulate_weight_gradient_kernels() -> tuple[Any, Any]:
    """Make the sums of accumulate_weight_gradient, for one thread and for several.

    The kernels' arguments are out, gradient and source (flat storages); the taps (an array with a row of offsets in the planes and a row of
    offsets in one channel of out); the number of tasks, the number of shares; and the tuples of `plan`.
    """
    key = code_key(copy_band)

    @jitable
    def add_products(sums, one, two, planes, offsets):
        """Add to eight sums: two channels times four taps."""
        n = len(one) // 32 * 32
        p0, p1 = planes[offsets[0] : offsets[0] + n], planes[offsets[1] : offsets[1] + n]
        p2, p3 = planes[offsets[2] : offsets[2] + n], planes[offsets[3] : offsets[3] + n]
        a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = planes.dtype.type(0)
        for j in range(n):
            x, y = one[j], two[j]
            a0 += x * p0[j]
            a1 += x * p1[j]
            a2 += x * p2[j]
            a3 += x * p3[j]
            b0 += y * p0[j]
            b1 += y * p1[j]
            b2 += y * p2[j]
            b3 += y * p3[j]
        sums[0] += a0
        sums[1] += a1
        sums[2] += a2
        sums[3] += a3
        sums[4] += b0
        sums[5] += b1
        sums[6] += b2
        sums[7] += b3

    @jitable
    def add_single(sums, one, two, planes):
        """Add to two sums: two channels times one tap."""
        n = len(one) // 32 * 32
        a = b = planes.dtype.type(0)
        for j in range(n):
            a += one[j] * planes[j]
            b += two[j] * planes[j]
        sums[0] += a
        sums[1] += b

    @jitable
    def copy_row(line, gradient, start, step, inside):
        """Copy a row of the gradient, or zeros past the last row."""
        if inside and step == 1:
            source = gradient[start : start + len(line)]
            for i in range(len(line)):
                line[i] = source[i]
        else:
            for i in range(len(line)):
                line[i] = gradient[start + i * step] if inside else 0

    @jitable
    def sums_for(taps, shares, counts, like):
        """Return a row of zeros for each share: eight for two channels and four taps, then two for each remaining tap."""
        return np.zeros((shares, counts[0] * counts[4] * 2 * taps.shape[1]), like.dtype)

    @jitable
    def add_tasks(start, stop, sums, gradient, source, taps, counts, image, planes, steps):
        """Compute the tasks from start to stop, numbered over images, then groups, then bands."""
        offsets = taps[0]
        groups, bands, channels, sources, pairs = counts
        batch, rows, columns, height, width, top, left = image
        g_batch, g_channel, g_row, g_column, s_batch, s_channel, s_row, s_column = steps
        images, band, row_step, row_length = planes[0], planes[1], planes[4], planes[7]
        apart = planes[6] * row_length  # distance between images in the planes
        length = ((images - 1) * apart + (band - 1) * row_length + columns + 31) // 32 * 32
        copy = aligned_zeros(planes[8] + 32, gradient)
        lines = aligned_zeros(2 * pairs * length, gradient)  # the gradient in the layout of the planes, with zeros between rows
        fours = len(offsets) // 4
        for task in range(start, stop):
            t, b = task // bands, task % bands * band
            t, group = t // groups * images, t % groups
            for p in range(min(images, batch - t)):
                position = (t + p) * s_batch + group * sources * s_channel
                copy_band(
                    copy, p, source, position, (s_channel, s_row, s_column), (sources, height, width), planes, top + b * row_step, left
                )
            for channel in range(channels):
                for p in range(images):
                    at = (t + p) * g_batch + (group * channels + channel) * g_channel
                    for row in range(band):
                        begin = channel * length + p * apart + row * row_length
                        inside = t + p < batch and b + row < rows
                        copy_row(lines[begin : begin + columns], gradient, at + (b + row) * g_row, g_column, inside)
            for begin in range(0, length, LENGTH):
                n = min(LENGTH, length - begin)
                for first in range(0, fours, DEPTH):
                    for pair in range(pairs):
                        one = lines[2 * pair * length + begin : 2 * pair * length + begin + n]
                        two = lines[(2 * pair + 1) * length + begin : (2 * pair + 1) * length + begin + n]
                        part = sums[(group * pairs + pair) * 2 * len(offsets) :]
                        for q in range(first, min(first + DEPTH, fours)):
                            add_products(part[8 * q : 8 * q + 8], one, two, copy[begin:], offsets[4 * q : 4 * q + 4])
                for pair in range(pairs):
                    one = lines[2 * pair * length + begin : 2 * pair * length + begin + n]
                    two = lines[(2 * pair + 1) * length + begin : (2 * pair + 1) * length + begin + n]
                    part = sums[(group * pairs + pair) * 2 * len(offsets) :]
                    for tap in range(4 * fours, len(offsets)):
                        add_single(part[2 * tap : 2 * tap + 2], one, two, copy[begin + offsets[tap] :])

    @jitable
    def write_out(out, sums, offsets, counts, o_group, o_channel):
        """Write the total of the partial sums to out."""
        groups, _, channels, _, pairs = counts
        fours = len(offsets) // 4 * 4
        for group in range(groups):
            for channel in range(channels):
                begin = (group * pairs + channel // 2) * 2 * len(offsets)
                for tap in range(len(offsets)):
                    k = begin + (2 * tap + channel % 2 if tap >= fours else tap // 4 * 8 + channel % 2 * 4 + tap % 4)
                    total = sums[0, k]
                    for share in range(1, len(sums)):
                        total += sums[share, k]
                    out[group * o_group + channel * o_channel + offsets[tap]] = total

    return kernels_of(sums_for, add_tasks, write_out, key, IN_ANY_ORDER)


def kernels_of(sums_for: Any, add_tasks: Any, write_out: Any, key: int, flags: dict[str, Any]) -> tuple[Any, Any]:
    """Make the kernels of `accumulate_weight_gradient_kernels` from three functions.

    Args:
        sums_for: Returns an array with a row of zeros for the partial sums of each share.
        add_tasks: Adds tasks to such a row.
        write_out: Writes the total of all rows to out.
        key: Changes with their source; see `code_key`.
        flags: What the compiler may do.
    """

    def serial_kernel(out, gradient, source, taps, tasks, shares, counts, out_steps, image, planes, steps):
        _ = key
        sums = sums_for(taps, shares, counts, out)
        for share in range(shares):
            start, stop = share * tasks // shares, (share + 1) * tasks // shares
            add_tasks(start, stop, sums[share], gradient, source, taps, counts, image, planes, steps)
        write_out(out, sums, taps[1], counts, out_steps[0], out_steps[1])

    def parallel_kernel(out, gradient, source, taps, tasks, shares, counts, out_steps, image, planes, steps):
        _ = key
        sums = sums_for(taps, shares, counts, out)
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            start, stop = share * tasks // shares, (share + 1) * tasks // shares
            add_tasks(start, stop, sums[share], gradient, source, taps, counts, image, planes, steps)
        write_out(out, sums, taps[1], counts, out_steps[0], out_steps[1])

    return serial(serial_kernel, flags), parallel(parallel_kernel, flags)


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
    counts = (channels.groups, bands, channels.out, channels.size, -(-channels.out // 2))
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
    serial_kernel, parallel_kernel = accumulate_weight_gradient_kernels()
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
        print_diagnostics(*correlation_kernels(), level)


def swap_first_two(strides: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides with the first two dimensions swap_first_two."""
    first, second, *rest = strides
    return (second, first, *rest)


register_kernel("conv1d", "fast", CourseConv(1))
register_kernel("conv2d", "fast", CourseConv(2))
