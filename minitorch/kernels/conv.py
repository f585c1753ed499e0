"""Stage 4 - Optimized convolution: images copied into padded planes, where each tap of the weight is a constant offset.

A direct convolution has seven nested loops. The innermost ones are as short as the window and check the bounds at every step. Three
techniques turn them into loops as long as an image:

* Images are first copied into planes, padded with zeros, so that no bounds checks are needed. Rows are contiguous, so that the input that a
  tap multiplies is always at the same offset from the output. For strides above 1, rows and columns one stride apart are stored next to
  each other. Each tap is then a single offset, whatever padding, stride and dilation are. Results that span the end of a row are discarded.
* The innermost loop adds four taps to two channels at once: eight multiplications for six loads and two stores.
* An image is divided into bands of rows whose planes stay in the cache for all output channels. Small images are stacked in one plane, so
  that loops are long for them as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from minitorch.core.recording import call
from minitorch.kernels.jit import code_key, jitable, launch, parallel, serial, threads
from minitorch.tensor_data import Storage

PARALLEL_THRESHOLD = 1 << 21
"""Number of multiplications below which waking the other threads costs more time than they save."""

PLANES = 1 << 16
"""Target for the numbers in the planes of one band, so that they stay in the cache."""

WIDTH = 288
"""Maximum number of columns computed at once; with two channels and four taps they stay in the L1 cache."""

STACKED = 2 * WIDTH
"""Images whose planes hold fewer numbers per channel are stacked until they have this many."""

DEPTH = 16
"""Number of groups of four taps added to a pair of channels before the next pair."""


class Axis(NamedTuple):
    """One dimension of a correlation: out[i] = Σ_k in[i · step + shift_k] · weight[tap_k], with zeros outside of in.

    Attributes:
        out: Size of the result.
        size: Size of the input.
        step: Stride: the distance in the input between neighboring results.
        shifts: Offset in the input of each tap.
        taps: Index in the weight of each tap.
    """

    out: int
    size: int
    step: int
    shifts: tuple[int, ...]
    taps: tuple[int, ...]

    @property
    def first(self) -> int:
        """The smallest shift."""
        return min(self.shifts, default=0)

    @property
    def reach(self) -> int:
        """The distance between the smallest and the largest shift in steps, rounded down."""
        return (max(self.shifts, default=0) - self.first) // self.step


def axis(out: int, size: int, shifts: Sequence[int], step: int = 1, taps: Sequence[int] | None = None) -> Axis:
    """Make an Axis without the taps that only read padding."""
    numbered = zip(range(len(shifts)) if taps is None else taps, shifts, strict=True)
    kept = [(tap, shift) for tap, shift in numbered if shift < size and shift + (out - 1) * step >= 0]
    return Axis(out, size, step, tuple(shift for _, shift in kept), tuple(tap for tap, _ in kept))


class Operand(NamedTuple):
    """Images or weights, as arguments of the kernels.

    Attributes:
        storage: The storage, starting at the first element.
        strides: Strides of batch, channel, row and column; for weights, of output channel, input channel, row and column.
    """

    storage: Storage
    strides: tuple[int, ...]


class Channels(NamedTuple):
    """Batch and channel dimensions of a correlation.

    Attributes:
        batch: Number of images.
        groups: Number of groups of channels; each group is an independent correlation.
        out: Output channels in a group.
        size: Input channels in a group.
        weight_step: Stride between the weights of consecutive groups.
    """

    batch: int
    groups: int
    out: int
    size: int
    weight_step: int = 0


class Planes(NamedTuple):
    """Layout of the planes of a band of an image, or of several small images.

    For strides s of rows and t of columns, the element (channel, row, column) of the p-th image's band has the position
    (((channel · s + row % s) · t + column % t) · images + p) · height · width + (row // s) · width + column // t.

    Attributes:
        images: Number of images stacked in a plane.
        band: Rows of the result in a band.
        rows: Rows of the input that a band reads.
        columns: Columns of the input that a band reads.
        row_step: See `Axis`.
        column_step: See `Axis`.
        height: Rows of one image in a plane.
        width: Columns of a plane, and the distance between rows of the result.
        size: Number of elements in all planes.
    """

    images: int
    band: int
    rows: int
    columns: int
    row_step: int
    column_step: int
    height: int
    width: int
    size: int

    def offset(self, row: int, column: int) -> int:
        """Return the position in the first channel's planes of an element of the band."""
        phase = row % self.row_step * self.column_step + column % self.column_step
        return (phase * self.images * self.height + row // self.row_step) * self.width + column // self.column_step


def planes_for(rows: Axis, columns: Axis, channels: Channels, workers: int) -> Planes:
    """Divide images into bands, or stack several images, so that planes fit the cache and there is work for all threads."""
    width = columns.out + columns.reach
    per_row = max(1, channels.size * rows.step * columns.step * width)
    most = max(4, PLANES // per_row - rows.reach)
    bands = max(-(-rows.out // most), -(-workers // max(1, channels.batch * channels.groups)))
    band = max(1, -(-rows.out // bands))
    height = band + rows.reach
    images = 1
    if band >= rows.out:
        enough = -(-STACKED // (height * width)), PLANES // (per_row * height), channels.batch * channels.groups // workers
        images = max(1, min(*enough, channels.batch))
    down = ((band - 1) * rows.step + 1 + max(rows.shifts) - rows.first) if rows.shifts else 0
    across = ((columns.out - 1) * columns.step + 1 + max(columns.shifts) - columns.first) if columns.shifts else 0
    return Planes(images, band, down, across, rows.step, columns.step, height, width, per_row * images * height)


def plane_offsets(rows: Axis, columns: Axis, planes: Planes, channels: int) -> np.ndarray:
    """Return the offset in the planes of every tap of every channel, in the order channel, row, column."""
    one = planes.row_step * planes.column_step * planes.images * planes.height * planes.width
    offsets = [planes.offset(r - rows.first, c - columns.first) for r in rows.shifts for c in columns.shifts]
    return (np.arange(channels).reshape(-1, 1) * one + np.array(offsets, np.int64).reshape(1, -1)).reshape(-1)


def weight_offsets(rows: Axis, columns: Axis, channels: int, strides: tuple[int, ...]) -> np.ndarray:
    """Return the offset in the weight of the same taps, from the strides of channel, row and column."""
    by_channel, by_row, by_column = strides
    offsets = [r * by_row + c * by_column for r in rows.taps for c in columns.taps]
    return (np.arange(channels).reshape(-1, 1) * by_channel + np.array(offsets, np.int64).reshape(1, -1)).reshape(-1)


@jitable
def aligned_zeros(size, like):
    """Return zeros aligned to a cache line (64 bytes)."""
    raw = np.zeros(size + 64 // like.itemsize, like.dtype)
    start = (-raw.ctypes.data % 64) // like.itemsize
    return raw[start : start + size]


@jitable
def copy_band(copy, number, source, position, steps, sizes, planes, top, left):
    """Copy the part of an image that begins at row `top` and column `left` into the planes, with zeros for rows outside of the image.

    Columns outside of the image are not written: they are zero in all bands.
    """
    s_channel, s_row, s_column = steps
    channels, height, width = sizes
    images, _, rows, columns, row_step, column_step, plane_height, plane_width, _ = planes
    plane = images * plane_height * plane_width
    begin, end = max(0, -left), min(columns, width - left)
    for channel in range(channels):
        for row in range(rows):
            phase = (channel * row_step + row % row_step) * column_step
            target = phase * plane + (number * plane_height + row // row_step) * plane_width
            inside = 0 <= top + row < height
            start = position + channel * s_channel + (top + row) * s_row + left * s_column
            if column_step == 1 and s_column == 1 and inside:
                to, line = copy[target + begin : target + end], source[start + begin : start + end]
                for i in range(len(to)):
                    to[i] = line[i]
            else:
                for i in range(begin, end):
                    position_in_plane = target + i % column_step * plane + i // column_step
                    copy[position_in_plane] = source[start + i * s_column] if inside else 0


@jitable
def add_four(tile, second, planes, offsets, weights, n):
    """Add four taps to two channels, tile and second, n columns each (a multiple of 32)."""
    a0, a1, a2, a3 = weights[0], weights[1], weights[2], weights[3]
    b0, b1, b2, b3 = weights[4], weights[5], weights[6], weights[7]
    p0, p1 = planes[offsets[0] : offsets[0] + n], planes[offsets[1] : offsets[1] + n]
    p2, p3 = planes[offsets[2] : offsets[2] + n], planes[offsets[3] : offsets[3] + n]
    for j in range(n // 32 * 32):
        x0, x1, x2, x3 = p0[j], p1[j], p2[j], p3[j]
        tile[j] = tile[j] + a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
        second[j] = second[j] + b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3


@jitable
def add_one(tile, second, planes, a, b, n):
    """Add one tap to two channels."""
    for j in range(n // 32 * 32):
        x = planes[j]
        tile[j] = tile[j] + a * x
        second[j] = second[j] + b * x


@jitable
def copy_out(out, position, o_row, o_column, row, begin, rows, columns, width):
    """Copy a row of a tile into the rows of one result; it starts `begin` elements after the first element, or before it."""
    j = max(0, -begin)
    y, x = (begin + j) // width, (begin + j) % width
    while j < len(row) and y < rows:
        n = min(columns - x, len(row) - j)
        if n > 0:
            start, line = position + y * o_row + x * o_column, row[j : j + n]
            if o_column == 1:
                target = out[start : start + n]
                for i in range(n):
                    target[i] = line[i]
            else:
                for i in range(n):
                    out[start + i * o_column] = line[i]
        j, x, y = j + width - x, 0, y + 1


@jitable
def pack_weights(weight, offsets, counts):
    """Return the weights in the order of access: eight numbers for two channels and four taps, then two for each remaining tap.

    With an odd number of channels, the last pair is completed with zeros.
    """
    groups, _, channels, _, pairs, w_group, w_row = counts
    fours = len(offsets) // 4 * 4
    packed = np.zeros(groups * pairs * 2 * len(offsets), weight.dtype)
    for group in range(groups):
        for channel in range(channels):
            begin = (group * pairs + channel // 2) * 2 * len(offsets)
            start = group * w_group + channel * w_row
            for tap in range(0, fours, 4):
                for i in range(4):
                    packed[begin + 2 * tap + channel % 2 * 4 + i] = weight[start + offsets[tap + i]]
            for tap in range(fours, len(offsets)):
                packed[begin + 2 * tap + channel % 2] = weight[start + offsets[tap]]
    return packed


@cache
def correlation_kernels() -> tuple[Any, Any]:
    """Make the correlation, for one thread and for several.

    The kernels' arguments are out, source, weight and bias (flat storages; the bias is empty if there is none); the taps (an array with a
    row of offsets in the planes and a row of offsets in the weight); the number of tasks, the number of shares that they are divided
    into; and the tuples of `plan`.
    """
    key = code_key(copy_band)

    @jitable
    def correlate(start, stop, out, source, packed, bias, offsets, counts, image, planes, steps):
        """Compute the tasks from start to stop, numbered over images, then groups, then bands."""
        groups, bands, channels, sources, pairs, _, _ = counts
        batch, rows, columns, height, width, top, left = image
        o_batch, o_channel, o_row, o_column, s_batch, s_channel, s_row, s_column = steps
        images, band, row_step, row_length = planes[0], planes[1], planes[4], planes[7]
        apart = planes[6] * row_length  # distance between images in the planes
        length = (images - 1) * apart + (band - 1) * row_length + columns
        pieces = (length + WIDTH - 1) // WIDTH
        n = ((length + pieces - 1) // pieces + 31) // 32 * 32
        copy = aligned_zeros(planes[8] + pieces * n - length, out)  # the last piece is read to its end
        tile = aligned_zeros(2 * pairs * n, out)
        fours = len(offsets) // 4
        for task in range(start, stop):
            t, b = task // bands, task % bands * band
            t, group = t // groups * images, t % groups
            together = min(images, batch - t)
            for p in range(together):
                position = (t + p) * s_batch + group * sources * s_channel
                copy_band(
                    copy, p, source, position, (s_channel, s_row, s_column), (sources, height, width), planes, top + b * row_step, left
                )
            for piece in range(pieces):
                begin = piece * n
                for channel in range(2 * pairs):
                    value = bias[group * channels + channel] if len(bias) and channel < channels else 0
                    tile[channel * n : (channel + 1) * n] = value
                for first in range(0, fours, DEPTH):
                    for pair in range(pairs):
                        one, two = tile[2 * pair * n : (2 * pair + 1) * n], tile[(2 * pair + 1) * n : (2 * pair + 2) * n]
                        weights = packed[(group * pairs + pair) * 2 * len(offsets) :]
                        for q in range(first, min(first + DEPTH, fours)):
                            add_four(one, two, copy[begin:], offsets[4 * q : 4 * q + 4], weights[8 * q : 8 * q + 8], n)
                for pair in range(pairs):
                    one, two = tile[2 * pair * n : (2 * pair + 1) * n], tile[(2 * pair + 1) * n : (2 * pair + 2) * n]
                    weights = packed[(group * pairs + pair) * 2 * len(offsets) :]
                    for tap in range(4 * fours, len(offsets)):
                        add_one(one, two, copy[begin + offsets[tap] :], weights[2 * tap], weights[2 * tap + 1], n)
                for channel in range(channels):
                    o = t * o_batch + (group * channels + channel) * o_channel + b * o_row
                    part = tile[channel * n : (channel + 1) * n]
                    for p in range(begin // apart, min(together, (begin + n - 1) // apart + 1)):
                        copy_out(out, o + p * o_batch, o_row, o_column, part, begin - p * apart, min(band, rows - b), columns, row_length)

    return kernels_of(pack_weights, correlate, key)


def kernels_of(pack_weights: Any, correlate: Any, key: int) -> tuple[Any, Any]:
    """Make the kernels of `correlation_kernels` from the function that packs the weights and the one that computes tasks."""

    @serial
    def serial_kernel(out, source, weight, bias, taps, tasks, shares, counts, image, planes, steps):
        _ = key
        packed = pack_weights(weight, taps[1], counts)
        correlate(0, tasks, out, source, packed, bias, taps[0], counts, image, planes, steps)

    @parallel
    def parallel_kernel(out, source, weight, bias, taps, tasks, shares, counts, image, planes, steps):
        _ = key
        packed, offsets = pack_weights(weight, taps[1], counts), taps[0]
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            start, stop = share * tasks // shares, (share + 1) * tasks // shares
            correlate(start, stop, out, source, packed, bias, offsets, counts, image, planes, steps)

    return serial_kernel, parallel_kernel


@lru_cache(maxsize=4096)
def plan(
    rows: Axis,
    columns: Axis,
    channels: Channels,
    out_strides: tuple[int, ...],
    strides: tuple[int, ...],
    weight_strides: tuple[int, ...],
    workers: int,
) -> tuple[Any, ...]:
    """Return the arguments of the kernels after the storages."""
    planes = planes_for(rows, columns, channels, workers)
    offsets = plane_offsets(rows, columns, planes, channels.size)
    taps = np.stack([offsets, weight_offsets(rows, columns, channels.size, weight_strides[1:])])
    taps.flags.writeable = False
    bands = -(-rows.out // planes.band)
    counts = (channels.groups, bands, channels.out, channels.size, -(-channels.out // 2))
    image = (channels.batch, rows.out, columns.out, rows.size, columns.size, rows.first, columns.first)
    tasks = -(-channels.batch // planes.images) * channels.groups * bands
    return (
        taps,
        tasks,
        min(tasks, workers),
        (*counts, channels.weight_step, weight_strides[0]),
        image,
        tuple(planes),
        (*out_strides, *strides),
    )


def correlate(out: Operand, source: Operand, weight: Operand, rows: Axis, columns: Axis, channels: Channels, bias: Any = None) -> None:
    """Compute out = Σ over channels and taps of shifted source · weight, + bias; all operands have one dtype."""
    work = channels.batch * channels.groups * channels.out * rows.out * columns.out
    if not work:
        return
    work *= channels.size * len(rows.taps) * len(columns.taps)
    workers = threads() if work >= PARALLEL_THRESHOLD else 1
    args = plan(rows, columns, channels, out.strides, source.strides, weight.strides, workers)
    if bias is None:
        bias = np.empty(0, out.storage.dtype)
    serial_kernel, parallel_kernel = correlation_kernels()
    if workers == 1:
        call(serial_kernel, out.storage, source.storage, weight.storage, bias, *args)
    else:
        launch(parallel_kernel, out.storage, source.storage, weight.storage, bias, *args)
