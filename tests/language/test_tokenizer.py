"""Byte-pair encoding: beside an encoder and a trainer that recompute everything, and beside tiktoken and tokenizers."""

import time

import numpy as np
import pytest

import minitorch
from course.manifest import ROOT
from minitorch.language import Tokenizer, merge_pair, split_words
from minitorch.language.words import word_pattern
from tests.errors import raises

from .test_merges import slow_encode

BOOK = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "module0").glob("*.md")))
PUBLISHED = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
END, START = "<|end|>", "<|start|>"


@pytest.fixture(scope="module")
def trained():
    return Tokenizer.train(BOOK, 1000, [END, START])


def test_the_folder_is_imported_by_name():
    assert minitorch.language.Tokenizer is Tokenizer
    assert "language" not in minitorch.__all__


# Training


def test_an_example_by_hand():
    assert merge_pair([1, 1, 1, 2, 1, 1], (1, 1), 3) == [3, 1, 2, 3]
    # "lo" and "ow" occur four times: "l" is the smaller byte. Then "low" occurs four times, and " low" three times.
    found = Tokenizer.train("low low low lower newest newest", 259)
    assert found.tokens[256:] == [b"lo", b"low", b" low"]


def test_the_order_of_texts_does_not_matter_and_training_is_deterministic(trained):
    paragraphs = BOOK.split("\n\n")
    forward, backward = Tokenizer.train(paragraphs, 400), Tokenizer.train(paragraphs[::-1], 400)
    assert forward == backward != trained
    assert list(forward.merges) == list(backward.merges)
    assert Tokenizer.train(iter(paragraphs), 400) == forward


def test_tokens_are_bytes_then_merges_then_special_tokens(trained):
    assert trained.tokens[:256] == [bytes([byte]) for byte in range(256)]
    assert list(trained.merges.values()) == list(range(256, 998))
    assert trained.special_tokens == {END: 998, START: 999}
    assert len(trained) == 1000
    assert len(set(trained.tokens)) == 1000
    assert repr(trained) == "Tokenizer(1000 tokens, 2 of them special)"


def test_special_tokens_are_not_learned_from():
    text = "ab<|end|>" * 50
    assert Tokenizer.train(text, 258, [END]).tokens[256:] == [b"ab", END.encode()]
    assert b"end" in Tokenizer.train(text, 261).tokens


def test_merges_stay_within_words(trained):
    assert all(len(split_words(token.decode(errors="replace"))) == 1 for token in trained.tokens[256:998])


# Encoding


def test_the_book_is_encoded_as_by_one_merge_after_the_other(trained):
    text = (ROOT / "docs" / "attention.md").read_text(encoding="utf-8")[:4000]
    assert trained.encode(text) == slow_encode(trained, text)


def test_the_book_is_encoded_as_by_tiktoken(trained):
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    ranks = {token: rank for rank, token in enumerate(trained.tokens[:998])}
    theirs = tiktoken.Encoding("ours", pat_str=PUBLISHED, mergeable_ranks=ranks, special_tokens=trained.special_tokens)
    assert trained.encode(BOOK) == theirs.encode_ordinary(BOOK)
    marked = BOOK[:1000] + START + BOOK[1000:2000] + END
    assert trained.encode(marked, special=True) == theirs.encode(marked, allowed_special="all")


def test_special_tokens_are_text_unless_asked_for(trained):
    assert trained.encode(END, special=True) == [998]
    assert 998 not in trained.encode(END)
    assert trained.encode(f"a{START}{END}", special=True) == [ord("a"), 999, 998]
    assert trained.decode([998, 97]) == "<|end|>a"
    nested = Tokenizer.train("", 258, ["<|end|>", "<|end|>."])
    assert nested.encode("<|end|>.<|end|>", special=True) == [257, 256]


def test_a_megabyte_takes_seconds(trained):
    """Also as one word: quadratic steps would take hours."""
    word_pattern()
    start = time.process_time()
    assert trained.decode(trained.encode(BOOK * (500_000 // len(BOOK)))) is not None
    assert len(trained.encode("thequickbrownfox" * 15_000)) < 240_000
    assert time.process_time() - start < 4


def test_a_large_vocabulary_is_checked_in_a_second():
    """GPT-2 has 50,000 merges."""
    pairs = [(left, right) for left in range(256) for right in range(200)]
    tokens = [bytes([byte]) for byte in range(256)] + [bytes(pair) for pair in pairs]
    start = time.process_time()
    found = Tokenizer(tokens, {pair: 256 + number for number, pair in enumerate(pairs)})
    assert time.process_time() - start < 1
    assert found.encode("ab") == [256 + 200 * ord("a") + ord("b")]


# Decoding


@pytest.mark.parametrize("wrong", [1000, -1, 10**20])
def test_a_token_out_of_range_is_refused(trained, wrong):
    with raises(ValueError, f"decode expected tokens from 0 to 999, got {wrong}; use the tokenizer that the text was encoded with"):
        trained.decode([1, wrong, 2000])


@pytest.mark.parametrize(("wrong", "name"), [([1.0], "float"), (["a"], "str"), (np.zeros((1, 2), int), "")])
def test_what_is_no_whole_number_is_refused(trained, wrong, name):
    with pytest.raises(TypeError, match=rf"^decode expected whole numbers, got something else \(.*{name}.*\); pass a list of tokens$"):
        trained.decode(wrong)


# What is refused


SURROGATE = "expected text that UTF-8 can represent, got the lone surrogate '\\ud83d' at position 2; remove it, or read the file as UTF-8"
ASCENDING = "Tokenizer expected merges of earlier tokens in ascending order"


def test_lone_surrogates_are_refused(trained):
    with raises(ValueError, f"encode {SURROGATE}"):
        trained.encode("ab\ud83d")
    with raises(ValueError, f"train {SURROGATE}"):
        Tokenizer.train(["fine", "ab\ud83d"], 300)
    with raises(ValueError, f"special_tokens {SURROGATE}"):
        Tokenizer.train("", 300, ["ab\ud83d"])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.encode(b"ab"), TypeError, "encode expected a string, got bytes; decode bytes with .decode()"),
        (lambda t: Tokenizer.train([b"ab"], 300), TypeError, "train expected a string, got bytes; decode bytes with .decode()"),
        (lambda t: Tokenizer.train("", 256, [3]), TypeError, "special_tokens expected a string, got int; decode bytes with .decode()"),
        (
            lambda t: Tokenizer.train("ab", 256, [END]),
            ValueError,
            "train expected a vocabulary_size of at least 257, got 256; leave room for the 256 bytes and 1 special tokens",
        ),
        (
            lambda t: Tokenizer.train("abab abab", 1000, [END]),
            ValueError,
            "train expected text with more frequent pairs, got text for 259 of 1000 tokens; pass more text",
        ),
        (
            lambda t: Tokenizer.train("", 300, [END, END]),
            ValueError,
            f"special_tokens expected different texts, none of them empty, got {[END, END]}; leave out the others",
        ),
        (
            lambda t: Tokenizer.train("", 300, [""]),
            ValueError,
            "special_tokens expected different texts, none of them empty, got ['']; leave out the others",
        ),
        (
            lambda t: Tokenizer(t.tokens[1:], {}),
            ValueError,
            "Tokenizer expected one token for each of the 256 bytes, got none for 0x00; add the missing bytes and merges",
        ),
        (
            lambda t: Tokenizer(t.tokens[:257], {}),
            ValueError,
            "Tokenizer expected one token for each of the 256 bytes, got 257 tokens that are neither merged nor special; "
            "add the missing bytes and merges",
        ),
        (
            lambda t: Tokenizer([*t.tokens[:256], b"ab", b"abc"], {(256, 99): 257, (97, 98): 256}),
            ValueError,
            f"{ASCENDING}, got the merge (256, 99) to 257; number tokens as they are learned",
        ),
        (
            lambda t: Tokenizer([*t.tokens[:256], b"ab"], {(97, 99): 256}),
            ValueError,
            f"{ASCENDING}, got the merge (97, 99) to 256; number tokens as they are learned",
        ),
        (
            lambda t: Tokenizer([*t.tokens[:256], b"ab"], {}, {END: 256}),
            ValueError,
            f"Tokenizer expected the special token {END!r} among tokens, got another at 256; add its bytes",
        ),
        (
            lambda t: Tokenizer([*t.tokens[:256], b"ab"], {(97, 98): 256}, {"ab": 256}),
            ValueError,
            "Tokenizer expected each token to be one of a byte, a merge and a special token, got one that is two; renumber it",
        ),
    ],
)
def test_what_makes_no_tokenizer_is_refused(trained, call, error, message):
    with raises(error, message):
        call(trained)


def test_as_many_merges_as_there_are_are_allowed():
    assert len(Tokenizer.train("abab abab", 259, [END])) == 259
    assert len(Tokenizer.train("", 256)) == 256
