"""The student's functions of Module 4 called with arrays: their results, and messages about wrong results."""

import numpy as np
import pytest

import minitorch
from minitorch import fast_conv
from minitorch.nn import functional
from project.lab.cards import WrongResult
from project.lab.explorers import network_functions
from project.lab.explorers.convolution import Convolution, Walk
from tests.errors import raises

IMAGE = np.arange(16.0).reshape(4, 4)
GRADIENT = np.array([[1.0, 2], [3, 4]])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dims", [1, 2])
def test_a_convolution_equals_the_arithmetic(dims, reverse):
    drawn = np.random.default_rng(0)
    rows = 1 if dims == 1 else 3
    image, weight = drawn.integers(-3, 4, (2, rows, 4)).astype(float), drawn.integers(-3, 4, (3, 2, rows, 2)).astype(float)
    expected = Convolution(image, weight, Walk(reverse), dims).expected
    found = network_functions.convolve(image, weight, dims, reverse)
    assert np.allclose(found, expected)


def test_pooling_gives_windows_maxima_and_gradients():
    assert network_functions.tile(IMAGE, (2, 2))[1, 0].tolist() == [8, 9, 12, 13]
    found, gradient = network_functions.pool("max", IMAGE, (2, 2), GRADIENT)
    assert found.tolist() == [[5, 7], [13, 15]]
    assert gradient.tolist() == [[0, 0, 0, 0], [0, 1, 0, 2], [0, 0, 0, 0], [0, 3, 0, 4]]
    found, gradient = network_functions.pool("average", IMAGE, (2, 2), GRADIENT)
    assert found.tolist() == [[2.5, 4.5], [10.5, 12.5]]
    assert gradient[0].tolist() == [0.25, 0.25, 0.5, 0.5]


def test_softmax_and_the_gradient_of_the_loss_are_computed():
    right = np.array([1.0, 0])
    found, _ = network_functions.softmax("softmax", np.log([1.0, 3]), right)
    assert np.allclose(found, [0.25, 0.75])
    found, gradient = network_functions.softmax("logsoftmax", np.log([1.0, 3]), -right)
    assert np.allclose(found, np.log([0.25, 0.75]))
    assert np.allclose(gradient, [-0.75, 0.75])


def test_dropout_is_determined_by_the_seed():
    values = np.ones((8, 8))
    assert np.array_equal(network_functions.dropout(values, 0.5, 1), network_functions.dropout(values, 0.5, 1))
    assert not np.array_equal(network_functions.dropout(values, 0.5, 1), network_functions.dropout(values, 0.5, 2))
    assert network_functions.dropout(values, 0.5, 1, ignore=True).all()


CONV, TILE = "conv2d(input, weight) expected to return a", "tile(input, (2, 2)) expected to return"
NOTHING = "Tensor, got NoneType; is the return missing?"


CALLS = {
    "conv2d": lambda: network_functions.convolve(np.ones((1, 2, 2)), np.ones((1, 1, 1, 1)), 2, False),
    "convolve": lambda: network_functions.convolve(np.ones((1, 1, 2)), np.ones((1, 1, 1, 1)), 1, True),
    "tile": lambda: network_functions.tile(IMAGE, (2, 2)),
    "avgpool2d": lambda: network_functions.pool("average", IMAGE, (2, 2), GRADIENT),
}


@pytest.mark.parametrize(
    ("place", "name", "student", "message"),
    [
        (minitorch, "conv2d", lambda x, w: None, f"{CONV} {NOTHING}"),
        (minitorch, "conv2d", lambda x, w: 3, f"{CONV} Tensor, got int"),
        (minitorch, "conv2d", lambda x, w: w, f"{CONV} tensor of shape (1, 1, 2, 2), got (1, 1, 1, 1)"),
        (fast_conv, "convolve", lambda *_, **options: None, f"tensor_conv1d, reversed, expected to return a {NOTHING}"),
        (functional, "tile", lambda x, window: 1, f"{TILE} (a Tensor, the new height, the new width), got 1"),
        (functional, "tile", lambda x, window: (x, 4, 4), f"{TILE} the new height and width (2, 2), got (4, 4)"),
        (functional, "tile", lambda x, window: (x, 2, 2), f"{TILE} a tensor of shape (1, 1, 2, 2, 4), got (1, 1, 4, 4)"),
        (functional, "avgpool2d", lambda x, window: x, f"avgpool2d{TILE[4:]} a tensor of shape (1, 1, 2, 2), got (1, 1, 4, 4)"),
    ],
)
def test_a_result_of_another_type_is_reported_as_wrong(monkeypatch, place, name, student, message):
    monkeypatch.setattr(place, name, student)
    with raises(WrongResult, message):
        CALLS[name]()


def test_a_result_without_gradient_flow_has_zero_gradients(monkeypatch):
    monkeypatch.setattr(functional, "softmax", lambda x, dim: x * 0 + 0.5)
    assert network_functions.softmax("softmax", np.ones(2), np.ones(2))[1].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        (GRADIENT + 1e-9, ""),
        (GRADIENT * [1, 2], "f(x) expected 2 at [0, 1], got 4 (2 of 4 elements differ)"),
        (np.array([[1.0, 2], [3, np.nan]]), "f(x) expected 4 at [1, 1], got nan (1 of 4 elements differs)"),
    ],
)
def test_the_message_names_the_first_wrong_element_and_their_number(found, complaint):
    assert network_functions.complaint("f(x)", found, GRADIENT) == complaint
