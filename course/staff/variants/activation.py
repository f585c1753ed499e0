"""Family `activation`, Task 0.1: a leaky ReLU with a ceiling, and its derivative."""

from __future__ import annotations

from hypothesis.strategies import floats

from course.staff.variants.family import Family, Parameters, Question, number_judge

COMMON = {0.01, 0.1, 0.2, 0.25, 0.3}
"""Slopes that students might guess; they are never drawn."""

SLOPES = [slope for slope in (n / 1000 for n in range(11, 400)) if slope not in COMMON]
CEILINGS = [n / 10 for n in range(31, 90) if n != 60]  # 6 is the ceiling of ReLU6

SOLUTION = '''

def bounded_leaky_relu(x: float) -> float:
    """$slope · x where x < 0, x where 0 <= x < $ceiling, and $ceiling elsewhere."""
    if x < 0:
        return $slope * x
    return x if x < $ceiling else $ceiling


def bounded_leaky_relu_back(x: float, d: float) -> float:
    """d times the derivative of bounded_leaky_relu at x, taken as $slope where x < 0, 1 where 0 <= x < $ceiling, and 0 elsewhere."""
    if x < 0:
        return $slope * d
    return d if x < $ceiling else 0.0
'''

TESTS = '''"""Task 0.1: your variant."""

import pytest

from minitorch.operators import bounded_leaky_relu, bounded_leaky_relu_back


@pytest.mark.task0_1
def test_bounded_leaky_relu() -> None:
    assert bounded_leaky_relu(-100.0) == pytest.approx($at_minus_100)
    assert bounded_leaky_relu(0.0) == 0.0
    assert bounded_leaky_relu(2.5) == 2.5
    assert bounded_leaky_relu($ceiling) == $ceiling
    assert bounded_leaky_relu(50.0) == $ceiling


@pytest.mark.task0_1
def test_bounded_leaky_relu_back() -> None:
    assert bounded_leaky_relu_back(-1.0, 100.0) == pytest.approx($back_of_100)
    assert bounded_leaky_relu_back(0.0, 3.0) == 3.0
    assert bounded_leaky_relu_back($below, 3.0) == 3.0
    assert bounded_leaky_relu_back($ceiling, 3.0) == 0.0
'''

ABOUT = """
In your workspace, Task 0.1 has two more functions in `minitorch/operators.py`: `bounded_leaky_relu`, a leaky ReLU with slope $slope
that never exceeds $ceiling, and its derivative `bounded_leaky_relu_back`.
"""


def expected(parameters: Parameters, x: float) -> float:
    """The value of bounded_leaky_relu: the larger of x and slope · x, because slopes are below 1, limited by the ceiling."""
    return min(max(x, parameters["slope"] * x), parameters["ceiling"])


def expected_back(parameters: Parameters, x: float, d: float) -> float:
    """The value of bounded_leaky_relu_back: d times the derivative of bounded_leaky_relu."""
    return d * (parameters["slope"] if x < 0 else float(x < parameters["ceiling"]))


def values(parameters: Parameters) -> dict[str, float]:
    """The values for the templates."""
    slope, ceiling = parameters["slope"], parameters["ceiling"]
    return {
        "slope": slope,
        "ceiling": ceiling,
        "at_minus_100": round(-100 * slope, 6),
        "back_of_100": round(100 * slope, 6),
        "below": round(ceiling - 0.05, 2),
    }


some = floats(-100, 100, allow_nan=False)

ACTIVATION = Family(
    name="activation",
    task="0.1",
    choices={"slope": SLOPES, "ceiling": CEILINGS},
    after="minitorch.operators:relu_back",
    solution=SOLUTION,
    tests=TESTS,
    about={"0.1": ABOUT},
    questions=(
        Question(
            "minitorch.operators:bounded_leaky_relu",
            "bounded_leaky_relu(x) has your slope and your ceiling",
            number_judge(expected),
            [(-100.0,), (-1.0,), (0.0,), (2.5,), (50.0,)],
            {"x": some},
        ),
        Question(
            "minitorch.operators:bounded_leaky_relu_back",
            "bounded_leaky_relu_back(x, d) is d times the derivative",
            number_judge(expected_back),
            [(-1.0, 100.0), (0.0, 3.0), *((ceiling - 0.05, 3.0) for ceiling in CEILINGS), (90.0, 3.0)],
            {"x": some, "d": some},
        ),
    ),
    values=values,
)
