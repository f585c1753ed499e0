"""Stage 4 - The convolutions that the GPU's backend runs on: a thread computes one place of several output channels.

A number of the input, read once, is multiplied with a weight of each of these channels; the weights come through shared memory, some
taps at a time. A tap is a place of the window in one input channel. All tensors have four dimensions here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minitorch.core.kernel import register_kernel
from minitorch.kernels.cuda.device import SIMULATED, blocks_for, cuda, jit, launch

Layout = tuple[Any, tuple[int, ...], tuple[int, ...]]
"""Array, shape and strides of a tensor."""

CHANNELS = 2 if SIMULATED else 8
"""Output channels of a thread."""

THREADS = 4 if SIMULATED else 128
"""Threads of a block: so many places of an image."""

TAPS = 3 if SIMULATED else 32
"""Taps whose weights are in shared memory at a time."""

SUMS = 2 if SIMULATED else 4
"""Output channels whose long sums a block makes."""


def tiled_conv(out: Any, input: Any, weight: Any, reverse: bool) -> None:
    """The optimized kernel of the course's convolution of one or two dimensions, on data of the GPU."""
    if out.size:
        layouts = [(out.target(), out.shape, out.strides), input.tuple(), weight.tuple()]
        target, pictures, taps = (two_dimensional(layout) if len(out.shape) == 3 else layout for layout in layouts)
        convolve(target, pictures, taps, reverse)


def two_dimensional(layout: Layout) -> Layout:
    """A row as an image of height 1."""
    array, shape, strides = layout
    return array, (*shape[:2], 1, *shape[2:]), (*strides[:2], 0, *strides[2:])


def convolve(out: Layout, input: Layout, weight: Layout, reverse: bool) -> None:
    """Write the convolution of a tensor that has elements; its height and width may be smaller than the input's.

    Where the window is larger than the result, as it is for the gradient of weights, many threads share each sum.
    """
    batch, channels, rows, columns = out[1]
    if not reverse and weight[1][2] * weight[1][3] > rows * columns:
        grid = batch * rows * columns, blocks_for(channels, SUMS)
        launch(_long_sums(), grid, THREADS, *out, *input, *weight)
    else:
        grid = blocks_for(rows * columns, THREADS) * batch, blocks_for(channels, CHANNELS)
        launch(_convolution(), grid, THREADS, *out, *input, *weight, -1 if reverse else 1)


@cache
def _convolution() -> Any:
    return jit(convolution_kernel())


@cache
def _long_sums() -> Any:
    return jit(long_sums_kernel())


def convolution_kernel() -> Any:
    """The kernel: blockIdx.x counts images and pieces of THREADS places in each, blockIdx.y groups of CHANNELS output channels.

    direction is 1 where the window reaches down and to the right, -1 where it reaches up and to the left.
    """
    SIZE = CHANNELS * TAPS  # numba takes the size of a shared array from a name, not from a product

    def _convolution(out, out_shape, out_strides, a, a_shape, a_strides, weight, weight_shape, weight_strides, direction):  # type: ignore[no-untyped-def]
        weights = cuda.shared.array(SIZE, out.dtype)
        sums = cuda.local.array(CHANNELS, out.dtype)
        for channel in range(CHANNELS):
            sums[channel] = 0

        thread, first = cuda.threadIdx.x, cuda.blockIdx.y * CHANNELS
        rows, columns = out_shape[2], out_shape[3]
        pieces = (rows * columns + THREADS - 1) // THREADS
        image, place = cuda.blockIdx.x // pieces, cuda.blockIdx.x % pieces * THREADS + thread
        row, column = place // columns, place % columns
        inside = row < rows
        taps = weight_shape[2] * weight_shape[3]
        count = weight_shape[1] * taps
        here = np.int64(image) * a_strides[0]

        c, i, j = 0, 0, 0  # the tap that comes next: input channel, row and column of the window
        for start in range(0, count, TAPS):
            cuda.syncthreads()  # nobody needs the last weights any more
            for item in range(thread, SIZE, THREADS):
                channel, tap = first + item % CHANNELS, start + item // CHANNELS
                weights[item] = 0  # what is not there adds nothing
                if channel < out_shape[1] and tap < count:
                    place_of_tap = tap % taps
                    weights[item] = weight[
                        channel * weight_strides[0]
                        + tap // taps * weight_strides[1]
                        + place_of_tap // weight_shape[3] * weight_strides[2]
                        + place_of_tap % weight_shape[3] * weight_strides[3]
                    ]
            cuda.syncthreads()
            for tap in range(min(TAPS, count - start)):
                y, x = row + direction * i, column + direction * j
                if inside and 0 <= y < a_shape[2] and 0 <= x < a_shape[3]:
                    value = a[here + c * a_strides[1] + y * a_strides[2] + x * a_strides[3]]
                    for channel in range(CHANNELS):
                        sums[channel] += value * weights[tap * CHANNELS + channel]
                j += 1
                if j == weight_shape[3]:
                    j = 0
                    i += 1
                    if i == weight_shape[2]:
                        i = 0
                        c += 1

        for channel in range(CHANNELS):
            if inside and first + channel < out_shape[1]:
                target = np.int64(image) * out_strides[0] + (first + channel) * out_strides[1]
                out[target + row * out_strides[2] + column * out_strides[3]] = sums[channel]

    return _convolution


def long_sums_kernel() -> Any:
    """The kernel for few places and a large window: blockIdx.x counts images and places, blockIdx.y groups of SUMS output channels.

    out[b, o, h, w] = sum over c, i and j of a[b, c, h + i, w + j] · weight[o, c, i, j]: the threads of a block share c, i and j. Then
    they add up what they have, half of them at a time.
    """
    SIZE = SUMS * THREADS

    def _long_sums(out, out_shape, out_strides, a, a_shape, a_strides, weight, weight_shape, weight_strides):  # type: ignore[no-untyped-def]
        partial_sums = cuda.shared.array(SIZE, out.dtype)
        sums = cuda.local.array(SUMS, out.dtype)
        for item in range(SUMS):
            sums[item] = 0

        thread, first = cuda.threadIdx.x, cuda.blockIdx.y * SUMS
        w, rest = cuda.blockIdx.x % out_shape[3], cuda.blockIdx.x // out_shape[3]
        h, b = rest % out_shape[2], rest // out_shape[2]
        rows, columns = min(weight_shape[2], a_shape[2] - h), min(weight_shape[3], a_shape[3] - w)  # beyond these the input is 0
        for n in range(thread, weight_shape[1] * rows * columns, THREADS):
            j, rest = n % columns, n // columns
            i, c = rest % rows, rest // rows
            value = a[b * a_strides[0] + c * a_strides[1] + (h + i) * a_strides[2] + (w + j) * a_strides[3]]
            q = first * weight_strides[0] + c * weight_strides[1] + i * weight_strides[2] + j * weight_strides[3]
            for item in range(SUMS):
                if first + item < out_shape[1]:
                    sums[item] += value * weight[q + item * weight_strides[0]]

        for item in range(SUMS):
            partial_sums[item * THREADS + thread] = sums[item]
        half = THREADS // 2
        while half > 0:
            cuda.syncthreads()
            if thread < half:
                for item in range(SUMS):
                    partial_sums[item * THREADS + thread] += partial_sums[item * THREADS + thread + half]
            half //= 2
        if thread == 0:
            for item in range(SUMS):
                if first + item < out_shape[1]:
                    target = b * out_strides[0] + (first + item) * out_strides[1] + h * out_strides[2] + w * out_strides[3]
                    out[target] = partial_sums[item * THREADS]

    return _long_sums


for _op in ("conv1d", "conv2d"):
    register_kernel(_op, "cuda", tiled_conv)
