"""The table of short runs: the fastest turn of each form, and a verdict."""

import subprocess
import sys

import pytest

from benchmarks import short_runs
from tests.errors import raises


@pytest.mark.parametrize(("fastest", "status", "verdict"), [(1.05, 0, "reached"), (1.06, 1, "MISSED")])
def test_the_fastest_turns_are_compared(fastest, status, verdict, monkeypatch, capsys):
    taken = iter([9.0, fastest, 3.0, 2.0, 1.0])  # a first run that compiles, then both forms twice
    seen = []
    monkeypatch.setattr(short_runs, "seconds", lambda *arguments: seen.append(arguments) or next(taken))
    with pytest.raises(SystemExit) as ended:
        short_runs.main(["--steps", "20", "--only", "gpt", "--repeats", "2"])
    assert ended.value.code == status
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.endswith("goal 1.05")
    assert row.split() == ["run_gpt", "20", f"{fastest:.2f}", "s", "1.00", "s", f"{fastest:.3f}", verdict]
    options = ["--length", "0", "--steps", "20"]
    assert [given[1] for given in seen] == [options, options, [*options, "--eager"], options, [*options, "--eager"]]


def test_a_program_that_fails_ends_the_benchmark(monkeypatch):
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: start([sys.executable, "-c", "raise SystemExit(3)"], **options))
    with raises(SystemExit, f"{sys.executable} {short_runs.ROOT}/project/run_gpt.py --steps 1 failed with status 3; run it to see more"):
        short_runs.seconds("run_gpt", ["--steps", "1"], True)
