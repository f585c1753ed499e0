"""Task 0.5: the line that students choose by hand."""

import pytest

from minitorch import datasets
from project.run_manual import separating_line

COLUMNS, ROWS = 40, 12


def cell(x_1: float, x_2: float) -> tuple[int, int]:
    """The row and column of a point in the drawing; x_1 points to the right, x_2 points up."""
    return ROWS - 1 - min(int(x_2 * ROWS), ROWS - 1), min(int(x_1 * COLUMNS), COLUMNS - 1)


def picture(points: int, seed: int) -> tuple[int, str]:
    """The number of points of Simple on the wrong side of the line, and a message with a drawing of the points and both sides."""
    weight_1, weight_2, bias = separating_line()

    def line_says(x_1: float, x_2: float) -> int:
        return int(weight_1 * x_1 + weight_2 * x_2 + bias > 0)

    middles = [[((column + 0.5) / COLUMNS, 1 - (row + 0.5) / ROWS) for column in range(COLUMNS)] for row in range(ROWS)]
    cells = [["." if line_says(*middle) else " " for middle in row] for row in middles]
    graph = datasets["Simple"](points, seed)
    wrong = {0: 0, 1: 0}
    for (x_1, x_2), label in sorted(zip(graph.X, graph.y, strict=True), key=lambda point: line_says(*point[0]) != point[1]):
        is_wrong = line_says(x_1, x_2) != label
        wrong[label] += is_wrong
        row, column = cell(x_1, x_2)
        cells[row][column] = "X" if is_wrong else str(label)
    square = "\n".join(f"|{''.join(row)}|" for row in cells)
    count = wrong[0] + wrong[1]
    return count, (
        f"{count} of {points} points are on the wrong side of the line: {wrong[1]} with label 1 and {wrong[0]} with label 0.\n"
        f"{square}\nX is a point on the wrong side; 0 and 1 are points on the right side, by their label.\n"
        f"The dots are the side that the line gives label 1: {weight_1:g}·x_1 {weight_2:+g}·x_2 {bias:+g} > 0."
    )


def assert_separated(points: int, seed: int) -> None:
    count, message = picture(points, seed)
    assert count == 0, message


@pytest.mark.task0_5
def test_the_line_gives_the_50_points_of_simple_their_labels() -> None:
    """All 50 points of the data set Simple are on the right side of the line."""
    assert_separated(points=50, seed=0)


@pytest.mark.task0_5
def test_the_line_gives_200_other_points_of_simple_their_labels() -> None:
    """All 200 points of another data set Simple are on the right side of the same line."""
    assert_separated(points=200, seed=1)
