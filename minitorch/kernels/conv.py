"""Stage 4 - The loops of convolution: images laid out so that every tap of a kernel is one shift, and sums of shifted rows.

Written down, a convolution has seven loops, whose innermost are as short as its kernel and ask at every step whether they are still inside
the image. Three ideas leave loops as long as an image:

* Images are first copied to planes: with zeros around them, so that nothing is outside; one row behind the other, so that the pixel that
  a tap meets stands everywhere at the same distance from the one that it is added to; and, where a kernel goes in steps, columns and rows
  that are a step apart next to each other. A tap is then one offset, whatever padding, step and dilation are. What is computed across the
  ends of rows is not copied out.
* The innermost loop adds four taps to two channels at once: eight multiplications for six numbers read and two written.
* An image is cut into bands of rows whose planes stay in the cache for all channels of the result; of small images, several lie in planes
  one below the other, so that loops are long even there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from minitorch.kernels.jit import code_key, jitable, launch, parallel, serial, threads
from minitorch.tensor_data import Storage

PARALLEL = 1 << 21
"""Multiplications below which waking the other threads costs more than they save."""

PLANES = 1 << 16
"""At most so many numbers should the planes of one band have: then they stay in the cache."""

WIDTH = 288
"""At most so many columns are computed at once: with two channels and four taps they stay in the nearest cache."""

STACKED = 2 * WIDTH
"""Pictures whose planes have fewer columns in all of their rows together are put together until they have as many."""

DEPTH = 16
"""So many times four taps are added to two channels before it is the next two's turn."""


class Axis(NamedTuple):
    """One dimension of a picture in a correlation: out[i] = Σ_k in[i · step + shift_k] · weight[k], where a place outside in counts as 0.

    Attributes:
        out: Size of the result.
        size: Size of the input.
        step: From one place of the input to that of the next result.
        shifts: Of every tap, how far from there it looks.
        taps: Which place of the weight belongs to each shift.
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
        """How many steps the largest shift is further than the smallest, rounded down."""
        return (max(self.shifts, default=0) - self.first) // self.step


def axis(out: int, size: int, shifts: Sequence[int], step: int = 1, taps: Sequence[int] | None = None) -> Axis:
    """The Axis with those taps that meet the input anywhere."""
    numbered = zip(range(len(shifts)) if taps is None else taps, shifts, strict=True)
    kept = [(tap, shift) for tap, shift in numbered if shift < size and shift + (out - 1) * step >= 0]
    return Axis(out, size, step, tuple(shift for _, shift in kept), tuple(tap for tap, _ in kept))


class Operand(NamedTuple):
    """Pictures or weights as the kernels take them.

    Attributes:
        storage: The numbers, from the first element on.
        strides: Of batch, channel, row and column; of weights, of output channel, input channel, row and column.
    """

    storage: Storage
    strides: tuple[int, ...]


class Channels(NamedTuple):
    """How the channels of a correlation belong together.

    Attributes:
        batch: Number of pictures.
        groups: In how many parts the channels fall, each of which is a correlation of its own.
        out: Channels of the result in a group.
        size: Channels of the input in a group.
        weight_step: From the weights of a group to those of the next.
    """

    batch: int
    groups: int
    out: int
    size: int
    weight_step: int = 0


class Planes(NamedTuple):
    """Where a band of a picture, or several small pictures, lie in their planes.

    With the steps s of rows and t of columns, the place (channel, row, column) of the p-th picture's band stands at position
    (((channel · s + row % s) · t + column % t) · pictures + p) · height · width + (row // s) · width + column // t.

    Attributes:
        pictures: That lie one below the other.
        band: Rows of the result that are computed of each.
        rows: Of a picture in a band.
        columns: Of a picture in a band.
        row_step: See `Axis`.
        column_step: See `Axis`.
        height: Rows of a picture's part of a plane.
        width: Columns of a plane, and from one row of the result to the next.
        size: Numbers in all planes.
    """

    pictures: int
    band: int
    rows: int
    columns: int
    row_step: int
    column_step: int
    height: int
    width: int
    size: int

    def offset(self, row: int, column: int) -> int:
        """Position in the first channel's planes of a place in the band."""
        phase = row % self.row_step * self.column_step + column % self.column_step
        return (phase * self.pictures * self.height + row // self.row_step) * self.width + column // self.column_step


def planes_for(rows: Axis, columns: Axis, channels: Channels, workers: int) -> Planes:
    """Cut pictures into bands, or put several together: no more than fit the cache, and enough for all threads that are at work."""
    width = columns.out + columns.reach
    per_row = max(1, channels.size * rows.step * columns.step * width)
    most = max(4, PLANES // per_row - rows.reach)
    bands = max(-(-rows.out // most), -(-workers // max(1, channels.batch * channels.groups)))
    band = max(1, -(-rows.out // bands))
    height = band + rows.reach
    pictures = 1
    if band >= rows.out:
        enough = -(-STACKED // (height * width)), PLANES // (per_row * height), channels.batch * channels.groups // workers
        pictures = max(1, min(*enough, channels.batch))
    down = ((band - 1) * rows.step + 1 + max(rows.shifts) - rows.first) if rows.shifts else 0
    across = ((columns.out - 1) * columns.step + 1 + max(columns.shifts) - columns.first) if columns.shifts else 0
    return Planes(pictures, band, down, across, rows.step, columns.step, height, width, per_row * pictures * height)


def offsets_of(rows: Axis, columns: Axis, planes: Planes, channels: int) -> np.ndarray:
    """Of every tap of every channel, the channels running slowest, where in the planes it begins."""
    one = planes.row_step * planes.column_step * planes.pictures * planes.height * planes.width
    places = [planes.offset(r - rows.first, c - columns.first) for r in rows.shifts for c in columns.shifts]
    return (np.arange(channels).reshape(-1, 1) * one + np.array(places, np.int64).reshape(1, -1)).reshape(-1)


def places_of(rows: Axis, columns: Axis, channels: int, strides: tuple[int, ...]) -> np.ndarray:
    """Of the same taps, where their weights stand, by the strides of channel, row and column."""
    by_channel, by_row, by_column = strides
    places = [r * by_row + c * by_column for r in rows.taps for c in columns.taps]
    return (np.arange(channels).reshape(-1, 1) * by_channel + np.array(places, np.int64).reshape(1, -1)).reshape(-1)


@jitable
def aligned_zeros(size, like):
    """Zeros that begin where a cache line (64 bytes) begins."""
    raw = np.zeros(size + 64 // like.itemsize, like.dtype)
    start = (-raw.ctypes.data % 64) // like.itemsize
    return raw[start : start + size]


@jitable
def copy_band(copy, number, source, position, steps, sizes, planes, top, left):
    """Copy the part of a picture that begins at row `top` and column `left` to its place in the planes; what is outside of it becomes 0.

    Columns outside are left as they are: they are the same in all bands.
    """
    s_channel, s_row, s_column = steps
    channels, height, width = sizes
    pictures, _, rows, columns, row_step, column_step, plane_height, plane_width, _ = planes
    plane = pictures * plane_height * plane_width
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
                    place = target + i % column_step * plane + i // column_step
                    copy[place] = source[start + i * s_column] if inside else 0


@jitable
def add_four(tile, second, planes, offsets, weights, n):
    """Add four taps to two channels: the first and the second half of the tile, n columns of each, a multiple of 32."""
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
    """Write what stands in a row of a tile into the rows of one result; it begins `begin` places after the first element, or before."""
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
def packed_weights(weight, places, groups, pairs, channels, w_group, w_row):
    """The weights in the order in which they are met: of two channels and four taps eight numbers, then two of each tap that is left over.

    Those of a channel that is not there are zeros.
    """
    fours = len(places) // 4 * 4
    packed = np.zeros(groups * pairs * 2 * len(places), weight.dtype)
    for group in range(groups):
        for channel in range(channels):
            begin = (group * pairs + channel // 2) * 2 * len(places)
            start = group * w_group + channel * w_row
            for tap in range(0, fours, 4):
                for i in range(4):
                    packed[begin + 2 * tap + channel % 2 * 4 + i] = weight[start + places[tap + i]]
            for tap in range(fours, len(places)):
                packed[begin + 2 * tap + channel % 2] = weight[start + places[tap]]
    return packed


@cache
def make_kernels() -> tuple[Any, Any]:
    """The correlation, for one thread and for several.

    They are called with out, source, weight and bias (flat storages, the last one empty if there is none); the taps, an array with a row of
    their offsets and one of their places in the weights of one channel; how many tasks there are, and how many get a share of them; and the
    tuples of `plan`.
    """
    key = code_key(copy_band)

    @jitable
    def correlate(start, stop, out, source, packed, bias, offsets, counts, picture, planes, steps):
        """The tasks from start to stop, counted over pictures, then groups, then bands."""
        groups, bands, channels, sources, pairs, _, _ = counts
        batch, rows, columns, height, width, top, left = picture
        o_batch, o_channel, o_row, o_column, s_batch, s_channel, s_row, s_column = steps
        pictures, band, row_step, row_length = planes[0], planes[1], planes[4], planes[7]
        apart = planes[6] * row_length  # from a picture in the planes to the next
        length = (pictures - 1) * apart + (band - 1) * row_length + columns
        pieces = (length + WIDTH - 1) // WIDTH
        n = ((length + pieces - 1) // pieces + 31) // 32 * 32
        copy = aligned_zeros(planes[8] + pieces * n - length, out)  # the last piece is read to its end
        tile = aligned_zeros(2 * pairs * n, out)
        fours = len(offsets) // 4
        for task in range(start, stop):
            t, b = task // bands, task % bands * band
            t, group = t // groups * pictures, t % groups
            together = min(pictures, batch - t)
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

    @serial
    def serial_kernel(out, source, weight, bias, taps, tasks, shares, counts, picture, planes, steps):
        _ = key
        groups, _, channels, _, pairs, w_group, w_row = counts
        packed = packed_weights(weight, taps[1], groups, pairs, channels, w_group, w_row)
        correlate(0, tasks, out, source, packed, bias, taps[0], counts, picture, planes, steps)

    @parallel
    def parallel_kernel(out, source, weight, bias, taps, tasks, shares, counts, picture, planes, steps):
        _ = key
        groups, _, channels, _, pairs, w_group, w_row = counts
        packed = packed_weights(weight, taps[1], groups, pairs, channels, w_group, w_row)
        offsets = taps[0]
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            start, stop = share * tasks // shares, (share + 1) * tasks // shares
            correlate(start, stop, out, source, packed, bias, offsets, counts, picture, planes, steps)

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
    """What the kernels are called with behind the storages."""
    planes = planes_for(rows, columns, channels, workers)
    offsets = offsets_of(rows, columns, planes, channels.size)
    taps = np.stack([offsets, places_of(rows, columns, channels.size, weight_strides[1:])])
    taps.flags.writeable = False
    bands = -(-rows.out // planes.band)
    counts = (channels.groups, bands, channels.out, channels.size, -(-channels.out // 2))
    picture = (channels.batch, rows.out, columns.out, rows.size, columns.size, rows.first, columns.first)
    tasks = -(-channels.batch // planes.pictures) * channels.groups * bands
    return (
        taps,
        tasks,
        min(tasks, workers),
        (*counts, channels.weight_step, weight_strides[0]),
        picture,
        tuple(planes),
        (*out_strides, *strides),
    )


def correlate(out: Operand, source: Operand, weight: Operand, rows: Axis, columns: Axis, channels: Channels, bias: Any = None) -> None:
    """out = Σ over channels and taps of shifted source · weight, + bias, all of one dtype; every element of out is written."""
    work = channels.batch * channels.groups * channels.out * rows.out * columns.out
    if not work:
        return
    work *= channels.size * len(rows.taps) * len(columns.taps)
    workers = threads() if work >= PARALLEL else 1
    args = plan(rows, columns, channels, out.strides, source.strides, weight.strides, workers)
    if bias is None:
        bias = np.empty(0, out.storage.dtype)
    in_one, in_several = make_kernels()
    if workers == 1:
        in_one(out.storage, source.storage, weight.storage, bias, *args)
    else:
        launch(in_several, out.storage, source.storage, weight.storage, bias, *args)
