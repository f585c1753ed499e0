"""Grids of cells: their markup, and the escaping of text."""

import re

import pytest

from project.lab.charts.cells import Cell, grid, in_pairs, strip
from tests.errors import raises


def numbered_cells(n):
    return [Cell(str(i), f"t{i}", (f"t{i}",)) for i in range(n)]


def numbers_of(markup):
    """The numbers of the columns and rows."""
    return re.findall(r'<i aria-hidden="true">(-?\d*)</i>', markup)


def test_the_last_two_dimensions_are_rows_and_columns_which_may_begin_with_a_negative_number():
    markup = grid("x", (2, 3), numbered_cells(6))
    assert "--columns: 3" in markup
    assert numbers_of(markup) == ["", "0", "1", "2", "0", "1"]
    assert re.findall(r">(\d)</span>", markup) == ["0", "1", "2", "3", "4", "5"]
    assert numbers_of(grid("x", (2, 2), numbered_cells(4), first=(-1, -2))) == ["", "-2", "-1", "-1", "0"]


def test_leading_dimensions_are_side_by_side_with_their_index():
    markup = grid("x", (2, 2, 1, 2), numbered_cells(8))
    assert re.findall(r"<figcaption>(.*?)</figcaption>", markup) == ["[0, 0, :, :]", "[0, 1, :, :]", "[1, 0, :, :]", "[1, 1, :, :]"]


def test_a_vector_is_a_row_and_a_single_number_is_a_cell():
    assert grid("x", (3,), numbered_cells(3)).count("<i ") == 1 + 3 + 1  # the corner, the columns, the row without a number
    assert grid("x", (), numbered_cells(1)).count("<span") == 1


@pytest.mark.parametrize("markup", [grid("x", (0, 3), []), strip("x", [])])
def test_a_tensor_without_elements_says_so(markup):
    assert "It has no elements." in markup


def test_a_wrong_number_of_cells_is_an_error():
    with raises(ValueError, "a grid of shape (2, 3) expected 6 cells, got 5"):
        grid("x", (2, 3), numbered_cells(5))


def test_only_a_selectable_cell_is_a_button():
    markup = strip("s", [Cell("7", "s0", ("s0",), pick="place:0"), Cell("8", "s1", ("s1",))])
    assert '<button class="cell" data-tag="s0" data-lights="s0" aria-label="7" data-pick="place:0" tabindex="-1" type="button">7' in markup
    assert '<span class="cell" data-tag="s1" data-lights="s1" aria-label="8" role="img">8' in markup


def test_the_appearance_of_a_cell_is_also_described_in_words():
    markup = strip("s", [Cell("7", "s0", ("s0",), note="position 0 holds 7", look="picked", small="at 0")])
    assert 'aria-label="position 0 holds 7; picked"' in markup
    assert 'class="cell picked"' in markup
    assert "<small>at 0</small>" in markup


def test_text_is_escaped():
    markup = strip("<b>", [Cell("<script>", 'a"b', (), note="<i>", small="&")])
    assert "<script>" not in markup
    assert "<b>" not in markup
    assert 'data-tag="a&quot;b"' in markup
    assert "<small>&amp;</small>" in markup


def test_a_grid_may_have_narrow_cells_and_shaded_blocks():
    markup = grid("x", (1, 2), [Cell("7", "a", ()), Cell("8", "b", (), look="read", shade=True)], width=1.5)
    assert "--width: 1.5rem" in markup
    assert "--width: 2.75rem" in grid("x", (1, 2), numbered_cells(2))
    assert re.findall(r'class="(cell[^"]*)"', markup) == ["cell", "cell read shade"]
    assert 'aria-label="8; read in this step"' in markup


def test_the_depth_of_a_color_grows_with_the_value():
    shades = [Cell("1", "a", (), tone=1.0), Cell("2", "b", (), "", "read", tone=-0.5), Cell("3", "c", (), tone=0.0), Cell("4", "d", ())]
    found = re.findall(r'class="([^"]*)"(?: style="([^"]*)")? data-tag', strip("s", shades))
    assert found == [("cell tone", "--tone: 60%"), ("cell read tone below", "--tone: 30%"), ("cell tone", "--tone: 0%"), ("cell", "")]


def test_panels_are_arranged_in_pairs():
    assert in_pairs(["<p>1</p>", "<p>2</p>"]) == '<div class="pairs"><p>1</p><p>2</p></div>'
