"""The program that compares training in float32 with training in mixed precision."""

import pytest

import minitorch
from minitorch import SimpleBackend
from project import mixed_precision
from tests.project.programs import refusal


def test_the_program_prints_both_columns_and_the_skipped_steps(capsys):
    assert mixed_precision.main(["--steps", "6", "--hidden", "8", "--growth", "5", "--scale", "1e9"]) in (0, 1)
    head, *lines, end = capsys.readouterr().out.splitlines()
    assert head.split() == ["step", "float32", "float16", "scale"]
    assert lines[0].split() == ["0", *[lines[0].split()[1]] * 2, "1000000000", "overflow:", "step", "skipped"]
    skipped = sum("skipped" in line for line in lines)
    assert skipped >= 3
    assert end.endswith(f"; {skipped} of 6 steps skipped")


@pytest.fixture(autouse=True)
def on_the_simple_backend(monkeypatch):
    """Train without compiling kernels."""
    monkeypatch.setattr(mixed_precision, "FastBackend", SimpleBackend)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--steps", "0", "expected a whole number of at least 1, got 0"),
        ("--lr", "-1", "expected a number above 0, got -1.0"),
        ("--scale", "big", "expected a number above 0, got 'big'"),
    ],
)
def test_wrong_flags_are_refused_in_a_line(option, value, message, capsys):
    help = "run: python project/mixed_precision.py --help"
    assert refusal(mixed_precision, capsys, option, value) == f"Invalid value for '{option}': {message}; {help}"


def test_without_ml_dtypes_bfloat16_is_refused_in_a_line(capsys, monkeypatch):
    message = "bfloat16 expected the package ml_dtypes, which is not installed; pip install ml_dtypes"

    def missing(name):
        raise ImportError(message)

    monkeypatch.setattr(minitorch.core.dtypes, "as_dtype", missing)
    assert refusal(mixed_precision, capsys, "--dtype", "bfloat16") == message
