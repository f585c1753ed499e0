"""Typed arrays: what is read, what is refused, and how numbers are written."""

import numpy as np
import pytest

from project.lab.typed.arrays import factor, figure, parse_array
from project.lab.typed.expressions import Refused


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
def test_numbers_in_brackets_are_an_array_with_leading_dimensions_of_size_1(text, dims, shape, values):
    found = parse_array(text, dims, 5)
    assert found.shape == shape
    assert found.reshape(-1).tolist() == values
    assert not np.signbit(found[found == 0]).any()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1, 2", "expected numbers in brackets, such as [1, 0, -1], got '[1, 2'"),
        ("", "expected numbers in brackets, such as [1, 0, -1], got ''"),
        ("[[1, 2], [3]]", "expected rows of equal length, got [3] where 2 elements are due"),
        ("[[1, 2], 3]", "expected rows of equal length, got 3 where 2 elements are due"),
        ("[1, [2]]", "expected numbers, got [2]"),
        ("[__import__('os')]", "expected numbers, got __import__('os')"),
        ("[True]", "expected numbers, got True"),
        ("['a']", "expected numbers, got 'a'"),
        ("[1e9]", "expected numbers of at most 10000, got 1000000000.0"),
        ("[1e999]", "expected numbers of at most 10000, got 1e309"),
        ("[[[1]]]", "expected at most 2 brackets in each other, got more"),
        ("7", "expected at least 1 brackets in each other, got 0 in '7'"),
        ("[]", "expected sizes of 1 to 5, got shape (0,)"),
        ("[1, 2, 3, 4, 5, 6]", "expected sizes of 1 to 5, got shape (6,)"),
        ("[" * 900 + "]" * 900, "expected at most 1200 characters, got 1800"),
        ("[" * 500 + "]" * 500, "expected"),
    ],
)
def test_everything_else_is_refused_in_words(text, says):
    with pytest.raises(Refused) as refusal:
        parse_array(text, 2, 5)
    assert str(refusal.value).startswith(says)


def test_fewer_brackets_than_needed_are_refused():
    with pytest.raises(Refused, match=r"^expected at least 2 brackets in each other, got 1 in '\[1, 2\]'$"):
        parse_array("[1, 2]", 4, 5, 2)


def test_numbers_are_written_short():
    assert [figure(value) for value in (3.0, -0.0, 0.0625, 1 / 3, float("inf"), float("nan"))] == [
        "3",
        "0",
        "0.0625",
        "0.3333",
        "inf",
        "nan",
    ]
    assert [factor(value) for value in (2.0, -2.0)] == ["2", "(-2)"]
