"""The drawing of points on the wrong side of the line in Task 0.5, as the failure card shows it."""

import pytest

from course.runner.failure_report import Card, render
from tests.project import test_run_manual


def drawing(line: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str], list[str]]:
    """For a line: the number of wrong points, the rows of the drawing without their frame, and the sentences around it."""
    monkeypatch.setattr(test_run_manual, "separating_line", lambda: line)
    count, message = test_run_manual.picture(points=50, seed=0)
    lines = message.splitlines()
    return count, [line[1:-1] for line in lines if line.startswith("|")], [line for line in lines if not line.startswith("|")]


def test_wrong_points_of_a_misplaced_line_are_drawn_between_it_and_the_right_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points of Simple have label 1 to the left of x_1 = 0.5; the line claims so to the left of 0.25."""
    count, rows, sentences = drawing((-4.0, 0.0, 1.0), monkeypatch)
    assert count > 0
    assert sentences == [
        f"{count} of 50 points are on the wrong side of the line: {count} with label 1 and 0 with label 0.",
        "X is a point on the wrong side; 0 and 1 are points on the right side, by their label.",
        "The dots are the side that the line gives label 1: -4·x_1 +0·x_2 +1 > 0.",
    ]
    assert [len(row) for row in rows] == [test_run_manual.COLUMNS] * test_run_manual.ROWS
    assert {row[column] for row in rows for column in range(10)} <= {".", "1"}
    assert {row[column] for row in rows for column in range(10, 20)} == {" ", "X"}
    assert {row[column] for row in rows for column in range(20, 40)} == {" ", "0"}


def test_a_flipped_line_has_every_point_on_the_wrong_side(monkeypatch: pytest.MonkeyPatch) -> None:
    count, rows, _ = drawing((10.0, 0.0, -5.0), monkeypatch)
    assert count == 50
    assert set("".join(rows)) == {" ", ".", "X"}


def test_the_x_2_axis_points_up(monkeypatch: pytest.MonkeyPatch) -> None:
    _, rows, _ = drawing((0.0, 1.0, -0.5), monkeypatch)
    assert set("".join(rows[:6])) <= {".", "1", "X"}
    assert set("".join(rows[6:])) <= {" ", "0", "X"}


@pytest.mark.parametrize(("width", "columns"), [(80, 42), (50, 34), (40, 24)])
def test_the_card_cuts_a_drawing_at_its_width_instead_of_wrapping_it(width: int, columns: int) -> None:
    card = Card("tests/test_a.py::test_b", error=f"Some points are wrong.\n|{'.' * 40}|\n|{' ' * 40}|")
    lines = render(card, width).plain.splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith("wrong."))
    assert [line[16:] for line in lines[at + 1 : at + 3]] == [f"|{'.' * 40}|"[:columns], f"|{' ' * 40}|"[:columns]]
    assert lines[at + 3].startswith("Run again")
