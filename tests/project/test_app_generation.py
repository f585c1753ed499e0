"""The page of Task 6.6: probabilities as bars, samples, and wrong functions."""

import numpy as np
import pytest

from minitorch.language import generation
from project.lab.cards import WrongResult
from project.lab.explorers import language_generation

from ..errors import raises
from .pages import ignore_saved_files, open_page, page_text  # noqa: F401  a fixture

CHANCE = np.array([0.25, 0.75])


def test_the_page_shows_probabilities_and_samples():
    app = open_page("m6_generation")
    assert not app.exception
    assert not app.error
    assert "8 of 8 tokens are kept" in page_text(app)


def test_settings_change_what_is_kept():
    assert "3 of 8 tokens are kept" in page_text(open_page("m6_generation", generate_top_k="3"))
    assert "1 of 8 tokens are kept" in page_text(open_page("m6_generation", generate_temperature="0.0"))


def test_results_are_those_of_the_task():
    np.testing.assert_allclose(language_generation.probabilities(np.log([1.0, 3.0]), 1.0, None, None), CHANCE)
    np.testing.assert_allclose(language_generation.frequencies(CHANCE, 4000, 0), CHANCE, atol=0.03)


@pytest.mark.parametrize(
    ("name", "wrong", "call", "message"),
    [
        (
            "next_probabilities",
            lambda *given: None,
            lambda: language_generation.probabilities(np.zeros(2), 1.0, 1, None),
            "next_probabilities(logits, 1, 1, None) expected to return an array of shape (2,), got NoneType",
        ),
        (
            "next_probabilities",
            lambda logits, *given: logits,
            lambda: language_generation.probabilities(np.zeros(2), 1.0, 1, None),
            "next_probabilities(logits, 1, 1, None) expected 1 at [0], got 0 (1 of 2 elements differs)",
        ),
        (
            "sample_token",
            lambda chance, point: 2,
            lambda: language_generation.frequencies(np.array([1.0, 0.0]), 1, 0),
            "sample_token(probabilities, 0.6370) expected to return 0, got 2",
        ),
    ],
)
def test_a_wrong_result_is_reported(monkeypatch, name, wrong, call, message):
    monkeypatch.setattr(generation, name, wrong)
    with raises(WrongResult, message):
        call()
