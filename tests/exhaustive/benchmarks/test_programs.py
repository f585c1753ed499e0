"""The benchmark of programs for PyTorch runs them, and says when PyTorch is missing."""

import re

from benchmarks import programs


def test_the_table_has_a_row_and_says_that_there_is_no_torch(capsys):
    programs.main(["--threads", "1", "--repeats", "1", "--only", "polynomial_optim", "--torch-python", "false"])
    lines = capsys.readouterr().out.splitlines()
    assert "torch: NOT RUN, false cannot import it; name an interpreter that can with --torch-python" in lines
    assert [bool(re.match(r"polynomial_optim +ours [\d.]+ [mµ]s", line)) for line in lines if line.startswith("poly")] == [True]
    assert lines[-1] == "0 reached, 0 MISSED, 3 NOT RUN"
