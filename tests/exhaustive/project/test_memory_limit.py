"""Limits on memory: student code that allocates without end is interrupted in the page and in a program that runs for it."""

import sys

import pytest

from project.lab import guard
from tests.project.test_memory_limit import GROWS, MIB, low_limit, student_function

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of a process and limits that of another")


def test_memory_that_was_allocated_before_the_call_does_not_count(low_limit):
    kept = bytearray(b"x" * (400 * MIB))
    with guard.limited():
        assert student_function(GROWS)(60) == 60
    assert len(kept) == 400 * MIB
