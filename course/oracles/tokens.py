"""Task 6.1: byte-pair encoding, compared with the replacement of characters in strings: each token is a character."""

from __future__ import annotations

import codecs
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from course.explain.calls import NOTHING, Call, Judge, TooLarge
from course.explain.divergence import Difference
from course.oracles.parts import ORACLE, Part, compare_parts, compare_result, refusal

MERGES = "minitorch.language.merges"
TOKENIZER = "minitorch.language.tokenizer"

Pair = tuple[int, int]

MOST_STEPS = 400_000
"""A call for which the oracle needs more steps than this is not compared."""

MOST_TOKENS = 5000
"""A `PairCounts` with more tokens, pairs or entries than this is not compared, because all of them are counted again for each merge."""

MOST_MERGES = 2000
"""Words are not compared for more merges than this, because the oracle applies each of them to each word."""


def _replace(tokens: Sequence[int], pair: Pair, new: int) -> list[int]:
    return [*map(ord, "".join(map(chr, tokens)).replace("".join(map(chr, pair)), chr(new)))]


def _apply(tokens: Sequence[int], merges: Mapping[Pair, int]) -> list[int]:
    """The tokens after all merges, one after the other.

    Raises:
        TooLarge: If there are too many.
    """
    if len(merges) > MOST_MERGES:
        raise TooLarge
    found = list(tokens)
    for new, pair in sorted((new, pair) for pair, new in merges.items()):
        found = _replace(found, pair, new)
    return found


def _counts(words: Sequence[Sequence[int]], times: Sequence[int]) -> dict[Pair, int]:
    """How often each pair occurs."""
    counts: Counter[Pair] = Counter()
    for word, count in zip(words, times, strict=True):
        for pair, occurrences in Counter(pairwise(word)).items():
            counts[pair] += occurrences * count
    return dict(counts)


# Merges


def pair_merge(call: Call) -> Difference | None:
    """Compare the tokens after one merge."""
    tokens, pair, new = call.before
    words = "the tokens, in which each occurrence of the pair is the new token, from left to right"
    return compare_result(call, words, _new_list(call, _replace(tokens, pair, new)))


def _new_list(call: Call, expected: list[int]) -> Iterator[Part]:
    yield "the result", expected, call.result
    yield "the tokens that were passed, which must not change", list(call.before[0]), list(call.arguments[0])
    yield "whether the result is a new list", True, call.result is not call.arguments[0]


def word_merges(call: Call) -> Difference | None:
    """Compare the tokens of a word after all merges."""
    words = "the tokens after every merge, one after the other as they were learned, each from left to right"
    return compare_result(call, words, _new_list(call, _apply(*call.before[:2])))


def learned(call: Call) -> Difference | None:
    """Compare the merges that are learned, by counting all pairs again for each of them."""
    words, count = call.before
    tokens, expected = [[*word.encode()] for word in words], dict[Pair, int]()
    if sum(map(len, tokens)) * count > MOST_STEPS:
        raise TooLarge
    while len(expected) < count:
        counts = _counts(tokens, list(words.values()))
        pair = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if pair is None or counts[pair] < 2:
            break
        expected[pair] = 256 + len(expected)
        tokens = [_replace(word, pair, expected[pair]) for word in tokens]

    def parts() -> Iterator[Part]:
        for number, (wanted, merge) in enumerate(zip(expected.items(), call.result.items(), strict=False)):
            yield f"merge {number}", wanted, merge
        yield "the number of merges", len(expected), len(call.result)

    return compare_result(call, "again and again the pair that occurs most often; of equally frequent ones, the smallest", parts())


# The counts of pairs


@dataclass(frozen=True)
class State:
    """A copy of a `PairCounts`.

    Attributes:
        words: The tokens of each word.
        times: How often each word occurs.
        counts: The number of times that each pair occurs.
        containing: The positions of the words that contain each pair.
        queue: The entries.
    """

    words: list[list[int]]
    times: list[int]
    counts: dict[Pair, int]
    containing: dict[Pair, set[int]]
    queue: set[tuple[int, Pair]]

    def parts(self, words: Sequence[Sequence[int]]) -> Iterator[Part]:
        """What these attributes must be for words."""
        for position, (expected, got) in enumerate(zip(words, self.words, strict=True)):
            yield f"words[{position}]", list(expected), got
        counts = _counts(words, self.times)
        for pair in counts | self.counts:
            yield f"counts[{pair}]", counts.get(pair, 0), self.counts.get(pair, 0)
        containing: dict[Pair, list[int]] = {}
        for position, word in enumerate(words):
            for pair in {*pairwise(word)}:
                containing.setdefault(pair, []).append(position)
        for pair, count in counts.items():
            positions, known = containing[pair], self.containing.get(pair, set())
            yield f"the positions in containing[{pair}]", positions, [position for position in positions if position in known]
            yield f"whether queue has the entry {(-count, pair)}", True, (-count, pair) in self.queue


def state(call: Call) -> State:
    """A copy of the attributes.

    Raises:
        TooLarge: If there are too many tokens or pairs.
    """
    pairs = call.arguments[0]
    if max(sum(map(len, pairs.words)), len(pairs.counts), len(pairs.queue)) > MOST_TOKENS:
        raise TooLarge
    containing = {pair: set(positions) for pair, positions in pairs.containing.items()}
    return State([[*word] for word in pairs.words], [*pairs.times], dict(pairs.counts), containing, set(pairs.queue))


def right_state(call: Call) -> State:
    """A copy of the attributes, if they are right at the beginning of the call.

    Raises:
        ValueError: If they are not: then this call is not to blame.
    """
    found = state(call)
    if compare_parts(call, "", found.parts(found.words)):
        raise ValueError
    return found


def most_frequent(call: Call) -> Difference | None:
    """Compare the most frequent pair, and that counts and the queue still hold."""
    counts = call.start.counts
    pair = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
    expected = pair if pair is not None and counts[pair] >= 2 else None
    words = "the pair that occurs most often, of equally frequent ones the smallest; None if none occurs twice"
    if call.result is None and expected is not None:
        return Difference(NOTHING, (("It should be", words), ("Expected", str(expected)), ("Yours", "None")), ORACLE)
    wrong = compare_parts(call, words, [("the result", expected, call.result)])
    return wrong or compare_parts(call, "as before, without entries of earlier counts", state(call).parts(call.start.words))


def merged_pair(call: Call) -> Difference | None:
    """Compare the words after a merge, and all that is known of their pairs."""
    _, pair, new = call.before
    words = [_replace(word, pair, new) for word in call.start.words]
    return compare_parts(call, "each word with the new token in place of the pair, and its pairs counted", state(call).parts(words))


# The tokenizer


def right_cache(call: Call) -> int:
    """The number of words that are cached at the beginning of the call.

    Raises:
        ValueError: If their tokens are wrong: then this call is not to blame.
    """
    tokenizer, text = call.before
    if compare_parts(call, "", _cached(tokenizer, [text] if call.outer == "_encode_word" else list(dict.fromkeys(_split(text))))):
        raise ValueError
    return len(tokenizer._cache)


def _split(text: str) -> list[str]:
    """The words of a text, by the function that the course gives."""
    return sys.modules["minitorch.language.words"].split_words(text)


def _cached(tokenizer: Any, words: Sequence[str]) -> Iterator[Part]:
    for word in words:
        if word in tokenizer._cache:
            yield f"the tokens of {word!r} in _cache", _word(tokenizer, word), tokenizer._cache[word]


def _word(tokenizer: Any, word: str) -> list[int]:
    return _apply([*map(tokenizer._byte_tokens.__getitem__, bytes(word, "utf-8"))], tokenizer.merges)


def encoded_text(call: Call) -> Difference | None:
    """Compare the tokens of a text."""
    tokenizer, text = call.before
    words = _split(text)
    if len({*words}) * len(tokenizer.merges) > MOST_STEPS:
        raise TooLarge
    tokens = {word: _word(tokenizer, word) for word in words}

    def parts() -> Iterator[Part]:
        yield "the result", [token for word in words for token in tokens[word]], call.result
        yield from _cached(tokenizer, list(tokens))

    return compare_result(call, "the tokens of each of its words, one word after the other", parts())


def encoded_word(call: Call) -> Difference | None:
    """Compare the tokens of a word, and the size of the cache."""
    tokenizer, word = call.before
    most = sys.modules[TOKENIZER].CACHED_WORDS

    def parts() -> Iterator[Part]:
        yield "the result", _word(tokenizer, word), call.result
        yield f"whether _cache grows only up to {most} words", True, len(tokenizer._cache) <= max(most, call.start)
        yield from _cached(tokenizer, [word])

    return compare_result(call, "the tokens of the bytes of the word, after all merges", parts())


def decoded(call: Call) -> Difference | None:
    """Compare the text or the bytes of tokens."""
    tokenizer, tokens = call.before
    if not isinstance(tokens, Sequence):
        raise TypeError  # an iterator has been used up
    known = dict(enumerate(tokenizer.tokens))
    if wrong := [token for token in tokens if not hasattr(token, "__index__") or token not in known]:
        return refusal(call, "a ValueError or a TypeError", f"{wrong[0]!r} is no token")
    pieces = [known[token] for token in tokens]
    is_text = call.outer == "decode"
    expected = "".join(codecs.iterdecode(pieces, "utf-8", "replace")) if is_text else bytes(byte for piece in pieces for byte in piece)
    words = "the text of all bytes together, with U+FFFD for bytes that are no text" if is_text else "the bytes of all tokens"
    return compare_result(call, words, [("the result", expected, call.result)])


JUDGES: dict[str, Judge] = {
    f"{MERGES}:merge_pair": pair_merge,
    f"{MERGES}:apply_merges": word_merges,
    f"{MERGES}:learn_merges": learned,
    f"{MERGES}:PairCounts.most_frequent": most_frequent,
    f"{MERGES}:PairCounts.merge": merged_pair,
    f"{TOKENIZER}:Tokenizer._encode_ordinary": encoded_text,
    f"{TOKENIZER}:Tokenizer._encode_word": encoded_word,
    f"{TOKENIZER}:Tokenizer.decode": decoded,
    f"{TOKENIZER}:Tokenizer.decode_bytes": decoded,
}

PREPARE: dict[str, Callable[[Call], Any]] = {
    f"{MERGES}:PairCounts.most_frequent": right_state,
    f"{MERGES}:PairCounts.merge": right_state,
    f"{TOKENIZER}:Tokenizer._encode_ordinary": right_cache,
    f"{TOKENIZER}:Tokenizer._encode_word": right_cache,
}
"""What is read at the beginning of a call."""
