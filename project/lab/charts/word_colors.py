"""Sentences whose words are colored by their effect on the output of a network, and the words with the largest effect."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from project.lab.charts.palette import NEGATIVE, POSITIVE, rgba
from project.lab.explorers.word_weights import Reading

DEEPEST = 0.6
"""The opacity of the background of the word with the largest weight; the word must stay readable."""


def markup(reading: Reading) -> str:
    """Return the markup of a sentence: blue for words that make it more positive, orange for more negative, with the weight below each."""
    most = max(0.02, *(abs(weight) for weight in reading.weights))  # otherwise, words without effect would be strongly colored
    words = []
    for word, weight in zip(reading.words, reading.weights, strict=True):
        ground = rgba(POSITIVE if weight >= 0 else NEGATIVE, DEEPEST * abs(weight) / most)
        words.append(
            f'<span style="display: inline-flex; flex-direction: column; align-items: center; padding: .1rem .35rem; border-radius: 4px; '
            f'background: {ground}" title="without it the probability changes by {-weight:+.3f}">{html.escape(word)}'
            f'<small style="font-size: .75rem; opacity: .85">{weight:+.2f}</small></span>'
        )
    return f'<p style="display: flex; flex-wrap: wrap; gap: .25rem; margin: 0; overflow-wrap: anywhere">{"".join(words)}</p>'


def telling(sentences: Sequence[str], read: Callable[[Sequence[str]], np.ndarray], least: int = 2) -> list[tuple[str, float, int]]:
    """Return the mean weight of every word over its occurrences, and their number, the most positive word first.

    Args:
        sentences: Words separated by spaces.
        read: Returns the probability that each of some sentences is positive.
        least: Words with fewer occurrences are omitted, because their weight depends on the context.
    """
    split = [words for sentence in sentences if (words := sentence.split())]
    asked = [" ".join(words) for words in split]
    asked += [" ".join(words[:i] + words[i + 1 :]) for words in split for i in range(len(words))]
    answers = np.asarray(read(asked), float)
    found: dict[str, list[float]] = defaultdict(list)
    place = len(split)
    for whole, words in zip(answers, split, strict=False):
        for word in words:
            found[word].append(float(whole - answers[place]))
            place += 1
    rows = [(word, sum(weights) / len(weights), len(weights)) for word, weights in found.items() if len(weights) >= least]
    return sorted(rows, key=lambda row: -row[1])
