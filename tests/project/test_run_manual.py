"""Task 0.5: the line that is chosen by hand."""

import pytest

from minitorch import datasets
from project.run_manual import separating_line


def wrong_points(points: int, seed: int) -> list[tuple[float, float]]:
    """The points of Simple that fall on the wrong side of the line."""
    weight_1, weight_2, bias = separating_line()
    graph = datasets["Simple"](points, seed)
    return [
        (x_1, x_2)
        for (x_1, x_2), label in zip(graph.X, graph.y, strict=True)
        if (weight_1 * x_1 + weight_2 * x_2 + bias > 0) != (label == 1)
    ]


@pytest.mark.task0_5
def test_the_line_gives_the_50_points_of_simple_their_labels() -> None:
    assert wrong_points(points=50, seed=0) == []


@pytest.mark.task0_5
def test_the_line_gives_200_other_points_of_simple_their_labels() -> None:
    assert wrong_points(points=200, seed=1) == []
