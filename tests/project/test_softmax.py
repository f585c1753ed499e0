"""Softmax step by step: with and without the shift, in both dtypes, and its descriptions."""

import math

import numpy as np
import pytest

from project.lab.explorers import softmax


@pytest.mark.parametrize(("shift", "exponentials", "sum"), [(False, [1, 2, 5], 8), (True, [0.2, 0.4, 1], 1.6)])
def test_the_steps_are_exponentials_a_sum_and_quotients_and_shifting_keeps_the_probabilities(shift, exponentials, sum):
    exponents, powers, total, shares = softmax.steps(np.log([1.0, 2, 5]), "float64", shift)
    assert np.allclose(exponents, np.log(exponentials))
    assert np.allclose(powers, exponentials)
    assert total == pytest.approx(sum)
    assert np.allclose(shares, [1 / 8, 2 / 8, 5 / 8])


@pytest.mark.parametrize(("dtype", "limit"), [("float64", "709.8"), ("float32", "88.7")])
def test_without_the_shift_large_numbers_overflow(dtype, limit):
    x = np.array([1000.0, 0, -1000])
    _, powers, total, shares = softmax.steps(x, dtype, False)
    assert powers[0] == total == math.inf
    assert math.isnan(shares[0])
    assert softmax.verdict(x, dtype, False).startswith(f"The sum is inf: for x > {limit}, e^x overflows in {dtype}.")
    assert math.isnan(softmax.steps(np.array([100.0, 0]), dtype, False)[3][0]) == (dtype == "float32")
    assert softmax.steps(x, dtype, True)[3].tolist() == [1, 0, 0]
    assert softmax.verdict(x, dtype, True).startswith("The sum is 1. The largest exponential is e^0 = 1")


def test_without_the_shift_small_numbers_sum_to_zero():
    x = np.array([-1000.0, -1001])
    assert softmax.verdict(x, "float64", False) == "The sum is 0: every e^x underflows in float64, and 0 / 0 is nan."
    assert np.allclose(softmax.steps(x, "float64", True)[3], [1 / (1 + math.exp(-1)), 1 / (1 + math.e)])
    lost = "The sum is 1. 1 of the probabilities underflow in float64 and become 0."
    assert softmax.verdict(np.array([0.0, -1000]), "float64", False) == lost


def test_a_table_has_a_row_for_every_class():
    assert softmax.table(np.array([0.0, math.log(3)]), "float64", False) == [
        {"class": "0", "x": "0", "e^x": "1", "probability": "0.25"},
        {"class": "1", "x": "1.099", "e^x": "3", "probability": "0.75"},
    ]
    shifted = softmax.table(np.array([0.0, math.log(4)]), "float64", True)
    assert shifted[0] == {"class": "0", "x - m": "-1.386", "e^(x - m)": "0.25", "probability": "0.2"}


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_log_softmax_is_right_for_numbers_of_any_size(shift):
    assert np.allclose(softmax.log_probabilities(np.log([1.0, 3]) + shift), np.log([0.25, 0.75]))
    assert softmax.log_probabilities(np.array([1000.0, -1000]) + shift).tolist() == [0, -2000]


def test_log_sum_exp_is_written_out():
    assert softmax.log_sum_exp(np.array([1000.0, 0])) == (
        "m = 1000\n"
        "ln Σ e^x = m + ln Σ e^(x - m) = 1000 + ln(e^0 + e^(-1000))\n"
        "         = 1000 + ln 1 = 1000\n"
        "ln softmax, class 0: 1000 - 1000 = 0\n"
        "ln softmax, class 1: 0 - 1000 = -1000"
    )


def test_the_entropy_is_given_in_bits():
    assert softmax.spread(np.array([0.5, 0.5])) == (
        "The largest probability is 0.5. The entropy is 1.00 bits; it is 0 if one class is certain and 1.00 if all classes are equally "
        "likely."
    )
    assert "entropy is 0.00 bits" in softmax.spread(np.array([1.0, 0, 0]))


def test_the_chart_has_a_bar_for_every_finite_probability():
    spec = softmax.chart([0.25, math.nan, 0.75], "in words")
    assert [(row["class"], row["probability"]) for row in spec["data"]["values"]] == [("0", 0.25), ("2", 0.75)]
    assert spec["description"] == "in words"
