"""Byte-pair encoding, merge by merge: the student's merges of a text, and the tokens of each word, with a check of every result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from minitorch.language.merges import PairCounts
from minitorch.language.tokenizer import Tokenizer
from minitorch.language.words import split_words
from project.lab.cards import WrongResult

MOST_CHARACTERS = 2000

COLORS = ("#3b82c455", "#e07b1a55", "#2f9e6e55", "#b455a055")
"""Translucent, so that text is legible on a light and on a dark page."""

Pair = tuple[int, int]


class Step(NamedTuple):
    """The words after a number of merges.

    Attributes:
        merges: The merges so far, in order.
        words: The tokens of each word of the text, in its order.
        next: The pair to merge next; None if no pair occurs twice.
        times: How often it occurs.
    """

    merges: dict[Pair, int]
    words: list[list[int]]
    next: Pair | None
    times: int


def steps(text: str, most: int) -> list[Step]:
    """Return the words of a text before the first merge and after each one.

    Args:
        text: The text.
        most: Maximum number of merges.

    Raises:
        WrongResult: If `PairCounts.most_frequent` returns a pair that is not the most frequent one, or `merge` leaves words that are wrong.
    """
    order = split_words(text)
    counts: Any = PairCounts(Counter(order))
    positions = {word: position for position, word in enumerate(dict.fromkeys(order))}
    merges: dict[Pair, int] = {}
    words = {word: list(word.encode()) for word in positions}
    found = []
    while True:
        pairs = Counter(pair for word in order for pair in pairwise(words[word]))
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        best = best if best is not None and pairs[best] > 1 else None
        got = counts.most_frequent()
        if got != best:
            raise WrongResult(f"most_frequent() after {len(merges)} merges expected {best}, got {got!r:.60}")
        found.append(Step(dict(merges), [words[word] for word in order], best, pairs[best] if best else 0))
        if best is None or len(merges) == most:
            return found
        merges[best] = 256 + len(merges)
        counts.merge(best, merges[best])
        words = {word: _merged(tokens, best, merges[best]) for word, tokens in words.items()}
        for word, tokens in words.items():
            if counts.words[positions[word]] != tokens:
                wrong = f"{counts.words[positions[word]]!r:.80}"
                raise WrongResult(f"merge({best}, {merges[best]}) expected the tokens {tokens} of {word!r}, got {wrong}")


def _merged(tokens: Sequence[int], pair: Pair, new: int) -> list[int]:
    """Replace a pair in a text in which each character stands for a token."""
    text = "".join(map(chr, tokens)).replace("".join(map(chr, pair)), chr(new))
    return list(map(ord, text))


def token_bytes(merges: dict[Pair, int]) -> list[bytes]:
    """Return the bytes of every token."""
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return tokens


def encode(merges: dict[Pair, int], text: str) -> list[int]:
    """Return the tokens of another text.

    Raises:
        WrongResult: If decoding them does not give the text, or a pair is left that could be merged within a word.
    """
    tokenizer: Any = Tokenizer(token_bytes(merges), merges)
    tokens = tokenizer.encode(text)
    if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
        raise WrongResult(f"encode({text!r:.40}) expected a list of ints, got {tokens!r:.60}")
    expected = [token for word in split_words(text) for token in _encoded(word, merges)]
    if tokens != expected:
        raise WrongResult(f"encode({text!r:.40}) expected {expected!s:.80}, got {tokens!s:.80}")
    if (decoded := tokenizer.decode(tokens)) != text:
        raise WrongResult(f"decode({tokens!s:.40}) expected {text!r:.60}, got {decoded!r:.60}")
    return tokens


def _encoded(word: str, merges: dict[Pair, int]) -> list[int]:
    """Encode a word with one merge after the other."""
    tokens = list(word.encode())
    for pair, new in merges.items():
        tokens = _merged(tokens, pair, new)
    return tokens


def printable(token: bytes) -> str:
    """Return a token as text, with spaces and line breaks as signs, and bytes that are no character in hexadecimal."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return token.hex(" ")
    return "".join({" ": "␣", "\n": "⏎"}.get(character, character if character.isprintable() else "·") for character in text)


def picture(tokens: Sequence[bytes]) -> str:
    """Return HTML that shows tokens side by side in alternating colors."""
    spans = (
        f'<span style="background: {COLORS[position % len(COLORS)]}; padding: 0 2px; border-radius: 3px">{escape(printable(token))}</span>'
        for position, token in enumerate(tokens)
    )
    return f'<p style="font-family: monospace; line-height: 1.9; overflow-wrap: anywhere">{"<wbr>".join(spans)}</p>'
