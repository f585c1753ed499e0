"""The checks of kernels say what they expected, what they found, and which lines caused it."""

import inspect

import numpy as np
import pytest

from minitorch.cuda import inspect_kernel
from minitorch.kernels.cuda.device import cuda

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


def test_an_element_that_is_read_too_often_is_named_with_the_lines_that_read_it(report):
    with pytest.raises(AssertionError) as error:
        assert_each_cell_once(report, "a", "read")
    assert str(error.value) == (
        f"expected a[0] to be read once by all threads together, got 3 times: line {FIRST} reads it once; line {FIRST + 1} reads it once; "
        f"line {FIRST + 5} reads it once; 4 of 4 elements differ from what was expected"
    )


def test_the_first_element_that_differs_is_named(report):
    with pytest.raises(AssertionError) as error:
        assert_accesses(report, "a", "read", [3, 2, 1, 2])
    assert str(error.value) == (
        f"expected a[2] to be read once by all threads together, got 2 times: line {FIRST} reads it once; line {FIRST + 1} reads it once; "
        "1 of 4 elements differ from what was expected"
    )


def test_an_element_that_no_line_writes_is_named(report):
    with pytest.raises(AssertionError) as error:
        assert_each_cell_once(report, "out", "write")
    assert str(error.value) == (
        "expected out[3] to be written once by all threads together, got 0 times: no line writes it; "
        "1 of 4 elements differ from what was expected"
    )


def test_expected_counts_are_accepted(report):
    assert_accesses(report, "a", "read", [3, 2, 2, 2])
    assert_accesses(report, "out", "write", [1, 1, 1, 0])
