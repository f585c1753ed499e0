"""Small images: pixels, file format and text alternative; and the confusion matrix."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from project.lab.charts import confusion, thumbnails
from project.lab.charts.thumbnails import Thumbnail


def test_ink_is_black_on_white():
    pixels = thumbnails.ink(np.array([[0.0, 0.5, 1.0, 2.0]]))
    assert pixels.tolist() == [[[255] * 3, [128] * 3, [0] * 3, [0] * 3]]


def test_positive_and_negative_values_have_colors_and_zero_is_white():
    pixels = thumbnails.signed(np.array([[0.0, 2.0, -2.0, 1.0, 9.0, np.nan]]), 2.0)
    assert pixels[0].tolist() == [[255] * 3, [31, 111, 178], [217, 112, 30], [143, 183, 216], [31, 111, 178], [255] * 3]
    assert (thumbnails.signed(np.zeros((2, 2)), 0.0) == 255).all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (28, 28)])
def test_a_png_file_holds_the_pixels(shape):
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    with Image.open(io.BytesIO(thumbnails.png(pixels))) as read:
        assert read.format == "PNG"
        assert (np.asarray(read.convert("RGB")) == pixels).all()


def test_an_image_has_a_description_and_html_is_escaped():
    text = thumbnails.markup([Thumbnail(np.zeros((1, 1, 3), np.uint8), 'a "1" & <b>', "is <1>")], 4)
    assert 'alt="a &quot;1&quot; &amp; &lt;b&gt;"' in text
    assert "is &lt;1&gt;</figcaption>" in text
    coded = re.search(r"base64,([^\"]+)", text)
    assert coded
    assert base64.b64decode(coded[1]).startswith(b"\x89PNG")


MISTAKE = "The most frequent mistake is"
COUNTS = [[8, 0, 2], [0, 10, 0], [3, 1, 0]]


def test_the_table_names_every_cell():
    text = confusion.panel(COUNTS)
    assert "label 2, predicted 0: 3 of 4" in text
    assert text.count("data-tag") == 9
    assert 'class="cell tone below" style="--tone: 52%"' in text  # 60 % of the root of 3 / 4


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (COUNTS, f"6 of 24 predictions are wrong. {MISTAKE} 0 for 2 (3 times). The lowest accuracy is 0%, for 2."),
        (
            [[0, 1], [0, 3]],
            f"1 of 4 predictions are wrong. {MISTAKE} 1 for 0 (1 time). The lowest accuracy is 0%, for 0.",
        ),
        (  # a class without images does not have the lowest accuracy
            [[0, 0], [1, 1]],
            f"1 of 2 predictions are wrong. {MISTAKE} 0 for 1 (1 time). The lowest accuracy is 50%, for 1.",
        ),
        ([[2, 0], [0, 3]], "All 5 predictions are correct."),
    ],
)
def test_the_most_frequent_mistake_and_the_lowest_accuracy_are_described(counts, words):
    assert confusion.in_words(counts) == words
