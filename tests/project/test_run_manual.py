"""Task 0.5: the line that is chosen by hand."""

import pytest

from minitorch import datasets
from project.run_manual import separating_line

COLUMNS, ROWS = 48, 12


def picture(points: int, seed: int) -> tuple[int, str]:
    """The points of Simple that fall on the wrong side of the line: how many, and a drawing of the unit square with all points."""
    weight_1, weight_2, bias = separating_line()
    graph = datasets["Simple"](points, seed)
    cells = [["."] * COLUMNS for _ in range(ROWS)]
    count = 0
    for (x_1, x_2), label in zip(graph.X, graph.y, strict=True):
        is_wrong = (weight_1 * x_1 + weight_2 * x_2 + bias > 0) != (label == 1)
        count += is_wrong
        row, column = ROWS - 1 - min(int(x_2 * ROWS), ROWS - 1), min(int(x_1 * COLUMNS), COLUMNS - 1)
        if cells[row][column] != "#":
            cells[row][column] = "#" if is_wrong else str(label)
    return count, "\n".join(map("".join, cells))


def assert_separated(points: int, seed: int) -> None:
    count, square = picture(points, seed)
    assert count == 0, f"{count} of {points} points are wrongly labelled, marked # among the labels 0 and 1:\n{square}"


@pytest.mark.task0_5
def test_the_line_gives_the_50_points_of_simple_their_labels() -> None:
    assert_separated(points=50, seed=0)


@pytest.mark.task0_5
def test_the_line_gives_200_other_points_of_simple_their_labels() -> None:
    assert_separated(points=200, seed=1)
