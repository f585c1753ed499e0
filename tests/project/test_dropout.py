"""The drawing of dropout: the mask, the rule for each element, and the sums."""

import re

import numpy as np
import pytest

from project.lab.explorers.dropout import complaint, histogram, panels, summary

VALUES = np.array([[1.0, 2], [0, 4]])


def test_an_element_is_unchanged_or_0():
    assert complaint(VALUES, np.array([[1.0, 0], [0, 4]])) == ""
    assert complaint(VALUES, np.array([[1.0, 4], [0, 8]])) == "expected 2 or 0 at [0, 1], got 4; do not rescale the values that are kept"
    assert complaint(VALUES, np.array([[1.0, np.nan], [0, 4]])).startswith("expected 2 or 0 at [0, 1], got nan")


def test_dropped_elements_are_hatched_in_mask_and_result():
    mask = np.array([[1.0, 0], [1, 1]])
    first, second, third = panels(VALUES, mask, VALUES * mask)
    labels = [re.findall(r'aria-label="([^"]*)" role', markup) for markup in (first, second, third)]
    assert labels[0] == ["input[0, 0] = 1", "input[0, 1] = 2", "input[1, 0] = 0", "input[1, 1] = 4"]
    assert labels[1][1] == "mask[0, 1] = 0, dropped; idle"
    assert labels[2][1] == "result[0, 1] = 0, dropped; idle"
    assert labels[2][2] == "result[1, 0] = 0"


@pytest.mark.parametrize(("rescaled", "mean", "deviation"), [(False, "3.5", "2.291"), (True, "7", "4.583")])
def test_the_sums_are_compared_with_their_expected_values(rescaled, mean, deviation):
    # half of 1 + 2 + 0 + 4; √(0.5 · 0.5 · (1 + 4 + 16))
    text = summary(VALUES, np.array([3.0, 4.0]), 0.5, rescaled)
    assert text.startswith("Over 2 masks, the sum has mean 3.5 and standard deviation 0.5; ")
    assert f"in theory {mean} and {deviation}. Without dropout it is 7." in text


def test_every_mask_is_counted_once_in_the_histogram():
    for sums in (np.array([0.0, 3, 7, 7]), np.array([14.0, 0]), np.zeros(3), np.array([-2.0, 5])):
        spec = histogram(sums, 7.0, "in words")
        assert sum(bar["masks"] for bar in spec["layer"][0]["data"]["values"]) == len(sums)
    assert spec["layer"][1]["data"]["values"][0] == {"sum": 7.0, "line": "without dropout"}
    assert histogram(np.zeros(4), 0.0, "")["layer"][0]["data"]["values"][0]["masks"] == 4
