"""Pooling window by window: its values, its gradient, and its descriptions."""

import numpy as np
import pytest

from project.lab.explorers import pooling as explorer
from project.lab.explorers.pooling import RULES, Pooling, arithmetic, back_panels, forward_panels, rule_of, sentence
from project.lab.typed.source import Refused
from tests.errors import raises
from tests.project.test_convolution import labels

IMAGE = np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])
TIED = np.array([[2.0, 2, 0, 1], [2, 0, 1, 0]])
GRADIENT = np.array([[10.0, 20]])


def pooling(image=IMAGE, window=(2, 2), kind="max"):
    return Pooling(image, window, kind)


def test_the_elements_of_a_window_form_a_row():
    assert pooling().tiles.tolist() == [[[1, 2, 5, 6], [3, 4, 7, 8]]]
    assert pooling(window=(1, 2)).tiles.tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert pooling(window=(2, 1)).tiles.tolist() == [[[1, 5], [2, 6], [3, 7], [4, 8]]]


def test_a_window_becomes_its_maximum_or_its_mean():
    assert pooling().expected.tolist() == [[6, 8]]
    assert pooling(kind="average").expected.tolist() == [[3.5, 5.5]]


@pytest.mark.parametrize("window", [(3, 2), (2, 3), (4, 2)])
def test_a_window_that_does_not_divide_the_image_is_refused(window):
    with raises(Refused, f"expected a window that divides the image of shape (2, 4), got {window}"):
        pooling(window=window)


def test_the_gradient_of_the_mean_is_shared_equally_and_that_of_the_maximum_goes_to_the_largest_element():
    mean, shared = pooling(kind="average"), [[2.5, 2.5, 5, 5], [2.5, 2.5, 5, 5]]
    assert {rule: gradient.tolist() for rule, gradient in mean.gradients(GRADIENT).items()} == {"all": shared}
    assert rule_of(mean, GRADIENT, np.array(shared)) == "all"
    assert rule_of(mean, GRADIENT, np.ones((2, 4))) is None
    assert pooling().gradients(GRADIENT)["all"].tolist() == [[0, 0, 0, 0], [0, 10, 0, 20]]


ALL = [[10, 10, 0, 20], [10, 0, 20, 0]]
SHARED = [[10 / 3, 10 / 3, 0, 10], [10 / 3, 0, 10, 0]]
FIRST = [[10, 0, 0, 20], [0, 0, 0, 0]]
LAST = [[0, 0, 0, 0], [10, 0, 20, 0]]


@pytest.mark.parametrize(("gradient", "rule"), [(ALL, "all"), (SHARED, "shared"), (FIRST, "one"), (LAST, "one")])
def test_three_rules_for_ties_are_recognized(gradient, rule):
    shown = pooling(TIED)
    assert rule_of(shown, GRADIENT, np.array(gradient, float)) == rule
    assert f"In 2 of 2 windows, several values are equal to the maximum: {RULES[rule]}." in explorer.lesson(shown, rule)


@pytest.mark.parametrize(
    "gradient",
    [
        [[0, 0, 20, 0], [10, 0, 0, 0]],  # 20 at an element that is not the largest
        [[10, 10, 0, 20], [0, 0, 20, 0]],  # two of three
        [[5, 0, 0, 20], [0, 0, 0, 0]],  # half is lost
        [[0, 0, 0, 0], [0, 0, 0, 0]],
        [[np.nan] * 4] * 2,
    ],
)
def test_any_other_gradient_is_wrong(gradient):
    assert rule_of(pooling(TIED), GRADIENT, np.array(gradient, float)) is None


def test_a_window_is_written_out_as_arithmetic():
    assert arithmetic(pooling(), 2) == "out[0, 1] = max(3, 4, 7, 8) = 8"
    assert arithmetic(pooling(-IMAGE, kind="average"), 1) == "out[0, 0] = (-1 + (-2) + (-5) + (-6)) / 4 = -14 / 4 = -3.5"
    assert arithmetic(pooling(kind="average"), 0) == "out[y, x] = mean of in[y·2 + i, x·2 + j]"
    assert sentence(pooling(), 0) == "2 windows of 2 by 2 without overlap. The result will have shape (1, 2)."
    assert sentence(pooling(window=(1, 2)), 4) == "out[1, 1]: the window covers rows 1 and columns 2 to 3."


def test_the_backward_pass_is_written_out_and_shows_incoming_gradients_and_their_targets():
    shown = pooling()
    gradient = shown.gradients(GRADIENT)["all"]
    said = explorer.back_arithmetic(shown, 2, GRADIENT, gradient)
    assert said == "out.grad[0, 1] = 20\nvalues    3, 4, 7, 8\ngradients 0, 0, 0, 20"
    _, arrives, back = back_panels(shown, 0, GRADIENT, gradient)
    assert labels(arrives) == ["gradient of the result[0, 0] = 10", "gradient of the result[0, 1] = 20"]
    assert labels(back)[7] == "gradient of the image[1, 3] = 20, in window [0, 1]"


def test_the_window_and_its_maximum_are_highlighted():
    shown = pooling()
    image, tile, result = forward_panels(shown, 1, shown.expected, shown.tiles)
    assert labels(image)[:2] == [
        "image[0, 0] = 1, in window [0, 0]; read in this step",
        "image[0, 1] = 2, in window [0, 0]; read in this step",
    ]
    assert labels(image)[5] == "image[1, 1] = 6, in window [0, 0]; changes in this step"
    assert labels(image)[7] == "image[1, 3] = 8, in window [0, 1]"
    assert labels(tile)[3] == "tile[0, 0, 3] = 6; read in this step"
    assert labels(result) == ["result[0, 0] = 6; changes in this step", "result[0, 1], not computed yet; not read"]
    _, tile, result = forward_panels(shown, 1, np.array([[7.0, np.nan]]), shown.tiles + 1)  # wrong values
    assert "result[0, 0] = 7; expected 6; wrong" in labels(result)
    assert "tile[0, 0, 0] = 2; wrong" in labels(tile)
