"""A convolution cell by cell: its products, its sums, its descriptions, and its drawing."""

import re

import numpy as np
import pytest

from project.lab.explorers import pictures
from project.lab.explorers.convolution import Convolution, Walk, arithmetic, name, panels, remark, rule, sentence
from project.lab.typed.source import Refused
from tests.errors import raises


def line(image, weight, **walk):
    """A convolution along one dimension."""
    image, weight = np.atleast_2d(np.array(image, float)), np.array(weight, float)
    return Convolution(image[:, None], weight.reshape(-1, len(image), 1, weight.shape[-1]), Walk(**walk), 1)


def plane(image, weight, **walk):
    """A convolution of one channel along two dimensions."""
    return Convolution(np.array(image, float)[None], np.array(weight, float)[None, None], Walk(**walk))


def picture(convolution, number=0, wrong=None):
    wrong = np.zeros(convolution.shape, bool) if wrong is None else wrong
    return panels(convolution, number, convolution.expected, wrong)


def labels(markup):
    """The screen reader's text of the cells."""
    return re.findall(r'aria-label="([^"]*)" (?:role|data-pick)', markup)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (line([0, 1, 2, 3], [1, 2, 3]), [[[8, 14, 8, 3]]]),  # starts at its position and reads zeros past the right edge
        (line([0, 1, 2, 3], [1, 2, 3], reverse=True), [[[0, 1, 4, 10]]]),  # 1·0, 1·1 + 2·0, 1·2 + 2·1 + 3·0, 1·3 + 2·2 + 3·1
        (line([[1, 2], [3, 4]], [[1, 1], [10, 0]]), [[[33, 42]]]),  # the channels are summed
        (line([1, 2, 3], [1, 1], padding=1, stride=2), [[[1, 5]]]),  # padding only left and right
        (plane([[1, 2], [3, 4]], [[1, 10], [100, 1000]]), [[[4321, 402], [43, 4]]]),
        (plane([[1, 2], [3, 4]], [[1, 10], [100, 1000]], reverse=True), [[[1, 12], [103, 1234]]]),
    ],
)
def test_a_window_starts_at_its_position_and_a_reversed_one_ends_there(found, expected):
    assert found.expected.tolist() == expected


@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 0, 1), (1, 2, 1), (2, 1, 2), (3, 3, 1)])
def test_the_general_form_slides_over_the_padded_image(stride, padding, dilation):
    drawn = np.random.default_rng(0)
    image, weight = drawn.integers(-3, 4, (2, 7, 6)).astype(float), drawn.integers(-3, 4, (3, 2, 3, 2)).astype(float)
    padded = np.pad(image, ((0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2 * dilation + 1, dilation + 1), (1, 2))
    windows = windows[:, ::stride, ::stride, ::dilation, ::dilation]
    expected = np.einsum("cyxij,ocij->oyx", windows, weight)
    assert np.array_equal(Convolution(image, weight, Walk(False, stride, padding, dilation)).expected, expected)


def test_the_cells_are_numbered_row_by_row_and_output_channel_by_output_channel():
    shown = Convolution(np.ones((1, 2, 3)), np.ones((2, 1, 1, 1)), Walk())
    assert [shown.index(number) for number in (0, 2, 3, 6, 11)] == [(0, 0, 0), (0, 0, 2), (0, 1, 0), (1, 0, 0), (1, 1, 2)]
    assert all(shown.number(shown.index(number)) == number for number in range(shown.size))


def test_a_cell_is_written_out_as_arithmetic():
    shown = plane([[0, 1], [2, 3]], [[1, -1], [2, 0]])
    assert arithmetic(shown, 1) == "channel 0, row 0: 0·1 + 1·(-1) = -1\nchannel 0, row 1: 2·2 + 3·0 = 4\nout[0, 0, 0] = -1 + 4 = 3"
    assert arithmetic(shown, 4) == "channel 0, row 1: 3·1 = 3\nchannel 0, row 2: outside of the image, 0\nout[0, 1, 1] = 3 + 0 = 3"
    assert arithmetic(line([1, 2], [3, 4]), 1) == "channel 0: 1·3 + 2·4 = 11\nout[0, 0] = 11"


@pytest.mark.parametrize(
    ("shown", "formula"),
    [
        (line([1], [1]), "out[o, x] = sum over c, j of in[c, x + j] · weight[o, c, j]"),
        (plane([[1]], [[1]], reverse=True), "out[o, y, x] = sum over c, i, j of in[c, y - i, x - j] · weight[o, c, i, j]"),
        (
            plane([[1]], [[1]], stride=2, padding=1, dilation=3),
            "out[o, y, x] = sum over c, i, j of in[c, 2·y - 1 + 3·i, 2·x - 1 + 3·j] · weight[o, c, i, j]",
        ),
    ],
)
def test_the_rule_is_a_formula(shown, formula):
    assert rule(shown) == arithmetic(shown, 0) == formula


def test_a_sentence_describes_the_position_of_the_window():
    shown = plane(np.ones((3, 3)), np.ones((2, 2)))
    assert sentence(shown, 0) == "Nothing is computed yet. The result will have shape (1, 3, 3)."
    assert sentence(shown, 1) == "out[0, 0, 0]: the window covers rows 0 to 1 and columns 0 to 1, 4 numbers."
    assert sentence(shown, 3) == (
        "out[0, 0, 2]: the window covers rows 0 to 1 and columns 2 to 3, 4 numbers, 2 of them outside of the image, where the value is 0."
    )
    assert "covers columns 0, 2, 2 numbers" in sentence(line([1, 2, 3], [1, 1], padding=0, dilation=2), 1)
    assert name(line([1], [1]), (0, 0, 0)) == "out[0, 0]"


@pytest.mark.parametrize(
    ("shown", "ignored"),
    [
        (plane(np.ones((4, 3)), np.ones((1, 3)), stride=2, padding=0), "rows 1, 3"),
        (line([1, 2, 3], [1], stride=2, padding=0), "columns 1"),
        *[(plane(np.ones((4, 4)), np.ones((2, 2)), **padding), "") for padding in ({"padding": 0}, {})],
    ],
)
def test_elements_that_no_window_covers_are_named(shown, ignored):
    assert remark(shown) == (f"No window covers {ignored} of the image, so these pixels are ignored." if ignored else "")


def test_a_mismatch_of_channels_and_a_window_larger_than_the_padded_image_are_refused():
    with raises(Refused, "expected a weight with 3 input channels, as in the image, got 2 (weight of shape (1, 2, 2))"):
        Convolution(np.ones((3, 1, 4)), np.ones((1, 2, 1, 2)), Walk(), 1)
    with raises(Refused, "expected a window smaller than the padded image, got a result of shape (1, 0, 2)"):
        plane(np.ones((2, 4)), np.ones((3, 3)), padding=0)
    assert plane(np.ones((2, 4)), np.ones((3, 3))).shape == (1, 2, 4)  # the course's convolution pads with zeros, so any kernel fits


def test_the_window_and_its_part_past_the_edge_are_highlighted():
    image, *_ = picture(plane([[1, 2], [3, 4]], [[5, 6], [7, 8]]), 2)
    outside = "is outside of the image, where the value is 0"
    assert labels(image) == [
        *("in[0, 0, 0] = 1", "in[0, 0, 1] = 2; times 5; read in this step", f"in[0, 0, 2] {outside}; belongs to the picked one"),
        *("in[0, 1, 0] = 3", "in[0, 1, 1] = 4; times 7; read in this step", f"in[0, 1, 2] {outside}; belongs to the picked one"),
        *(f"in[0, 2, {column}] {outside}; not read" for column in range(3)),
    ]


def test_rows_and_columns_before_the_image_have_negative_numbers():
    image, *_ = picture(plane(np.ones((2, 2)), np.ones((2, 3)), reverse=True))
    assert re.findall(r'<i aria-hidden="true">(-?\d*)</i>', image) == ["", "-2", "-1", "0", "1", "-1", "0", "1"]


def test_an_element_under_the_window_is_highlighted_with_its_weight_and_product():
    image, weight, products, _ = picture(plane([[1, 2], [3, 4]], [[5, 6], [7, 8]]), 1)
    assert image.count('data-tag="t0,1,0"') == 1
    assert weight.count('data-tag="t0,1,0"') == products.count('data-tag="t0,1,0"') == 1
    assert "products, with sum 70" in products
    assert "3·7 = 21" in labels(products)


def test_only_computed_cells_of_the_result_are_filled_and_wrong_ones_show_the_expected_value():
    shown = plane([[1, 2], [3, 4]], [[1]])
    wrong = np.array([[[True, False], [False, True]]])
    assert labels(picture(shown, 2, wrong)[3]) == [
        "out[0, 0, 0] = 1; expected 1; wrong",
        "out[0, 0, 1] = 2; changes in this step",
        *(f"out[0, 1, {column}], not computed yet; not read" for column in range(2)),
    ]
    assert "out[0, 0, 0] = nan" in labels(panels(shown, 4, np.full(shown.shape, np.nan), wrong)[3])[0]


@pytest.mark.parametrize("dims", [1, 2])
def test_every_kernel_has_a_matching_image_and_every_image_works_with_the_first_kernel(dims):
    for values in pictures.PICTURES[dims].values():
        assert values.ndim == 3
        assert len(values) <= pictures.MOST_CHANNELS
        assert max(values.shape) <= 10
    for kernel in pictures.KERNELS[dims].values():
        weight = np.array(kernel, float)
        channels = weight.shape[-dims - 1] if weight.ndim > dims else 1
        assert channels in {len(values) for values in pictures.PICTURES[dims].values()}


def test_a_kernel_with_one_channel_is_used_for_all_channels_of_the_image():
    weight = np.arange(4.0).reshape(2, 1, 1, 2)
    assert pictures.fit(weight, 1) is weight
    assert pictures.fit(weight, 3)[1, 2].tolist() == [[2, 3]]
    several = np.ones((1, 2, 1, 1))
    assert pictures.fit(several, 3) is several
