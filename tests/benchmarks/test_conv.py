"""The benchmark of convolutions runs, compares the same convolution, and gives verdicts."""

import pytest

from benchmarks import conv


def test_a_ratio_of_times_is_that_of_the_medians():
    assert conv.times_of(1.5, [1.0, 2.0, 4.0], [3.0, 2.0, 2.0]) == ("1.5 times torch's time", "1.00 (0.33 to 2.00)", "reached")
    assert conv.times_of(1.5, [3.2], [2.0]) == ("1.5 times torch's time", "1.60 (1.60 to 1.60)", "MISSED")
    assert conv.times_of(2.5, [1.0], None) == ("2.5 times torch's time", "", "NOT RUN")


def test_every_shape_is_asked_of_forward_and_with_backward():
    assert {conv.shown(shape): most for shape, most in conv.SHAPES.items()} == {
        "16 of 1 -> 4, 28²": 1.5,
        "16 of 4 -> 8, 28²": 1.5,
        "64 of 4 -> 8, 28²": 1.5,
        "8 of 64 -> 64, 56²": 2.5,
    }
    assert list(conv.WAYS) == ["forward", "both"]


def test_a_row_that_is_not_there_is_refused(capsys):
    with pytest.raises(SystemExit):
        conv.main(["--only", "17 of 1"])
    assert "error: --only expected part of one of 16 of 1 -> 4, 28²" in capsys.readouterr().err
