"""The benchmark of optimizers runs, takes the step that the table names, and gives verdicts."""

import re

from benchmarks import optim


def test_the_table_has_rows_and_says_that_there_is_no_torch(capsys):
    optim.main(["--threads", "1", "--repeats", "1", "--only", "SGD, 2-100", "--torch-python", "false"])
    lines = capsys.readouterr().out.splitlines()
    assert "torch: NOT RUN, false cannot import it; name an interpreter that can with --torch-python" in lines
    rows = [line for line in lines if line.startswith("SGD")]
    assert [re.sub(" +", " ", row) for row in rows] == [
        "SGD, 2-100-100-1 1.0 times torch's time NOT RUN",
        "SGD, 2-100-100-1, torch fused 1.0 times torch's time NOT RUN",
    ]
    assert [bool(re.match(r" +ours [\d.]+ [mµ]?s", line)) for line in lines if line.startswith("   ")] == [True, True]
    assert lines[-1] == "0 reached, 0 MISSED, 2 NOT RUN"
