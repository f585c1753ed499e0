"""Hyper-parameter search: how trials run, how a sweep continues, and what the program prints."""

import json
import math
import subprocess
import sys

from course.manifest import ROOT
from project import sweep
from project.lab.sweeps import store


def test_a_network_of_tensors_is_swept_and_the_command_repeats_the_best_trial(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MINITORCH_RUNS", str(tmp_path / "runs"))
    words = ["--vary", "rate=0.1,0.5", "--vary", "hidden=2,6", "--set", "dataset=Simple", "--set", "points=20", "--epochs", "30"]
    assert sweep.main(["run_tensor", *words, "--out", str(tmp_path / "out")]) == 0
    best = store.rank(list(store.read_results(tmp_path / "out").values()))[0]
    command = capsys.readouterr().out.splitlines()[-1].removeprefix("The best: ")
    assert command == best.outcome.command
    subprocess.run(command.replace("python", sys.executable, 1).split(), cwd=ROOT, check=True, capture_output=True)
    (path,) = (tmp_path / "runs").glob("*.json")
    assert json.loads(path.read_text())["curves"]["loss"][-1] == best.outcome.metrics["loss"]
    assert math.isfinite(best.outcome.metrics["loss"])
