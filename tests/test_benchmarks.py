"""The benchmarks run, and notice when what they compare is not the same."""

import re

import pytest

from benchmarks import scalar


def test_the_scalar_benchmark_prints_a_row_for_every_program_with_the_collector_on_and_off(capsys):
    scalar.main(["--repeats", "1", "--seed", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert "python -m benchmarks.scalar --repeats 1 --seed 3" in lines
    rows = [re.match(r"(micrograd|minitorch, dot|minitorch, \+ and \*) +(on|off) +[\d.]+ ms", line) for line in lines[-6:]]
    assert [row.groups() for row in rows] == [
        (name, collector) for collector in ("on", "off") for name in ("micrograd", "minitorch, dot", "minitorch, + and *")
    ]


def test_programs_that_differ_are_not_timed():
    with pytest.raises(SystemExit, match=r"^ours and micrograd differ: 2\.0 and 2\.1; their times mean nothing$"):
        scalar.check_same("ours", (1.0, [2.0]), (1.0, [2.1]))


def test_the_ratio_is_that_of_the_medians(capsys):
    scalar.print_row("ours", True, [0.010, 0.020, 0.030], [0.100, 0.300, 0.400])
    assert capsys.readouterr().out.split() == ["ours", "on", "20.0", "ms", "10.0", "-", "30.0", "15.00", "10.00", "-", "15.00"]


def test_a_wrong_number_of_repeats_is_refused(capsys):
    with pytest.raises(SystemExit):
        scalar.main(["--repeats", "0"])
    assert capsys.readouterr().err.endswith("error: --repeats expected at least 1, got 0\n")
