"""The page of tokens: merges one by one, another text, and wrong code."""

import pytest

from minitorch.language.merges import PairCounts
from minitorch.language.tokenizer import Tokenizer
from project.lab.cards import WrongResult
from project.lab.explorers import tokens

from ..errors import raises
from .pages import forward, ignore_saved_files, open_page, page_text  # noqa: F401  a fixture

TEXT = "low low lower"


def test_the_steps_are_the_words_after_each_merge():
    first, second, *_ = found = tokens.steps(TEXT, 9)
    assert first.words == [list(b"low"), list(b" low"), list(b" lower")]
    assert (first.next, first.times) == ((ord("l"), ord("o")), 3)
    assert second.words == [[256, ord("w")], [32, 256, ord("w")], [32, 256, ord("w"), ord("e"), ord("r")]]
    assert found[-1].next is None
    assert tokens.token_bytes(found[-1].merges)[256:] == [b"lo", b"low", b" low"]
    assert len(tokens.steps(TEXT, 2)) == 3


def test_another_text_is_encoded_with_the_merges_so_far():
    merges = tokens.steps(TEXT, 9)[-1].merges
    assert tokens.encode(merges, "low slower") == [257, 32, ord("s"), 257, ord("e"), ord("r")]


@pytest.mark.parametrize(
    ("token", "text"), [(b" the", "␣the"), (b"\n", "⏎"), (b"\x00", "·"), (b"\xc3", "c3"), (b"\xe2\x82", "e2 82"), ("é".encode(), "é")]
)
def test_a_token_is_shown_with_signs_for_what_cannot_be_seen(token, text):
    assert tokens.printable(token) == text


def test_a_picture_escapes_its_text():
    assert "&lt;b&gt;" in tokens.picture([b"<b>"])


@pytest.mark.parametrize(
    ("owner", "name", "result", "message"),
    [
        (PairCounts, "most_frequent", None, "most_frequent() after 0 merges expected (108, 111), got None"),
        (PairCounts, "merge", None, "merge((108, 111), 256) expected the tokens [256, 119] of 'low', got [108, 111, 119]"),
        (Tokenizer, "encode", 3, "encode('low') expected a list of ints, got 3"),
        (Tokenizer, "encode", [1], "encode('low') expected [257], got [1]"),
        (Tokenizer, "decode", "hi", "decode([257]) expected 'low', got 'hi'"),
    ],
)
def test_a_wrong_result_is_reported(monkeypatch, owner, name, result, message):
    merges = tokens.steps(TEXT, 2)[-1].merges
    monkeypatch.setattr(owner, name, lambda *args: result)
    call = (lambda: tokens.steps(TEXT, 2)) if owner is PairCounts else (lambda: tokens.encode(merges, "low"))
    with raises(WrongResult, message):
        call()


def test_the_page_follows_the_merges():
    app = open_page("m6_tokens")
    assert not app.exception
    before = int(app.metric[0].value)
    for _ in range(2):
        forward(app)
    assert int(app.metric[0].value) < before
    assert app.metric[2].value == "259"
    assert "The most frequent pair is" in page_text(app)
    app.text_area(key="tokens_text").set_value("").run()
    assert not app.exception
    assert "nothing is left to merge" in page_text(app)


def test_a_long_text_is_refused():
    app = open_page("m6_tokens")
    app.text_area(key="tokens_text").set_value("a" * 2001).run()
    assert "expected at most 2000 characters, got 2001" in app.error[0].value.replace("\\", "")
