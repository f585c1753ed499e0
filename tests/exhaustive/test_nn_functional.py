"""Pooling, maximum, softmax and dropout on the CPU backends: layouts, dtypes, threads, messages, NaN and empty tensors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minitorch import FastBackend, float32, manual_seed, no_grad, rand, tensor
from minitorch.kernels import loop
from minitorch.nn.functional import argmax, avgpool2d, dropout, logsoftmax, max, maxpool2d, softmax, tile
from tests.test_nn_functional import (
    LAYOUTS,
    SHAPES,
    backend,
    check,
    check_extremes,
    check_softmax,
    gradient_of,
    logsoftmax_of,
    numbers,
    softmax_of,
    windows_of,
)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_equals_numpy_along_any_dimension_in_any_layout(shape, layout):
    check_softmax(shape, layout, FastBackend, range(-len(shape), len(shape)))


def test_float32_stays_float32(backend):
    array = numbers((2, 2, 4, 6)).astype(float32)
    x, windows = tensor(array, backend=backend), windows_of(array, (2, 2))
    check(avgpool2d(x, (2, 2)), windows.mean((3, 5)), float32)
    check(maxpool2d(x, (2, 2)), windows.max((3, 5)), float32)
    check(max(x, 3), array.max(3, keepdims=True), float32)
    check(softmax(x, 3), softmax_of(array, 3), float32)
    check(logsoftmax(x, 3), logsoftmax_of(array, 3), float32)
    ones = np.ones((2, 2, 2, 3), float32)
    check(gradient_of(lambda x: avgpool2d(x, (2, 2)), x, ones), np.full(array.shape, 0.25), float32)
    largest = windows == windows.max((3, 5), keepdims=True)
    check(gradient_of(lambda x: maxpool2d(x, (2, 2)), x, ones), largest.reshape(array.shape) * 1.0, float32)
    given = np.cos(np.arange(array.size, dtype=float32)).reshape(array.shape)
    y = softmax_of(array, 3)
    check(gradient_of(lambda x: softmax(x, 3), x, given), y * (given - (given * y).sum(3, keepdims=True)), float32)
    check(gradient_of(lambda x: logsoftmax(x, 3), x, given), given - y * given.sum(3, keepdims=True), float32)
    assert dropout(x, 0.5).dtype == float32


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 30, 1000])
def test_rows_of_any_length_are_reduced_completely(length, backend):
    """The loops reduce eight numbers at once; the largest may be anywhere in the row."""
    array = np.random.default_rng(length).normal(0, 3, (3, length))
    for place in [*range(min(length, 17)), length // 2, length - 1]:
        array[1] = -1.0
        array[1, place] = 20.0
        x = tensor(array, backend=backend)
        check(softmax(x, 1), softmax_of(array, 1))
        check(logsoftmax(x, 1), logsoftmax_of(array, 1))
        check(max(x, 1), array.max(1, keepdims=True))


def test_gradients_of_a_tensor_used_twice_are_summed(backend):
    x = tensor([[1.0, 2.0, 4.0]], backend=backend, requires_grad=True)
    (max(x, 1) * 3.0 + max(x, 1) * softmax(x, 1)).sum().backward()
    assert x.grad is not None
    check(x.grad, np.array([[0.0, 0.0, 10.0]]))  # 3 for each of three columns, and the sum of softmax, which is 1 and does not change


def test_several_threads_give_the_result_of_one(monkeypatch):
    monkeypatch.setattr(loop, "PARALLEL_THRESHOLD", 1)
    array = numbers((3, 2, 4, 6))
    x = tensor(array, backend=FastBackend)
    check(maxpool2d(x, (2, 3)), windows_of(array, (2, 3)).max((3, 5)))
    check(softmax(x, 3), softmax_of(array, 3))


def test_softmax_of_infinity_is_the_limit_if_it_exists(backend):
    x = tensor([[0.0, -math.inf, 0.0], [math.inf, 0.0, 0.0], [-math.inf, -math.inf, -math.inf]], backend=backend)
    out, logarithms = softmax(x, 1).to_numpy(), logsoftmax(x, 1).to_numpy()
    assert out[0].tolist() == [0.5, 0.0, 0.5]
    np.testing.assert_allclose(logarithms[0], [-math.log(2), -math.inf, -math.log(2)])
    assert np.isnan(out[2]).all()
    assert np.isnan(out[1, 0])  # infinity by infinity


def test_the_gradient_through_argmax_is_zero(backend):
    x = tensor([1.0, 2.0], backend=backend, requires_grad=True)
    (argmax(x, 0) * x).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_no_gradient_is_recorded_unless_required(backend):
    x = tensor(np.ones((1, 1, 2, 2)), backend=backend, requires_grad=True)
    with no_grad():
        made = [avgpool2d(x, (2, 2)), maxpool2d(x, (2, 2)), max(x, 3), softmax(x, 3), logsoftmax(x, 3), dropout(x, 0.5), tile(x, (1, 2))[0]]
    assert not any(out.requires_grad for out in made)


def test_only_the_largest_numbers_get_a_gradient_even_an_infinite_one(backend):
    """0 · infinity would be NaN."""
    x = tensor([[1.0, 2.0], [5.0, 4.0]], backend=backend)
    given = np.array([[math.inf], [math.nan]])
    np.testing.assert_array_equal(gradient_of(lambda x: max(x, 1), x, given), [[0.0, math.inf], [math.nan, 0.0]])
    images = tensor([[[[1.0, 2.0], [5.0, 4.0]]]], backend=backend)
    np.testing.assert_array_equal(
        gradient_of(lambda x: maxpool2d(x, (1, 2)), images, given.reshape(1, 1, 2, 1)), [[[[0.0, math.inf], [math.nan, 0.0]]]]
    )


def test_an_empty_batch_has_no_windows(backend):
    for shape, expected in [((0, 2, 4, 4), (0, 2, 2, 1)), ((2, 0, 4, 4), (2, 0, 2, 1)), ((1, 1, 0, 4), (1, 1, 0, 1))]:
        x = tensor(np.zeros(shape), backend=backend)
        assert avgpool2d(x, (2, 4)).shape == expected
        assert maxpool2d(x, (2, 4)).shape == expected
        assert gradient_of(lambda x: maxpool2d(x, (2, 4)), x, np.zeros(expected)).shape == shape
    assert softmax(tensor(np.zeros((0, 3)), backend=backend), 1).shape == (0, 3)
    assert logsoftmax(tensor(np.zeros((0, 3)), backend=backend), 1).shape == (0, 3)
    assert dropout(tensor(np.zeros((0, 3)), backend=backend), 0.5).shape == (0, 3)


def test_dropped_elements_are_exactly_0(backend):
    """Also where they were infinite or NaN, and so are their gradients."""
    array = np.array([math.inf, -math.inf, math.nan, -3.0])
    x = tensor(array, backend=backend)
    assert dropout(x, 1.0).tolist() == [0.0, 0.0, 0.0, 0.0]
    assert gradient_of(lambda x: dropout(x, 1.0), x, array).tolist() == [0.0, 0.0, 0.0, 0.0]
    np.testing.assert_array_equal(dropout(x, 0.0).to_numpy(), array)


@pytest.mark.parametrize(("rate", "ignore", "drawn"), [(0.0, False, 6), (0.3, False, 6), (1.0, False, 6), (0.3, True, 0)])
def test_dropout_draws_a_number_for_every_element_unless_it_is_ignored(rate, ignore, drawn, backend):
    manual_seed(11)
    rand((drawn,))
    expected = rand((4,)).tolist()
    manual_seed(11)
    dropout(tensor(np.ones((2, 3)), backend=backend), rate, ignore)
    assert rand((4,)).tolist() == expected


def test_logsoftmax_of_float32_is_exact_for_extreme_inputs(backend):
    check_extremes(float32, backend)
