"""Stage 4 - The gradients of convolution, and the kernels of the published one: which of two ways of adding up fits which operands.

A gradient of a convolution is a convolution again. That of the input is one of small weights with a large picture, as forward is, and goes
through `conv_loops`. That of the weights has as its result what was small, and as its weights what was large: thousands of taps, a few
results. There every result is one long sum of products, and two channels and four taps are added up at once, in registers.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numba import prange

from minitorch.core.kernel import register_kernel
from minitorch.kernels.conv import (
    DEPTH,
    PARALLEL,
    Axis,
    Channels,
    Operand,
    aligned_zeros,
    axis,
    copy_band,
    correlate,
    offsets_of,
    places_of,
    planes_for,
)
from minitorch.kernels.conv import make_kernels as correlation_kernels
from minitorch.kernels.elementwise import print_diagnostics
from minitorch.kernels.jit import IN_ANY_ORDER, code_key, jitable, launch, parallel, serial, threads
from minitorch.tensor_data import TensorData

SHARES = 16
"""Into so many sums the pictures are divided: as many for one thread as for several, so that results are the same."""

DIVIDED = 4
"""Into so many sums they are divided however large those are."""

PARTIAL = 1 << 20
"""At most so many numbers should all of these sums have."""

LENGTH = 1024
"""So many products are added up before it is the next taps' turn: their operands stay in the nearest cache."""


@cache
def make_kernels() -> tuple[Any, Any]:
    """The sums of products, for one thread and for several.

    They are called with out, gradient and source (flat storages); the taps, an array with a row of their offsets and one of their places in
    one channel of out; how many tasks there are, and in how many shares; and the tuples of `plan`.
    """
    key = code_key(copy_band)

    @jitable
    def add_products(sums, one, two, planes, offsets):
        """To eight sums, two channels times four taps."""
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
        """To two sums, two channels times one tap."""
        n = len(one) // 32 * 32
        a = b = planes.dtype.type(0)
        for j in range(n):
            a += one[j] * planes[j]
            b += two[j] * planes[j]
        sums[0] += a
        sums[1] += b

    @jitable
    def copy_row(line, gradient, start, step, inside):
        """A row of the gradient, or zeros if that is behind the last one."""
        if inside and step == 1:
            source = gradient[start : start + len(line)]
            for i in range(len(line)):
                line[i] = source[i]
        else:
            for i in range(len(line)):
                line[i] = gradient[start + i * step] if inside else 0

    @jitable
    def add_tasks(start, stop, sums, gradient, source, offsets, counts, picture, planes, steps):
        """The tasks from start to stop, counted over pictures, then groups, then bands."""
        groups, bands, channels, sources, pairs = counts
        batch, rows, columns, height, width, top, left = picture
        g_batch, g_channel, g_row, g_column, s_batch, s_channel, s_row, s_column = steps
        pictures, band, row_step, row_length = planes[0], planes[1], planes[4], planes[7]
        apart = planes[6] * row_length  # from a picture in the planes to the next
        length = ((pictures - 1) * apart + (band - 1) * row_length + columns + 31) // 32 * 32
        copy = aligned_zeros(planes[8] + 32, gradient)
        lines = aligned_zeros(2 * pairs * length, gradient)  # the gradient, laid out as the planes are, with zeros between its rows
        fours = len(offsets) // 4
        for task in range(start, stop):
            t, b = task // bands, task % bands * band
            t, group = t // groups * pictures, t % groups
            for p in range(min(pictures, batch - t)):
                position = (t + p) * s_batch + group * sources * s_channel
                copy_band(
                    copy, p, source, position, (s_channel, s_row, s_column), (sources, height, width), planes, top + b * row_step, left
                )
            for channel in range(channels):
                for p in range(pictures):
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
    def write_out(out, sums, places, counts, o_group, o_channel):
        """The shares' sums added up, each where it belongs."""
        groups, _, channels, _, pairs = counts
        fours = len(places) // 4 * 4
        for group in range(groups):
            for channel in range(channels):
                begin = (group * pairs + channel // 2) * 2 * len(places)
                for tap in range(len(places)):
                    k = begin + (2 * tap + channel % 2 if tap >= fours else tap // 4 * 8 + channel % 2 * 4 + tap % 4)
                    total = sums[0, k]
                    for share in range(1, len(sums)):
                        total += sums[share, k]
                    out[group * o_group + channel * o_channel + places[tap]] = total

    def serial_kernel(out, gradient, source, taps, tasks, shares, counts, out_steps, picture, planes, steps):
        _ = key
        sums = np.zeros((shares, counts[0] * counts[4] * 2 * taps.shape[1]), out.dtype)
        for share in range(shares):
            start, stop = share * tasks // shares, (share + 1) * tasks // shares
            add_tasks(start, stop, sums[share], gradient, source, taps[0], counts, picture, planes, steps)
        write_out(out, sums, taps[1], counts, out_steps[0], out_steps[1])

    def parallel_kernel(out, gradient, source, taps, tasks, shares, counts, out_steps, picture, planes, steps):
        _ = key
        sums = np.zeros((shares, counts[0] * counts[4] * 2 * taps.shape[1]), out.dtype)
        offsets = taps[0]
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            start, stop = share * tasks // shares, (share + 1) * tasks // shares
            add_tasks(start, stop, sums[share], gradient, source, offsets, counts, picture, planes, steps)
        write_out(out, sums, taps[1], counts, out_steps[0], out_steps[1])

    return serial(serial_kernel, IN_ANY_ORDER), parallel(parallel_kernel, IN_ANY_ORDER)


@lru_cache(maxsize=4096)
def plan(
    rows: Axis,
    columns: Axis,
    channels: Channels,
    out_strides: tuple[int, ...],
    gradient_strides: tuple[int, ...],
    strides: tuple[int, ...],
) -> tuple[Any, ...]:
    """What the kernels are called with behind the storages."""
    planes = planes_for(rows, columns, channels, DIVIDED)
    offsets = offsets_of(rows, columns, planes, channels.size)
    o_channel, o_source, o_row, o_column = out_strides
    taps = np.stack([offsets, places_of(rows, columns, channels.size, (o_source, o_row, o_column))])
    taps.flags.writeable = False
    bands = -(-rows.out // planes.band)
    counts = (channels.groups, bands, channels.out, channels.size, -(-channels.out // 2))
    picture = (channels.batch, rows.out, columns.out, rows.size, columns.size, rows.first, columns.first)
    tasks = -(-channels.batch // planes.pictures) * channels.groups * bands
    fitting = PARTIAL // (channels.groups * channels.out * len(offsets))
    shares = max(1, min(tasks, SHARES, max(fitting, DIVIDED)))  # without pictures the sums are 0
    return taps, tasks, shares, counts, (channels.weight_step, o_channel), picture, tuple(planes), (*gradient_strides, *strides)


def products(out: Operand, gradient: Operand, source: Operand, rows: Axis, columns: Axis, channels: Channels) -> None:
    """out = Σ over pictures and places of gradient · shifted source: of weights, the gradient.

    Args:
        out: Strides of output channel, input channel, row and column; all of it is written.
        gradient: Of the correlation's result, `channels.out` in a group.
        source: Its input, `channels.size` in a group.
        rows: `out` is the number of rows of the gradient; each tap is a row of the result.
        columns: Likewise.
        channels: `weight_step` is that from one group's results to the next's.
    """
    results = channels.groups * channels.out * channels.size * len(rows.taps) * len(columns.taps)
    if not results:
        return
    work = results * channels.batch * rows.out * columns.out
    args = plan(rows, columns, channels, out.strides, gradient.strides, source.strides)
    in_one, in_several = make_kernels()
    if work < PARALLEL or threads() == 1:
        in_one(out.storage, gradient.storage, source.storage, *args)
    else:
        launch(in_several, out.storage, gradient.storage, source.storage, *args)


class CourseConv:
    """The optimized kernel of the course's convolution, anchored at the first tap, or if reverse at the last.

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
            products(
                Operand(result.storage, swapped(result.strides)),
                Operand(kernel.storage, swapped(kernel.strides)),
                Operand(source.storage, swapped(source.strides)),
                Axis(rows, input_height, 1, down, down),
                Axis(columns, input_width, 1, across, across),
                Channels(channels, 1, out_channels, batch),
            )
        else:
            sign = -1 if reverse else 1
            down, across = range(0, sign * rows, sign), range(0, sign * columns, sign)
            axes = axis(height, input_height, down), axis(width, input_width, across)
            correlate(result, source, kernel, *axes, Channels(batch, 1, out_channels, channels))

    def in_two_dimensions(self, layout: tuple[int, ...], filling: int) -> tuple[int, ...]:
        """Shape or strides of pictures with rows and columns; those of one dimension are one row."""
        first, second, *rest = map(int, layout)
        return (first, second, *rest) if self.dims == 2 else (first, second, filling, *rest)

    def parallel_diagnostics(self, level: int = 1) -> None:
        """Print what numba made of the parallel loop of a correlation, for the operands of an earlier call."""
        print_diagnostics(*correlation_kernels(), level)


def swapped(strides: tuple[int, ...]) -> tuple[int, ...]:
    """Strides with the first two dimensions exchanged."""
    first, second, *rest = strides
    return (second, first, *rest)


register_kernel("conv1d", "fast", CourseConv(1))
register_kernel("conv2d", "fast", CourseConv(2))
