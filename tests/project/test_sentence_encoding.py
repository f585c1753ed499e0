"""The encoding of sentences, the influence of each word on a prediction, and words colored by it."""

from types import SimpleNamespace

import numpy as np
import pytest

from project.lab.charts import word_colors
from project.lab.explorers.word_weights import Reading, word_weights
from project.lab.training.sentence_encoding import DrawnVectors, encode_sentence_data, encode_sentences
from tests.errors import raises


class TwoWordVectors(dict):
    """Vectors of two words."""

    dim = 2


VECTORS = TwoWordVectors(good=np.array([1.0, 2]), bad=np.array([-3.0, 4]))


def test_a_sentence_is_its_word_vectors_followed_by_zeros_or_truncated():
    encoded = encode_sentences(["bad", "good good bad"], VECTORS)
    assert encoded.dtype == np.float32
    assert encoded.tolist() == [[[-3, 4], [0, 0], [0, 0]], [[1, 2], [1, 2], [-3, 4]]]
    assert encode_sentences(["good bad good"], VECTORS, 2).tolist() == [[[1, 2], [-3, 4]]]
    assert encode_sentences([], VECTORS).shape == (0, 0, 2)


def test_words_without_a_vector_share_a_nonzero_one():
    first, second, good = encode_sentences(["film plot good"], VECTORS)[0]
    assert first.tolist() == second.tolist()
    assert np.abs(first).max() > 0
    assert good.tolist() == [1, 2]
    assert encode_sentences(["story"], VECTORS)[0, 0].tolist() == first.tolist()


def test_random_vectors_are_reproducible_and_differ_between_words():
    vectors = DrawnVectors(50)
    assert "anything" in vectors
    assert vectors["film"].tolist() == DrawnVectors(50)["film"].tolist()
    assert vectors["film"].tolist() != vectors["plot"].tolist()
    assert (vectors["film"].shape, vectors["film"].dtype) == ((50,), np.float32)


def test_the_first_sentences_are_used_and_the_longest_of_both_parts_fits():
    train = SimpleNamespace(sentences=["good", "bad", "good bad good bad"], labels=np.array([1, 0, 0]))
    valid = SimpleNamespace(sentences=["good bad bad", "bad"], labels=np.array([0, 0]))
    (x, y), (x_valid, y_valid) = encode_sentence_data({"train": train, "validation": valid}, VECTORS, 2, 1)
    assert (x.shape, x_valid.shape) == ((2, 3, 2), (1, 3, 2))
    assert (y.tolist(), y_valid.tolist()) == ([1, 0], [0])


def test_the_influence_of_a_word_is_the_change_of_probability_without_it():
    worth = {"not": -0.2, "dull": -0.1, "warm": 0.3}
    asked = []

    def read(sentences):
        asked.extend(sentences)
        return np.array([0.5 + sum(worth.get(word, 0) for word in sentence.split()) for sentence in sentences])

    reading = word_weights("  warm  not dull film ", read)
    assert reading.words == ("warm", "not", "dull", "film")
    assert reading.probability == pytest.approx(0.5)
    assert reading.weights == pytest.approx((0.3, -0.2, -0.1, 0))
    assert asked == ["warm not dull film", "not dull film", "warm dull film", "warm not film", "warm not dull"]


@pytest.mark.parametrize("sentence", ["", "  "])
def test_a_sentence_without_words_is_refused(sentence):
    with raises(ValueError, f"expected a sentence of at least one word, got {sentence!r}; enter words separated by spaces"):
        word_weights(sentence, lambda sentences: np.zeros(len(sentences)))


WEIGHT = {"good": 0.25, "bad": -0.25, "so": 0.0}


def predict(sentences):
    """0.5 plus the influence of every word."""
    return np.array([0.5 + sum(WEIGHT.get(word, 0.125) for word in sentence.split()) for sentence in sentences])


def test_the_most_influential_words_come_first_and_last():
    rows = word_colors.telling(["so good", "so bad good", "film bad", "", "once"], predict)
    assert rows == [("good", 0.25, 2), ("so", 0.0, 2), ("bad", -0.25, 2)]
    assert word_colors.telling([], lambda asked: np.zeros(len(asked))) == []
    assert ("once", 0.125, 1) in word_colors.telling(["once"], predict, least=1)


def test_positive_words_are_blue_and_negative_words_orange_by_influence():
    text = word_colors.markup(word_weights("so good bad", predict))
    for part in ("rgba(31, 111, 178, 0.60)", "rgba(217, 112, 30, 0.60)", "rgba(31, 111, 178, 0.00)", ">+0.25</small>", ">-0.25</small>"):
        assert part in text
    assert text.index("so<") < text.index("good<") < text.index("bad<")


def test_words_without_influence_stay_pale_and_html_is_escaped():
    text = word_colors.markup(Reading(("<b>",), 0.5, (0.001,)))
    assert "&lt;b&gt;" in text
    assert "0.03)" in text  # 0.6 · 0.001 / 0.02
