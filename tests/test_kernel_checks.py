"""The checks of kernels say what they expected, what they found, and which lines caused it."""

import inspect

import numpy as np
import pytest

from minitorch.cuda import inspect_kernel
from minitorch.kernels.cuda.device import cuda

from .errors import raises
from .kernel_checks import assert_accesses, assert_each_cell_once


def copy_twice(out, a):
    """Reads each element twice, and element 0 three times; leaves the last one of out."""
    i = cuda.grid(1)
    x = a[i]
    x += a[i]
    if i < 3:
        out[i] = x
    if i == 0:
        x += a[i]


FIRST = inspect.getsourcelines(copy_twice)[1] + 3
"""The line of the first read."""


@pytest.fixture(scope="module")
def report():
    return inspect_kernel(copy_twice, 1, 4, np.zeros(4), np.ones(4))


@pytest.mark.parametrize(
    ("memory", "kind", "expected", "message"),
    [
        (
            *("a", "read", 1),
            f"a[0] to be read once by all threads together, got 3 times: line {FIRST} reads it once; line {FIRST + 1} reads it once; "
            f"line {FIRST + 5} reads it once; 4 of 4",
        ),
        (
            *("a", "read", [3, 2, 1, 2]),
            f"a[2] to be read once by all threads together, got 2 times: line {FIRST} reads it once; "
            f"line {FIRST + 1} reads it once; 1 of 4",
        ),
        ("out", "write", 1, "out[3] to be written once by all threads together, got 0 times: no line writes it; 1 of 4"),
    ],
)
def test_the_first_element_that_differs_is_named_with_the_lines_that_access_it(report, memory, kind, expected, message):
    with raises(AssertionError, f"expected {message} elements differ from what was expected"):
        assert_each_cell_once(report, memory, kind) if expected == 1 else assert_accesses(report, memory, kind, expected)


def test_expected_counts_are_accepted(report):
    assert_accesses(report, "a", "read", [3, 2, 2, 2])
    assert_accesses(report, "out", "write", [1, 1, 1, 0])


def add_a_corner(out, a):
    """Reads the last element of a matrix with every thread."""
    i = cuda.grid(1)
    out[i] = a[1, 2]


def test_an_element_of_a_matrix_has_two_indices():
    report = inspect_kernel(add_a_corner, 1, 2, np.zeros(2), np.ones((2, 3)))
    line = inspect.getsourcelines(add_a_corner)[1] + 3
    message = f"a[1, 2] to be read once by all threads together, got 2 times: line {line} reads it 2 times; 1 of 6"
    with raises(AssertionError, f"expected {message} elements differ from what was expected"):
        assert_accesses(report, "a", "read", [0, 0, 0, 0, 0, 1])
