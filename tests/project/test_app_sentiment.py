"""The page that trains on sentences: a run up to the most influential words, and its messages for unwritten or failing code."""

import pytest

from project.lab.cards import WrongResult
from project.lab.explorers import learned_network
from project.lab.training.jobs import Failed
from tests.project.classifier_pages import fake_program, texts  # noqa: F401  the fixture is used by name
from tests.project.pages import ignore_saved_files, open_page, press  # noqa: F401  a fixture


def test_unwritten_and_failing_programs_become_cards(fake_program):  # noqa: F811  the fixture
    fake_program(error=NotImplementedError("Need to implement for Task 4.5"))
    app = press(open_page("m4_sentiment"), "sentiment_start")
    assert any("Task 4.5 is not written yet" in text for text in texts(app.info))
    fake_program(error=Failed("KeyError: 'word'"))
    assert "KeyError: 'word'" in texts(press(app, "sentiment_start").code)
    assert not app.exception


def test_a_wrong_number_of_probabilities_is_rejected():
    class One:
        def read(self, sentences):
            return [0.5]

    with pytest.raises(WrongResult, match="your network expected to return a probability for each of 2 sentences, got 1"):
        learned_network.probability(One(), ["a", "b"])
