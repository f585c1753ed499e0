"""The page of Task 6.8: a row on its grid, errors, a model before and after, and wrong functions."""

import numpy as np
import pytest

from minitorch.language import quantization
from project.lab.cards import WrongResult
from project.lab.explorers import language_quantization

from ..errors import raises
from .pages import ignore_saved_files, open_page, page_text  # noqa: F401  a fixture


def test_the_page_shows_a_row_and_a_model():
    app = open_page("m6_quantization")
    assert not app.exception
    assert not app.error
    assert "The scale is 0.007874." in page_text(app)
    app.button(key="quantize_model").click().run()
    assert not app.exception
    assert not app.error
    assert "Quantization changes its perplexity by" in page_text(app)


def test_a_large_weight_makes_the_grid_coarse():
    scales, used = [], []
    for largest in (1.0, 20.0):
        integers, scale, _ = language_quantization.quantize(language_quantization.row(largest, 0))
        scales.append(scale)
        used.append(len(set(integers.tolist())))
    assert scales[1] == pytest.approx(20 * scales[0])
    assert used[0] > 3 * used[1]


def test_the_model_shrinks_and_its_perplexity_hardly_changes():
    (_, before, first), (_, after, last) = language_quantization.compare(0)
    assert before > 3 * after
    assert last == pytest.approx(first, rel=0.02)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("quantize_rows", lambda weight: None, "quantize_rows(weights) expected to return a tuple of two arrays, got NoneType"),
        (
            "quantize_rows",
            lambda weight: (np.zeros((1, 200)), np.ones(1)),
            "quantize_rows(weights) expected int8 of shape (1, 200), got float64 of shape (1, 200)",
        ),
        (
            "quantize_rows",
            lambda weight: (np.zeros((1, 200), np.int8), np.full(1, 1 / 127, np.float32)),
            "quantize_rows(weights) expected the integer nearest to 127.000 at [0, 0], got 0",
        ),
        (
            "dequantize",
            lambda integers, scales: integers[0],
            "dequantize(integers, scales) expected to return an array of shape (1, 200), got ndarray",
        ),
    ],
)
def test_a_wrong_result_is_reported(monkeypatch, name, wrong, message):
    monkeypatch.setattr(quantization, name, wrong)
    with raises(WrongResult, message):
        language_quantization.quantize(language_quantization.row(1.0, 0))
