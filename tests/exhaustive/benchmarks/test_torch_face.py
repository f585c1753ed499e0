"""The benchmark of PyTorch's interface compares equal results, and judges the ratio of the medians."""

import re

import pytest

from benchmarks import torch_face
from benchmarks.torch_face_contenders import OPERATIONS
from tests.benchmarks.test_torch_face import check_operation


def test_a_row_is_printed_without_torch(capsys):
    torch_face.main(["--threads", "1", "--repeats", "1", "--only", "add 2", "--torch-python", "false"])
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"add 2 +1\.05 times the engine's +[\d.]+ \([\d.]+ to [\d.]+\) +(reached|MISSED)", lines[6])


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name not in ("add", "linear", "backward")])
def test_both_interfaces_compute_the_same(operation):
    check_operation(operation)
