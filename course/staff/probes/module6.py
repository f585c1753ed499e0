"""Probes of Module 6: language models, beginning with byte-pair encoding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, check_equal, check_raises
from course.staff.probes.module2 import rng
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import seeds

MERGES, TOKENIZER = "minitorch.language.merges", "minitorch.language.tokenizer"

Pair = tuple[int, int]


# Task 6.1, computed by counting and searching anew


def merge(tokens: Sequence[int], pair: Pair, new: int) -> list[int]:
    """The tokens with each occurrence of a pair replaced, from left to right."""
    merged, position = [], 0
    while position < len(tokens):
        found = tuple(tokens[position : position + 2]) == pair
        merged.append(new if found else tokens[position])
        position += 1 + found
    return merged


def count(words: Sequence[tuple[Sequence[int], int]]) -> Counter[Pair]:
    """How often each pair occurs."""
    counts: Counter[Pair] = Counter()
    for tokens, times in words:
        for pair in pairwise(tokens):
            counts[pair] += times
    return counts


def most_frequent(counts: Mapping[Pair, int]) -> Pair | None:
    """The most frequent pair, of several the smallest; None if none occurs twice."""
    best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
    return best if best is not None and counts[best] >= 2 else None


def learn(words: Mapping[str, int], most: int) -> dict[Pair, int]:
    """The merges of words."""
    split, merges = [(list(word.encode()), times) for word, times in words.items()], {}
    while len(merges) < most and (pair := most_frequent(count(split))) is not None:
        merges[pair] = 256 + len(merges)
        split = [(merge(tokens, pair, merges[pair]), times) for tokens, times in split]
    return merges


def encode(tokens: Sequence[int], merges: Mapping[Pair, int]) -> list[int]:
    """The tokens of a word after all merges."""
    for pair, new in merges.items():
        tokens = merge(tokens, pair, new)
    return list(tokens)


def random_words(draw: np.random.Generator, most: int = 8) -> dict[str, int]:
    """Words of few letters, and how often each occurs."""
    words = ["".join(draw.choice(list("abcé"), draw.integers(1, 8))) for _ in range(draw.integers(1, most))]
    return {word: int(draw.integers(1, 5)) for word in words}


def mapping(p: Program, items: Mapping[Any, int]) -> Value:
    """A dict in the child."""
    return p.find("builtins:dict")(list(items.items()))


def items(p: Program, of: Value) -> Value:
    """The items of a dict in the child, in order."""
    return p.find("builtins:list")(of.items())


@probe("6.1", "merge_pair replaces each occurrence of a pair, from left to right, in a new list", weight=2, seed=seeds)
def merges_pair(p: Program, seed: int) -> Check:
    """Merge pairs in a random list, also overlapping ones."""
    draw = rng(seed)
    tokens = [int(token) for token in draw.integers(0, 3, draw.integers(0, 12))]
    pair = int(draw.integers(3)), int(draw.integers(3))
    given, runs = p.find("builtins:list")(tokens), p.find("builtins:list")([pair[0]] * 5)
    merge_pair = p.find(f"{MERGES}:merge_pair")
    got = yield [merge_pair(given, pair, 9), merge_pair(runs, (pair[0], pair[0]), 9), merge_pair([], pair, 9), given]
    check_equal(got, [merge(tokens, pair, 9), [9, 9, pair[0]], [], tokens])


@probe("6.1", "PairCounts stays that of the words after each merge, and finds the most frequent pair", weight=3, count=40, seed=seeds)
def counts_pairs(p: Program, seed: int) -> Check:
    """Merge the most frequent pair again and again; what the child finds is asked for before each merge, and once more."""
    draw = rng(seed)
    words = random_words(draw)
    pairs = p.find(f"{MERGES}:PairCounts")(mapping(p, words))
    seen, expected = [], []
    split = [list(word.encode()) for word in words]
    for new in range(256, 262):
        best = most_frequent(count(list(zip(split, words.values(), strict=True))))
        seen += [pairs.most_frequent(), pairs.most_frequent()]
        expected += [best, best]
        if best is None:
            break
        pairs.merge(best, new)
        split = [merge(tokens, best, new) for tokens in split]
        seen += [
            p.find("builtins:list")(p.find("builtins:map")(p.find("builtins:list"), pairs.words)),
            p.find("builtins:sorted")(items(p, pairs.counts)),
        ]
        expected += [split, sorted(count(list(zip(split, words.values(), strict=True))).items())]
    got = yield seen
    for one, right in zip(got, expected, strict=True):
        if isinstance(one, list) and one and isinstance(one[0], tuple):
            one = [entry for entry in one if entry[1]]  # a count of 0 may stay
        check_equal(one, right)


@probe("6.1", "a merge reads only the words that contain its pair")
def reads_few_words(p: Program) -> Check:
    """Replace the other words with None."""
    pairs = p.find(f"{MERGES}:PairCounts")(mapping(p, {"abc": 2, "cab": 1, "acb": 5, "c": 9}))
    for position in (2, 3):
        p.find("operator:setitem")(pairs.words, position, None)
    pairs.merge((97, 98), 256)
    (got,) = yield [pairs.words]
    check_equal(got, [[256, 99], [99, 256], None, None])


@probe("6.1", "learn_merges learns the most frequent pairs, in order, with ties as the docstring says", weight=3, count=40, seed=seeds)
def learns(p: Program, seed: int) -> Check:
    """Learn from random words."""
    draw = rng(seed)
    words, most = random_words(draw), int(draw.integers(0, 12))
    learn_merges = p.find(f"{MERGES}:learn_merges")
    ties = {"zy": 2, "bc": 2, "ba": 2}
    got = yield [items(p, learn_merges(mapping(p, words), most)), items(p, learn_merges(mapping(p, ties), 3))]
    check_equal(got, [list(learn(words, most).items()), list(learn(ties, 3).items())])


@probe("6.1", "apply_merges applies merges in the order in which they were learned", weight=3, count=40, seed=seeds)
def applies(p: Program, seed: int) -> Check:
    """Encode random words with merges of others."""
    draw = rng(seed)
    merges = learn(random_words(draw, 12), 12)
    tokens = list("".join(draw.choice(list("abcé"), draw.integers(0, 12))).encode())
    apply_merges = p.find(f"{MERGES}:apply_merges")
    order = {(98, 99): 256, (97, 98): 257}
    got = yield [
        apply_merges(tokens, mapping(p, merges)),
        apply_merges([97, 98, 99], mapping(p, order)),
        apply_merges([97] * 5, mapping(p, {(97, 97): 256})),
    ]
    check_equal(got, [encode(tokens, merges), [97, 256], [256, 256, 97]])


def tokenizer(p: Program, merges: Mapping[Pair, int], byte_tokens: Sequence[int] = range(256)) -> Value:
    """A tokenizer in the child, in which the byte b has the number byte_tokens[b]."""
    own = [byte_tokens.index(number) for number in range(256)]
    tokens = [[byte] for byte in own]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    made = p.find("builtins:list")(p.find("builtins:map")(p.find("builtins:bytes"), tokens))
    return p.find(f"{TOKENIZER}:Tokenizer")(made, mapping(p, merges))


@probe("6.1", "a text is encoded word by word, and decoding gives it again", weight=3, seed=seeds)
def encodes(p: Program, seed: int) -> Check:
    """Encode words twice, with bytes in another order."""
    draw = rng(seed)
    byte_tokens = [int(number) for number in draw.permutation(256)]
    words = ["".join(draw.choice(list("abcé"), draw.integers(1, 8))) for _ in range(5)]
    learned = learn(random_words(draw, 12), 12)

    def number(token: int) -> int:
        return byte_tokens[token] if token < 256 else token

    merges = {(number(left), number(right)): new for (left, right), new in learned.items()}
    made = tokenizer(p, merges, byte_tokens)
    text = " ".join(words)
    expected = [
        token
        for position, word in enumerate(words)
        for token in encode([byte_tokens[byte] for byte in (" " * (position > 0) + word).encode()], merges)
    ]
    got = yield [made.encode(text), made.encode(text), made.decode(expected), made.encode(""), made.decode([])]
    check_equal(got, [expected, expected, text, [], ""])
    (got,) = yield [tokenizer(p, {(98, 32): 256}).encode("b b")]
    check_equal(got, [98, 32, 98])


@probe("6.1", "any text is decoded again: combined characters, emoji, NUL, white space", weight=2, examples=[(text,) for text in (
    "", "\x00 \x00", "e\u0301 n\u0303", "👩‍👩‍👧 🇩🇪 日本語", "\r\n\t  two  spaces \n", "it's €½ 12² __", "\u202e\ufffd\U0010ffff",
)])  # fmt: skip
def decodes(p: Program, text: str) -> Check:
    """Encode and decode."""
    made = tokenizer(p, {(0xC3, 0xA9): 256, (0xE2, 0x82): 257, (32, 32): 258})
    got = yield [made.decode(made.encode(text)), p.find("builtins:list")(made.decode_bytes(made.encode(text)))]
    check_equal(got, [text, list(text.encode())])


@probe("6.1", "bytes that are no text become U+FFFD")
def replaces(p: Program) -> Check:
    """Decode parts of characters."""
    made = tokenizer(p, {(0xE2, 0x82): 256})
    got = yield [
        made.decode([256]),
        made.decode([0x82, 0xAC]),
        made.decode([256, 0xAC, 97, 0xFF]),
        p.find("builtins:list")(made.decode_bytes([256])),
    ]
    check_equal(got, ["\ufffd", "\ufffd\ufffd", "€a\ufffd", [0xE2, 0x82]])


@probe("6.1", "decode refuses tokens out of range", examples=[(-1,), (257,)])
def refuses(p: Program, wrong: int) -> Check:
    """Decode a number that is no token."""
    yield from check_raises(tokenizer(p, {(97, 98): 256}).decode([97, wrong]), "ValueError")
