"""The page of layers: values and gradients from the functions of the task, and wrong ones."""

import numpy as np
import pytest

from minitorch.language import functions
from minitorch.tensor import tensor
from project.lab.cards import WrongResult
from project.lab.explorers import language_layers

from ..errors import raises
from .pages import ignore_saved_files, open_page, page_text  # noqa: F401  a fixture


def test_the_page_shows_rows_curves_and_tables():
    app = open_page("m6_layers")
    assert not app.exception
    assert not app.error
    assert "The gradient sums to 0" in page_text(app)


def test_invalid_input_is_refused():
    assert "expected tokens from 0 to 4, got 5" in open_page("m6_layers", layers_tokens="[5]").error[0].value.replace("\\", "")
    assert open_page("m6_layers", layers_row="[1, x]").error


def test_results_are_those_of_the_task():
    found, gradient = language_layers.normalize(np.array([1.0, 3.0]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(found, [-1, 1], rtol=1e-5)
    np.testing.assert_allclose(gradient, [0, 0], atol=1e-4)
    values, slopes = language_layers.gelu(np.array([0.0, 9.0]))
    np.testing.assert_allclose([*values, *slopes], [0, 9, 0.5, 1], atol=1e-9)
    rows, counts = language_layers.embed(np.array([1, 1]), np.array([[1.0], [2.0]]))
    assert (rows.tolist(), counts.tolist()) == ([[2.0], [2.0]], [[0.0], [2.0]])


@pytest.mark.parametrize(
    ("name", "wrong", "call", "message"),
    [
        (
            "gelu",
            lambda x: x * 1,
            lambda: language_layers.gelu(np.array([1.0])),
            "gelu(x) expected 0.8412 at [0], got 1 (1 of 1 elements differs)",
        ),
        (
            "embedding",
            lambda tokens, table: tensor([1.0]),
            lambda: language_layers.embed(np.array([1]), np.ones((2, 3))),
            "embedding(tokens, table) expected to return a tensor of shape (1, 3), got (1,)",
        ),
    ],
)
def test_a_wrong_result_is_reported(monkeypatch, name, wrong, call, message):
    monkeypatch.setattr(functions, name, wrong)
    with raises(WrongResult, message):
        call()
