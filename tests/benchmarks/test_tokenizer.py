"""The benchmark of the tokenizer runs, with and without tiktoken, and notices when the two encode differently."""

import sys

import pytest

from benchmarks import tokenizer


def test_the_table_has_a_row_for_each_measurement(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)  # as if it were not installed
    tokenizer.main(["--megabytes", "0.02", "--vocabulary", "300", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line[:32].strip() for line in lines[4:8]] == ["train", "encode, first text", "encode, words seen before", "decode"]
    assert lines[-1] == "tiktoken is not installed; for the comparison, pip install tiktoken"


def test_the_ratio_is_that_of_the_medians(capsys):
    tokenizer.print_row("encode", [0.5, 1.0, 4.0], 2_000_000, [0.1, 0.25, 0.3])
    assert capsys.readouterr().out.split() == ["encode", "1.000", "s", "0.500", "-", "4.000", "2.0", "MB/s", "0.25"]


def test_encoders_that_differ_are_not_timed():
    with pytest.raises(SystemExit, match=r"^ours and tiktoken encode differently; their times are meaningless$"):
        tokenizer.check_same([1], [2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--repeats", "0"], "error: expected --repeats >= 1 and --megabytes > 0, got 0 and 1.0\n"),
        (["--megabytes", "nan"], "error: expected --repeats >= 1 and --megabytes > 0, got 7 and nan\n"),
        (["--megabytes", "0.001"], "tokens; pass more text\n"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        tokenizer.main(arguments)
    assert capsys.readouterr().err.endswith(message)
