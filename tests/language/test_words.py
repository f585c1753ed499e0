"""Words by GPT-2's rule, beside a splitter written out character by character, and beside the module regex."""

import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minitorch.language import split_words
from minitorch.language.words import SPACE

CONTRACTIONS = ("'s", "'t", "'m", "'d", "'re", "'ve", "'ll")
ALPHABET = "'sdtmlrve aZé日ß 12²Ⅷ٣½_-.,!\n\t\u00a0\u3000\x1c\x00\u0301😀👍🏽"

texts = st.one_of(st.text(), st.text(alphabet=ALPHABET), st.text(alphabet="' sl\n1"))


def kind(character):
    """The class of a character in the published pattern, from its Unicode category."""
    if character in "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" or "\u2000" <= character <= "\u200a":
        return "space"
    return {"L": "letter", "N": "number"}.get(unicodedata.category(character)[0], "other")


def run(text, start, wanted):
    """The end of the run of characters of a kind from a position on."""
    end = start
    while end < len(text) and kind(text[end]) == wanted:
        end += 1
    return end


def slow_split(text):
    """The published alternatives, tried in their order at each position."""
    words, start = [], 0
    while start < len(text):
        contraction = next((each for each in CONTRACTIONS if text.startswith(each, start)), None)
        first = start + (text[start] == " ")
        if contraction:
            end = start + len(contraction)
        elif first < len(text) and kind(text[first]) != "space":
            end = run(text, first, kind(text[first]))
        else:
            end = run(text, start, "space")
            if end < len(text) and end - start > 1:
                end -= 1
        words.append(text[start:end])
        start = end
    return words


@settings(max_examples=60)
@given(texts)
@example("it's they'll we're I'VE 'tis ''s")
@example("a  b   c\n\n d \u00a0 e ")
@example("x² = Ⅷ½ 3_4 __ \x1c\x1f")
def test_words_are_those_of_the_published_rule(text):
    assert split_words(text) == slow_split(text)
    assert "".join(split_words(text)) == text


def test_every_character_is_of_its_class():
    everything = "".join(map(chr, [*range(0x30000), *range(0xE0000, 0xE0400), sys.maxunicode]))  # no others are assigned
    assert split_words(everything) == slow_split(everything)
    assert [kind(chr(code)) for code in range(0x3100)].count("space") == 25
    assert "\\s" not in SPACE


def test_words_are_those_of_the_published_pattern():
    regex = pytest.importorskip("regex", reason="the module regex, which knows \\p{L}, is not installed")
    pattern = regex.compile(r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")

    @settings(max_examples=60)
    @given(texts)
    def check(text):
        known = "".join(character for character in text if unicodedata.category(character) != "Cn")  # the two know different Unicodes
        assert split_words(known) == pattern.findall(known)

    check()
