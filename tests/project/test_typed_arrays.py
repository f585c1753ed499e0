"""Arrays as input: valid arrays, error messages, and the format of numbers."""

import numpy as np
import pytest

from project.lab.typed.arrays import factor, figure, parse_array
from project.lab.typed.source import Refused


@pytest.mark.parametrize(
    ("text", "dims", "shape", "values"),
    [
        ("[1, -2, .5]", 1, (3,), [1, -2, 0.5]),
        (" [[1, 2], [3, +4]] ", 2, (2, 2), [1, 2, 3, 4]),
        ("(1, 2), (3, 4)", 2, (2, 2), [1, 2, 3, 4]),
        ("[[1], [2]]", 4, (1, 1, 2, 1), [1, 2]),
        ("[-0.0]", 1, (1,), [0]),
    ],
)
def test_nested_lists_become_arrays_with_leading_dimensions_of_size_1(text, dims, shape, values):
    found = parse_array(text, dims, 5)
    assert found.shape == shape
    assert found.reshape(-1).tolist() == values
    assert not np.signbit(found[found == 0]).any()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1, 2", "column 1: expected numbers in brackets, such as [1, 0, -1], got '[1, 2' ('[' was never closed)"),
        ("", "column 1: expected numbers in brackets, such as [1, 0, -1], got ''"),
        ("[[1, 2], [3]]", "column 10: expected rows of equal length, 2, got '[3]'"),
        ("[[1, 2], 3]", "column 10: expected rows of equal length, 2, got '3'"),
        ("[1, [2]]", "column 5: expected a number, got '[2]'"),
        ("  [__import__('os')]", "column 4: expected a number, got \"__import__('os')\""),
        ("[True]", "column 2: expected a number, got 'True'"),
        ("['a']", "column 2: expected a number, got \"'a'\""),
        ("[1e9]", "column 2: expected a number of at most 10000, got '1e9'"),
        ("[1e999]", "column 2: expected a number of at most 10000, got '1e999'"),
        ("[[[1]]]", "column 3: expected at most 2 levels of brackets, got more"),
        ("7", "column 1: expected at least 1 levels of brackets, got 0"),
        ("[]", "column 1: expected sizes of 1 to 5, got shape (0,)"),
        ("[1, 2, 3, 4, 5, 6]", "column 1: expected sizes of 1 to 5, got shape (6,)"),
        ("[" * 900 + "]" * 900, "column 1201: expected at most 1200 characters, got 1800"),
        ("[" * 500 + "]" * 500, "column"),
    ],
)
def test_invalid_arrays_are_refused_with_a_message(text, says):
    with pytest.raises(Refused) as refusal:
        parse_array(text, 2, 5)
    assert str(refusal.value).startswith(says)


def test_fewer_brackets_than_needed_are_refused():
    with pytest.raises(Refused, match=r"^column 1: expected at least 2 levels of brackets, got 1$"):
        parse_array("[1, 2]", 4, 5, 2)


def test_numbers_are_formatted_briefly():
    numbers = {"3": 3.0, "0": -0.0, "0.0625": 0.0625, "0.3333": 1 / 3, "inf": float("inf"), "nan": float("nan")}
    assert [figure(value) for value in numbers.values()] == list(numbers)
    assert [factor(value) for value in (2.0, -2.0)] == ["2", "(-2)"]
