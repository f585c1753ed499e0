"""What each word of a sentence does to the answer of a network: how the probability changes when the word is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Reading:
    """A sentence as a network reads it.

    Attributes:
        words: Its words, in their order.
        probability: That it is positive.
        weights: For each word how much of the probability would be gone without it: above 0 the word speaks for praise, below 0 for
            blame. What two words do together counts for both, so they need not add up to anything.
    """

    words: tuple[str, ...]
    probability: float
    weights: tuple[float, ...]


def word_weights(sentence: str, read: Callable[[Sequence[str]], np.ndarray]) -> Reading:
    """Read a sentence, and again without each of its words.

    Args:
        sentence: Words and signs between blanks, small letters as in the training data.
        read: Gives for sentences the probability that each is positive, such as `SentimentTrainer.read`.

    Raises:
        ValueError: If there is no word in it.
    """
    words = sentence.split()
    if not words:
        raise ValueError(f"expected a sentence of at least one word, got {sentence!r}; type some words with blanks between them")
    without = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
    whole, *others = np.asarray(read([" ".join(words), *without])).tolist()
    return Reading(tuple(words), whole, tuple(whole - other for other in others))
