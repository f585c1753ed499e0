"""The program that compares training in float32 with training in mixed precision."""

import numpy as np
import pytest

import minitorch
from minitorch import GradScaler
from project import mixed_precision


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_loss_in_mixed_precision_follows_that_of_float32(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install -r requirements.extra.txt")
    given = 25, 16, 0.1, 3
    plain = [loss for loss, _, _ in mixed_precision.losses("float32", *given, GradScaler(enabled=False))]
    mixed = [loss for loss, _, taken in mixed_precision.losses(dtype, *given, GradScaler(2.0**10)) if taken]
    assert plain[-1] < 0.8 * plain[0]
    np.testing.assert_allclose(mixed, plain, rtol=0.02 if dtype == "float16" else 0.1)
    assert mixed != plain


def test_the_program_prints_both_columns_and_the_skipped_steps(capsys):
    assert mixed_precision.main(["--steps", "12", "--hidden", "8", "--growth", "5", "--scale", "1e9"]) in (0, 1)
    head, *lines, end = capsys.readouterr().out.splitlines()
    assert head.split() == ["step", "float32", "float16", "scale"]
    assert lines[0].split() == ["0", *[lines[0].split()[1]] * 2, "1000000000", "overflow:", "step", "skipped"]
    skipped = sum("skipped" in line for line in lines)
    assert skipped >= 3
    assert end.endswith(f"; {skipped} of 12 steps skipped")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--steps", "0"],
            "Invalid value for '--steps': expected a whole number of at least 1, got 0",
        ),
        (
            ["--lr", "-1"],
            "Invalid value for '--lr': expected a number above 0, got -1.0",
        ),
        (
            ["--scale", "big"],
            "Invalid value for '--scale': expected a number above 0, got 'big'",
        ),
    ],
)
def test_wrong_flags_are_refused_in_a_line(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        mixed_precision.main(arguments)
    assert capsys.readouterr().err == f"mixed_precision.py: {message}; run: python project/mixed_precision.py --help\n"


def test_without_ml_dtypes_bfloat16_is_refused_in_a_line(capsys, monkeypatch):
    def missing(name):
        raise ImportError("bfloat16 expected the package ml_dtypes, which is not installed; pip install ml_dtypes")

    monkeypatch.setattr(minitorch.core.dtypes, "as_dtype", missing)
    with pytest.raises(SystemExit, match="2"):
        mixed_precision.main(["--dtype", "bfloat16"])
    expected = "mixed_precision.py: bfloat16 expected the package ml_dtypes, which is not installed; pip install ml_dtypes\n"
    assert capsys.readouterr().err == expected
