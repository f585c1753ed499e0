"""Stage 5 - The loops of pooling on the compiled backend: windows of any size and step, planes shared among threads.

A plane is one channel of one image. Arrays are given flat, without gaps. Windows that lie within their plane need no look at its edges;
those that reach over one go another way. For the windows that most networks use, the compiler knows the size, and needs no loop for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minitorch.kernels.jit import jitable
from minitorch.kernels.pool import Loop, loop

COMMON = ((2, 2), (2, 2))
"""Size and step of the windows that loops of their own are made for."""

HALVINGS = 2
"""PARALLEL is halved so often for these loops."""


def over_planes(body: Callable[..., None], *calls: Callable[..., Any]) -> Loop:
    """The loop over planes of a function (out, x, places, unused, sizes, first, last) of three flat arrays.

    places: Where the largest elements stand, int32; a mean has none. sizes: Height and width of a plane, of its result, of the padding,
    of a window, and of the steps between windows.
    """
    return loop(body, HALVINGS, (inside, beyond, *calls))


def window_of(common: bool) -> Callable[..., Any]:
    """What picks height, width and steps of a window out of `sizes`, or, for the common one, knows them."""
    (kh, kw), (sh, sw) = COMMON

    def given(sizes):
        return sizes[6], sizes[7], sizes[8], sizes[9]

    def known(sizes):
        return kh, kw, sh, sw

    return jitable(known if common else given)


@jitable
def inside(count, step, padding, kernel, end):
    """Along one dimension, the first window that lies within the plane, and the first after it that does not."""
    first = min((padding + step - 1) // step, count)
    behind = min((end + padding - kernel) // step + 1, count)
    return first, max(first, behind)


@jitable
def beyond(start, kernel, end):
    """Along one dimension, where a window that may reach over an edge begins and ends within the plane."""
    return max(start, 0), min(start + kernel, end)


# The largest


@cache
def max_forward(common: bool) -> Loop:
    """The largest of each window, NaN if there is one, and its place in the plane: the first of several."""
    window = window_of(common)

    def body(out, x, places, unused, sizes, first_plane, last_plane):
        h, w, oh, ow, ph, pw = sizes[:6]
        kh, kw, sh, sw = window(sizes)
        low, high = inside(oh, sh, ph, kh, h)
        left, right = inside(ow, sw, pw, kw, w)
        for plane in range(first_plane, last_plane):
            image = x[plane * h * w : (plane + 1) * h * w]
            for i in range(oh):
                o = (plane * oh + i) * ow
                row, row_places = out[o : o + ow], places[o : o + ow]
                within = low <= i < high
                for edge in range(ow - right + left if within else ow):
                    j = edge + right - left if within and edge >= left else edge
                    top, bottom = beyond(i * sh - ph, kh, h)
                    start, stop = beyond(j * sw - pw, kw, w)
                    place = top * w + start
                    for r in range(top, bottom):
                        for c in range(r * w + start, r * w + stop):
                            v, best = image[c], image[place]
                            if v > best or (v != v and best == best):
                                place = c
                    row[j], row_places[j] = image[place], place
                if within:
                    corner = (i * sh - ph) * w + left * sw - pw
                    row, row_places = row[left:right], row_places[left:right]
                    for j in range(len(row)):
                        best, place = image[corner:][j * sw], np.int32(0)
                        for r in range(kh):
                            line = image[corner + r * w :]
                            for c in range(kw):
                                v = line[j * sw + c]
                                if v > best or (v != v and best == best):
                                    best, place = v, np.int32(r * w + c)
                        row[j], row_places[j] = best, corner + j * sw + place

    return over_planes(body, window)


@cache
def max_backward() -> Loop:
    """Add what flows into each window to where its largest element stands."""

    def body(grad, grad_output, places, unused, sizes, first_plane, last_plane):
        h, w, oh, ow = sizes[:4]
        for plane in range(first_plane, last_plane):
            image = grad[plane * h * w : (plane + 1) * h * w]
            image[:] = 0
            d, place = grad_output[plane * oh * ow : (plane + 1) * oh * ow], places[plane * oh * ow : (plane + 1) * oh * ow]
            for i in range(len(d)):
                image[np.uint64(place[i])] += d[i]

    return over_planes(body)


# The mean


@cache
def avg_forward(common: bool) -> Loop:
    """The mean of each window; padding counts as zeros."""
    window = window_of(common)

    def body(out, x, places, unused, sizes, first_plane, last_plane):
        h, w, oh, ow, ph, pw = sizes[:6]
        kh, kw, sh, sw = window(sizes)
        low, high = inside(oh, sh, ph, kh, h)
        left, right = inside(ow, sw, pw, kw, w)
        nothing, share = out.dtype.type(0), out.dtype.type(1 / (kh * kw))
        for plane in range(first_plane, last_plane):
            image = x[plane * h * w : (plane + 1) * h * w]
            for i in range(oh):
                row = out[(plane * oh + i) * ow : (plane * oh + i + 1) * ow]
                within = low <= i < high
                for edge in range(ow - right + left if within else ow):
                    j = edge + right - left if within and edge >= left else edge
                    top, bottom = beyond(i * sh - ph, kh, h)
                    start, stop = beyond(j * sw - pw, kw, w)
                    total = nothing
                    for r in range(top, bottom):
                        for c in range(r * w + start, r * w + stop):
                            total += image[c]
                    row[j] = total * share
                if within:
                    corner = (i * sh - ph) * w + left * sw - pw
                    row = row[left:right]
                    for j in range(len(row)):
                        total = nothing
                        for r in range(kh):
                            line = image[corner + r * w :]
                            for c in range(kw):
                                total += line[j * sw + c]
                        row[j] = total * share

    return over_planes(body, window)


@cache
def avg_backward(common: bool) -> Loop:
    """Add an equal share of what flows into each window to all of its elements."""
    window = window_of(common)

    def body(grad, grad_output, places, unused, sizes, first_plane, last_plane):
        h, w, oh, ow, ph, pw = sizes[:6]
        kh, kw, sh, sw = window(sizes)
        low, high = inside(oh, sh, ph, kh, h)
        left, right = inside(ow, sw, pw, kw, w)
        share = grad.dtype.type(1 / (kh * kw))
        for plane in range(first_plane, last_plane):
            image = grad[plane * h * w : (plane + 1) * h * w]
            image[:] = 0
            for i in range(oh):
                row = grad_output[(plane * oh + i) * ow : (plane * oh + i + 1) * ow]
                within = low <= i < high
                for edge in range(ow - right + left if within else ow):
                    j = edge + right - left if within and edge >= left else edge
                    top, bottom = beyond(i * sh - ph, kh, h)
                    start, stop = beyond(j * sw - pw, kw, w)
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

    return over_planes(body, window)
