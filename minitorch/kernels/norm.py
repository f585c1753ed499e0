"""Stage 7 - Normalization kernels of the fast backend: planes that share statistics, and rows with their own.

A plane is one channel of one sample. Arrays are flat and contiguous. Sums are accumulated in float64, directly or from float32 sums of
blocks, so that float32 inputs lose no precision. Means are float64 as well: the part that float32 cannot represent is subtracted with the
shift.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba.extending import register_jitable

from minitorch.kernels.jit import IN_ANY_ORDER, jitable
from minitorch.kernels.loop import Loop, loop

BLOCK = 1 << 10
"""Number of elements summed in their own dtype."""

HALVINGS = 2
"""How many times the parallel threshold is halved; see `Loop`."""


# Sums


@jitable
def sum_float64(x):
    """Σ x, in float64, because the sum may be much larger than the deviations from the mean."""
    result = 0.0
    for j in range(len(x)):
        result += x[j]
    return result


@jitable
def sum_squared_deviations(x, center):
    """Σ (x - center)²."""
    result = 0.0
    for start in range(0, len(x), BLOCK):
        part, partial = x[start : start + BLOCK], x.dtype.type(0)
        for j in range(len(part)):
            partial += (part[j] - center) * (part[j] - center)
        result += partial
    return result


@jitable
def sum_products(d, x, center):
    """Σ d · (x - center)."""
    result = 0.0
    for start in range(0, len(x), BLOCK):
        part, other, partial = x[start : start + BLOCK], d[start : start + BLOCK], x.dtype.type(0)
        for j in range(len(part)):
            partial += other[j] * (part[j] - center)
        result += partial
    return result


@jitable
def corrected_variance(squares, count, offset):
    """Variance from the squared deviations from a center; offset is the distance of the mean from the center."""
    var = squares / count - offset * offset
    return 0.0 if var < 0 else var


# Planes. A unit is a group of planes with common statistics: its first plane is unit · unit_step, the others follow at distance `step`.
# sizes: planes in a unit, step, unit_step, number of channels, elements in a plane, number of units, and whether to use the batch's own
# statistics.


@cache
def plane_norm() -> Loop:
    """Make the kernel of (x - mean) / √(var + eps) · weight + bias.

    numbers: weights of all channels, biases of all channels, eps. moments: means of all units, variances of all units; written if the
    batch's own statistics are used.
    """

    def body(out, x, numbers, moments, sizes, first, last):
        planes, step, unit_step, channels, length, units, own_stats = sizes
        dtype, eps = x.dtype.type, numbers[2 * channels]
        for unit in range(first, last):
            if own_stats:
                result = 0.0
                for k in range(planes):
                    start = (unit * unit_step + k * step) * length
                    result += sum_float64(x[start : start + length])
                mean = result / (planes * length)
                result = 0.0
                for k in range(planes):
                    start = (unit * unit_step + k * step) * length
                    result += sum_squared_deviations(x[start : start + length], dtype(mean))
                moments[unit] = mean
                moments[units + unit] = corrected_variance(result, planes * length, mean - dtype(mean))
            mean, factor = moments[unit], 1 / np.sqrt(moments[units + unit] + eps)
            center = dtype(mean)
            for k in range(planes):
                plane = unit * unit_step + k * step
                scale = factor * numbers[plane % channels]
                shift = dtype(numbers[channels + plane % channels] - (mean - center) * scale)
                row, target = x[plane * length : (plane + 1) * length], out[plane * length : (plane + 1) * length]
                scale = dtype(scale)
                for j in range(length):
                    target[j] = (row[j] - center) * scale + shift

    return loop(body, HALVINGS, flags=IN_ANY_ORDER)


@cache
def plane_gradient() -> Loop:
    """Make the kernel of the gradient of `plane_norm`'s input, from the gradient d of its output.

    numbers: weights of all channels, means of all units, 1 / √(var + eps) of all units; then the results, for every plane: Σ d, and Σ d ·
    normalized x. out may be empty if the gradient of the input is not needed.
    """

    def body(out, d, x, numbers, sizes, first, last):
        planes, step, unit_step, channels, length, units, own_stats = sizes
        dtype, result = x.dtype.type, numbers[channels + 2 * units :]
        half = len(result) // 2
        for unit in range(first, last):
            mean, factor = numbers[channels + unit], numbers[channels + units + unit]
            center, weighted_sum, weighted_dot = dtype(mean), 0.0, 0.0
            for k in range(planes):
                plane = unit * unit_step + k * step
                grad_row, row = d[plane * length : (plane + 1) * length], x[plane * length : (plane + 1) * length]
                grad_sum = sum_float64(grad_row)
                grad_dot = (sum_products(grad_row, row, center) - (mean - center) * grad_sum) * factor
                result[plane], result[half + plane] = grad_sum, grad_dot
                weighted_sum += numbers[plane % channels] * grad_sum
                weighted_dot += numbers[plane % channels] * grad_dot
            slope = -factor * factor * weighted_dot / (planes * length)
            shift = dtype(-factor * weighted_sum / (planes * length) - slope * (mean - center))
            slope = dtype(slope)
            for k in range(planes if len(out) else 0):
                plane = unit * unit_step + k * step
                scale = dtype(factor * numbers[plane % channels])
                grad_row, row = d[plane * length : (plane + 1) * length], x[plane * length : (plane + 1) * length]
                target = out[plane * length : (plane + 1) * length]
                if own_stats:
                    for j in range(length):
                        target[j] = grad_row[j] * scale + (row[j] - center) * slope + shift
                else:
                    for j in range(length):
                        target[j] = grad_row[j] * scale

    return loop(body, HALVINGS, flags=IN_ANY_ORDER)


# Columns: for short planes. A sample is a row of planes, and a task computes several channels of all samples. sizes are as for planes,
# with channels as units, then the number of channels in a task.


@jitable
def add_row(sums, x):
    """Add a row to float64 sums."""
    for j in range(len(x)):
        sums[j] += x[j]


@jitable
def add_squared_deviations(sums, x, centers):
    """Add the squared deviations of a row."""
    for j in range(len(x)):
        sums[j] += (x[j] - centers[j]) * (x[j] - centers[j])


@jitable
def add_products(sums, d, x, centers):
    """Add the products of a row with the deviations of another row."""
    for j in range(len(x)):
        sums[j] += d[j] * (x[j] - centers[j])


@jitable
def normalize_row(out, x, centers, scales, shifts):
    """Normalize a row."""
    for j in range(len(x)):
        out[j] = (x[j] - centers[j]) * scales[j] + shifts[j]


@jitable
def normalize_row_backward(out, d, x, centers, scales, slopes, shifts):
    """Compute a row of the gradient."""
    for j in range(len(x)):
        out[j] = d[j] * scales[j] + (x[j] - centers[j]) * slopes[j] + shifts[j]


@jitable
def scale_row(out, d, scales):
    """Compute a row of the gradient for constant statistics."""
    for j in range(len(d)):
        out[j] = d[j] * scales[j]


@cache
def column_norm() -> Loop:
    """Make the kernel of `plane_norm` for short planes."""

    def body(out, x, numbers, moments, sizes, first, last):
        samples, _, _, channels, length, _, own_stats, span = sizes
        dtype, eps, width = x.dtype.type, numbers[2 * channels], channels * length
        for task in range(first, last):
            begin, end = task * span, min((task + 1) * span, channels)
            start, span_length = begin * length, (end - begin) * length
            sums, centers = np.zeros(span_length), np.empty(span_length, x.dtype)
            scales, shifts = np.empty(span_length, x.dtype), np.empty(span_length, x.dtype)
            if own_stats:
                for i in range(samples):
                    add_row(sums, x[i * width + start : i * width + start + span_length])
                for c in range(end - begin):
                    mean = sum_float64(sums[c * length : (c + 1) * length]) / (samples * length)
                    moments[begin + c] = mean
                    centers[c * length : (c + 1) * length] = dtype(mean)
                sums[:] = 0
                for i in range(samples):
                    add_squared_deviations(sums, x[i * width + start : i * width + start + span_length], centers)
                for c in range(end - begin):
                    mean, squares = moments[begin + c], sum_float64(sums[c * length : (c + 1) * length])
                    moments[channels + begin + c] = corrected_variance(squares, samples * length, mean - dtype(mean))
            for c in range(begin, end):
                mean, part = moments[c], slice((c - begin) * length, (c - begin + 1) * length)
                scale = numbers[c] / np.sqrt(moments[channels + c] + eps)
                centers[part], scales[part] = dtype(mean), dtype(scale)
                shifts[part] = dtype(numbers[channels + c] - (mean - dtype(mean)) * scale)
            for i in range(samples):
                position = slice(i * width + start, i * width + start + span_length)
                normalize_row(out[position], x[position], centers, scales, shifts)

    return loop(body, HALVINGS, flags=IN_ANY_ORDER)


@cache
def column_gradient() -> Loop:
    """Make the kernel of `plane_gradient` for short planes; its results have one number per channel."""

    def body(out, d, x, numbers, sizes, first, last):
        samples, _, _, channels, length, _, own_stats, span = sizes
        dtype, width, count = x.dtype.type, channels * length, samples * length
        means, factors, result = numbers[channels : 2 * channels], numbers[2 * channels : 3 * channels], numbers[3 * channels :]
        for task in range(first, last):
            begin, end = task * span, min((task + 1) * span, channels)
            start, span_length = begin * length, (end - begin) * length
            grad_sums, grad_dots = np.zeros(span_length), np.zeros(span_length)
            centers, scales = np.empty(span_length, x.dtype), np.empty(span_length, x.dtype)
            slopes, shifts = np.empty(span_length, x.dtype), np.empty(span_length, x.dtype)
            for c in range(begin, end):
                centers[(c - begin) * length : (c - begin + 1) * length] = dtype(means[c])
            for i in range(samples):
                position = slice(i * width + start, i * width + start + span_length)
                add_row(grad_sums, d[position])
                add_products(grad_dots, d[position], x[position], centers)
            for c in range(begin, end):
                mean, factor, part = means[c], factors[c], slice((c - begin) * length, (c - begin + 1) * length)
                grad_sum, offset, scale = sum_float64(grad_sums[part]), mean - dtype(mean), factor * numbers[c]
                grad_dot = (sum_float64(grad_dots[part]) - offset * grad_sum) * factor
                result[c], result[channels + c] = grad_sum, grad_dot
                slope = -scale * factor * grad_dot / count
                scales[part], slopes[part] = dtype(scale), dtype(slope)
                shifts[part] = dtype(-scale * grad_sum / count - slope * offset)
            for i in range(samples if len(out) else 0):
                position = slice(i * width + start, i * width + start + span_length)
                if own_stats:
                    normalize_row_backward(out[position], d[position], x[position], centers, scales, slopes, shifts)
                else:
                    scale_row(out[position], d[position], scales)

    return loop(body, HALVINGS, flags=IN_ANY_ORDER)


# Rows


@register_jitable(**IN_ANY_ORDER)
def normalize_one(target, row, weight, bias, eps, centered):
    """Write (row - mean) / √(var + eps) · weight + bias; returns a, b and c of the normalization (x - a) · b + c."""
    n, dtype = len(row), row.dtype.type
    mean = sum_float64(row) / n if centered else 0.0
    center = dtype(mean)
    exact = 1 / np.sqrt(corrected_variance(sum_squared_deviations(row, center), n, mean - center) + eps)
    factor, shift = dtype(exact), dtype((center - mean) * exact)
    for j in range(n):
        target[j] = ((row[j] - center) * factor + shift) * weight[j] + bias[j]
    return center, factor, shift


@cache
def row_norm() -> Loop:
    """Make the kernel that normalizes rows: (x - mean) / √(var + eps) · weight + bias; the mean is 0 if not centered.

    scale: weights of a row's elements, their biases, eps. moments, written by the kernel: for the normalization (x - a) · b + c, all a, all
    b, all c. sizes: length of a row, number of rows, whether to center.
    """

    def body(out, x, scale, moments, sizes, first, last):
        n, rows, centered = sizes
        weight, bias, eps = scale[:n], scale[n : 2 * n], scale[2 * n]
        for i in range(first, last):
            center, factor, shift = normalize_one(out[i * n : (i + 1) * n], x[i * n : (i + 1) * n], weight, bias, eps, centered)
            moments[i], moments[rows + i], moments[2 * rows + i] = center, factor, shift

    return loop(body, HALVINGS, flags=IN_ANY_ORDER)


@jitable
def weighted_sums(d, x, weight, center, factor, shift):
    """Compute Σ d · weight and Σ d · weight · normalized x."""
    weighted_sum, weighted_dot = 0.0, 0.0
    for start in range(0, len(x), BLOCK):
        part, grad_row, scale = x[start : start + BLOCK], d[start : start + BLOCK], weight[start : start + BLOCK]
        partial, other = x.dtype.type(0), x.dtype.type(0)
        for j in range(len(part)):
            partial += grad_row[j] * scale[j]
            other += grad_row[j] * scale[j] * ((part[j] - center) * factor + shift)
        weighted_sum += partial
        weighted_dot += other
    return weighted_sum, weighted_dot


@jitable
def add_normalized_products(sums, d, x, center, factor, shift):
    """Add d · normalized x to sums."""
    for j in range(len(x)):
        sums[j] += d[j] * ((x[j] - center) * factor + shift)


@cache
def row_gradient() -> Loop:
    """Make the kernel of the gradients of `row_norm`; a task is one share of the rows.

    numbers: weights, the moments that `row_norm` wrote, then zeros for every share, to which the gradients of weight and bias are added.
    sizes: length of a row, number of rows, whether rows are centered, number of shares.
    """

    def body(out, d, x, numbers, sizes, first, last):
        n, rows, centered, shares = sizes
        dtype, weight, moments = x.dtype.type, numbers[:n], numbers[n : n + 3 * rows]
        for share in range(first, last):
            position = n + 3 * rows + 2 * n * share
            grad_weight, grad_bias = numbers[position : position + n], numbers[position + n : position + 2 * n]
            for i in range(share * rows // shares, (share + 1) * rows // shares):
                row, grad_row, target = x[i * n : (i + 1) * n], d[i * n : (i + 1) * n], out[i * n : (i + 1) * n]
                center, factor, shift = moments[i], moments[rows + i], moments[2 * rows + i]
                weighted_sum, weighted_dot = weighted_sums(grad_row, row, weight, center, factor, shift)
                slope = dtype(-weighted_dot / n * factor)
                offset = dtype((-weighted_sum / n if centered else 0.0) * factor) + slope * shift
                for j in range(n):
                    target[j] = grad_row[j] * weight[j] * factor + (row[j] - center) * factor * slope + offset
                add_normalized_products(grad_weight, grad_row, row, center, factor, shift)
                add_row(grad_bias, grad_row)

    return loop(body, HALVINGS, flags=IN_ANY_ORDER)
