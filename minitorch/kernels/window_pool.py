"""Stage 7 - Pooling kernels of the fast backend, for windows of any size, stride and padding.

A plane is one channel of one image. Arrays are flat and contiguous. Interior windows need no bounds checks; windows that overlap the border
are clipped. For the most common window, the sizes are compile-time constants, so that the compiler unrolls the loops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minitorch.kernels.jit import jitable
from minitorch.kernels.loop import Loop, loop

COMMON = ((2, 2), (2, 2))
"""Size and stride of the window with kernels of its own."""

HALVINGS = 2
"""How many times the parallel threshold is halved; see `pool.Loop`."""


def plane_loop(body: Callable[..., None], *calls: Callable[..., Any]) -> Loop:
    """Make the loop over planes of body(out, x, indices, unused, sizes, first, last).

    indices: Positions of the largest elements, int32; unused for means. sizes: height and width of a plane, of its result, of the padding,
    of a window, and of the stride.
    """
    return loop(body, HALVINGS, (interior, clip_window, *calls))


def window_sizes(common: bool) -> Callable[..., Any]:
    """Make the function that returns height, width and strides of a window: from `sizes`, or constant for the common window."""
    (kh, kw), (sh, sw) = COMMON

    def from_sizes(sizes):
        return sizes[6], sizes[7], sizes[8], sizes[9]

    def constant(sizes):
        return kh, kw, sh, sw

    return jitable(constant if common else from_sizes)


@jitable
def interior(count, step, padding, kernel, end):
    """Along one dimension, the first interior window and the first window after the interior ones."""
    first = min((padding + step - 1) // step, count)
    end_of_interior = min((end + padding - kernel) // step + 1, count)
    return first, max(first, end_of_interior)


@jitable
def clip_window(start, kernel, end):
    """Along one dimension, the begin and end of a window, clipped to the plane."""
    return max(start, 0), min(start + kernel, end)


# Maximum


@cache
def max_forward(common: bool) -> Loop:
    """Make the kernel of the maximum of each window (NaN takes precedence) and its index in the plane, the first of equal elements."""
    window = window_sizes(common)

    def body(out, x, indices, unused, sizes, first_plane, last_plane):
        h, w, oh, ow, ph, pw = sizes[:6]
        kh, kw, sh, sw = window(sizes)
        low, high = interior(oh, sh, ph, kh, h)
        left, right = interior(ow, sw, pw, kw, w)
        for plane in range(first_plane, last_plane):
            image = x[plane * h * w : (plane + 1) * h * w]
            for i in range(oh):
                o = (plane * oh + i) * ow
                row, row_indices = out[o : o + ow], indices[o : o + ow]
                within = low <= i < high
                for edge in range(ow - right + left if within else ow):
                    j = edge + right - left if within and edge >= left else edge
                    top, bottom = clip_window(i * sh - ph, kh, h)
                    start, stop = clip_window(j * sw - pw, kw, w)
                    index = top * w + start
                    for r in range(top, bottom):
                        for c in range(r * w + start, r * w + stop):
                            v, best = image[c], image[index]
                            if v > best or (v != v and best == best):
                                index = c
                    row[j], row_indices[j] = image[index], index
                if within:
                    corner = (i * sh - ph) * w + left * sw - pw
                    first, to = np.uint64(plane * h * w + corner), np.uint64(o + left)  # unsigned: no index counts from the end
                    for j in range(np.uint64(right - left)):
                        position = first + j * np.uint64(sw)
                        best, index = x[position], np.int32(0)
                        for r in range(kh):
                            for c in range(kw):
                                v = x[position + np.uint64(r * w + c)]
                                larger = (v > best) | ((v != v) & (best == best))  # without branches, which are hard to predict
                                best, index = v if larger else best, np.int32(r * w + c) if larger else index
                        out[to + j], indices[to + j] = best, np.int32(corner) + np.int32(j) * np.int32(sw) + index

    return plane_loop(body, window)


@cache
def max_backward() -> Loop:
    """Make the kernel that adds the gradient of each window to its largest element."""

    def body(grad, grad_output, indices, unused, sizes, first_plane, last_plane):
        h, w, oh, ow = sizes[:4]
        for plane in range(first_plane, last_plane):
            image = grad[plane * h * w : (plane + 1) * h * w]
            image[:] = 0
            d, index = grad_output[plane * oh * ow : (plane + 1) * oh * ow], indices[plane * oh * ow : (plane + 1) * oh * ow]
            for i in range(len(d)):
                image[np.uint64(index[i])] += d[i]

    return plane_loop(body)


# Mean


@cache
def avg_forward(common: bool) -> Loop:
    """Make the kernel of the mean of each window; padding counts as zeros."""
    window = window_sizes(common)

    def body(out, x, indices, unused, sizes, first_plane, last_plane):
        h, w, oh, ow, ph, pw = sizes[:6]
        kh, kw, sh, sw = window(sizes)
        low, high = interior(oh, sh, ph, kh, h)
        left, right = interior(ow, sw, pw, kw, w)
        zero, share = out.dtype.type(0), out.dtype.type(1 / (kh * kw))
        for plane in range(first_plane, last_plane):
            image = x[plane * h * w : (plane + 1) * h * w]
            for i in range(oh):
                row = out[(plane * oh + i) * ow : (plane * oh + i + 1) * ow]
                within = low <= i < high
                for edge in range(ow - right + left if within else ow):
                    j = edge + right - left if within and edge >= left else edge
                    top, bottom = clip_window(i * sh - ph, kh, h)
                    start, stop = clip_window(j * sw - pw, kw, w)
                    total = zero
                    for r in range(top, bottom):
                        for c in range(r * w + start, r * w + stop):
                            total += image[c]
                    row[j] = total * share
                if within:
                    corner = (i * sh - ph) * w + left * sw - pw
                    row = row[left:right]
                    for j in range(len(row)):
                        total = zero
                        for r in range(kh):
                            line = image[corner + r * w :]
                            for c in range(kw):
                                total += line[j * sw + c]
                        row[j] = total * share

    return plane_loop(body, window)


@cache
def avg_backward(common: bool) -> Loop:
    """Make the kernel that divides the gradient of each window among its elements."""
    window = window_sizes(common)

    def body(grad, grad_output, indices, unused, sizes, first_plane, last_plane):
        h, w, oh, ow, ph, pw = sizes[:6]
        kh, kw, sh, sw = window(sizes)
        low, high = interior(oh, sh, ph, kh, h)
        left, right = interior(ow, sw, pw, kw, w)
        share = grad.dtype.type(1 / (kh * kw))
        for plane in range(first_plane, last_plane):
            image = grad[plane * h * w : (plane + 1) * h * w]
            image[:] = 0
            for i in range(oh):
                row = grad_output[(plane * oh + i) * ow : (plane * oh + i + 1) * ow]
                within = low <= i < high
                for edge in range(ow - right + left if within else ow):
                    j = edge + right - left if within and edge >= left else edge
                    top, bottom = clip_window(i * sh - ph, kh, h)
                    start, stop = clip_window(j * sw - pw, kw, w)
                    for r in range(top, bottom):
                        for c in range(r * w + start, r * w + stop):
                            image[c] += row[j] * share
                if within:
                    corner = (i * sh - ph) * w + left * sw - pw
                    row = row[left:right]
                    for j in range(len(row)):
                        d = row[j] * share
                        for r in range(kh):
                            line = image[corner + r * w :]
                            for c in range(kw):
                                line[j * sw + c] += d

    return plane_loop(body, window)
