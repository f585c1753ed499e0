"""Hypothesis strategies of the course's tensor tests, and their comparison of tensors with arrays.

Most tensors drawn here are not contiguous: their dimensions have another order in memory, with an offset before them and gaps between
their elements. Unused storage is NaN, so that reading it shows in the result.
"""

import math

import numpy as np
from hypothesis.strategies import booleans, composite, integers, lists, permutations, sampled_from

from minitorch import Tensor, TensorData

from .strategies import small_floats, small_ints

few_numbers = sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
"""So few that equal ones meet often."""

shapes = lists(small_ints, min_size=1, max_size=4).map(tuple)


def strides_in_order(shape, order, step=1):
    """Strides of a tensor whose dimensions have this order in memory, the last named one varying fastest, with `step` per element."""
    strides = [0] * len(shape)
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def positions_of(shape, strides, offset=0):
    """The positions of the elements in storage, as an array of that shape."""
    where = np.full(shape, offset)
    for dim, stride in enumerate(strides):
        where = where + np.arange(shape[dim]).reshape([-1 if d == dim else 1 for d in range(len(shape))]) * stride
    return where


def laid_out(array, strides, offset=0):
    """TensorData with the array's elements, in a storage that is NaN everywhere else."""
    where = positions_of(array.shape, strides, offset)
    storage = np.full(1 + int(where.max(initial=0)), math.nan)
    storage[where] = array
    return TensorData(storage, array.shape, strides, offset)


@composite
def layouts(draw, shape):
    """Strides and offset of a tensor of this shape: dimensions in any order, elements adjacent or in every second position."""
    order = draw(permutations(range(len(shape))))
    return strides_in_order(shape, order, draw(sampled_from([1, 1, 2]))), draw(sampled_from([0, 0, 3]))


@composite
def arrays(draw, numbers=small_floats, shape=None):
    """Arrays of floats."""
    shape = draw(shapes) if shape is None else shape
    size = math.prod(shape)
    return np.array(draw(lists(numbers, min_size=size, max_size=size)), dtype=float).reshape(shape)


@composite
def tensor_data(draw, numbers=small_floats, shape=None):
    """TensorData in any layout."""
    array = draw(arrays(numbers, shape))
    return laid_out(array, *draw(layouts(array.shape)))


@composite
def tensors(draw, numbers=small_floats, shape=None):
    """Tensors in any layout."""
    return Tensor(draw(tensor_data(numbers, shape)))


@composite
def broadcast_shapes(draw):
    """Two shapes that broadcast: each may lack leading dimensions of a common shape, or have size 1 in others."""
    common = draw(shapes)
    found = []
    for _ in range(2):
        kept = common[draw(integers(0, len(common) - 1)) :] if draw(booleans()) else common
        found.append(tuple(1 if draw(booleans()) else size for size in kept))
    return tuple(found)


@composite
def tensor_pairs(draw, numbers=small_floats):
    """Two tensors of one shape, each in its own layout."""
    shape = draw(shapes)
    return draw(tensors(numbers, shape)), draw(tensors(numbers, shape))


@composite
def broadcast_pairs(draw, numbers=small_floats):
    """Two tensors whose shapes broadcast, each in its own layout."""
    first, second = draw(broadcast_shapes())
    return draw(tensors(numbers, first)), draw(tensors(numbers, second))


@composite
def tensors_and_dims(draw, numbers=small_floats):
    """A tensor and one of its dimensions."""
    x = draw(tensors(numbers))
    return x, draw(integers(0, len(x.shape) - 1))


def assert_close_tensor(x, expected, tolerance=1e-9):
    """Fail unless `x` is a Tensor with this shape and, within a tolerance, the values of an array; NaN equals NaN."""
    assert isinstance(x, Tensor), f"expected a Tensor, got {x!r}"
    got, expected = x.to_numpy(), np.asarray(expected)
    assert got.shape == expected.shape, f"expected shape {expected.shape}, got {got.shape}"
    close = np.isclose(got.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True)
    if not close.all():
        index = tuple(np.argwhere(~close)[0].tolist())
        raise AssertionError(
            f"expected {expected[index]} at index {index}, got {got[index]}; {np.sum(~close)} of {close.size} elements are wrong"
        )
