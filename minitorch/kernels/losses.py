"""Stage 7 - Fused kernels of the fast backend for cross-entropy, embeddings and linear layers with ReLU.

Each Function with a kernel here also has a composed version for other backends. Arrays are flat and contiguous.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from minitorch.kernels.jit import code_key, jitable, serial
from minitorch.kernels.vector_math import exp

BLOCK = 1 << 12
"""Number of elements that stay in the cache while they are processed several times."""


class FusedKernels(NamedTuple):
    """The kernels of a forward and a backward pass."""

    forward: Callable[..., Any]
    backward: Callable[..., Any]


# Cross entropy


@cache
def cross_entropy_kernels() -> FusedKernels:
    """Make the kernels of cross-entropy: losses and softmax of rows of logits, and the gradient with respect to the logits."""
    key = code_key(subtract_max, exp_in_place, normalize_by_sum, scale_into)

    @serial
    def forward(losses, probabilities, logits, target, rows, classes, share):
        """Compute the loss of each row or, if share is not 0, the sum of all losses times share."""
        _ = key
        height = max(1, min(rows, BLOCK // classes))
        chosen = np.empty(height, logits.dtype)
        summed = 0.0
        for start in range(0, rows, height):
            stop = min(start + height, rows)
            for i in range(start, stop):
                subtract_max(probabilities[i * classes : (i + 1) * classes], logits[i * classes : (i + 1) * classes])
                chosen[i - start] = probabilities[i * classes + target[i]]
            exp_in_place(probabilities[start * classes : stop * classes])  # all rows at once, so that short rows vectorize as well
            for i in range(start, stop):
                total = normalize_by_sum(probabilities[i * classes : (i + 1) * classes])
                loss = math.log(total) - chosen[i - start]
                if share == 0:
                    losses[i] = loss
                summed += loss
        if share != 0:
            losses[0] = summed * share

    @serial
    def backward(grad, probabilities, target, grad_output, rows, classes, share):
        """Compute (softmax - one_hot(target)) · grad_output for each row."""
        _ = key
        for i in range(rows):
            d = grad.dtype.type(grad_output[0] * share if share != 0 else grad_output[i])
            scale_into(grad[i * classes : (i + 1) * classes], probabilities[i * classes : (i + 1) * classes], d)
            grad[i * classes + target[i]] -= d

    return FusedKernels(forward, backward)


# Loops over slices count from 0: for other positions, the compiler would check each time whether to count from the end.


@jitable
def subtract_max(out, x):
    """Subtract the maximum of a row, computed as four independent maxima."""
    a = b = c = d = x[0]
    for k in range(len(x) // 4):
        j = np.uint64(4 * k)
        a = x[j] if x[j] > a else a
        b = x[j + np.uint64(1)] if x[j + np.uint64(1)] > b else b
        c = x[j + np.uint64(2)] if x[j + np.uint64(2)] > c else c
        d = x[j + np.uint64(3)] if x[j + np.uint64(3)] > d else d
    for k in range(len(x) // 4 * 4, len(x)):
        a = x[k] if x[k] > a else a
    a, c = a if a > b else b, c if c > d else d
    largest = a if a > c else c
    for j in range(len(x)):
        out[j] = x[j] - largest


@jitable
def exp_in_place(x):
    """Compute exp in place."""
    for j in range(len(x)):
        x[j] = exp(x[j])


@jitable
def normalize_by_sum(x):
    """Divide a row by its sum, computed as four independent sums. Returns the sum."""
    a = b = c = d = 0.0
    for k in range(len(x) // 4):
        j = np.uint64(4 * k)
        a += x[j]
        b += x[j + np.uint64(1)]
        c += x[j + np.uint64(2)]
        d += x[j + np.uint64(3)]
    for k in range(len(x) // 4 * 4, len(x)):
        a += x[k]
    total = (a + b) + (c + d)
    part = x.dtype.type(1 / total)
    for j in range(len(x)):
        x[j] *= part
    return total


@jitable
def scale_into(out, x, factor):
    """Write x · factor into out."""
    for j in range(len(x)):
        out[j] = x[j] * factor


# Embedding


@cache
def embedding_kernels() -> FusedKernels:
    """Make the kernels that gather rows of a table by index, and add their gradients to a table of zeros."""
    key = code_key(copy_row, add_row)

    @serial
    def forward(out, table, indices, width):
        _ = key
        for i in range(len(indices)):
            row = indices[i] * width
            copy_row(out[i * width : (i + 1) * width], table[row : row + width])

    @serial
    def backward(grad, grad_output, indices, width):
        _ = key
        for i in range(len(indices)):
            row = indices[i] * width
            add_row(grad[row : row + width], grad_output[i * width : (i + 1) * width])

    return FusedKernels(forward, backward)


@jitable
def copy_row(out, x):
    """Copy x into out."""
    for j in range(len(x)):
        out[j] = x[j]


@jitable
def add_row(out, x):
    """Add x to out."""
    for j in range(len(x)):
        out[j] += x[j]


# Bias and ReLU


def add_relu(x: float, bias: float) -> float:
    """relu(x + bias), a scalar function for `zip`."""
    y = x + bias
    return 0.0 if y <= 0 else y


@cache
def bias_relu_backward() -> Callable[..., Any]:
    """Make the kernel of both gradients of relu(x + bias), for a bias per column."""
    key = code_key(relu_backward_row)

    @serial
    def backward(grad, grad_bias, y, grad_output, rows, columns):
        """Write grad, and add to the zeros in grad_bias; y is the result of the forward pass."""
        _ = key
        for i in range(rows):
            row = slice(i * columns, (i + 1) * columns)
            relu_backward_row(grad[row], grad_bias, y[row], grad_output[row])

    return backward


@jitable
def relu_backward_row(grad, grad_bias, y, d):
    """Compute one row of both gradients."""
    zero = d.dtype.type(0)
    for j in range(len(y)):
        x = zero if y[j] <= 0 else d[j]
        grad[j] = x
        grad_bias[j] += x
