"""Stage 5 - The loops of normalization on the compiled backend: planes that share their statistics, and rows that each have their own.

A plane is one channel of one sample. Arrays are given flat, without gaps; numbers of a plane or row stand in arrays of their own. Sums are
float64's, or made of sums of blocks that are added up in it: so float32 keeps its digits. A mean is float64's, too: what float32 cannot
hold of it is taken away with the shift.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import prange

from minitorch.kernels.jit import IN_ANY_ORDER, code_key, jitable, parallel, serial
from minitorch.kernels.pool import Loop

BLOCK = 1 << 10
"""Numbers that are summed in their own dtype."""

HALVINGS = 2
"""PARALLEL is halved so often for these loops."""


def summing(body: Callable[..., None]) -> Loop:
    """As `minitorch.kernels.pool.loop`, but several terms of a sum may be added at once."""
    body = jitable(body)
    key = code_key(body)

    def alone(out, a, b, c, sizes, tasks, shares):
        _ = key
        body(out, a, b, c, sizes, 0, tasks)

    def shared(out, a, b, c, sizes, tasks, shares):
        _ = key
        for share in prange(shares):
            share = np.int64(share)  # else its arithmetic becomes float64
            body(out, a, b, c, sizes, share * tasks // shares, (share + 1) * tasks // shares)

    return Loop(serial(alone, IN_ANY_ORDER), parallel(shared, IN_ANY_ORDER), HALVINGS)


# Sums


@jitable
def total(x):
    """Σ x, which may be far more than its distances from the mean: every term is added in float64."""
    found = 0.0
    for j in range(len(x)):
        found += x[j]
    return found


@jitable
def total_of_squares(x, middle):
    """Σ (x - middle)²."""
    found = 0.0
    for start in range(0, len(x), BLOCK):
        part, some = x[start : start + BLOCK], x.dtype.type(0)
        for j in range(len(part)):
            some += (part[j] - middle) * (part[j] - middle)
        found += some
    return found


@jitable
def total_of_products(d, x, middle):
    """Σ d · (x - middle)."""
    found = 0.0
    for start in range(0, len(x), BLOCK):
        part, other, some = x[start : start + BLOCK], d[start : start + BLOCK], x.dtype.type(0)
        for j in range(len(part)):
            some += other[j] * (part[j] - middle)
        found += some
    return found


@jitable
def rest_of_squares(squares, count, rest):
    """The variance, from the mean of squares around a number that lies so far from the mean."""
    var = squares / count - rest * rest
    return 0.0 if var < 0 else var


# Planes. Several of them, `step` apart, share their statistics: a unit, whose first plane is unit · apart. sizes are the planes of a unit,
# step, apart, the number of channels, the length of a plane, the number of units, and whether their own statistics count.


@cache
def plane_norm() -> Loop:
    """(x - mean) / √(var + eps) · weight + bias; numbers are the weights of all channels, their biases, and eps.

    moments holds the means of all units, then their variances, or takes them, if they are the planes' own.
    """

    def body(out, x, numbers, moments, sizes, first, last):
        planes, step, apart, channels, length, units, own = sizes
        kind, eps = x.dtype.type, numbers[2 * channels]
        for unit in range(first, last):
            if own:
                found = 0.0
                for k in range(planes):
                    start = (unit * apart + k * step) * length
                    found += total(x[start : start + length])
                mean = found / (planes * length)
                found = 0.0
                for k in range(planes):
                    start = (unit * apart + k * step) * length
                    found += total_of_squares(x[start : start + length], kind(mean))
                moments[unit] = mean
                moments[units + unit] = rest_of_squares(found, planes * length, mean - kind(mean))
            mean, factor = moments[unit], 1 / np.sqrt(moments[units + unit] + eps)
            middle = kind(mean)
            for k in range(planes):
                plane = unit * apart + k * step
                scale = factor * numbers[plane % channels]
                shift = kind(numbers[channels + plane % channels] - (mean - middle) * scale)
                row, target = x[plane * length : (plane + 1) * length], out[plane * length : (plane + 1) * length]
                scale = kind(scale)
                for j in range(length):
                    target[j] = (row[j] - middle) * scale + shift

    return summing(body)


@cache
def plane_gradient() -> Loop:
    """The gradient of x behind `plane_norm`, from d.

    numbers are the weights of all channels, the means and then the factors 1 / √(var + eps) of all units; behind them is put, for every
    plane, what flows into it, and then what flows along its normalized numbers. out may be empty, if nobody asks for it.
    """

    def body(out, d, x, numbers, sizes, first, last):
        planes, step, apart, channels, length, units, own = sizes
        kind, found = x.dtype.type, numbers[channels + 2 * units :]
        half = len(found) // 2
        for unit in range(first, last):
            mean, factor = numbers[channels + unit], numbers[channels + units + unit]
            middle, level, tilt = kind(mean), 0.0, 0.0
            for k in range(planes):
                plane = unit * apart + k * step
                given, row = d[plane * length : (plane + 1) * length], x[plane * length : (plane + 1) * length]
                flow = total(given)
                along = (total_of_products(given, row, middle) - (mean - middle) * flow) * factor
                found[plane], found[half + plane] = flow, along
                level += numbers[plane % channels] * flow
                tilt += numbers[plane % channels] * along
            slope = -factor * factor * tilt / (planes * length)
            shift = kind(-factor * level / (planes * length) - slope * (mean - middle))
            slope = kind(slope)
            for k in range(planes if len(out) else 0):
                plane = unit * apart + k * step
                scale = kind(factor * numbers[plane % channels])
                given, row = d[plane * length : (plane + 1) * length], x[plane * length : (plane + 1) * length]
                target = out[plane * length : (plane + 1) * length]
                if own:
                    for j in range(length):
                        target[j] = given[j] * scale + (row[j] - middle) * slope + shift
                else:
                    for j in range(length):
                        target[j] = given[j] * scale

    return summing(body)


# Columns: short planes, sample after sample a row of them. A task is SPAN columns or so; sizes are as those of planes, of which channels
# are units, and the number of channels of a task.


@jitable
def add(sums, x):
    """Add a row to sums in float64."""
    for j in range(len(x)):
        sums[j] += x[j]


@jitable
def add_squares(sums, x, middles):
    """Add the squares of a row's distances."""
    for j in range(len(x)):
        sums[j] += (x[j] - middles[j]) * (x[j] - middles[j])


@jitable
def add_products(sums, d, x, middles):
    """Add the products of a row and another one's distances."""
    for j in range(len(x)):
        sums[j] += d[j] * (x[j] - middles[j])


@jitable
def move(out, x, middles, scales, shifts):
    """A row, normalized."""
    for j in range(len(x)):
        out[j] = (x[j] - middles[j]) * scales[j] + shifts[j]


@jitable
def move_back(out, d, x, middles, scales, slopes, shifts):
    """A row of its gradient."""
    for j in range(len(x)):
        out[j] = d[j] * scales[j] + (x[j] - middles[j]) * slopes[j] + shifts[j]


@jitable
def multiply(out, d, scales):
    """The same, of planes whose statistics do not depend on them."""
    for j in range(len(d)):
        out[j] = d[j] * scales[j]


@cache
def column_norm() -> Loop:
    """As `plane_norm`."""

    def body(out, x, numbers, moments, sizes, first, last):
        samples, _, _, channels, length, _, own, span = sizes
        kind, eps, width = x.dtype.type, numbers[2 * channels], channels * length
        for task in range(first, last):
            begin, end = task * span, min((task + 1) * span, channels)
            start, wide = begin * length, (end - begin) * length
            sums, middles = np.zeros(wide), np.empty(wide, x.dtype)
            scales, shifts = np.empty(wide, x.dtype), np.empty(wide, x.dtype)
            if own:
                for i in range(samples):
                    add(sums, x[i * width + start : i * width + start + wide])
                for c in range(end - begin):
                    mean = total(sums[c * length : (c + 1) * length]) / (samples * length)
                    moments[begin + c] = mean
                    middles[c * length : (c + 1) * length] = kind(mean)
                sums[:] = 0
                for i in range(samples):
                    add_squares(sums, x[i * width + start : i * width + start + wide], middles)
                for c in range(end - begin):
                    mean, squares = moments[begin + c], total(sums[c * length : (c + 1) * length])
                    moments[channels + begin + c] = rest_of_squares(squares, samples * length, mean - kind(mean))
            for c in range(begin, end):
                mean, part = moments[c], slice((c - begin) * length, (c - begin + 1) * length)
                scale = numbers[c] / np.sqrt(moments[channels + c] + eps)
                middles[part], scales[part] = kind(mean), kind(scale)
                shifts[part] = kind(numbers[channels + c] - (mean - kind(mean)) * scale)
            for i in range(samples):
                place = slice(i * width + start, i * width + start + wide)
                move(out[place], x[place], middles, scales, shifts)

    return summing(body)


@cache
def column_gradient() -> Loop:
    """As `plane_gradient`; what it puts behind numbers is a number for every channel."""

    def body(out, d, x, numbers, sizes, first, last):
        samples, _, _, channels, length, _, own, span = sizes
        kind, width, count = x.dtype.type, channels * length, samples * length
        means, factors, found = numbers[channels : 2 * channels], numbers[2 * channels : 3 * channels], numbers[3 * channels :]
        for task in range(first, last):
            begin, end = task * span, min((task + 1) * span, channels)
            start, wide = begin * length, (end - begin) * length
            flows, alongs = np.zeros(wide), np.zeros(wide)
            middles, scales = np.empty(wide, x.dtype), np.empty(wide, x.dtype)
            slopes, shifts = np.empty(wide, x.dtype), np.empty(wide, x.dtype)
            for c in range(begin, end):
                middles[(c - begin) * length : (c - begin + 1) * length] = kind(means[c])
            for i in range(samples):
                place = slice(i * width + start, i * width + start + wide)
                add(flows, d[place])
                add_products(alongs, d[place], x[place], middles)
            for c in range(begin, end):
                mean, factor, part = means[c], factors[c], slice((c - begin) * length, (c - begin + 1) * length)
                flow, rest, scale = total(flows[part]), mean - kind(mean), factor * numbers[c]
                along = (total(alongs[part]) - rest * flow) * factor
                found[c], found[channels + c] = flow, along
                slope = -scale * factor * along / count
                scales[part], slopes[part] = kind(scale), kind(slope)
                shifts[part] = kind(-scale * flow / count - slope * rest)
            for i in range(samples if len(out) else 0):
                place = slice(i * width + start, i * width + start + wide)
                if own:
                    move_back(out[place], d[place], x[place], middles, scales, slopes, shifts)
                else:
                    multiply(out[place], d[place], scales)

    return summing(body)


# Rows


@cache
def row_norm() -> Loop:
    """Every row less its mean, unless told not to, divided by the root of its mean square; times weight, and a bias added.

    scale holds the weight of a row's elements, their bias, and eps. moments takes what rows are normalized with, as (x - a) · b + c: the a
    of all rows, then the b, then the c. sizes are the length of a row, the number of rows, and whether they are centred.
    """

    def body(out, x, scale, moments, sizes, first, last):
        n, rows, centred = sizes
        kind, weight, bias, eps = x.dtype.type, scale[:n], scale[n : 2 * n], scale[2 * n]
        for i in range(first, last):
            row, target = x[i * n : (i + 1) * n], out[i * n : (i + 1) * n]
            mean = total(row) / n if centred else 0.0
            middle = kind(mean)
            exact = 1 / np.sqrt(rest_of_squares(total_of_squares(row, middle), n, mean - middle) + eps)
            factor, shift = kind(exact), kind((middle - mean) * exact)
            moments[i], moments[rows + i], moments[2 * rows + i] = middle, factor, shift
            for j in range(n):
                target[j] = ((row[j] - middle) * factor + shift) * weight[j] + bias[j]

    return summing(body)


@jitable
def flows_of(d, x, weight, middle, factor, shift):
    """Σ d · weight, and Σ d · weight · normalized x."""
    level, tilt = 0.0, 0.0
    for start in range(0, len(x), BLOCK):
        part, given, scale = x[start : start + BLOCK], d[start : start + BLOCK], weight[start : start + BLOCK]
        some, other = x.dtype.type(0), x.dtype.type(0)
        for j in range(len(part)):
            some += given[j] * scale[j]
            other += given[j] * scale[j] * ((part[j] - middle) * factor + shift)
        level += some
        tilt += other
    return level, tilt


@jitable
def add_normal(sums, d, x, middle, factor, shift):
    """Add d · normalized x."""
    for j in range(len(x)):
        sums[j] += d[j] * ((x[j] - middle) * factor + shift)


@cache
def row_gradient() -> Loop:
    """The gradient of what went into `row_norm`; a task is one of the shares that rows are dealt in.

    numbers holds the weight, then what `row_norm` left in moments, then for every share zeros, to which the gradients of weight and bias
    are added. sizes are the length of a row, the number of rows, whether they are centred, and the number of shares.
    """

    def body(out, d, x, numbers, sizes, first, last):
        n, rows, centred, shares = sizes
        kind, weight, moments = x.dtype.type, numbers[:n], numbers[n : n + 3 * rows]
        for share in range(first, last):
            place = n + 3 * rows + 2 * n * share
            by_weight, by_bias = numbers[place : place + n], numbers[place + n : place + 2 * n]
            for i in range(share * rows // shares, (share + 1) * rows // shares):
                row, given, target = x[i * n : (i + 1) * n], d[i * n : (i + 1) * n], out[i * n : (i + 1) * n]
                middle, factor, shift = moments[i], moments[rows + i], moments[2 * rows + i]
                level, tilt = flows_of(given, row, weight, middle, factor, shift)
                slope = kind(-tilt / n * factor)
                level = kind((-level / n if centred else 0.0) * factor) + slope * shift
                for j in range(n):
                    target[j] = given[j] * weight[j] * factor + (row[j] - middle) * factor * slope + level
                add_normal(by_weight, given, row, middle, factor, shift)
                add(by_bias, given)

    return summing(body)
