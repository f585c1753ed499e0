"""Custom operators: their values and gradients, the errors that their checks catch, and the table of the comparison."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from minitorch import FastBackend, SimpleBackend, float32, tensor
from project import custom_op
from project.custom_op import BiasSiLU, BiasSiLUFunction, LinearFunction, MyLinear, check
from project.lab.explorers.contest import HEAD, Contest
from tests.errors import raises
from tests.project.programs import refusal


def test_values_equal_those_computed_by_hand():
    x, weight, bias = tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[5.0, 6.0], [0.0, 1.0], [1.0, 0.0]]), tensor([1.0, 2.0, 3.0])
    assert LinearFunction.apply(x, weight, bias).tolist() == [[18.0, 4.0, 4.0], [40.0, 6.0, 6.0]]
    assert LinearFunction.apply(x, weight, None).tolist() == [[17.0, 2.0, 1.0], [39.0, 4.0, 3.0]]
    z = np.array([[1.5, 2.0], [3.5, -1000.0]])
    expected = z / (1 + np.exp(-np.clip(z, -700, 700)))
    found = BiasSiLUFunction.apply(tensor([[1.0, 2.0], [3.0, -1000.0]]), tensor([0.5, 0.0])).to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


def test_only_required_gradients_are_computed(monkeypatch):
    forward, by_input, by_weight = custom_op.linear_kernels()
    monkeypatch.setattr(custom_op, "linear_kernels", lambda: (forward, by_input, None))
    leaf = tensor([[1.0, 2.0]], requires_grad=True)
    LinearFunction.apply(leaf, tensor([[3.0, 4.0]]), None).sum().backward()
    assert leaf.grad.tolist() == [[3.0, 4.0]]
    monkeypatch.setattr(custom_op, "linear_kernels", lambda: (forward, None, by_weight))
    bias = tensor([5.0], requires_grad=True)
    LinearFunction.apply(tensor([[1.0, 2.0]]), tensor([[3.0, 4.0]]), bias).sum().backward()
    assert bias.grad.tolist() == [1.0]


def test_views_are_read_through_their_strides():
    x, weight = tensor(np.arange(6.0).reshape(2, 3)).t(), tensor(np.arange(4.0).reshape(2, 2), requires_grad=True)
    out = LinearFunction.apply(x, weight, None)
    assert out.tolist() == (x @ weight.t()).tolist()
    out.sum().backward()
    assert x.grad is None
    assert weight.grad.tolist() == [[3.0, 12.0], [3.0, 12.0]]  # the sums of x's columns


class WrongGradient(BiasSiLUFunction):
    """Has the gradient of a sigmoid instead of that of x · sigmoid(x)."""

    @staticmethod
    def backward(ctx, grad_output):
        x, bias = ctx.saved_values
        s = (x + bias).sigmoid()
        return grad_output * s * (1 - s), grad_output * s * (1 - s)


class WrongValue(BiasSiLUFunction):
    """Has a slightly wrong value."""

    @staticmethod
    def forward(ctx, x, bias):
        return BiasSiLUFunction.forward(ctx, x, bias) + 1e-6


@pytest.fixture
def on_the_simple_backend(monkeypatch):
    """Check and compare with fewer compiled kernels."""
    monkeypatch.setattr(custom_op, "FastBackend", SimpleBackend)


@pytest.mark.parametrize(("wrong", "message"), [(WrongGradient, "backward gave .*, expected .*central difference"), (WrongValue, "value")])
def test_the_check_catches_a_wrong_gradient_and_a_wrong_value(on_the_simple_backend, wrong, message):
    with pytest.raises(AssertionError, match=message):
        check(wrong.apply, BiasSiLUFunction.composed, (2, 3), (3,), backend=SimpleBackend)


def test_layers_refuse_inputs_that_their_kernels_do_not_support():
    linear = "MyLinear expected input of shape (…, 3) and float64 on the CPU, got (2, 4) and float64 on cpu; pass such input"
    with raises(ValueError, f"{linear}, or use nn.Linear"):
        MyLinear(3, 2, dtype="float64")(tensor(np.zeros((2, 4))))
    silu = "BiasSiLU expected input of shape (…, 3) and float64, got (2, 3) and float32; build it for that size, or convert it"
    with raises(ValueError, silu):
        BiasSiLU(3, dtype="float64")(tensor(np.zeros((2, 3)), FastBackend, dtype=float32))


def test_the_code_on_the_page_runs_and_gives_the_same_values(tmp_path):
    page = (Path(custom_op.__file__).parents[1] / "docs" / "custom_operators.md").read_text(encoding="utf-8")
    program = tmp_path / "page.py"
    program.write_text("".join(re.findall(r"(?ms)^```python\n(.*?)^```$", page)), encoding="utf-8")
    names = runpy.run_path(str(program))
    assert names["network"][1].bias.value.grad.shape == (8,)
    x, bias = tensor([[1.0, -2.0]]), tensor([0.5, 1.0])
    assert names["BiasSiLU"].apply(x, bias).tolist() == BiasSiLUFunction.apply(x, bias).tolist()
    assert names["network"].to("float32")[1].bias.value.dtype == float32


def test_the_comparison_alternates_measurements_and_compares_the_losses_of_each_step():
    seen = []

    def step(side, losses):
        def run():
            seen.append(side)
            return losses[seen.count(side) - 1]

        return run

    contest = Contest("name", (step("own", [4.0, 2.0, 1.0, 0.5]), step("other", [4.0, 2.0, 1.25, 0.5])))
    contest.run(3)
    assert seen == ["other", "own", "own", "other", "other", "own", "own", "other"]
    assert [len(seconds) for seconds in contest.seconds] == [3, 3]
    assert contest.apart() == 0.2
    assert [contest.row(most).split("  ")[-1] for most in (0.2, 0.1)] == ["equal", "DIFFER by 2.0e-01"]


@pytest.mark.parametrize(
    ("own", "other", "row"),
    [
        (  # ratios 2, 4, 1
            [0.001, 0.002, 0.009],
            [0.002, 0.008, 0.009],
            "name                         3     2.000 ms     8.000 ms    2.00   1.50 to 3.00  equal",
        ),
        ([0.001], [0.002], "name                         1     1.000 ms     2.000 ms    2.00   2.00 to 2.00  equal"),
    ],
)
def test_a_row_of_the_table_has_medians_and_the_median_ratio(own, other, row):
    assert HEAD == "a training step        repeats          own     built-in   ratio   half of them  losses"
    assert Contest("name", (lambda: 0.0, lambda: 0.0), (own, other), ([1.0], [1.0])).row(0.0) == row


SMALL = ["--repeats", "3", "--batch", "5", "--hidden", "4", "--width", "6", "--dtype", "float64"]


def test_the_program_checks_and_compares(on_the_simple_backend, capsys):
    assert custom_op.main(SMALL) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:4] == ["  linear with bias: PASS", "  linear without bias: PASS", "  bias and SiLU: PASS"]
    assert re.match(r"  bias and SiLU on the GPU: (NOT RUN: no NVIDIA GPU here; |PASS \()", lines[4])
    assert re.fullmatch(r"float64, \d+ threads?; a ratio over 1: our own is faster", lines[6])
    assert lines[7:9] == ["linear: 5 rows of 784, 4 hidden; SiLU: 5 rows of 6", HEAD]
    number = r" +\d+\.\d+"
    for line, name in zip(lines[9:], ["linear", "SiLU against 3 ops", "SiLU against 2 ops"], strict=True):
        assert re.fullmatch(rf"{name} +3{number} ms{number} ms{number}{number} to{number}  equal", line), line


def test_the_program_fails_when_a_check_does(on_the_simple_backend, capsys, monkeypatch):
    monkeypatch.setitem(custom_op.CHECKS, "bias and SiLU", lambda: check(WrongValue.apply, BiasSiLUFunction.composed, (2, 3), (3,)))
    assert custom_op.main(SMALL) == 1
    assert "  bias and SiLU: FAIL: " in capsys.readouterr().out


@pytest.mark.parametrize(("option", "value", "low"), [("--repeats", "0", 1), ("--width", "1.5", 1), ("--seed", "-1", 0)])
def test_invalid_numbers_are_refused_in_one_line(option, value, low, capsys):
    expected = f"expected a whole number of at least {low}, got {value}; run: python project/custom_op.py --help"
    assert refusal(custom_op, capsys, option, value) == f"Invalid value for '{option}': {expected}"
