"""The weight of each word in a sentence: how the predicted probability changes when the word is removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Reading:
    """The prediction for a sentence.

    Attributes:
        words: The words of the sentence, in order.
        probability: The probability that it is positive.
        weights: For each word, the decrease of the probability when it is removed: above 0 the word makes the sentence more positive,
            below 0 more negative. Words interact, so the weights do not sum to the probability.
    """

    words: tuple[str, ...]
    probability: float
    weights: tuple[float, ...]


def word_weights(sentence: str, read: Callable[[Sequence[str]], np.ndarray]) -> Reading:
    """Predict a sentence, and the same sentence without each of its words.

    Args:
        sentence: Lower-case words and punctuation separated by spaces, as in the training data.
        read: Returns the probability that each sentence is positive, such as `SentimentTrainer.read`.

    Raises:
        ValueError: If the sentence contains no word.
    """
    words = sentence.split()
    if not words:
        raise ValueError(f"expected a sentence of at least one word, got {sentence!r}; enter words separated by spaces")
    without = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
    whole, *others = np.asarray(read([" ".join(words), *without])).tolist()
    return Reading(tuple(words), whole, tuple(whole - other for other in others))
