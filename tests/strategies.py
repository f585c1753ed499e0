"""Hypothesis strategies of the course's tests, and their comparison of floats."""

import math

from hypothesis.strategies import floats, integers

small_ints = integers(min_value=1, max_value=3)
med_ints = integers(min_value=1, max_value=20)
small_floats = floats(min_value=-100, max_value=100, allow_nan=False)


def assert_close(a: float, b: float, tolerance: float = 1e-2) -> None:
    """Fail unless `a`, the computed value, is within `tolerance` of `b`, the expected value.

    For |b| > 1 the tolerance is relative: 1e-2 of 300 is 3. An infinity equals itself; NaN equals nothing.
    """
    # Not the is_close under test: if that always returned True, every test would pass.
    assert math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance), f"expected {b!r}, got {a!r}; they may differ by {tolerance:g}"
