"""The program that trains a first network with the functions of operators.py alone."""

import pytest

from minitorch import Graph
from project import run_first
from tests.project.programs import refusal

GRAPH = Graph(2, [(0.01, 0.01), (0.99, 0.99)], [0, 1])


def network(*units):
    made = run_first.Network(0, 0)
    made.units = [list(unit) for unit in units]
    return made


def test_the_output_is_the_sigmoid_of_the_weighted_relus():
    found = network((2.0, -1.0, 0.5, 3.0), (-1.0, 0.0, 0.0, 5.0))(1.0, 0.5)  # relus of 2 and -1, so the score is 6
    assert found == pytest.approx(0.997527, abs=1e-6)


def test_a_step_follows_the_derivatives_of_the_loss():
    made = network((1.0, 2.0, 0.0, 0.0), (-1.0, -1.0, 0.0, 4.0))
    made.step(0.5, 0.25, 1)  # the score is 0, so p = 1/2 and the derivative with respect to the score is -1/2
    first, second = made.units
    assert first == pytest.approx([1.0, 2.0, 0.0, 0.05])  # its relu is 1 and its output weight 0
    assert second == [-1.0, -1.0, 0.0, 4.0]  # its relu is flat at -0.75
    assert made.bias == pytest.approx(0.05)
    made.step(0.0, 0.0, 0)  # both sums are 0, where relu passes nothing back
    assert made.units[0] == pytest.approx([1.0, 2.0, 0.0, 0.05])


def test_the_derivatives_pass_through_the_output_weight():
    made = network((1.0, 0.0, 0.0, 2.0))
    made.bias = -1.0
    made.step(0.5, 0.25, 0)  # the score is 0: 1/2 to the score, 1/2 · 2 = 1 to the sum, times the inputs to the weights
    assert made.units[0] == pytest.approx([0.95, -0.025, -0.1, 1.975])


def test_the_picture_has_the_origin_at_the_lower_left_and_shades_label_1():
    lines = run_first.picture(network((4.0, 4.0, -4.0, 1.0)), GRAPH).split(
        "\n"
    )  # label 1 above the diagonal from upper left to lower right
    assert lines[0] == " " + "▒" * 22 + "x"
    assert lines[1:11] == [" " * (2 * row + 1) + "▒" * (23 - 2 * row) for row in range(1, 11)]
    assert lines[11] == "o" + " " * 22 + "▒"


def test_points_that_the_network_gets_wrong_are_capital_letters():
    lines = run_first.picture(network((-4.0, -4.0, 4.0, 1.0)), GRAPH).split("\n")  # label 1 below the diagonal
    assert (lines[11][0], lines[0][-1]) == ("O", "X")


def test_the_program_learns_xor_and_draws_it(capsys):
    assert run_first.main(["--epochs", "150"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["epoch   0", "epoch 100", "epoch 150"]
    assert int(lines[2].split()[2]) >= 45
    assert [len(line) for line in lines[3:]] == [24] * 12


@pytest.mark.parametrize(("name", "sums"), [("mul", [0.5]), ("add", [7.0])])
def test_the_sums_are_made_of_the_student_s_functions(monkeypatch, name, sums):
    monkeypatch.setattr(run_first, name, lambda x, y: {"mul": 0.0, "add": 7.0}[name])
    assert network((1.0, 1.0, 0.5, 1.0)).sums(1.0, 1.0) == sums


def test_a_function_without_a_return_is_named(monkeypatch, capsys):
    def relu(x: float) -> float | None:
        if x > 0:
            return x
        return None

    monkeypatch.setattr(run_first, "relu", relu)
    assert refusal(run_first, capsys) == "relu(-1.0) expected a number, got None; is a return missing?"


def test_an_unknown_data_set_is_refused_in_one_line(capsys):
    assert refusal(run_first, capsys, "--dataset", "xor") == (
        "--dataset expected one of Simple, Diag, Split, Xor, Circle, Spiral, got 'xor'"
    )
