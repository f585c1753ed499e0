"""Words coloured by their weight, and the words that do most."""

import numpy as np

from project.lab.charts import word_colors as word_colours
from project.lab.explorers.word_weights import Reading, word_weights

WEIGHT = {"good": 0.25, "bad": -0.25, "so": 0.0}


def read(sentences):
    """A half, and for every word its weight."""
    return np.array([0.5 + sum(WEIGHT.get(word, 0.125) for word in sentence.split()) for sentence in sentences])


def test_the_heaviest_words_come_first_and_last():
    rows = word_colours.telling(["so good", "so bad good", "film bad", "", "once"], read)
    assert rows == [("good", 0.25, 2), ("so", 0.0, 2), ("bad", -0.25, 2)]
    assert ("once", 0.125, 1) in word_colours.telling(["once"], read, least=1)


def test_without_sentences_there_are_no_words():
    assert word_colours.telling([], lambda asked: np.zeros(len(asked))) == []


def test_praise_is_blue_and_blame_orange_each_by_its_weight():
    text = word_colours.markup(word_weights("so good bad", read))
    assert "rgba(47, 127, 209, 0.60)" in text
    assert "rgba(232, 116, 26, 0.60)" in text
    assert "rgba(47, 127, 209, 0.00)" in text
    assert text.index("so<") < text.index("good<") < text.index("bad<")
    assert ">+0.25</small>" in text
    assert ">-0.25</small>" in text


def test_words_that_do_nothing_stay_pale_and_signs_of_html_stay_text():
    text = word_colours.markup(Reading(("<b>",), 0.5, (0.001,)))
    assert "&lt;b&gt;" in text
    assert "0.03)" in text  # 0.6 · 0.001 / 0.02
