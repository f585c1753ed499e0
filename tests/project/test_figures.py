"""What the figures that are dragged get from the page, and what they send back."""

import math

import pytest

from project.lab.widgets import line
from project.lab.widgets.figure import to_index, to_number

from .pages import ignore_saved_files, open_page, open_with, page_text, unwritten  # noqa: F401  a fixture


@pytest.mark.parametrize(("sent", "number"), [(0.5, 0.5), (3, 2.0), (-7, -1.0), (True, None), ("1", None), (None, None), (math.nan, None)])
def test_a_number_from_the_browser_is_clamped_and_anything_else_refused(sent, number):
    assert to_number(sent, -1, 2) == number


@pytest.mark.parametrize(("sent", "index"), [(2, 2), (2.0, 2), (0, 0), (3, None), (-1, None), (1.5, None), (True, None), (math.inf, None)])
def test_an_index_from_the_browser_is_an_integer_in_range(sent, index):
    assert to_index(sent, 3) == index


# The line


def test_the_tables_of_the_line_hold_the_results_of_the_functions_for_every_score():
    found = line.tables(lambda score: 0.25 if score < 0 else 1.0, lambda p: 10 * p)
    assert (line.SCORES[0], line.SCORES[-1]) == (-30, 30)  # weights and bias of 10, at a corner of the unit square
    assert [len(table) for table in (found["probability"], *found["losses"])] == 3 * [1201]
    first, last = ([table[at] for table in (found["probability"], *found["losses"])] for at in (0, -1))
    assert (first, last) == ([0.25, -7.5, -2.5], [1.0, 0.0, -10.0])  # -log(1 - p) for label 0, -log(p) for label 1
    assert line.tables(lambda score: score * math.inf, lambda p: p)["probability"][0] is None


def test_the_numbers_of_a_dragged_line_are_clamped_and_anything_else_is_ignored():
    assert line.read([1.234, -20, 5]) == [1.23, -10.0, 5.0]
    assert line.read("1, 2, 3") == []
    assert len(line.read([1, "2", 3])) == 2


def test_the_manual_page_says_whose_functions_it_uses(monkeypatch):
    assert "come from your `sigmoid` and `log`" in page_text(open_page("m0_manual"))
    app = open_with(monkeypatch, "m0_manual", "minitorch.operators.sigmoid", unwritten("0.1"))
    assert "Task 0.1 is not written yet" in page_text(app)
    assert "are computed by this page until your own `sigmoid` and `log` return numbers" in page_text(app)
    assert "Your `separating_line()` classifies" in page_text(app)
