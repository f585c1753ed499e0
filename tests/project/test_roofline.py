"""The roofline: its limits, the bytes that operations move, and the chart."""

import json

import pytest

from project import timing
from project.lab.charts import roofline_chart
from project.lab.explorers import roofline
from project.lab.explorers.roofline import Roof
from project.lab.explorers.speed import Measurement

ROOF = Roof(bandwidth=10e9, peak=80e9)


def test_memory_limits_up_to_the_ridge_and_arithmetic_beyond():
    assert ROOF.ridge == 8.0
    assert [ROOF.limit(at) for at in (0.1, 4.0, 8.0, 100.0)] == [1e9, 40e9, 80e9, 80e9]


@pytest.mark.parametrize(
    ("op", "size", "itemsize", "expected"),
    [
        ("map", 1000, 4, 1000 / 8000),  # read one number, write one
        ("zip", 1000, 8, 1000 / 24000),
        ("reduce", 1000, 4, 1000 / 4040),  # rows of 100
        ("matmul", 64, 4, 64 / 6),  # 2 n³ operations on 3 n² numbers of 4 bytes
    ],
)
def test_the_intensity_counts_each_input_and_output_once(op, size, itemsize, expected):
    assert roofline.intensity(op, size, itemsize) == pytest.approx(expected)


def test_what_is_reached_is_relative_to_the_limit_at_that_intensity():
    assert roofline.reached(Measurement("zip", 1200, "fast", 1.2e-6, 5), 4, ROOF) == pytest.approx(1.2)  # 1 of 0.83 GFLOP/s: from a cache
    assert roofline.reached(Measurement("matmul", 1000, "fast", 0.1, 5), 4, ROOF) == pytest.approx(0.5)  # 40 of 80 GFLOP/s


def test_the_chart_shows_the_roof_and_measured_points_only():
    found = [Measurement("matmul", 1000, "simple", 4.0, 0), Measurement("matmul", 1000, "fast", 0.1, 5)]
    spec = roofline_chart.roofline(found, 4, ROOF)
    line, points = (layer["data"]["values"] for layer in spec["layer"])
    assert [row["GFLOP/s"] for row in line] == [0.2, 80.0, 80.0]
    assert [row["intensity"] for row in line] == [0.02, 8.0, 1000.0]
    assert points == [{"intensity": 166.7, "GFLOP/s": 40.0, "backend": "fast", "size": 1000, "of the roof": "50%"}]
    assert spec["description"] == (
        "This machine reads and writes 10 GB/s and computes 80 GFLOP/s, so memory is the limit below 8 operations a byte. "
        "Of what is possible at its largest measured size: fast 50%."
    )


def test_the_program_reports_the_roof_of_this_machine_to_the_page(monkeypatch, capsys):
    monkeypatch.setattr(roofline, "STREAM", 1_000_000)
    monkeypatch.setattr(roofline, "SIDE", 256)
    assert timing.main(["--json", "--op", "map", "--up-to", "1000", "--backends", "numpy"]) == 0
    plan, row = map(json.loads, capsys.readouterr().out.splitlines())
    assert plan["roof"].keys() == {"bandwidth", "peak"}
    assert 1e8 < plan["roof"]["bandwidth"] < 1e13
    assert 1e8 < plan["roof"]["peak"] < 1e15
    assert Measurement(**row).backend == "numpy"
