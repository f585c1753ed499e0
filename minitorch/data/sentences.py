"""Stage 4 - Synthetic film reviews: a small data set that needs no download.

Word order matters: "not dull" is positive, and the opinion is the one after "but". Two sentences with exactly the same words can have
different labels, so a model that only counts words cannot classify them all.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from minitorch.data.dataset import TextDataset

PRAISE = [
    *("brilliant", "charming", "clever", "delightful", "fresh", "funny", "gripping", "honest", "lovely"),
    *("moving", "rich", "stunning", "tender", "thrilling", "warm", "witty", "wonderful"),
]
BLAME = [
    *("awful", "boring", "clumsy", "cold", "confused", "dull", "empty", "flat", "forced"),
    *("lifeless", "noisy", "pointless", "sloppy", "stale", "tedious", "tired", "weak"),
]
PARTS = ["acting", "beginning", "camera", "cast", "dialogue", "ending", "humour", "music", "pace", "plot", "script", "story"]
FILMS = ["comedy", "drama", "film", "movie", "picture", "thriller"]
DEGREES = ["deeply", "quite", "rather", "really", "truly", "very"]

Words = tuple[list[str], list[str]]
"""Adjectives of the sentence's opinion, and those of the opposite opinion."""

Pattern = Callable[[Words, random.Random], str]
"""A sentence template: it draws the words of a sentence."""

STRAIGHT: tuple[Pattern, ...] = (
    lambda words, draw: f"the {draw.choice(PARTS)} is {draw.choice(DEGREES)} {draw.choice(words[0])} .",
    lambda words, draw: "a {} , {} {} .".format(*draw.sample(words[0], 2), draw.choice(FILMS)),
    lambda words, draw: f"seldom has a {draw.choice(FILMS)} been so {draw.choice(words[0])} .",
    lambda words, draw: f"i found the {draw.choice(PARTS)} {draw.choice(DEGREES)} {draw.choice(words[0])} .",
    lambda words, draw: "from the {} to the {} , a {} {} .".format(*draw.sample(PARTS, 2), draw.choice(words[0]), draw.choice(FILMS)),
)
TURNED: tuple[Pattern, ...] = (
    lambda words, draw: f"the {draw.choice(PARTS)} is not {draw.choice(words[1])} .",
    lambda words, draw: f"there is nothing {draw.choice(words[1])} about the {draw.choice(PARTS)} of this {draw.choice(FILMS)} .",
    lambda words, draw: f"this {draw.choice(FILMS)} is never {draw.choice(words[1])} .",
    lambda words, draw: "the {0} is {2} , but the {1} is {3} .".format(
        *draw.sample(PARTS, 2), draw.choice(words[1]), draw.choice(words[0])
    ),
)

PATTERNS = (*STRAIGHT, *STRAIGHT, *TURNED)
"""Sentence templates, used equally often."""


def negate(sentence: str) -> str:
    """Swap the two adjectives of a sentence with "but", which gives the opposite opinion in the same words.

    Example:
        >>> negate("the plot is dull , but the cast is witty .")
        'the plot is witty , but the cast is dull .'
    """
    words = sentence.split()
    words[3], words[9] = words[9], words[3]
    return " ".join(words)


class Sentences(TextDataset):
    """Synthetic film reviews, half of them positive, half negative, all different.

    They show whether a network learns, not how well it would classify real reviews.

    Args:
        count: Number of sentences, at most 2,000.
        seed: Seed of the random choices.

    Attributes:
        sentences: Words and punctuation, separated by spaces, in lower case.
        labels: Shape (count,), int64: 0 against, 1 for the film.
        classes: "negative", "positive".

    Raises:
        ValueError: If count is no whole number from 2 to 2,000.
    """

    def __init__(self, count: int = 800, seed: int = 0) -> None:
        if not isinstance(count, int) or not 2 <= count <= MAX_SENTENCES:
            raise ValueError(f"Sentences expected a whole number of sentences from 2 to {MAX_SENTENCES}, got {count!r}; try 800")
        draw = random.Random(seed)
        opinions = [(BLAME, PRAISE), (PRAISE, BLAME)]
        labels: dict[str, int] = {}
        while len(labels) < count:
            label = len(labels) % 2
            sentence = draw.choice(PATTERNS)(opinions[label], draw)
            labels.setdefault(sentence, label)
            if "but" in sentence.split() and len(labels) < count:
                labels.setdefault(negate(sentence), 1 - label)
        examples = list(labels.items())
        draw.shuffle(examples)
        super().__init__([sentence for sentence, _ in examples], [label for _, label in examples], ("negative", "positive"))

    def __repr__(self) -> str:
        return f"Sentences({len(self)} synthetic sentences, {len(self.classes)} classes)"


MAX_SENTENCES = 2000
"""More would soon be the same ones again."""
