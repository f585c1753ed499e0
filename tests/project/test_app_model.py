"""The page of Task 6.4: parameters, the first loss, one batch, and wrong functions."""

import math

import pytest

from minitorch.language import model
from project.lab.cards import WrongResult
from project.lab.explorers import language_model

from ..errors import raises
from .pages import ignore_saved_files, open_page, page_text  # noqa: F401  a fixture


def test_the_page_counts_parameters_and_learns_a_batch():
    app = open_page("m6_model")
    assert not app.exception
    assert not app.error
    assert "the logarithm of the vocabulary is 1.792" in page_text(app)


def test_heads_that_do_not_divide_the_width_are_refused():
    assert "expected heads that divide the width, 8, got 3" in open_page("m6_model", model_heads="3").error[0].value.replace("\\", "")


def test_parameters_are_counted_by_part():
    found = language_model.counts(language_model.build(6, 2, 2, 8, 0))
    assert found == {"embedding of tokens": 48, "embedding of positions": 32, "attention": 576, "networks": 1104, "normalization": 80}


def test_one_batch_is_learned_by_heart():
    tokens, targets = language_model.batch(6, 0)
    losses = language_model.overfit(language_model.build(6, 1, 2, 8, 0), tokens, targets, 40)
    assert losses[0][1] == pytest.approx(math.log(6), rel=0.02)
    assert losses[-1][1] < 0.2


def test_wrong_losses_are_reported(monkeypatch):
    tokens, targets = language_model.batch(6, 0)
    made = language_model.build(6, 1, 2, 8, 0)
    monkeypatch.setattr(model, "cross_entropy", lambda logits, targets: logits)
    with raises(WrongResult, "cross_entropy(logits, targets) expected to return one number, got shape (2, 4, 6)"):
        language_model.loss(made, tokens, targets)
    monkeypatch.setattr(model, "cross_entropy", lambda logits, targets: logits.mean() * math.nan)
    with pytest.raises(WrongResult, match=r"got nan"):
        language_model.overfit(made, tokens, targets, 1)
