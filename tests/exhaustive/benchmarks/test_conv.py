"""The benchmark of convolutions runs, compares the same convolution, and gives verdicts."""

import re

from benchmarks import conv


def test_the_table_has_rows_and_says_that_there_is_no_torch(capsys):
    conv.main(["--threads", "1", "--repeats", "1", "--only", "16 of 1", "--torch-python", "false"])
    lines = capsys.readouterr().out.splitlines()
    assert "torch: NOT RUN, false cannot import it; name an interpreter that can with --torch-python" in lines
    assert [bool(re.match(r"16 of 1 -> 4, 28² +1\.5 times torch's time +NOT RUN", line)) for line in lines[6:10]] == [True, False] * 2
    assert re.match(r" +with backward: ours [\d.]+ [mµ]?s .*, textbook [\d.]+ [mµ]?s", lines[9])
    assert lines[-1] == "0 reached, 0 MISSED, 2 NOT RUN"
