"""The charts: their content, and the image files of them."""

import json
import math
import re
from contextlib import nullcontext
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from minitorch import Graph
from project.lab.charts import charts, grids, heatmaps, thumbnails
from tests.errors import raises

GRAPH = Graph(3, [(0.1, 0.2), (0.6, 0.7), (1.0, 0.0)], [0, 1, 1])
GRID = [[0.0, 0.25], [0.5, 1.0]]


CELLS, DOTS = charts.boundary(GRID, GRAPH)["layer"]


def test_the_cells_of_a_boundary_cover_the_unit_square_from_below_and_overlap() -> None:
    assert CELLS["data"]["values"] == [
        {"x": 0.0, "x2": 0.55, "y": 0.0, "y2": 0.55, "p": 0.0},
        {"x": 0.5, "x2": 1.0, "y": 0.0, "y2": 0.55, "p": 0.25},
        {"x": 0.0, "x2": 0.55, "y": 0.5, "y2": 1.0, "p": 0.5},
        {"x": 0.5, "x2": 1.0, "y": 0.5, "y2": 1.0, "p": 1.0},
    ]


def test_the_boundary_shows_the_points_with_their_labels_which_differ_in_color_and_shape() -> None:
    points = [(row["x"], row["y"], row["label"]) for row in DOTS["data"]["values"]]
    assert points == [(0.1, 0.2, "0"), (0.6, 0.7, "1"), (1.0, 0.0, "1")]
    for channel in ("fill", "shape"):
        assert DOTS["encoding"][channel]["scale"]["domain"] == ["0", "1"]
    (low, _, high), (zero, one) = CELLS["encoding"]["color"]["scale"]["range"], DOTS["encoding"]["fill"]["scale"]["range"]
    assert [is_blue(color) for color in (low, high, zero, one)] == [False, True, False, True]
    assert DOTS["encoding"]["shape"]["scale"]["range"] == ["circle", "triangle-up"]


def is_blue(color: str) -> bool:
    return int(color[5:], 16) > int(color[1:3], 16)


def test_positive_is_blue_and_negative_is_orange_in_every_chart_of_numbers() -> None:
    values = [[-1.0, 1.0], [0.5, 0.0]]
    low, _, high = heatmaps.heatmap([0, 1], values, "", "")["layer"][0]["encoding"]["color"]["scale"]["range"]
    assert (is_blue(low), is_blue(high)) == (False, True)
    pixels = thumbnails.signed(np.array(values), 1.0)
    assert (pixels[0, 0, 2] < pixels[0, 0, 0], pixels[0, 1, 2] > pixels[0, 1, 0]) == (True, True)
    fills = re.findall(r"rgba\((\d+), \d+, (\d+)", grids.grid(np.array(values), "x"))
    assert [int(blue) > int(red) for red, blue in fills] == [False, True, True, True]


def test_both_layers_of_a_boundary_share_labeled_axes_from_0_to_1() -> None:
    for layer in (CELLS, DOTS):
        for channel, name in (("x", "x_1"), ("y", "x_2")):
            assert layer["encoding"][channel]["title"] == name
            assert layer["encoding"][channel]["scale"] == {"domain": [0, 1], "nice": False, "zero": False}


@pytest.mark.parametrize("grid", [[], GRID, [[0.5] * 30] * 30], ids=len)
def test_a_boundary_is_a_square_that_fits_a_phone(grid: list) -> None:
    assert (charts.boundary(grid, GRAPH)["width"], charts.boundary(grid, GRAPH)["height"]) == (300, 300)


def test_a_title_is_shown_only_if_there_is_one() -> None:
    assert charts.boundary(GRID, GRAPH, "Xor")["title"] == "Xor"
    assert "title" not in charts.boundary(GRID, GRAPH)


def test_the_curves_show_the_loss_of_every_epoch_above_and_the_accuracy_below() -> None:
    spec = charts.curves([8.0, 4.0], [5, 10], points=10)
    first, second = {"epoch": 1, "loss": 8.0, "accuracy": 0.5, "correct": 5}, {"epoch": 2, "loss": 4.0, "accuracy": 1.0, "correct": 10}
    assert spec["data"]["values"] == [first, second]
    above, below = spec["vconcat"]
    assert (above["encoding"]["y"]["field"], below["encoding"]["y"]["field"]) == ("loss", "accuracy")
    assert below["encoding"]["y"]["scale"] == {"domain": [0, 1], "nice": False, "zero": False}


@pytest.mark.parametrize(("epochs", "drawn"), [(0, 0), (1, 1), (199, 199), (200, 200), (201, 200), (5000, 200)])
def test_long_curves_are_reduced_to_200_epochs_including_first_and_last(epochs: int, drawn: int) -> None:
    rows = charts.curves([1.0] * epochs, [1] * epochs, points=1)["data"]["values"]
    shown = [row["epoch"] for row in rows]
    assert len(shown) == drawn
    assert shown == sorted(set(shown))
    if epochs:
        assert (shown[0], shown[-1]) == (1, epochs)


def test_a_single_epoch_is_drawn_as_a_point() -> None:
    assert all(panel["mark"]["point"] for panel in charts.curves([1.0], [1], points=1)["vconcat"])
    assert not any(panel["mark"]["point"] for panel in charts.curves([1.0, 0.5], [1, 1], points=1)["vconcat"])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_become_gaps(value: float) -> None:
    assert charts.boundary([[value]], GRAPH)["layer"][0]["data"]["values"][0]["p"] is None
    assert charts.curves([value], [0], points=1)["data"]["values"][0]["loss"] is None


@pytest.mark.parametrize("spec", [charts.boundary(GRID, GRAPH), charts.curves([8.0], [5], 10)], ids=["boundary", "curves"])
def test_a_specification_is_json_with_a_description_and_without_urls(spec: dict) -> None:
    assert spec["description"]
    assert "://" not in json.dumps(spec, allow_nan=False)


def test_a_boundary_is_saved_as_png(tmp_path: Path) -> None:
    charts.save(charts.boundary(GRID, GRAPH), tmp_path / "chart.png")
    content = (tmp_path / "chart.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(content[16:20], "big") >= 600  # width: twice the pixels on the page


def test_a_boundary_is_saved_as_svg_with_its_labels(tmp_path: Path) -> None:
    charts.save(charts.boundary(GRID, GRAPH, "By hand"), str(tmp_path / "chart.svg"))
    text = ElementTree.parse(tmp_path / "chart.svg").getroot().itertext()
    assert {"By hand", "x_1", "x_2", "label", "probability of label 1"} <= {part.strip() for part in text}


@pytest.mark.parametrize("epochs", [0, 1, 300])
def test_curves_of_any_length_are_saved(tmp_path: Path, epochs: int) -> None:
    charts.save(charts.curves([math.nan] * epochs, [0] * epochs, points=1), tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text().startswith("<svg")


def test_an_unsupported_file_type_is_refused(tmp_path: Path) -> None:
    with raises(ValueError, "a chart expected a file name that ends in .png or .svg, got chart.gif"):
        charts.save(charts.boundary(GRID, GRAPH), tmp_path / "chart.gif")


@pytest.mark.parametrize("fails", [False, True])
def test_a_file_is_replaced_or_kept_if_that_fails_and_no_temporary_file_remains(tmp_path: Path, monkeypatch, fails: bool) -> None:
    def write_one_byte(self: Path, content: bytes) -> int:
        with self.open("wb") as file:
            file.write(content[:1])
        raise OSError(28, "No space left on device")

    path = tmp_path / "log.md"
    path.write_text("old")
    if fails:
        monkeypatch.setattr(Path, "write_bytes", write_one_byte)
    with pytest.raises(OSError, match="No space left") if fails else nullcontext():
        charts.write(path, b"new")
    assert path.read_text() == ("old" if fails else "new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["log.md"]
