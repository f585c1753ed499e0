"""The digit pad: the data that the browser may send, and the pixels of a drawing."""

import numpy as np
import pytest

from minitorch.data import Digits
from project.lab.widgets.digit_pad import ink, large, read, scale_to_box, small

SEVEN = [[(0.3, 0.2), (0.7, 0.2), (0.4, 0.8)]]
ONE = [[(0.5, 0.2), (0.5, 0.8)]]
ZERO = [[(0.5 + 0.2 * np.cos(t), 0.5 + 0.3 * np.sin(t)) for t in np.linspace(0, 2 * np.pi, 40)]]
FOUR = [[(0.55, 0.15), (0.3, 0.6), (0.75, 0.6)], [(0.6, 0.4), (0.6, 0.85)]]


def test_strokes_are_read_points_outside_move_to_the_edge_and_an_overlong_drawing_is_truncated():
    assert read([[[0.1, 0.2], [1.5, -1]], [[0, 1]]]) == [[(0.1, 0.2), (1.0, 0.0)], [(0.0, 1.0)]]
    assert [len(stroke) for stroke in read([[[0.5, 0.5]] * 3000] * 3)] == [3000, 1000]


@pytest.mark.parametrize("sent", [None, "x", 7, {}, [], [[]], [["x"]], [[[1]]], [[[1, 2, 3]]], [[[float("nan"), 0]]], [[None]], ["ab"]])
def test_invalid_strokes_are_ignored(sent):
    assert read(sent) == []


def test_a_horizontal_line_covers_the_pixels_around_it():
    found = ink([np.array([[1.0, 2.5], [4.0, 2.5]])], 5, 1.0)
    assert found[2].tolist() == [1.0, 1.0, 1.0, 1.0, 1.0]  # the ends are round: the center of this pixel is half a pixel past them
    assert found[1].tolist() == pytest.approx([0.5 + 1 - np.hypot(0.5, 1), 0.5, 0.5, 0.5, 0.5 + 1 - np.hypot(0.5, 1)])
    assert not found[0].any()


def test_a_dot_is_a_disc():
    found = ink([np.array([[2.5, 2.5]])], 5, 1.0)
    assert found[2, 2] == 1.0
    assert found[2, 1] == found[1, 2] == 0.5
    assert found[0, 0] == 0.0
    assert np.isfinite(small([[(0.5, 0.5)]])).all()
    assert large([[(0.2, 0.9)]]).max() > 0.95


def test_a_drawing_fills_the_box_and_keeps_its_proportions():
    (line,) = scale_to_box(SEVEN, 32, 32, 4.0)
    assert line.min(0)[1] == pytest.approx(2.0)  # half the thickness from the edge
    assert line.max(0)[1] == pytest.approx(30.0)
    assert np.ptp(line[:, 0]) == pytest.approx(28 * 0.4 / 0.6)
    assert (line.min(0)[0] + line.max(0)[0]) / 2 == pytest.approx(16.0)


@pytest.mark.parametrize("make", [small, large])
@pytest.mark.parametrize("strokes", [SEVEN, ZERO, FOUR])
def test_the_position_and_size_of_a_drawing_do_not_matter(make, strokes):
    moved = [[(0.5 * x + 0.1, 0.5 * y + 0.05) for x, y in stroke] for stroke in strokes]
    assert np.allclose(make(moved), make(strokes))


def test_a_small_image_counts_dots_and_fills_its_height():
    found = small(ZERO)
    assert np.array_equal(found * 16, np.rint(found * 16))
    assert (found.shape, found.min(), found.max()) == ((8, 8), 0, 1)
    assert [found[row].any() for row in (0, 7)] == [True, True]


@pytest.mark.parametrize("strokes", [SEVEN, ZERO, FOUR, ONE])
def test_a_large_image_has_its_center_of_mass_in_the_middle_and_a_margin(strokes):
    found = large(strokes)
    assert found.shape == (28, 28)
    rows, columns = np.indices(found.shape) + 0.5
    assert (rows * found).sum() / found.sum() == pytest.approx(14, abs=0.15)
    assert (columns * found).sum() / found.sum() == pytest.approx(14, abs=0.15)
    assert np.flatnonzero(found.any(1)).size in range(19, 24)  # 20 rows, and a little for soft edges
    assert 0.95 < found.max() <= 1


@pytest.mark.parametrize(("strokes", "digit"), [(SEVEN, 7), (ZERO, 0), (FOUR, 4)])
def test_a_drawn_digit_has_as_much_ink_as_the_same_digit_of_the_data_set_and_is_most_like_it(strokes, digit):
    data, drawn = Digits(), small(strokes)
    assert drawn.mean() == pytest.approx(data.images[data.labels == digit].mean(), rel=0.25)
    nearest = data.labels[np.argsort(((data.images[:, 0] - drawn) ** 2).sum((1, 2)))[:5]]
    assert np.count_nonzero(nearest == digit) >= 4
