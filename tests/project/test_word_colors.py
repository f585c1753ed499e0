"""Words colored by their influence, and the most influential words."""

import numpy as np

from project.lab.charts import word_colors as word_colours
from project.lab.explorers.word_weights import Reading, word_weights

WEIGHT = {"good": 0.25, "bad": -0.25, "so": 0.0}


def predict(sentences):
    """0.5 plus the influence of every word."""
    return np.array([0.5 + sum(WEIGHT.get(word, 0.125) for word in sentence.split()) for sentence in sentences])


def test_the_most_influential_words_come_first_and_last():
    rows = word_colours.telling(["so good", "so bad good", "film bad", "", "once"], predict)
    assert rows == [("good", 0.25, 2), ("so", 0.0, 2), ("bad", -0.25, 2)]
    assert word_colours.telling([], lambda asked: np.zeros(len(asked))) == []
    assert ("once", 0.125, 1) in word_colours.telling(["once"], predict, least=1)


def test_positive_words_are_blue_and_negative_words_orange_by_influence():
    text = word_colours.markup(word_weights("so good bad", predict))
    assert "rgba(47, 127, 209, 0.60)" in text
    assert "rgba(232, 116, 26, 0.60)" in text
    assert "rgba(47, 127, 209, 0.00)" in text
    assert text.index("so<") < text.index("good<") < text.index("bad<")
    assert ">+0.25</small>" in text
    assert ">-0.25</small>" in text


def test_words_without_influence_stay_pale_and_html_is_escaped():
    text = word_colours.markup(Reading(("<b>",), 0.5, (0.001,)))
    assert "&lt;b&gt;" in text
    assert "0.03)" in text  # 0.6 · 0.001 / 0.02
