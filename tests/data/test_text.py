"""Sentences: the synthetic set, SST-2 with every way in which a file can be wrong, vocabularies and word vectors."""

import os
import re
import zipfile

import numpy as np
import pytest

from minitorch.data import SST2, GloVe, Sentences, TextDataset, Vocabulary
from minitorch.data import sentiment as module
from minitorch.data.sentences import BLAME, MAX_SENTENCES, PATTERNS, PRAISE, negate
from tests.errors import raises
from tests.nn.checks import refuses

# The synthetic set


def test_half_of_the_sentences_are_for_the_film_and_no_two_are_the_same():
    data = Sentences()
    assert len(data) == len(set(data.sentences)) == 800
    assert data.labels.tolist().count(1) == 400
    assert (data.classes, data.labels.dtype) == (("negative", "positive"), np.int64)
    assert tuple(map(type, data[0])) == (str, int)
    assert Sentences(7).labels.tolist().count(1) == 3
    assert repr(Sentences(20)) == "Sentences(20 synthetic sentences, 2 classes)"
    assert Sentences.__doc__.startswith("Synthetic")


def test_sentences_come_in_no_order_but_that_of_the_seed():
    labels = Sentences().labels
    assert 100 < np.count_nonzero(labels[1:] == labels[:-1]) < 700
    assert 20 < labels[:100].sum() < 80
    assert Sentences(50, seed=3)[:].sentences == Sentences(50, seed=3).sentences
    assert Sentences(50, seed=3).sentences != Sentences(50, seed=4).sentences


def judged(sentence):
    """The label, found out by rules written out once more."""
    clause = sentence.split(" , but ")[-1]
    words = clause.split()
    praises = bool(set(words) & set(PRAISE))
    assert praises != bool(set(words) & set(BLAME))
    return int(praises != bool(set(words) & {"not", "nothing", "never"}))


def test_labels_follow_what_the_sentences_say():
    data = Sentences(MAX_SENTENCES)
    assert data.labels.tolist() == [judged(sentence) for sentence in data.sentences]
    assert len(set(PATTERNS)) == 9
    for phrase in (" is not ", "nothing", "never", " , but ", "seldom", "found", "from", "a "):
        assert {label for sentence, label in data if phrase in sentence} == {0, 1}
    assert negate("the plot is weak , but the cast is witty .") == "the plot is witty , but the cast is weak ."


def test_counting_words_cannot_tell_all_sentences_apart():
    labels = {}
    for sentence, label in Sentences():
        labels.setdefault(tuple(sorted(sentence.split())), set()).add(label)
    assert sum(len(found) == 2 for found in labels.values()) > 40, "so many pairs have the same words and different labels"


def test_sentences_are_words_between_blanks():
    for sentence in Sentences().sentences:
        assert re.fullmatch(r"([a-z]+|,)( ([a-z]+|,))* \.", sentence)
        assert len(sentence.split()) <= 11


@pytest.mark.parametrize("count", [1, MAX_SENTENCES + 1, 10.0, "10"])
def test_a_number_of_sentences_that_there_is_not_is_refused(count):
    with raises(ValueError, f"Sentences expected a whole number of sentences from 2 to {MAX_SENTENCES}, got {count!r}; try 800"):
        Sentences(count)


# SST-2


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of SST-2 in a data directory of its own; nothing can be downloaded."""
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    monkeypatch.setattr(module, "download", lambda path, urls, known_hash: pytest.fail(f"would download {path}"))
    (tmp_path / "sst2").mkdir()
    return tmp_path / "sst2"


@pytest.mark.parametrize(
    "content",
    [
        "sentence\tlabel\na fine film \t1\nd' oh \t0\n",
        "a fine film\t1\nd' oh\t0\n",
        "a fine film\t1\nd' oh\t0",
        "sentence\tlabel\r\na fine film\t1\r\nd' oh\t0\r\n",
    ],
    ids=["as published", "without a header", "without a last line break", "from Windows"],
)
@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_a_part_is_read_from_its_file(folder, content, split):
    (folder / f"{split}.tsv").write_bytes(content.encode())
    data = SST2(split)
    assert data.sentences == ["a fine film", "d' oh"]
    assert (data.labels.tolist(), data.labels.dtype) == ([1, 0], np.int64)
    assert data[1] == ("d' oh", 0)
    assert data.classes == ("negative", "positive")
    assert repr(data) == "SST2(2 sentences, 2 classes)"
    assert isinstance(data[:1], TextDataset)


def test_only_a_line_break_ends_a_line(folder):
    (folder / "dev.tsv").write_bytes("caf\u00e9 \u0085 noir \u2028 rest\t1\n".encode())
    assert SST2("dev").sentences == ["caf\u00e9 \u0085 noir \u2028 rest"]


WRONG = " line {} expected a sentence, a tab and the label 0 or 1, got {}; correct the line, or delete the file to download it again"
NONE = " expected sentences with labels, got none; delete the file to download it again"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"sentence\tlabel\nfine\t1\nbad\n", WRONG.format(3, "'bad'")),  # cut off before the tab
        (b"fine\t1\nbad\t", WRONG.format(2, "'bad\\t'")),  # and behind it
        (b"fine\t1\nbad\t2\n", WRONG.format(2, "'bad\\t2'")),
        (b"fine\t1\nbad\t-1\n", WRONG.format(2, "'bad\\t-1'")),
        (b"fine\t1\n\nbad\t0\n", WRONG.format(2, "''")),
        (b" \t1\n", WRONG.format(1, "' \\t1'")),
        (b"3\tfine\t1\n", WRONG.format(1, "'3\\tfine\\t1'")),
        (b"index\tsentence\n0\tfine\n", WRONG.format(1, "'index\\tsentence'")),  # GLUE's test set, without labels
        (b"fine\t1\ncaf\xe9\t1\n", WRONG.format(2, "'caf\\\\xe9\\t1'")),  # Latin-1
        (b"PK\x03\x04\n", WRONG.format(1, "'PK\\x03\\x04'")),
        (b"", NONE),
        (b"sentence\tlabel\n", NONE),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(folder, content, message):
    path = folder / "dev.tsv"
    path.write_bytes(content)
    with raises(ValueError, f"{path}{message}"):
        SST2("dev")


def test_other_parts_are_not_published(folder):
    with raises(ValueError, 'SST2 expected split="train", "dev" or "test", got \'valid\''):
        SST2("valid")
    message = (
        f"{folder / 'test.tsv'} expected a file of labeled sentences, got none; the test set published by GLUE has no labels: "
        'use SST2("dev"), or put your own file there, with a sentence, a tab and 0 or 1 in each line'
    )
    with raises(FileNotFoundError, message):
        SST2("test")


def archive(path, **members):
    """GLUE's archive with these files."""
    with zipfile.ZipFile(path, "w") as opened:
        for name, content in members.items():
            opened.writestr(f"SST-2/{name}.tsv", content)


def test_a_part_is_taken_out_of_the_archive(folder):
    archive(folder / "SST-2.zip", dev="sentence\tlabel\nfine \t1\n")
    assert SST2("dev").sentences == ["fine"]
    assert sorted(path.name for path in folder.iterdir()) == ["SST-2.zip", "dev.tsv"]


def test_the_archive_is_downloaded_and_checked_once(folder, monkeypatch):
    fetched = []

    def download(path, urls, known_hash):
        fetched.append((path, urls, known_hash))
        archive(path, train="fine\t1\n", dev="bad\t0\n")

    monkeypatch.setattr(module, "download", download)
    assert (SST2("train").sentences, SST2("dev").sentences) == (["fine"], ["bad"])
    assert fetched == [(folder / "SST-2.zip", [module.ARCHIVE], module.ARCHIVE_HASH)]


def test_a_wrong_archive_is_refused_and_leaves_no_file(folder):
    path = folder / "SST-2.zip"
    message = f"{path} expected the archive of SST-2, got {{}}; delete it to download it again"
    archive(path, dev="fine\t1\n" * 100)
    content = path.read_bytes()
    refuses(ValueError, message.format("one without SST-2/train.tsv"), SST2, "train")
    for damaged in (content[:-30], content.replace(b"fine", b"bine", 1), b"", content.replace(b"\x14\0", b"\xff\0")):
        path.write_bytes(damaged)
        refuses(ValueError, message.format("a damaged one"), SST2, "dev")
    assert list(folder.iterdir()) == [path]


def real(name):
    """A decorator that skips a test where the real data are not there."""
    home = os.environ.get("MINITORCH_DATA", "")
    there = bool(home) and os.path.exists(os.path.join(home, name))
    return pytest.mark.skipif(not there, reason=f"needs real files: name a folder that holds {name} in MINITORCH_DATA")


@real("sst2/test.tsv")
def test_the_real_sentences_are_read():
    data = SST2("test")
    assert len(data) > 0
    assert set(data.labels.tolist()) == {0, 1}
    assert all(sentence == sentence.strip() != "" for sentence in data.sentences)


# Vocabularies


def test_the_commonest_word_has_the_smallest_number():
    words = Vocabulary(["b a", "a c b", "a c d"])
    assert words.words == ["<padding>", "<unknown>", "a", "b", "c", "d"]
    assert [words[word] for word in "abcd"] == [2, 3, 4, 5]
    assert words["e"] == 1
    assert ("a" in words, "e" in words, "<padding>" in words) == (True, False, False)
    assert len(words) == 6
    assert repr(words) == "Vocabulary(4 words)"


@pytest.mark.parametrize(("least", "kept"), [(1, "abcd"), (2, "abc"), (3, "a"), (4, "")])
def test_rare_words_have_no_number_of_their_own(least, kept):
    assert Vocabulary(["b a", "a c b", "a c d"], min_count=least).words[2:] == list(kept)


def test_a_sentence_becomes_the_numbers_of_its_words():
    words = Vocabulary(["b a", "a"])
    assert words.encode("a x  b").tolist() == [2, 1, 3]
    assert words.encode("a x b", 5).tolist() == [2, 1, 3, 0, 0]
    assert words.encode("a x b", 2).tolist() == [2, 1]
    assert words.encode("", 2).tolist() == [0, 0]
    assert words.encode("").tolist() == []
    assert words.encode("").dtype == words.encode("a").dtype == np.int64
    assert words.encode("<padding> <unknown>").tolist() == [1, 1]


def test_many_sentences_are_padded_to_the_longest():
    words = Vocabulary(["b a", "a"])
    assert words.encode_all(["a", "b a", ""]).tolist() == [[2, 0], [3, 2], [0, 0]]
    assert words.encode_all(["a", "b a"], 1).tolist() == [[2], [3]]
    assert words.encode_all([]).shape == (0, 0)
    assert words.encode_all([], 3).shape == (0, 3)


# Word vectors

LINES = "the 0.5 -1e-3 2\nfilm 1 2 3\n. . . 4 5 6\n"
"""Three words, of which the last has blanks."""


@pytest.mark.parametrize("content", [LINES, f"3 3\n{LINES}", LINES[:-1], LINES.replace("\n", " \r\n"), f"2 3\n{LINES}"])
def test_vectors_are_read_with_and_without_a_first_line_that_counts(tmp_path, content):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content.encode())
    glove = GloVe.load(path)
    assert (len(glove), glove.dim) == (3, 3)
    assert list(glove) == glove.words == ["the", "film", ". . ."]
    assert np.array_equal(glove["the"], np.array([0.5, -0.001, 2], np.float32))
    assert glove[". . ."].tolist() == [4, 5, 6]
    assert glove["film"].dtype == glove.vectors.dtype == np.float32
    assert ("film" in glove, "book" in glove) == (True, False)
    assert repr(glove) == "GloVe(3 words, dim=3)"


def test_of_a_word_that_comes_twice_the_first_vector_counts(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 2\nb 3 4\na 5 6\n")
    glove = GloVe.load(path)
    assert (glove.words, glove.vectors.tolist()) == (["a", "b"], [[1, 2], [3, 4]])
    with raises(KeyError, repr("GloVe has no vector for 'c'; check first: word in glove")):
        glove["c"]


DAMAGED = " line {} expected a word and {} numbers, got {!r}…; the file is damaged or truncated: copy it again"
FIRST = " line 1 expected a word and its numbers, got {}; put the text file of GloVe there"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a 1 2\nb 3\n", DAMAGED.format(2, 2, "b 3")),  # cut off
        (b"2 2\na 1 2\nb 3", DAMAGED.format(3, 2, "b 3")),
        (b"2 2\na 1 2\nb 3 x\n", DAMAGED.format(3, 2, "b 3 x")),
        (b"a 1 2\nb 3 nan\n", DAMAGED.format(2, 2, "b 3 nan")),
        (b"a 1 2\nb 3 inf\n", DAMAGED.format(2, 2, "b 3 inf")),
        (b"a 1 2\n\n", DAMAGED.format(2, 2, "")),
        (b"2 99999999999\na 1 2\nb 3 4\n", DAMAGED.format(2, 99999999999, "a 1 2")),
        (b"a 1 2\nb 1e60 3\n", DAMAGED.format(2, 2, "b 1e60 3")),
        (b"3 2\n", DAMAGED.format(2, 2, "")),
        (b"a 1 2\n 3 4\n", DAMAGED.format(2, 2, "3 4")),
        (b"a 1 2\n\xff 3 4\n", DAMAGED.format(2, 2, "\ufffd 3 4")),
        (b"", FIRST.format([])),
        (b"word\n", FIRST.format([b"word"])),
        (b"\n", FIRST.format([])),
        (f"4 3\n{LINES}".encode(), " expected 4 words, as its first line says, got 3; copy it again"),
    ],
)
def test_a_wrong_line_of_vectors_is_refused_with_its_number(tmp_path, content, message):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with raises(ValueError, f"{path}{message}"):
        GloVe.load(path)


def test_vectors_are_looked_for_in_the_data_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    folder = tmp_path / "glove"
    message = (
        f"{folder} expected a file glove.6B.50d.txt, got none; fetch https://nlp.stanford.edu/data/glove.6B.zip (862 MB) "
        "and unpack that file there, or pass another path: GloVe.load(path)"
    )
    with raises(FileNotFoundError, message):
        GloVe.load()
    folder.mkdir()
    for name, word in [("glove_b.txt", "b"), ("glove_a.txt", "a"), ("other.txt", "c")]:
        (folder / name).write_text(f"{word} 1\n")
    assert GloVe.load().words == ["a"]
    (folder / "glove.6B.50d.txt").write_text("best 1\n")
    assert GloVe.load().words == ["best"]


@real("glove")
def test_the_real_vectors_are_read():
    glove = GloVe.load()
    assert np.isfinite(glove.vectors).all()
    film, movie, the = (glove[word] / np.linalg.norm(glove[word]) for word in ("film", "movie", "the"))
    assert film @ movie > film @ the
