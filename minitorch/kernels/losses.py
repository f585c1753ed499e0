"""Stage 5 - Fused kernels for the compiled backend: what several operations one after the other would compute, in one pass.

Each Function that has a kernel here also knows how to do without, on other backends. Arrays are given flat, without gaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minitorch.core.dtypes import is_half
from minitorch.fast_ops import FastOps
from minitorch.kernels.jit import code_key, compiler_is_off, jitable, serial
from minitorch.kernels.vector_math import exp

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

BLOCK = 1 << 12
"""Numbers that are gone through several times while they are near."""


def fusible(x: Tensor) -> bool:
    """Whether the kernels of this module can compute on a tensor: on the compiled backend, not of halves, and the compiler is not off."""
    return x.backend.ops is FastOps and not is_half(x.dtype) and not compiler_is_off()


class Kernels(NamedTuple):
    """A loop for the values and a loop for the gradients."""

    forward: Callable[..., Any]
    backward: Callable[..., Any]


# Cross entropy


@cache
def cross_entropy_kernels() -> Kernels:
    """The loss of every row of logits, with softmax of them, and the gradient by the logits."""
    key = code_key(shift, powers_of_e, divide_by_sum, times)

    @serial
    def forward(losses, probabilities, logits, target, rows, classes, share):
        """The loss of each row; or the sum of all losses times share, unless that is 0."""
        _ = key
        height = max(1, min(rows, BLOCK // classes))
        chosen = np.empty(height, logits.dtype)
        summed = 0.0
        for start in range(0, rows, height):
            stop = min(start + height, rows)
            for i in range(start, stop):
                shift(probabilities[i * classes : (i + 1) * classes], logits[i * classes : (i + 1) * classes])
                chosen[i - start] = probabilities[i * classes + target[i]]
            powers_of_e(probabilities[start * classes : stop * classes])  # of all rows at once, so that short ones fill vectors, too
            for i in range(start, stop):
                powers = divide_by_sum(probabilities[i * classes : (i + 1) * classes])
                loss = math.log(powers) - chosen[i - start]
                if share == 0:
                    losses[i] = loss
                summed += loss
        if share != 0:
            losses[0] = summed * share

    @serial
    def backward(grad, probabilities, target, grad_output, rows, classes, share):
        """softmax, less 1 at the right class, times what flows into the loss of the row."""
        _ = key
        for i in range(rows):
            d = grad.dtype.type(grad_output[0] * share if share != 0 else grad_output[i])
            times(grad[i * classes : (i + 1) * classes], probabilities[i * classes : (i + 1) * classes], d)
            grad[i * classes + target[i]] -= d

    return Kernels(forward, backward)


# Loops over a slice count from 0: of other positions the compiler must ask each time whether they are negative, and count from the end.


@jitable
def shift(out, x):
    """Subtract the largest of a row, found in four parts that need not wait for each other."""
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
def powers_of_e(x):
    """e^x, in place."""
    for j in range(len(x)):
        x[j] = exp(x[j])


@jitable
def divide_by_sum(x):
    """Divide a row by its sum, which is found in four parts, and return that."""
    a = b = c = d = 0.0
    for k in range(len(x) // 4):
        j = np.uint64(4 * k)
        a += x[j]
        b += x[j + np.uint64(1)]
        c += x[j + np.uint64(2)]
        d += x[j + np.uint64(3)]
    for k in range(len(x) // 4 * 4, len(x)):
        a += x[k]
    powers = (a + b) + (c + d)
    part = x.dtype.type(1 / powers)
    for j in range(len(x)):
        x[j] *= part
    return powers


@jitable
def times(out, x, factor):
    """x · factor."""
    for j in range(len(x)):
        out[j] = x[j] * factor


# Embedding


@cache
def embedding_kernels() -> Kernels:
    """Rows of a table by their numbers, and their gradients added up in a table of zeros."""
    key = code_key(copy, add)

    @serial
    def forward(out, table, picked, width):
        _ = key
        for i in range(len(picked)):
            row = picked[i] * width
            copy(out[i * width : (i + 1) * width], table[row : row + width])

    @serial
    def backward(grad, grad_output, picked, width):
        _ = key
        for i in range(len(picked)):
            row = picked[i] * width
            add(grad[row : row + width], grad_output[i * width : (i + 1) * width])

    return Kernels(forward, backward)


@jitable
def copy(out, x):
    """Copy."""
    for j in range(len(x)):
        out[j] = x[j]


@jitable
def add(out, x):
    """Add x to out."""
    for j in range(len(x)):
        out[j] += x[j]


# A bias, then relu


def bias_then_relu(x: float, bias: float) -> float:
    """relu(x + bias), as a function for `zip`."""
    y = x + bias
    return 0.0 if y <= 0 else y


@cache
def bias_relu_back() -> Callable[..., Any]:
    """The gradients of relu(x + bias) for a bias along the columns of x, in one pass."""
    key = code_key(through_relu)

    @serial
    def backward(grad, grad_bias, y, grad_output, rows, columns):
        """Write into grad, and add to the zeros in grad_bias; y is the result of forward."""
        _ = key
        for i in range(rows):
            row = slice(i * columns, (i + 1) * columns)
            through_relu(grad[row], grad_bias, y[row], grad_output[row])

    return backward


@jitable
def through_relu(grad, grad_bias, y, d):
    """One row of it."""
    nothing = d.dtype.type(0)
    for j in range(len(y)):
        x = nothing if y[j] <= 0 else d[j]
        grad[j] = x
        grad_bias[j] += x
