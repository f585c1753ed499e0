"""Stage 6 - Synthetic stories and sums: as much simple English as a small language model needs, without a download.

A story has one or two persons and a plot: somebody has a wish, loses or finds something, or counts it, and is happy or sad in the end.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable

from minitorch.data import story_words as words
from minitorch.data.dataset import Dataset
from minitorch.data.story_plots import draw_sum, write_story

SPLITS = ("train", "validation")

MAX_OPERAND = 99
"""The largest number that is added."""

SUM_PATTERNS = (
    "{a} + {b} = {c}.",
    "{a} plus {b} is {c}.",
    "What is {a} + {b}? It is {c}.",
    "What is {a} plus {b}? {a} plus {b} is {c}.",
    '"What is {a} + {b}?" asked {x}. "It is {c}," said {y}.',
    '"{a} plus {b} is {c}," said {x}. "That is right," said {y}.',
)


class Stories(Dataset):
    """Synthetic stories of 4 to 8 sentences, and sums up to 99 + 99, each a line of text. `grammar_score` measures how right such text is.

    A tenth of the combinations of a hero and a thing, and of the pairs of numbers to add, occur only in the validation set: the two have no
    story and no sum in common, with any seeds.

        >>> stories = Stories(1000, seed=1)
        >>> print(stories[0])
        What is 97 plus 8? 97 plus 8 is 105.
        >>> print(stories[7].replace(". ", ".\\n"))
        Max liked to dance by the river.
        He wanted a big carrot because he liked carrots.
        One day, he went to the village.
        But there were no carrots in the village.
        He was very upset and went home.

    Args:
        count: Number of stories and sums.
        split: "train" or "validation".
        seed: Seed of the random choices. Equal seeds give equal stories, and fewer stories are the first of more.
        sums: Fraction of sums, from 0 to 1.

    Attributes:
        stories: The lines of text.

    Raises:
        ValueError: If count is not a whole number of at least 1, split is another word, or sums is not from 0 to 1.
    """

    def __init__(self, count: int = 1000, split: str = "train", seed: int = 0, sums: float = 0.2) -> None:
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"Stories expected a whole number of stories from 1 on, got {count!r}; try 1000")
        if split not in SPLITS:
            raise ValueError(f"Stories expected the split 'train' or 'validation', got {split!r}; choose one of them")
        if not 0 <= sums <= 1:
            raise ValueError(f"Stories expected a fraction of sums from 0 to 1, got {sums!r}; try 0.2")
        draw = random.Random(seed)
        self._split = split
        self.stories = [(write_sum if draw.random() < sums else write_story)(draw, self._is_allowed) for _ in range(count)]

    def __len__(self) -> int:
        """Number of stories and sums."""
        return len(self.stories)

    def __getitem__(self, index: int) -> str:
        """One story or sum."""
        return self.stories[index]

    def __repr__(self) -> str:
        return f"Stories({len(self)} synthetic stories and sums, {self._split})"

    def _is_allowed(self, premise: str) -> bool:
        return split_of(premise) == self._split

    @property
    def text(self) -> str:
        """All stories and sums, each with a line break at its end."""
        return "".join(f"{story}\n" for story in self.stories)


def split_of(premise: str) -> str:
    """The split in which a premise is used, which is the hero and the thing of a story, or the numbers of a sum."""
    return SPLITS[zlib.crc32(premise.encode()) % 10 == 0]  # hash() would differ from process to process


def write_sum(draw: random.Random, is_allowed: Callable[[str], bool]) -> str:
    """Write a sum. For is_allowed see `write_story`."""
    a, b = draw_sum(draw, is_allowed, 0, MAX_OPERAND)
    x, y = draw.sample(words.GIRLS + words.BOYS, 2)
    return draw.choice(SUM_PATTERNS).format(a=a, b=b, c=a + b, x=x, y=y)
