"""The page of Task 6.3: heads, mask and weights from the functions of the task, and wrong ones."""

import numpy as np
import pytest

from minitorch.language import attention
from minitorch.tensor import tensor
from project.lab.cards import WrongResult
from project.lab.explorers import language_attention

from ..errors import raises
from .pages import ignore_saved_files, open_page, page_text  # noqa: F401  a fixture


def test_the_page_shows_heads_and_weights():
    app = open_page("m6_attention")
    assert not app.exception
    assert not app.error
    assert "Each row of weights sums to 1" in page_text(app)


def test_without_a_mask_and_with_another_last_token():
    app = open_page("m6_attention", attend_causal="false", attend_changed="true")
    assert not app.exception
    assert not app.error


def test_another_number_of_tokens_selects_the_last_one_with_which_the_address_opens():
    app = open_page("m6_attention", attend_query="1")
    app.number_input(key="attend_tokens").set_value(6).run()
    assert app.number_input(key="attend_query").value == 5


def test_results_are_those_of_the_task():
    projected = language_attention.project(3, 2, 2, 0)
    parts = language_attention.split(projected, 2)
    assert [part.shape for part in parts] == [(2, 3, 2)] * 3
    np.testing.assert_array_equal(parts[1][1], projected[:, 6:8])
    weights, out = language_attention.attend(parts, language_attention.mask(3, 3))
    np.testing.assert_allclose(weights.sum(-1), 1)
    np.testing.assert_allclose(out[:, 0], parts[2][:, 0])


PARTS = [np.ones((1, 2, 2))] * 3


@pytest.mark.parametrize(
    ("name", "wrong", "call", "message"),
    [
        (
            "split_heads",
            lambda projected, heads: projected,
            lambda: language_attention.split(np.ones((2, 6)), 1),
            "split_heads(projected, 1) expected to return queries, keys and values, got Tensor",
        ),
        (
            "causal_mask",
            lambda queries, keys: tensor([[True, True], [True, True]]),
            lambda: language_attention.mask(2, 2),
            "causal_mask(2, 2) expected 0 at [0, 1], got 1 (1 of 4 elements differs)",
        ),
        (
            "attention",
            lambda query, key, value: value * 2,
            lambda: language_attention.attend(PARTS, None),
            "attention(query, key, value) expected 1 at [0, 0, 0], got 2 (4 of 4 elements differ)",
        ),
    ],
)
def test_a_wrong_result_is_reported(monkeypatch, name, wrong, call, message):
    monkeypatch.setattr(attention, name, wrong)
    with raises(WrongResult, message):
        call()
