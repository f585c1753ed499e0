"""The benchmark of PyTorch's interface compares equal results, and judges the ratio of the medians."""

import re

from benchmarks import torch_face


def test_a_row_is_printed_without_torch(capsys):
    torch_face.main(["--threads", "1", "--repeats", "1", "--only", "add 2", "--torch-python", "false"])
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"add 2 +1\.15 times the engine's +[\d.]+ \([\d.]+ to [\d.]+\) +(reached|MISSED)", lines[6])
