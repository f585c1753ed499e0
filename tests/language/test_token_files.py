"""Files of tokenizers: they come back as they were, and what is no such file is refused by name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.manifest import ROOT
from minitorch.io.formats import FileFormatError
from minitorch.language import Tokenizer
from minitorch.language.token_files import CHARACTERS, REMEDY, from_printable, to_printable
from tests.errors import raises

TEXT = (ROOT / "docs" / "attention.md").read_text(encoding="utf-8")
END = "<|end of tëxt|>"


@pytest.fixture(scope="module")
def trained():
    return Tokenizer.train(TEXT, 600, [END, "<|user|>"])


@pytest.fixture
def names(tmp_path):
    return tmp_path / "vocab.json", tmp_path / "merges.txt"


# Bytes as characters


def test_bytes_have_gpt2s_characters():
    assert len(set(CHARACTERS)) == 256
    assert all(character.isprintable() and not character.isspace() for character in CHARACTERS)
    assert to_printable(b" \n\x00a\xff\x7f\xad") == "ĠĊĀaÿġŃ"


@given(st.binary())
def test_characters_give_the_bytes_again(content):
    assert from_printable(to_printable(content)) == content


def test_a_character_that_stands_for_no_byte_is_refused():
    with raises(ValueError, "from_printable expected characters that stand for bytes, got ' ' in 'a b'; use to_printable"):
        from_printable("a b")


# Our file


def test_a_saved_tokenizer_comes_back(trained, tmp_path):
    path = tmp_path / "tokenizer.json"
    trained.save(path)
    loaded = Tokenizer.load(path)
    assert loaded == trained
    assert list(loaded.merges) == list(trained.merges)
    assert loaded.encode(TEXT + END, special=True) == trained.encode(TEXT + END, special=True)
    assert [other.name for other in tmp_path.iterdir()] == ["tokenizer.json"]


def test_a_special_token_may_look_as_an_ordinary_one(tmp_path):
    found = Tokenizer.train("", 257, ["a"])
    found.save(tmp_path / "t.json")
    assert Tokenizer.load(tmp_path / "t.json").encode("ab", special=True) == [256, ord("b")]
    with raises(ValueError, "save_gpt2 expected special tokens unlike all others, got 'a'; choose a text such as '<|a|>'"):
        found.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert not (tmp_path / "vocab.json").exists()


def test_a_failed_write_leaves_the_old_file(trained, tmp_path, monkeypatch):
    path = tmp_path / "tokenizer.json"
    trained.save(path)
    before = path.read_bytes()

    def fail(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr("minitorch.io.formats.os.fsync", fail)
    with raises(OSError, "disk full"):
        Tokenizer.train("", 256).save(path)
    assert path.read_bytes() == before


# GPT-2's files


def test_gpt2s_files_come_back(trained, names):
    trained.save_gpt2(*names)
    assert Tokenizer.load_gpt2(*names) == trained
    vocabulary = json.loads(names[0].read_text(encoding="utf-8"))
    assert vocabulary["Ġthe"] == trained.tokens.index(b" the")
    assert vocabulary[END] == 598
    lines = names[1].read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["#version: 0.2", "Ġ t"]
    assert len(lines) == 1 + len(trained.merges)


def published(merges, special=("<|endoftext|>",)):
    """A vocabulary in GPT-2's order: printable bytes first, then the others, then the merges."""
    entries = sorted(CHARACTERS, key=lambda character: (ord(character) > 255, ord(character)))
    entries += [merge.replace(" ", "") for merge in merges] + list(special)
    return {entry: number for number, entry in enumerate(entries)}


def test_gpt2s_order_of_the_bytes_is_kept(names):
    merges = ["# #", "Ġ t", "h e", "Ġt he"]  # a merge may look like a comment
    names[0].write_text(json.dumps(published(merges)))  # with escapes, as json.dump writes by default
    for header, line_break in (("#version: 0.2", "\n"), ("#version: 0.2 - Trained by", "\r\n"), (None, "\n")):
        names[1].write_bytes(line_break.join([*filter(None, [header]), *merges, ""]).encode())
        found = Tokenizer.load_gpt2(*names)
        assert found.tokens[:2] == [b"!", b'"']
        assert found.special_tokens == {"<|endoftext|>": 260}
        assert found.encode("! the## the") == [0, 259, 256, 259]
        assert found.decode([0, 259, 256, 260]) == "! the##<|endoftext|>"
        assert found.decode(found.encode("any ünicode\x00😀")) == "any ünicode\x00😀"


def test_a_special_token_may_come_first(names):
    vocabulary = {"<s>": 0} | {text: number + 1 for text, number in published(["h e"], []).items()}
    names[0].write_text(json.dumps(vocabulary))
    names[1].write_text("h e\n")
    found = Tokenizer.load_gpt2(*names)
    assert found.encode("<s>he", special=True) == [0, 257]
    found.save(names[0])
    assert Tokenizer.load(names[0]) == found


def test_tokenizers_reads_our_files_and_we_read_theirs(trained, names, tmp_path):
    theirs = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    trained.save_gpt2(*names)
    bpe = theirs.ByteLevelBPETokenizer(str(names[0]), str(names[1]), add_prefix_space=False)
    assert bpe.encode(TEXT).ids == trained.encode(TEXT)
    learned = theirs.ByteLevelBPETokenizer(add_prefix_space=False)
    learned.train_from_iterator([TEXT], vocab_size=500, min_frequency=2, special_tokens=["<s>"], show_progress=False)
    learned.save_model(str(tmp_path))
    ours = Tokenizer.load_gpt2(*names)
    assert ours.special_tokens == {"<s>": 0}
    assert ours.encode(TEXT) == learned.encode(TEXT).ids


# What is refused


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "expected JSON, got something else (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))"),
        (b"[1]", "expected a JSON object, got list"),
        (b'"\xff"', "expected text in UTF-8, got the byte 0xff at 1"),
        (
            b'{"!": 0}',
            "expected the format 'minitorch tokenizer 1', got the format None; "
            "for GPT-2's vocab.json and merges.txt, use Tokenizer.load_gpt2",
        ),
        (b'{"format": "minitorch tokenizer 1", "merges": [1]}', "expected a list of merges, got [1]"),
        (
            b'{"format": "minitorch tokenizer 1", "merges": [], "special_tokens": {}, "vocabulary": {"a": 0.0}}',
            "expected numbers of tokens by their text, got {'a': 0.0}",
        ),
        (
            b'{"format": "minitorch tokenizer 1", "merges": [], "special_tokens": {}, "vocabulary": {"a": 0, "b": 2}}',
            "expected each number from 0 on once, got no token 1, or one twice",
        ),
        (
            b'{"format": "minitorch tokenizer 1", "merges": [], "special_tokens": {}, "vocabulary": {"a b": 0}}',
            "expected printable characters for bytes, got 'a b'",
        ),
        (
            b'{"format": "minitorch tokenizer 1", "merges": ["a c"], "special_tokens": {}, "vocabulary": {"a": 0, "b": 1}}',
            "expected two tokens of the vocabulary, and their merge in it, got 'a c'",
        ),
        (
            b'{"format": "minitorch tokenizer 1", "merges": [], "special_tokens": {}, "vocabulary": {"a": 0}}',
            "expected the tables of a tokenizer, got others (Tokenizer expected one token for each of the 256 bytes, got none for 0x00; "
            "add the missing bytes and merges)",
        ),
    ],
)
def test_another_file_is_refused(tmp_path, content, message):
    path = tmp_path / "t.json"
    path.write_bytes(content)
    remedy = "" if "use Tokenizer.load_gpt2" in message else f"; {REMEDY}"
    with raises(FileFormatError, f"{path} {message}{remedy}"):
        Tokenizer.load(path)


def test_gpt2s_files_that_do_not_match_are_refused(names):
    names[0].write_text(json.dumps(published(["h e"])))
    names[1].write_text("h e\nt h\n")
    with raises(FileFormatError, f"{names[1]} expected two tokens of the vocabulary, and their merge in it, got 't h'; {REMEDY}"):
        Tokenizer.load_gpt2(*names)
    names[1].write_text("#version: 0.2\n")
    found = Tokenizer.load_gpt2(*names)  # without its merge, "he" is a token that no text gives, as special tokens are
    assert "he" in found.special_tokens
    with pytest.raises(FileNotFoundError):
        Tokenizer.load_gpt2(names[0], names[1].with_name("absent"))
