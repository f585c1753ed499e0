"""Stage 0 - Six two-dimensional data sets, from one that a line separates to two spirals.

Every function takes the number of points and a seed; the same arguments give the same points. Points lie in the unit square, labels are
0 and 1.
"""

import math
import numbers
import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Graph:
    """A labeled set of points.

    Attributes:
        N: Number of points.
        X: The points, N pairs (x_1, x_2), each in [0, 1].
        y: Their labels, N times 0 or 1.
    """

    N: int
    X: list[tuple[float, float]]
    y: list[int]


def make_pts(N: int, seed: int = 0) -> list[tuple[float, float]]:
    """N points from the uniform distribution on the unit square.

    Raises:
        ValueError: If N is not an integer of at least 1.
    """
    _check_size(N)
    generator = random.Random(seed)
    return [(generator.random(), generator.random()) for _ in range(N)]


def _check_size(N: int) -> None:
    """Raise ValueError for an invalid number of points."""
    if isinstance(N, bool) or not isinstance(N, numbers.Integral) or N < 1:
        raise ValueError(f"a data set expected a whole number of points, at least 1, got {N!r}; try 50")


def _label_points(N: int, seed: int, rule: Callable[[float, float], bool]) -> Graph:
    """Uniform points, labeled 1 where the rule is true."""
    X = make_pts(N, seed)
    return Graph(N, X, [int(rule(x_1, x_2)) for x_1, x_2 in X])


def simple(N: int, seed: int = 0) -> Graph:
    """A vertical line: 1 where x_1 < 1/2."""
    return _label_points(N, seed, lambda x_1, x_2: x_1 < 1 / 2)


def diag(N: int, seed: int = 0) -> Graph:
    """A diagonal line: 1 where x_1 + x_2 < 1/2."""
    return _label_points(N, seed, lambda x_1, x_2: x_1 + x_2 < 1 / 2)


def split(N: int, seed: int = 0) -> Graph:
    """Two vertical lines: 1 in the outer strips, where x_1 < 1/5 or x_1 > 4/5."""
    return _label_points(N, seed, lambda x_1, x_2: x_1 < 1 / 5 or x_1 > 4 / 5)


def xor(N: int, seed: int = 0) -> Graph:
    """Exclusive or: 1 in the upper left and lower right quarters."""
    return _label_points(N, seed, lambda x_1, x_2: (x_1 < 1 / 2) != (x_2 < 1 / 2))


def circle(N: int, seed: int = 0) -> Graph:
    """A circle: 1 outside the circle of squared radius 1/10 around the center."""
    return _label_points(N, seed, lambda x_1, x_2: (x_1 - 1 / 2) ** 2 + (x_2 - 1 / 2) ** 2 > 1 / 10)


def spiral(N: int, seed: int = 0) -> Graph:
    """Two spirals of one and a half turns, half a turn apart, N - N // 2 points labeled 0 and N // 2 labeled 1.

    The points lie on the curves without noise: the seed only shuffles their order.
    """
    _check_size(N)
    arms = [(1, 0, N - N // 2), (-1, 1, N // 2)]
    points = []
    for sign, label, count in arms:
        for i in range(count):
            angle = 3 * math.pi * (i + 1) / count
            radius = sign * angle / (6 * math.pi)  # up to 1/2, the edge of the square
            points.append(((1 / 2 + radius * math.cos(angle), 1 / 2 + radius * math.sin(angle)), label))
    random.Random(seed).shuffle(points)
    return Graph(N, [x for x, _ in points], [label for _, label in points])


datasets: dict[str, Callable[..., Graph]] = {
    "Simple": simple,
    "Diag": diag,
    "Split": split,
    "Xor": xor,
    "Circle": circle,
    "Spiral": spiral,
}
"""The functions above, by the names in command lines and menus."""
