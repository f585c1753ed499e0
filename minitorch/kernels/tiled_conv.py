"""Stage 5 - Convolution in tiles: the kernels of `conv` and `conv_matmul` with sums in vector registers, for compiled programs.

The planes and plans are those of `conv`: in a plane, the input that a tap multiplies is at a constant distance from the output. So a
convolution is a product of the weight, (channels, taps), with a matrix whose rows are parts of the planes, each one beginning at the offset
of its tap, and nothing has to be copied for it. The gradient of the weight is a product as well, (taps, positions) with (positions,
channels), for which the gradient of the output is copied with its channels last.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from minitorch.kernels import conv, conv_matmul
from minitorch.kernels.conv import aligned_zeros
from minitorch.kernels.jit import FLAGS, code_key, jitable, run_alone
from minitorch.kernels.tiles import ROWS, VECTOR, VECTORS, copy_row, multiply_tile

HALF, MORE = ROWS // 2, ROWS // 2 + ROWS // 4
"""Other numbers of channels in a tile, the last one of a group: fewer are completed with zeros."""


@jitable
def tile_height(left):
    """Return how many channels the next tile has, if so many are left."""
    return HALF if left <= HALF else MORE if left <= MORE else ROWS


@jitable
def padded_channels(channels):
    """Return the number of channels in all tiles."""
    return channels // ROWS * ROWS + (tile_height(channels % ROWS) if channels % ROWS else 0)


@jitable
def steps_to(end, start, step):
    """Return how many of start, start + step, … are less than end."""
    return max(0, (end - start + step - 1) // step)


@jitable
def copy_images(copy, source, t, together, position, s_batch, steps, sizes, planes, top, left):
    """Copy the parts of some images that begin at row `top` and column `left` into the planes; see `conv.copy_band`."""
    s_channel, s_row, s_column = steps
    channels, height, width = sizes
    images, _, rows, columns, row_step, column_step, plane_height, plane_width, size = planes
    copy[:size] = 0
    for number in range(together * channels * row_step * column_step):
        phase, c = number // column_step, number % column_step
        p, channel, r = phase // row_step // channels, phase // row_step % channels, phase % row_step
        target = ((phase % (channels * row_step) * column_step + c) * images + p) * plane_height * plane_width
        start = position + (t + p) * s_batch + channel * s_channel + (top + r) * s_row + (left + c) * s_column
        begin, end = steps_to(-left, c, column_step), steps_to(min(columns, width - left), c, column_step)
        for row in range(steps_to(-top, r, row_step), steps_to(min(rows, height - top), r, row_step)):
            line = start + row * row_step * s_row + begin * column_step * s_column
            copy_row(copy, target + row * plane_width + begin, source, line, column_step * s_column, copy.dtype.type(0), end - begin)


@cache
def correlation_kernels(itemsize: int) -> tuple[Any, Any]:
    """Make `conv.correlation_kernels` for numbers of a size; the arguments are the same."""
    key = code_key(copy_images)
    width = VECTOR // itemsize
    span = VECTORS * width

    @jitable
    def pack_weights(weight, offsets, counts):
        """Return the weights in the order of access: for each tile of channels and each tap the numbers of its channels."""
        groups, _, channels, _, _, w_group, w_row = counts
        padded = padded_channels(channels)
        packed = aligned_zeros(groups * padded * len(offsets), weight)
        for group in range(groups):
            for channel in range(channels):
                first = channel // ROWS * ROWS
                height = tile_height(channels - first)
                begin = (group * padded + first) * len(offsets) + channel - first
                for tap in range(len(offsets)):
                    packed[begin + tap * height] = weight[group * w_group + channel * w_row + offsets[tap]]
        return packed

    @jitable
    def copy_out(out, o, line, begin, value, rows, columns, o_row, o_column, row_length):
        """Write the rows of a result, plus a number, without what lies between them in the planes."""
        for row in range(rows):
            start, position = o + row * o_row, begin + row * row_length
            if o_column == 1:
                copy_row(out, start, line, position, 1, value, columns)
            else:
                for x in range(columns):
                    out[start + x * o_column] = line[position + x] + value

    @jitable
    def correlate(start, stop, out, source, packed, bias, offsets, counts, image, planes, steps):
        """Compute the tasks from start to stop, numbered over images, then groups, then bands."""
        groups, bands, channels, sources = counts[:4]
        batch, rows, columns, height, width_, top, left = image
        o_batch, o_channel, o_row, o_column, s_batch, s_channel, s_row, s_column = steps
        images, band, row_step, row_length = planes[0], planes[1], planes[4], planes[7]
        apart = planes[6] * row_length  # distance between images in the planes
        length = (images - 1) * apart + (band - 1) * row_length + columns
        n = (length + span - 1) // span * span
        copy = aligned_zeros(planes[8] + n - length, out)  # the last tile is read to its end
        line = aligned_zeros(ROWS * n, out)
        padded = padded_channels(channels)
        for task in range(start, stop):
            t, b = task // bands, task % bands * band
            t, group = t // groups * images, t % groups
            together = min(images, batch - t)
            position, used = group * sources * s_channel, length - (images - together) * apart
            sizes = (sources, height, width_)
            copy_images(copy, source, t, together, position, s_batch, (s_channel, s_row, s_column), sizes, planes, top + b * row_step, left)
            for first in range(0, channels, ROWS):
                begin, high, inner = (group * padded + first) * len(offsets), tile_height(channels - first), len(offsets)
                for j in range(0, used if inner else 0, span):
                    if high == ROWS:
                        multiply_tile(line, 0, n, 1, packed, begin, 1, ROWS, copy, 0, offsets, 1, inner, 0, j, ROWS, span, width, 0)
                    elif high == MORE:
                        multiply_tile(line, 0, n, 1, packed, begin, 1, MORE, copy, 0, offsets, 1, inner, 0, j, MORE, span, width, 0)
                    else:
                        multiply_tile(line, 0, n, 1, packed, begin, 1, HALF, copy, 0, offsets, 1, inner, 0, j, HALF, span, width, 0)
                for channel in range(first, min(first + ROWS, channels)):
                    value = bias[group * channels + channel] if len(bias) else out.dtype.type(0)
                    for p in range(together):
                        o = (t + p) * o_batch + (group * channels + channel) * o_channel + b * o_row
                        place = (channel - first) * n + p * apart
                        copy_out(out, o, line, place, value, min(band, rows - b), columns, o_row, o_column, row_length)

    return conv.kernels_of(pack_weights, correlate, key)


@cache
def weight_gradient_kernels(itemsize: int) -> tuple[Any, Any]:
    """Make `conv_matmul.accumulate_weight_gradient_kernels` for numbers of a size; the arguments are the same."""
    key = code_key(copy_images)
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
        groups, bands, channels, sources, _ = counts
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

    return conv_matmul.kernels_of(sums_for, add_tasks, write_out, key, FLAGS)


def with_tiles(launch: Any) -> Any:
    """The launch of a convolution's kernel as one of the kernel with tiles; another launch as it is."""
    alone = launch.fn is run_alone  # a parallel kernel is its first argument
    kernel = launch.args[0] if alone else launch.fn
    for others, ours in (
        (conv.correlation_kernels(), correlation_kernels),
        (conv_matmul.accumulate_weight_gradient_kernels(), weight_gradient_kernels),
    ):
        dtype = launch.args[alone].dtype if kernel in others else np.dtype(bool)
        if dtype.kind == "f":
            mine = ours(dtype.itemsize)[others.index(kernel)]
            return replace(launch, args=(mine, *launch.args[1:])) if alone else replace(launch, fn=mine)
    return launch
