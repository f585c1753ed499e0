"""The GPU benchmark runs to its end; in the simulator its timings are meaningless, but it prints every table."""

import re

import pytest

from benchmarks import gpu
from minitorch.kernels.cuda import device as cuda_device

pytestmark = pytest.mark.skipif(not cuda_device.SIMULATED, reason="on a GPU one runs the benchmark itself: python -m benchmarks.gpu")


TABLES = ("copy of", "x + y transposed", "sum of each column", "float32 9 ", "float64 9 ", "tiles 64×64×16×4×4", "784-512-10, batch 128")


def test_every_table_is_printed(capsys):
    assert gpu.main(["--simulator", "--repeats", "1", "--elements", "100", "--sizes", "9", "--tiles"]) == 0
    lines = capsys.readouterr().out
    assert re.search(r"^(\d+) of \1 results of \d+ ops equal NumPy's$", lines, re.MULTILINE)
    for start in TABLES:
        assert re.search(rf"^{re.escape(start)}.*\d", lines, re.MULTILINE), start


def test_an_op_with_wrong_results_is_named_and_counted(capsys, monkeypatch):
    monkeypatch.setattr(gpu.np, "allclose", lambda *values, **options: False)
    assert gpu.print_correctness(quick=True) > 0
    assert "WRONG: -x of ((2, 3),)" in capsys.readouterr().out


def test_in_the_simulator_nothing_is_measured_unless_requested(capsys):
    assert gpu.main([]) == gpu.NOT_RUN
    assert capsys.readouterr().out == "NOT RUN: times in the simulator are meaningless\n"


def test_fewer_than_one_repeat_is_refused(capsys):
    with pytest.raises(SystemExit):
        gpu.main(["--repeats", "0"])
    assert capsys.readouterr().err.endswith("error: --repeats expected at least 1, got 0\n")
