"""The kernels as textbooks have them, and as a student's first solution looks: the baseline of `benchmarks.ops` and `benchmarks.conv`.

Every element's index is worked out from its number, then its position from the index; the loop over elements is shared among threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import prange

from minitorch.tensor_data import MAX_DIMS, broadcast_index, index_to_position, to_index

to_index = numba.njit(to_index)
index_to_position = numba.njit(index_to_position)
broadcast_index = numba.njit(broadcast_index)


def tensor_map(fn: Callable[[float], float]) -> Any:
    """The kernel that writes fn of every element."""
    fn = numba.njit(fn)

    def _map(out, out_shape, out_strides, in_storage, in_shape, in_strides):
        if np.array_equal(out_strides, in_strides) and np.array_equal(out_shape, in_shape):
            for i in prange(len(out)):
                out[i] = fn(in_storage[i])
            return
        for i in prange(len(out)):
            out_index, in_index = np.empty(MAX_DIMS, np.int32), np.empty(MAX_DIMS, np.int32)
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, in_shape, in_index)
            out[index_to_position(out_index, out_strides)] = fn(in_storage[index_to_position(in_index, in_strides)])

    return numba.njit(_map, parallel=True)


def tensor_zip(fn: Callable[[float, float], float]) -> Any:
    """The kernel that writes fn of every pair of elements."""
    fn = numba.njit(fn)

    def _zip(out, out_shape, out_strides, a, a_shape, a_strides, b, b_shape, b_strides):
        if (
            np.array_equal(out_strides, a_strides)
            and np.array_equal(out_strides, b_strides)
            and np.array_equal(out_shape, a_shape)
            and np.array_equal(out_shape, b_shape)
        ):
            for i in prange(len(out)):
                out[i] = fn(a[i], b[i])
            return
        for i in prange(len(out)):
            out_index, a_index, b_index = np.empty(MAX_DIMS, np.int32), np.empty(MAX_DIMS, np.int32), np.empty(MAX_DIMS, np.int32)
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, a_shape, a_index)
            broadcast_index(out_index, out_shape, b_shape, b_index)
            x, y = a[index_to_position(a_index, a_strides)], b[index_to_position(b_index, b_strides)]
            out[index_to_position(out_index, out_strides)] = fn(x, y)

    return numba.njit(_zip, parallel=True)


def tensor_reduce(fn: Callable[[float, float], float]) -> Any:
    """The kernel that folds one dimension."""
    fn = numba.njit(fn)

    def _reduce(out, out_shape, out_strides, a, a_shape, a_strides, reduce_dim):
        for i in prange(len(out)):
            index = np.empty(MAX_DIMS, np.int32)
            to_index(i, out_shape, index)
            position = index_to_position(index, out_strides)
            start = index_to_position(index, a_strides)
            value = out[position]
            for k in range(a_shape[reduce_dim]):
                value = fn(value, a[start + k * a_strides[reduce_dim]])
            out[position] = value

    return numba.njit(_reduce, parallel=True)


def _matrix_multiply(out, out_shape, out_strides, a, a_shape, a_strides, b, b_shape, b_strides):
    a_batch = a_strides[0] if a_shape[0] > 1 else 0
    b_batch = b_strides[0] if b_shape[0] > 1 else 0
    for n in prange(out_shape[0]):
        for i in prange(out_shape[1]):
            for j in prange(out_shape[2]):
                value = 0.0
                for k in range(a_shape[2]):
                    x = a[n * a_batch + i * a_strides[1] + k * a_strides[2]]
                    value += x * b[n * b_batch + k * b_strides[1] + j * b_strides[2]]
                out[n * out_strides[0] + i * out_strides[1] + j * out_strides[2]] = value


matrix_multiply = numba.njit(_matrix_multiply, parallel=True)
"""The kernel of the product of three-dimensional tensors."""


def _conv2d(out, out_shape, out_strides, out_size, a, a_shape, a_strides, weight, weight_shape, weight_strides, reverse):
    for n in prange(out_size):
        index = np.empty(MAX_DIMS, np.int32)
        to_index(n, out_shape, index)
        value = 0.0
        for c in range(weight_shape[1]):
            for k in range(weight_shape[2]):
                for m in range(weight_shape[3]):
                    i, j = (index[2] - k, index[3] - m) if reverse else (index[2] + k, index[3] + m)
                    if 0 <= i < a_shape[2] and 0 <= j < a_shape[3]:
                        x = a[index[0] * a_strides[0] + c * a_strides[1] + i * a_strides[2] + j * a_strides[3]]
                        start = index[1] * weight_strides[0] + c * weight_strides[1]
                        value += x * weight[start + k * weight_strides[2] + m * weight_strides[3]]
        out[index_to_position(index, out_strides)] = value


conv2d = numba.njit(_conv2d, parallel=True)
"""The kernel of the convolution of images, as the published course has it."""
