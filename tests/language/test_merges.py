"""Task 6.1: byte-pair encoding: training beside one that counts anew, encoding beside one merge after the other, decoding, and time."""

import time
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minitorch.data.stories import Stories
from minitorch.language import merges as merges_module
from minitorch.language import tokenizer
from minitorch.language.merges import PairCounts, apply_merges, learn_merges, merge_pair
from minitorch.language.tokenizer import Tokenizer
from minitorch.language.words import split_words

from ..errors import raises

STORIES = Stories(300, seed=3).text
UNUSUAL = "e\u0301 n\u0303 👩‍👩‍👧 🇩🇪 日本語 \x00 \u202e\r\n\t €½ it's  two   spaces "
END = "<|end|>"

texts = st.text(st.characters(exclude_categories=["Cs"]))
small_words = st.dictionaries(st.text(alphabet="abcé", max_size=8), st.integers(1, 5))


@pytest.fixture(scope="module")
def trained():
    return Tokenizer.train([STORIES, UNUSUAL * 3], 600, [END])


def slow_counts(words):
    """The number of times that each pair occurs in (tokens, times)."""
    counts = Counter()
    for tokens, times in words:
        for pair in pairwise(tokens):
            counts[pair] += times
    return counts


def slow_merge(tokens, pair, new):
    """Replaces a pair in a text in which each character stands for a token."""
    text = "".join(map(chr, tokens)).replace("".join(map(chr, pair)), chr(new))
    return [ord(character) for character in text]


def slow_learn(words, count):
    """Counts all pairs anew before each merge."""
    split = [(list(word.encode()), times) for word, times in words.items()]
    found = {}
    while len(found) < count:
        counts = slow_counts(split)
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        found[best] = 256 + len(found)
        split = [(slow_merge(tokens, best, found[best]), times) for tokens, times in split]
    return found


# merge_pair


@pytest.mark.task6_1
@pytest.mark.parametrize(
    ("tokens", "merged"),
    [
        ([], []),
        ([1], [1]),
        ([1, 2], [9]),
        ([2, 1], [2, 1]),
        ([1, 1, 2, 2], [1, 9, 2]),
        ([1, 2, 1, 2, 3, 1], [9, 9, 3, 1]),
    ],
)
def test_each_occurrence_of_a_pair_becomes_the_new_token(tokens, merged):
    given_tokens = list(tokens)
    assert merge_pair(tokens, (1, 2), 9) == merged
    assert tokens == given_tokens, "the list of the caller has changed"


@pytest.mark.task6_1
@pytest.mark.parametrize(("length", "merged"), [(2, [9]), (3, [9, 1]), (4, [9, 9]), (5, [9, 9, 1])])
def test_of_overlapping_pairs_the_left_one_is_merged(length, merged):
    assert merge_pair([1] * length, (1, 1), 9) == merged


@pytest.mark.task6_1
@given(st.lists(st.integers(0, 2)), st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_a_pair_is_merged_as_by_a_search_from_the_left(tokens, pair):
    assert merge_pair(tokens, pair, 9) == slow_merge(tokens, pair, 9)


# PairCounts


@pytest.mark.task6_1
def test_the_most_frequent_pair_by_hand():
    counts = PairCounts({"ab": 2, "bcb": 3, "cbc": 1})  # bc: 3 + 1, cb: 3 + 1, ab: 2
    assert counts.most_frequent() == (ord("b"), ord("c"))
    assert counts.most_frequent() == (ord("b"), ord("c")), "asking has changed the counts"


@pytest.mark.task6_1
def test_a_pair_that_occurs_once_is_not_worth_a_token():
    assert PairCounts({}).most_frequent() is None
    assert PairCounts({"a": 9}).most_frequent() is None
    assert PairCounts({"abc": 1}).most_frequent() is None
    assert PairCounts({"abc": 2}).most_frequent() == (ord("a"), ord("b"))


@pytest.mark.task6_1
def test_a_merge_by_hand():
    counts = PairCounts({"aab": 2, "ba": 3})
    counts.merge((ord("a"), ord("b")), 256)
    assert counts.words == [[ord("a"), 256], [ord("b"), ord("a")]]
    assert +counts.counts == {(ord("a"), 256): 2, (ord("b"), ord("a")): 3}
    assert counts.most_frequent() == (ord("b"), ord("a"))


@pytest.mark.task6_1
@given(small_words, st.integers(0, 6))
@example({"aaaa": 1, "aaa": 2}, 2)
def test_after_each_merge_the_counts_are_those_of_the_words(words, count):
    pairs = PairCounts(words)
    expected = [list(word.encode()) for word in words]
    for new in range(256, 256 + count):
        counts = slow_counts(zip(expected, words.values(), strict=True))
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            assert pairs.most_frequent() is None
            break
        assert pairs.most_frequent() == best
        pairs.merge(best, new)
        expected = [slow_merge(tokens, best, new) for tokens in expected]
        assert pairs.words == expected
        assert +pairs.counts == slow_counts(zip(expected, words.values(), strict=True))


# learn_merges


@pytest.mark.task6_1
def test_merges_by_hand():
    # "lo" and "ow" occur seven times: "l" is the smaller byte. Then "low" occurs seven times.
    assert list(learn_merges({"low": 5, "lower": 2}, 2).items()) == [((108, 111), 256), ((256, 119), 257)]


@pytest.mark.task6_1
def test_of_equally_frequent_pairs_the_one_with_smaller_tokens_is_merged():
    merges = learn_merges({"zy": 2, "bc": 2, "ba": 2}, 3)
    assert list(merges) == [(ord("b"), ord("a")), (ord("b"), ord("c")), (ord("z"), ord("y"))]
    assert list(merges.values()) == [256, 257, 258]


@pytest.mark.task6_1
def test_merging_stops_at_the_number_of_merges_and_when_no_pair_occurs_twice():
    assert learn_merges({"abab": 3}, 0) == {}
    assert list(learn_merges({"abab": 3}, 1)) == [(97, 98)]
    assert list(learn_merges({"abab": 3}, 9)) == [(97, 98), (256, 256)]
    assert list(learn_merges({"abc": 1, "de": 2}, 9)) == [(100, 101)]


@pytest.mark.task6_1
def test_training_reads_bytes_not_characters():
    assert list(learn_merges({"é": 4, "è": 1}, 9)) == [(0xC3, 0xA9)]


@pytest.mark.task6_1
@given(small_words, st.integers(0, 12))
@example({"aaaa": 1, "aaa": 2}, 5)
@example({"ab": 1}, 3)
@example({"ab": 1, "ba": 1, "cab": 1}, 3)
def test_merges_are_those_of_counting_anew(words, count):
    given_words = dict(words)
    assert list(learn_merges(words, count).items()) == list(slow_learn(words, count).items())
    assert words == given_words


@pytest.mark.task6_1
def test_merges_of_stories_are_those_of_counting_anew_in_any_order_of_the_words():
    words = Counter(split_words(STORIES + UNUSUAL * 3))
    merges = learn_merges(words, 80)
    assert list(merges.items()) == list(slow_learn(words, 80).items())
    assert list(learn_merges(dict(reversed(words.items())), 80).items()) == list(merges.items())


# apply_merges


@pytest.mark.task6_1
def test_a_word_by_hand():
    merges = {(108, 111): 256, (256, 119): 257}
    assert apply_merges(b"lowest", merges) == [257, 101, 115, 116]
    assert apply_merges(list(b"lolow"), merges) == [256, 257]
    assert apply_merges(b"xyz", merges) == list(b"xyz")
    assert apply_merges(b"", merges) == []


@pytest.mark.task6_1
def test_merges_are_applied_in_the_order_in_which_they_were_learned():
    assert apply_merges(b"abc", {(98, 99): 256, (97, 98): 257}) == [97, 256]
    assert apply_merges(b"abc", {(97, 98): 256, (98, 99): 257}) == [256, 99]
    assert apply_merges(b"aabab", {(97, 97): 256, (97, 98): 257, (256, 98): 258}) == [258, 257]


@pytest.mark.task6_1
@given(st.lists(st.integers(0, 3), max_size=30), st.integers(0, 12))
@example([1] * 29, 6)
@example([1] * 30, 6)
def test_a_word_is_merged_as_by_one_merge_after_the_other(tokens, count):
    table = slow_learn({"\x00\x01\x01\x02\x01\x00\x01\x02\x03\x03\x03": 3, "\x01\x01\x01\x01\x01": 2, "\x02\x03\x01": 5}, count)
    expected = tokens
    for pair, new in table.items():
        expected = slow_merge(expected, pair, new)
    given_tokens = list(tokens)
    assert apply_merges(tokens, table) == expected
    assert tokens == given_tokens


# The tokenizer


def slow_encode(found, text):
    """Every merge, one after the other, in every word."""
    numbers = {token: number for number, token in enumerate(found.tokens)}
    encoded = []
    for word in split_words(text):
        tokens = [numbers[bytes([byte])] for byte in word.encode()]
        for pair, new in found.merges.items():
            tokens = slow_merge(tokens, pair, new)
        encoded += tokens
    return encoded


@pytest.mark.task6_1
def test_text_is_encoded_word_by_word_as_by_one_merge_after_the_other(trained):
    text = STORIES[:3000] + UNUSUAL
    assert trained.encode(text) == slow_encode(trained, text)
    assert len(trained.encode(STORIES)) < len(STORIES) / 2.5


@pytest.mark.task6_1
def test_no_token_crosses_the_boundary_of_a_word():
    found = Tokenizer([*(bytes([byte]) for byte in range(256)), b"b "], {(ord("b"), ord(" ")): 256})
    assert found.encode("b b") == list(b"b b")


@pytest.mark.task6_1
def test_a_word_may_be_encoded_again_and_again(trained):
    the = trained.encode(" the")
    assert trained.encode(" the the the") == the * 3
    assert trained.encode(" the") == the


@pytest.mark.task6_1
def test_words_are_cached_up_to_a_number(trained, monkeypatch):
    monkeypatch.setattr(tokenizer, "CACHED_WORDS", 3)
    other = Tokenizer(trained.tokens, trained.merges, trained.special_tokens)
    assert other.encode(STORIES[:500]) == trained.encode(STORIES[:500])
    assert len(other._cache) <= 3


@pytest.mark.task6_1
def test_bytes_may_have_other_numbers_than_their_own():
    """As in GPT-2, whose tokens 0 to 255 are the bytes in another order."""
    tokens = [bytes([255 - byte]) for byte in range(256)]
    found = Tokenizer([*tokens, b"ab"], {(255 - ord("a"), 255 - ord("b")): 256})
    assert found.encode("abc") == [256, 255 - ord("c")]
    assert found.decode([256, 255 - ord("c")]) == "abc"


@pytest.mark.task6_1
@given(texts)
@example("")
@example("\x00 \x00")
@example(UNUSUAL)
@example(f"the {END} of the story")
def test_decoding_gives_the_text_again(trained_once, text):
    for special in (False, True):
        tokens = trained_once.encode(text, special)
        assert trained_once.decode(tokens) == text
        assert trained_once.decode_bytes(iter(tokens)) == text.encode()


@pytest.fixture(scope="module", name="trained_once")
def _trained_once(trained):
    return trained


@pytest.mark.task6_1
def test_special_tokens_are_text_unless_asked_for(trained):
    end = trained.special_tokens[END]
    assert trained.encode(f"a{END}b", special=True) == [ord("a"), end, ord("b")]
    assert end not in trained.encode(f"a{END}b")
    assert trained.decode([end, ord("a")]) == f"{END}a"


@pytest.mark.task6_1
def test_bytes_that_are_no_text_become_replacement_characters(trained):
    euro, clef = "€".encode(), "𝄞".encode()
    assert trained.decode(euro[:2]) == "\ufffd"  # the beginning of a character
    assert trained.decode(euro[1:]) == "\ufffd\ufffd"  # bytes that begin none
    assert trained.decode([*clef[:3], *b"a", 0xFF, *euro]) == "\ufffda\ufffd€"
    assert trained.decode_bytes(euro[:2]) == euro[:2]
    assert (trained.decode([]), trained.decode_bytes([])) == ("", b"")


@pytest.mark.task6_1
def test_tokens_may_be_integers_of_any_kind_and_nothing_else(trained):
    tokens = trained.encode("the story")
    assert trained.decode(np.array(tokens)) == trained.decode(np.array(tokens, np.uint16)) == "the story"
    with pytest.raises(TypeError, match=r"^decode expected whole numbers, got something else"):
        trained.decode([1.0])
    for wrong in (-1, len(trained)):
        last = len(trained) - 1
        with raises(ValueError, f"decode expected tokens from 0 to {last}, got {wrong}; use the tokenizer that the text was encoded with"):
            trained.decode_bytes([1, wrong])


@pytest.mark.task6_1
def test_lone_surrogates_are_refused(trained):
    message = "expected text that UTF-8 can represent, got the lone surrogate '\\ud83d' at position 2; remove it, or read the file as UTF-8"
    with raises(ValueError, f"encode {message}"):
        trained.encode("ab\ud83d")
    with raises(ValueError, f"train {message}"):
        Tokenizer.train(["fine", "ab\ud83d"], 300)


# Time


@pytest.mark.task6_1
def test_a_megabyte_takes_seconds():
    text = STORIES * (1_000_000 // len(STORIES))
    start = time.process_time()
    found = Tokenizer.train(text, 500)
    assert found.decode(found.encode(text)) == text
    assert time.process_time() - start < 6


@pytest.mark.task6_1
def test_a_merge_reads_only_the_words_that_contain_its_pair():
    counts = PairCounts({"abc": 2, "cab": 1, "acb": 5, "c": 9})
    counts.words[2] = counts.words[3] = None
    counts.merge((ord("a"), ord("b")), 256)
    assert counts.words == [[256, ord("c")], [ord("c"), 256], None, None]


@pytest.mark.task6_1
def test_pairs_are_counted_once_not_for_each_merge(monkeypatch):
    made = []

    class Counted(PairCounts):
        def __init__(self, words):
            made.append(words)
            super().__init__(words)

    monkeypatch.setattr(merges_module, "PairCounts", Counted)
    assert len(learn_merges(Counter(split_words(STORIES)), 50)) == 50
    assert len(made) == 1


@pytest.mark.task6_1
def test_the_time_for_a_word_does_not_depend_on_the_number_of_merges():
    merges = {(left, right): 256 + 256 * left + right for left in range(256) for right in range(200)}
    start = time.process_time()
    for word in ["lowest", "newest", "wide"] * 200:
        apply_merges(word.encode(), merges)
    assert time.process_time() - start < 2
