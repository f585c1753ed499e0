"""The page that trains on sentences: a run up to the most influential words, and its messages for unwritten or failing code."""

import pytest

from project.lab.cards import WrongResult
from project.lab.explorers import learned_network
from project.lab.training.jobs import Failed
from tests.project.classifier_pages import fake_program, page_text, picture_markup, texts, until_done  # noqa: F401  the fixture is used by name
from tests.project.pages import ignore_saved_files, open_page  # noqa: F401  the fixture works by being here


def test_unwritten_and_failing_programs_become_cards(fake_program):  # noqa: F811  the fixture
    fake_program(error=NotImplementedError("Need to implement for Task 4.5"))
    app = open_page("m4_sentiment")
    app.button(key="sentiment_start").click().run()
    assert any("Task 4.5 is not written yet" in text for text in texts(app.info))
    fake_program(error=Failed("KeyError: 'word'"))
    app.button(key="sentiment_start").click().run()
    assert "KeyError: 'word'" in texts(app.code)
    assert not app.exception


def test_a_wrong_number_of_probabilities_is_rejected():
    class One:
        def read(self, sentences):
            return [0.5]

    with pytest.raises(WrongResult, match="your network expected to return a probability for each of 2 sentences, got 1"):
        learned_network.probability(One(), ["a", "b"])
