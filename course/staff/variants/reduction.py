"""Family `reduction`, Task 0.3: an exponential moving average, built from `reduce`."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis.strategies import floats, lists

from course.staff.variants.family import Family, Parameters, Question, number_judge

COMMON = {0.9, 0.95, 0.99}
"""Decays that students might guess; they are never drawn."""

DECAYS = [decay for decay in (n / 1000 for n in range(511, 996)) if decay not in COMMON]  # above 1/2, so that 1 - decay is never a decay
STARTS = [n / 2 for n in range(-19, 20) if n]

SOLUTION = '''

def moving_average(ls: Iterable[float]) -> float:
    """The exponential moving average of a list after its last element.

    The average starts at $start. Each element x changes it to $decay · average + $rest · x.
    """
    return reduce(lambda average, x: $decay * average + $rest * x, $start)(ls)
'''

TESTS = '''"""Task 0.3: your variant."""

import pytest

from minitorch.operators import moving_average


@pytest.mark.task0_3
def test_moving_average() -> None:
    assert moving_average([]) == $start
    assert moving_average([0.0]) == pytest.approx($of_0)
    assert moving_average([100.0]) == pytest.approx($of_100)
    assert moving_average([4.0, -2.0, 10.0]) == pytest.approx($of_three)
'''

ABOUT = """
In your workspace, Task 0.3 has one more function in `minitorch/operators.py`: `moving_average`, an exponential moving average that
starts at $start and has the decay $decay. Build it from `reduce`.
"""


def expected(parameters: Parameters, ls: Sequence[float]) -> float:
    """The value of moving_average, computed as a weighted sum instead of a recursion."""
    decay, n = parameters["decay"], len(ls)
    return decay**n * parameters["start"] + (1 - decay) * sum(decay ** (n - 1 - i) * x for i, x in enumerate(ls))


def values(parameters: Parameters) -> dict[str, float]:
    """The values for the templates."""
    of = {"of_0": [0.0], "of_100": [100.0], "of_three": [4.0, -2.0, 10.0]}
    return {
        **parameters,
        "rest": round(1 - parameters["decay"], 3),
        **{name: round(expected(parameters, ls), 10) for name, ls in of.items()},
    }


REDUCTION = Family(
    name="reduction",
    task="0.3",
    choices={"decay": DECAYS, "start": STARTS},
    after="minitorch.operators:prod",
    solution=SOLUTION,
    tests=TESTS,
    about={"0.3": ABOUT},
    questions=(
        Question(
            "minitorch.operators:moving_average",
            "moving_average(ls) has your start and your decay",
            number_judge(expected),
            [([],), ([0.0],), ([100.0],), ([4.0, -2.0, 10.0],)],
            {"ls": lists(floats(-10, 10), max_size=6)},
        ),
    ),
    values=values,
)
