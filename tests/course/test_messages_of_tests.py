"""What given tests say of a mistake."""

import pytest

from tests.project import test_run_manual as manual


def test_wrongly_labelled_points_are_counted_and_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manual, "separating_line", lambda: (0.0, 1.0, -0.5))  # label 1 above the middle, not left of it
    with pytest.raises(AssertionError) as caught:
        manual.assert_separated(points=200, seed=1)
    head, *square = [line.strip() for line in str(caught.value).split("\n")[: 1 + manual.ROWS]]
    count = int(head.split(" ")[0])
    assert head == f"{count} of 200 points are wrongly labelled, marked # among the labels 0 and 1:"
    assert [len(row) for row in square] == [manual.COLUMNS] * manual.ROWS
    half, middle = manual.COLUMNS // 2, manual.ROWS // 2
    assert not set("".join(row[:half] for row in square[:middle])) & set("#0")
    assert not set("".join(row[half:] for row in square[middle:])) & set("#1")
    assert set("".join(row[half:] for row in square[:middle])) == set(".#")
    assert set("".join(row[:half] for row in square[middle:])) == set(".#")
    assert "".join(square).count("#") <= count
