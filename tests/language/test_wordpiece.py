"""WordPiece: words and pieces by hand, beside a slow encoder and beside tokenizers; its file, and what it refuses."""

import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import lists, sampled_from, text

from minitorch.io.formats import FileFormatError
from minitorch.language import WordPiece
from minitorch.language.wordpiece import split_lowercase
from tests.errors import raises

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
PIECES = ["play", "##ing", "##in", "##g", "##s", "p", "##l", "the", "a", "##a", "b", "##b", "##ab", "aba", ",", "'", "語"]


@pytest.fixture
def tokenizer():
    return WordPiece([*SPECIAL, *PIECES])


def pieces(tokenizer, text):
    """The pieces of a text, without its two ends."""
    tokens = [tokenizer.tokens[number] for number in tokenizer.encode(text)]
    assert (tokens[0], tokens[-1]) == ("[CLS]", "[SEP]")
    return tokens[1:-1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\n ", []),
        ("Ångström ÉTÉ Ç", ["angstrom", "ete", "c"]),
        ("İstanbul ΟΔΟΣ Straße", ["istanbul", "οδοσ", "straße"]),
        ("don't,stop...", ["don", "'", "t", ",", "stop", ".", ".", "."]),
        ("a$b^c`d|e~f+g", ["a", "$", "b", "^", "c", "`", "d", "|", "e", "~", "f", "+", "g"]),
        ("«a» – ¿b? “c”", ["«", "a", "»", "–", "¿", "b", "?", "“", "c", "”"]),
        ("ab東京cd", ["ab", "東", "京", "cd"]),
        ("a\u00a0b\u2003c\u3000d\u2028e\r\nf", ["a", "b", "c", "d", "e", "f"]),
        ("a\x00b\u200bc\ufffdd\x7fe\ue000f\ud800g\x0bh", ["abcdefgh"]),
        ("x²½ 3.5", ["x²½", "3", ".", "5"]),
    ],
)
def test_words_are_lower_case_without_accents_and_marks_are_words(text, words):
    assert split_lowercase(text) == words


def test_pieces_are_the_longest_ones_and_a_word_without_them_is_unknown(tokenizer):
    assert pieces(tokenizer, "Playing plays") == ["play", "##ing", "play", "##s"]
    assert pieces(tokenizer, "pl, a'a") == ["p", "##l", ",", "a", "'", "a"]
    assert pieces(tokenizer, "playful the語the") == ["[UNK]", "the", "語", "the"]
    assert pieces(tokenizer, "abab") == ["aba", "##b"]
    assert pieces(tokenizer, "[SEP]") == ["[UNK]", "[UNK]", "[UNK]"]  # text as any other


def test_a_word_of_101_characters_is_unknown(tokenizer):
    assert pieces(tokenizer, "b" * 100) == ["b", *["##b"] * 99]
    assert pieces(tokenizer, "b" * 101) == ["[UNK]"]


def slow_pieces(vocabulary, word):
    """The longest piece that the word begins with, and the pieces of the rest; None if there are none."""
    for size in range(len(word.removeprefix("##")), 0, -1):
        mark = "##" if word.startswith("##") else ""
        piece, rest = word[: len(mark) + size], word[len(mark) + size :]
        if piece in vocabulary:
            after = slow_pieces(vocabulary, f"##{rest}") if rest else []
            return None if after is None else [piece, *after]
    return None


@given(
    lists(sampled_from([f"{mark}{x}" for mark in ("", "##") for x in ("a", "b", "ab", "ba", "aab", "abba")]), unique=True),
    text("ab", min_size=1),
)
@example(["a", "ab", "##b", "##a"], "abba")
@example(["a", "aab", "##a"], "aab")
@settings(deadline=None)
def test_pieces_are_those_of_a_slow_encoder(vocabulary, word):
    assert pieces(WordPiece([*SPECIAL, *vocabulary]), word) == (slow_pieces(set(vocabulary), word) or ["[UNK]"])


def test_texts_become_the_tokens_of_the_package_tokenizers(tokenizer):
    theirs = pytest.importorskip("tokenizers", reason="the package tokenizers is not installed; pip install tokenizers")
    model = theirs.models.WordPiece({token: number for number, token in enumerate(tokenizer.tokens)}, unk_token="[UNK]")
    other = theirs.Tokenizer(model)
    other.normalizer, other.pre_tokenizer = theirs.normalizers.BertNormalizer(), theirs.pre_tokenizers.BertPreTokenizer()

    @given(text() | text("abpling'語 ,sÀÇ\t\x00"))
    @settings(deadline=None, max_examples=300)
    def check(text):
        if text.isascii() or text.isprintable():  # of characters that are new in Unicode, its table may say something else
            assert tokenizer.encode(text)[1:-1] == other.encode(text).ids

    check()


def test_a_long_text_is_cut_before_its_end(tokenizer):
    assert tokenizer.encode("playing the", 4) == [2, tokenizer.tokens.index("play"), tokenizer.tokens.index("##ing"), 3]
    assert tokenizer.encode("playing the", 2) == [2, 3]
    assert tokenizer.encode("playing the", 5) == tokenizer.encode("playing the", 6) == tokenizer.encode("playing the")
    with raises(ValueError, "encode expected max_tokens of at least 2, for [CLS] and [SEP], got 1; pass None for any number"):
        tokenizer.encode("a", 1)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_file_has_a_token_on_each_line(tokenizer, tmp_path, newline):
    tokens = [*tokenizer.tokens, "\u2028", "##\x85"]  # no ends of lines
    for end in ("", newline):
        (tmp_path / "vocab.txt").write_bytes((newline.join(tokens) + end).encode())
        loaded = WordPiece.load(tmp_path / "vocab.txt")
        assert loaded.tokens == tokens
    assert repr(loaded) == f"WordPiece({len(tokens)} tokens)"
    assert (len(loaded), loaded.padding) == (len(tokens), 0)


def test_other_files_and_lists_are_refused(tmp_path):
    expected = "WordPiece expected different tokens, among them [PAD], [UNK], [CLS] and [SEP], got"
    with raises(ValueError, f"{expected} no [CLS]; change the list"):
        WordPiece(["[PAD]", "[UNK]", "[SEP]"])
    with raises(ValueError, f"{expected} 'a' twice; change the list"):
        WordPiece([*SPECIAL, "a", "b", "a"])
    path = tmp_path / "vocab.txt"
    path.write_text("a\nb\n")
    with raises(
        FileFormatError, f"{path} expected a token on each line, got others ({expected} no [PAD]; change the list); copy the file again"
    ):
        WordPiece.load(path)
    path.write_bytes(b"a\xff")
    with raises(
        FileFormatError, f"{path} expected text in UTF-8, got the byte 0xff at 1; copy the file again, or save the tokenizer again"
    ):
        WordPiece.load(path)
    with raises(TypeError, "encode expected a string, got bytes; decode bytes with .decode()"):
        WordPiece(SPECIAL).encode(b"a")  # type: ignore[arg-type]  # refused
