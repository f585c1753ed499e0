"""The page of Task 6.5: the state of a query after each tile, and a wrong function."""

import numpy as np

from minitorch.language import fused_attention
from project.lab.cards import WrongResult
from project.lab.explorers import language_fused

from ..errors import raises
from .pages import ignore_saved_files, open_page, page_text  # noqa: F401  a fixture


def test_the_page_shows_that_the_end_is_softmax():
    for tile in ("1", "3", "8"):
        app = open_page("m6_fused", fused_tile=tile)
        assert not app.exception
        assert not app.error
        before, _, after = page_text(app).partition("Softmax over all scores at once gives ")
        assert before.rpartition("o / l = ")[2].strip(". ") == after.partition(").")[0] + ")"


def test_a_query_without_keys():
    app = open_page("m6_fused", fused_masked="8")
    assert not app.exception
    assert not app.error
    assert "o / l = (0.000, 0.000)" in page_text(app)


def test_steps_are_those_of_the_task():
    found = language_fused.steps(np.log([1.0, 2, 8]), np.array([[8.0], [0], [10]]), 2)
    assert [len(scores) for scores, *_ in found] == [2, 1]
    np.testing.assert_allclose([row[1:3] for row in found], [[np.log(2), 1.5], [np.log(8), 1.375]])
    np.testing.assert_allclose([row[3][0] for row in found], [4, 11])
    np.testing.assert_allclose(language_fused.softmax_mean(np.log([1.0, 2, 8]), np.array([[8.0], [0], [10]])), 8)


def test_a_wrong_result_is_reported(monkeypatch):
    monkeypatch.setattr(fused_attention, "add_tile", lambda *given: None)
    with raises(WrongResult, "add_tile: largest after 1 keys expected 2 at [0], got -1e+30 (1 of 1 elements differs)"):
        language_fused.steps(np.array([2.0]), np.array([[1.0]]), 1)
