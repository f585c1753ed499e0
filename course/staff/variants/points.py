"""Family `points`, Tasks 0.5, 1.5 and 2.5: an individual data set, and the line that separates it."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from course.staff.probes.compare import Wrong, number, printable
from course.staff.variants.family import Family, Parameters, Question

MARGIN = 0.01
"""Minimum distance of a point from the line."""

MIN_DIFFERENCE = 0.05
"""Minimum share of the unit square that two distinct data sets label differently; a line found by hand mislabels less."""

ANGLES = list(range(3, 43))  # below 45°, so that wrong signs or swapped coordinates never give another student's line
SHIFTS = [n / 100 for n in range(-22, 23) if abs(n) > 3]

DATA_SET = '''

def own(N: int, seed: int = 0) -> Graph:
    """Your own data set: 1 where $w_1 · x_1 + $w_2 · x_2 > $bound. No point is within 1/100 of that line."""
    _check_size(N)
    generator = random.Random(seed)
    X: list[tuple[float, float]] = []
    y = []
    while len(X) < N:
        x_1, x_2 = generator.random(), generator.random()
        distance = $w_1 * x_1 + $w_2 * x_2 - $bound
        if abs(distance) > 1 / 100:
            X.append((x_1, x_2))
            y.append(int(distance > 0))
    return Graph(N, X, y)
'''

SOLUTION = '''

def own_line() -> tuple[float, float, float]:
    """A line that classifies all points of the data set Own correctly, as `separating_line` does for Simple.

    Returns:
        weight_1, weight_2 and bias.
    """
    return $w_1, $w_2, -$bound
'''

TESTS = '''"""Task 0.5: your variant."""

import pytest

from minitorch import datasets
from project.run_manual import own_line


def assert_separated(points: int, seed: int) -> None:
    weight_1, weight_2, bias = own_line()
    graph = datasets["Own"](points, seed)
    wrong = [x for x, label in zip(graph.X, graph.y, strict=True) if (weight_1 * x[0] + weight_2 * x[1] + bias > 0) != (label == 1)]
    assert not wrong, f"{len(wrong)} of {points} points are wrongly labeled, the first one at {wrong[0]}"


@pytest.mark.task0_5
def test_own_line_classifies_50_points_of_your_data_set() -> None:
    assert_separated(points=50, seed=0)


@pytest.mark.task0_5
def test_own_line_classifies_1000_other_points_of_your_data_set() -> None:
    assert_separated(points=1000, seed=1)
'''

BY_HAND = """
Your workspace has a seventh data set, `Own`, and Task 0.5 has one more function in `project/run_manual.py`: `own_line`, which returns
the weights and the bias of a line that classifies all points of `Own` correctly. The rule of `Own` is in `minitorch/datasets.py`.
"""

TRAINED = """
Train the network of your report on your own data set: `python project/$program.py --dataset Own`. Its label is 1 where
$w_1 · x_1 + $w_2 · x_2 > $bound.
"""


def line_of(parameters: Parameters) -> tuple[float, float, float]:
    """Two weights that form a unit vector, and the bound that the weighted sum exceeds where the label is 1; rounded as in the data set."""
    angle = math.radians(parameters["angle"])
    w_1, w_2 = round(math.cos(angle), 3), round(math.sin(angle), 3)
    return w_1, w_2, round((w_1 + w_2) / 2 + parameters["shift"], 3)


def judge(parameters: Parameters, arguments: Sequence[Any], answer: Any) -> None:
    """Check an answer of own_line on points all over the unit square.

    Raises:
        Wrong: If it is wrong.
    """
    if type(answer) not in (tuple, list) or len(answer) != 3:
        raise Wrong(f"expected weight_1, weight_2 and bias, got {printable(answer)}")
    weight_1, weight_2, bias = map(number, answer)
    w_1, w_2, bound = line_of(parameters)
    for x_1, x_2 in _square():
        distance = w_1 * x_1 + w_2 * x_2 - bound
        if abs(distance) > MARGIN and (weight_1 * x_1 + weight_2 * x_2 + bias > 0) != (distance > 0):
            raise Wrong(f"expected label {int(distance > 0)} at ({x_1:.3f}, {x_2:.3f}), where the line {answer} gives the other")


@cache
def _square() -> list[tuple[float, float]]:
    draw = random.Random("points of Own").random
    return [(draw(), draw()) for _ in range(2000)]


def distinct(one: Parameters, other: Parameters) -> bool:
    """Whether two data sets label a large part of the unit square differently."""
    differ = _labels(line_of(one)) != _labels(line_of(other))
    return bool(differ.mean() >= MIN_DIFFERENCE)


@cache
def _labels(line: tuple[float, float, float]) -> np.ndarray:
    w_1, w_2, bound = line
    return np.array(_square()) @ np.array([w_1, w_2]) > bound


def values(parameters: Parameters) -> dict[str, Any]:
    """The values for the templates."""
    w_1, w_2, bound = line_of(parameters)
    return {"w_1": w_1, "w_2": w_2, "bound": bound}


POINTS = Family(
    name="points",
    task="0.5",
    choices={"angle": ANGLES, "shift": SHIFTS},
    after="project.run_manual:separating_line",
    solution=SOLUTION,
    tests=TESTS,
    about={
        "0.5": BY_HAND,
        "1.5": TRAINED.replace("$program", "run_scalar"),
        "2.5": TRAINED.replace("$program", "run_tensor"),
    },
    questions=(Question("project.run_manual:own_line", "the line classifies all points of your data set Own correctly", judge),),
    values=values,
    insertions={
        ("minitorch/datasets.py", "    return Graph(N, [x for x, _ in points], [label for _, label in points])\n"): DATA_SET,
        ("minitorch/datasets.py", '    "Spiral": spiral,\n'): '    "Own": own,\n',
    },
    distinct=distinct,
)
