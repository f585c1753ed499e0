"""Tensors as tables and as heat maps: what is shown, what is left out, and the text."""

import json
import re

import numpy as np
import pytest

from project.lab.charts.grids import grid, side_by_side
from project.lab.charts.heatmaps import heatmap


def cells(html):
    return [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        (np.array([[1.0, -2.5], [0.125, 1e6]]), [["1", "-2.5"], ["0.125", "1e+06"]]),
        (np.array([1.0, 2.0]), [["1", "2"]]),
        (np.array(7.0), [["7"]]),
        (np.array([True, False]), [["True", "False"]]),
        (np.array([np.nan, np.inf]), [["nan", "inf"]]),
        (np.arange(3), [["0", "1", "2"]]),
    ],
)
def test_every_element_has_its_cell(values, rows):
    assert cells(grid(values, "x")) == rows


def test_title_and_shape_are_at_the_top_and_typed_text_is_escaped():
    html = grid(np.zeros((2, 1)), "x < y")
    assert "<b>x &lt; y</b>" in html
    assert "shape (2, 1)" in html


def test_seven_rows_or_columns_are_shown_and_eight_are_reduced_to_three_at_either_end():
    eight = ["0", "1", "2", "…", "5", "6", "7"]
    assert cells(grid(np.arange(7.0), "x")) == [["0", "1", "2", "3", "4", "5", "6"]]
    assert cells(grid(np.arange(8.0), "x")) == [eight]
    assert cells(grid(np.arange(8.0).reshape(8, 1), "x")) == [[number] for number in eight]
    assert "no elements" in grid(np.zeros((0, 3)), "x")


def test_every_index_of_the_leading_dimensions_has_its_own_table():
    html = grid(np.arange(8.0).reshape(2, 2, 2), "x")
    assert re.findall(r"aria-label='([^']*)'", html) == ["x[0, :, :]", "x[1, :, :]"]
    assert cells(html) == [["0", "1"], ["2", "3"], ["4", "5"], ["6", "7"]]


def test_only_the_number_of_tables_past_the_fourth_is_shown():
    html = grid(np.zeros((3, 2, 1, 1)), "x")
    assert html.count("<table") == 4
    assert "… and 2 more of these tables" in html
    assert "flex-wrap:wrap" in side_by_side([html, html])


def test_the_color_shows_the_sign_and_its_strength_the_magnitude():
    fills = re.findall(r"background:rgba\(([^)]*)\)", grid(np.array([2.0, -1.0, 0.0, np.inf]), "x"))
    assert "0.00" in grid(np.zeros(1), "x")
    assert fills == ["31, 111, 178, 0.50", "217, 112, 30, 0.25", "31, 111, 178, 0.00", "31, 111, 178, 0.00"]


def test_a_heat_map_has_a_cell_of_full_width_for_every_pair():
    spec = heatmap([0.0, 1.0], [[1.0, 2.0], [3.0, -4.0]], "f", "f in words")
    places, values = [(x, y) for y in (-0.5, 0.5) for x in (-0.5, 0.5)], [1.0, 2.0, 3.0, -4.0]
    expected = [{"x": x, "x2": x + 1, "y": y, "y2": y + 1, "value": value} for (x, y), value in zip(places, values, strict=True)]
    assert spec["layer"][0]["data"]["values"] == expected
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == [-4.0, 0, 4.0]
    assert spec["description"] == "f in words"
    spec = heatmap([0.0, 1.0], [[np.nan, np.inf], [0.0, 0.0]], "f", "")  # gaps where there is no value
    assert [cell["value"] for cell in spec["layer"][0]["data"]["values"]] == [None, None, 0.0, 0.0]
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == [-1.0, 0, 1.0]
    assert "NaN" not in json.dumps(spec)
