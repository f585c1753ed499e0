"""The program that uses the line chosen by hand."""

import pytest

from minitorch import Graph
from project import run_manual
from tests.project.programs import refusal


def test_the_weights_are_parameters_and_the_output_is_the_sigmoid_of_the_weighted_sum():
    network = run_manual.Network(2.0, -3.0, 0.5)
    parameters = {name: parameter.value for name, parameter in network.named_parameters()}
    assert parameters == {"weight_1": 2.0, "weight_2": -3.0, "bias": 0.5}
    assert network(0.5, 0.5) == pytest.approx(0.5)  # 1 - 1.5 + 0.5 = 0
    assert network(1.0, 0.0) == pytest.approx(0.924142, abs=1e-6)  # 1 / (1 + e^-2.5)


def test_a_point_on_the_line_counts_as_label_0():
    network = run_manual.Network(1.0, 0.0, -0.5)
    assert run_manual.right(network, Graph(3, [(0.5, 0.0), (0.6, 0.0), (0.4, 0.0)], [0, 1, 1])) == 2


def test_the_program_counts_the_points_of_every_data_set(monkeypatch, capsys):
    monkeypatch.setattr(run_manual, "separating_line", lambda: (0.0, 0.0, 1.0))  # label 1 everywhere
    assert run_manual.main(["--points", "10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Label 1 where 0 · x_1 + 0 · x_2 + 1 > 0"
    assert [line.split()[0] for line in lines[1:]] == ["Simple", "Diag", "Split", "Xor", "Circle", "Spiral"]
    assert lines[6] == "Spiral   5 of 10 points right"  # one arm of the two


def test_a_report_holds_the_numbers_and_the_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run_manual, "separating_line", lambda: (-4.0, 0.0, 2.0))
    assert run_manual.main(["--points", "10", "--report", str(tmp_path / "hand in")]) == 0
    folder = tmp_path / "hand in"
    assert sorted(entry.name for entry in folder.iterdir()) == ["manual.md", "manual.png"]
    text = (folder / "manual.md").read_text(encoding="utf-8")
    assert "Label 1 where -4 · x_1 + 0 · x_2 + 2 > 0: 10 of 10 points of Simple right." in text
    assert capsys.readouterr().out.splitlines()[-1] == f"Report: {folder / 'manual.md'}"


def test_a_wrong_number_of_points_is_refused_in_one_line(capsys):
    message = "a data set expected a whole number of points, at least 1, got 'few'; try 50"
    assert refusal(run_manual, capsys, "--points", "few") == message
