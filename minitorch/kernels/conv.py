"""Stage 4 - Optimized convolution: images copied into padded planes, where each tap of the weight is a constant offset.

A direct convolution has seven nested loops. The innermost ones are as short as the window and check the bounds at every step. Three
techniques turn them into loops as long as an image:

* Images are first copied into planes, padded with zeros, so that no bounds checks are needed. Rows are contiguous, so that the input that a
  tap multiplies is always at the same offset from the output. For strides above 1, rows and columns one stride apart are stored next to
  each other. Each tap is then a single offset, whatever padding, stride and dilation are. Results that span the end of a row are discarded.
* So a convolution is a product of the weight, (channels, taps), with a matrix whose rows are parts of the planes, each of which begins at
  the offset of its tap, and nothing has to be copied for it. It is computed in tiles, whose sums are in vector registers; see `tiles`.
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
from minitorch.kernels.tiles import ROWS, VECTOR, VECTORS, copy_row, multiply_tile
from minitorch.tensor_data import Storage

PARALLEL_THRESHOLD = 1 << 21
"""Number of multiplications below which waking the other threads costs more time than they save."""

PLANES = 1 << 16
"""Target for the numbers in the planes of one band, so that they stay in the cache."""

STACKED = 576
"""Images whose planes hold fewer numbers per channel are stacked until they have this many."""

HALF, MORE = ROWS // 2, ROWS // 2 + ROWS // 4
"""Other numbers of channels in a tile, the last one of a group: fewer are completed with zeros."""


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
def steps_to(end, start, step):
    """Return how many of start, start + step, … are less than end."""
    return max(0, (end - start + step - 1) // step)


@jitable
def copy_images(copy, source, t, together, position, s_batch, steps, sizes, planes, top, left):
    """Copy the parts of some images that begin at row `top` and column `left` into the planes, with zeros outside of the image."""
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


@jitable
def tile_height(left):
    """Return how many channels the next tile has, if so many are left."""
    return HALF if left <= HALF else MORE if left <= MORE else ROWS


@jitable
def padded_channels(channels):
    """Return the number of channels in all tiles."""
    return channels // ROWS * ROWS + (tile_height(channels % ROWS) if channels % ROWS else 0)


@cache
def correlation_kernels(itemsize: int) -> tuple[Any, Any]:
    """Make the correlation of numbers of a size, for one thread and for several.

    The kernels' arguments are out, source, weight and bias (flat storages; the bias is empty if there is none); the taps (an array with a
    row of offsets in the planes and a row of offsets in the weight); the number of tasks, the number of shares that they are divided
    into; and the tuples of `plan`.
    """
    key = code_key()
    width = VECTOR // itemsize
    span = VECTORS * width

    @jitable
    def pack_weights(weight, offsets, counts):
        """Return the weights in the order of access: for each tile of channels and each tap the numbers of its channels."""
        groups, _, channels, _, w_group, w_row = counts
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
    counts = (channels.groups, bands, channels.out, channels.size, channels.weight_step, weight_strides[0])
    image = (channels.batch, rows.out, columns.out, rows.size, columns.size, rows.first, columns.first)
    tasks = -(-channels.batch // planes.images) * channels.groups * bands
    return (
        taps,
        tasks,
        min(tasks, workers),
        counts,
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
    serial_kernel, parallel_kernel = correlation_kernels(out.storage.itemsize)
    if workers == 1:
        call(serial_kernel, out.storage, source.storage, weight.storage, bias, *args)
    else:
        launch(parallel_kernel, out.storage, source.storage, weight.storage, bias, *args)
