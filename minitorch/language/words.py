"""Stage 6 - Split text into words by GPT-2's rule, before a tokenizer merges bytes within each word."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Characters with Unicode's property White_Space. Python's \\s has four control characters more, U+001C to U+001F."""


def split_words(text: str) -> list[str]:
    """Split text into words; joined, they are the text again.

    A word is an English contraction such as 's or 'll, a run of letters, a run of digits and other numerals, or a run of other characters,
    each of the three with one space before it if there is one; or a run of white space. Of white space before a word, the last
    character is not part of the run: it belongs to the word if it is a space.

        >>> split_words("It's 12 apples,  isn't it?")
        ['It', "'s", ' 12', ' apples', ',', ' ', ' isn', "'t", ' it', '?']

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2; the pattern is in the published code.
    """
    return word_pattern().findall(text)


@cache
def word_pattern() -> re.Pattern[str]:
    r"""Return the pattern of a word, which is published as `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.

    The module re has no \p{L} and \p{N}. Its \w is a letter, a numeral or "_", and its \d is a decimal digit.
    """
    numerals = _other_numerals()
    letters, numbers = rf"[^\W\d_{numerals}]+", rf"[\d{numerals}]+"
    others = rf"(?:[^\w{SPACE}]|_)+"
    return re.compile(rf"'(?:[stmd]|re|ve|ll)| ?{letters}| ?{numbers}| ?{others}|[{SPACE}]+(?![^{SPACE}])|[{SPACE}]+")


def _other_numerals() -> str:
    """Return the numerals that are not decimal digits, such as ² and Ⅷ, as ranges for a character class."""
    ranges: list[list[int]] = []
    for character in filter(str.isnumeric, map(chr, range(sys.maxunicode + 1))):
        if unicodedata.category(character) in ("Nl", "No"):
            code = ord(character)
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
