"""Hyper-parameter search: how trials run, how a sweep continues, and what the program prints."""

import json
import math
import os
import signal
import subprocess
import sys
import time

import pytest

from course.manifest import ROOT
from project import sweep
from project.lab.sweeps import store
from tests.project.test_sweeps import SCRIPT, check_signal, is_running, project, started


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


def test_trials_end_after_their_sweep_is_killed(project):
    words = ["fake", "--vary", "rate=0.25,0.75", "--vary", "fail=forever", "--jobs", "2", "--out", str(project / "mine")]
    process = subprocess.Popen([sys.executable, "-c", SCRIPT.format(folder=str(project)), *words], cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(started(project)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)  # they print more than a pipe holds
    pids = [each["pid"] for each in started(project)]
    running = [is_running(pid) for pid in pids]
    process.kill()
    process.wait()
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    survivors = [pid for pid in pids if is_running(pid)]
    for pid in survivors:
        os.kill(pid, signal.SIGKILL)
    assert running == [True, True]
    assert survivors == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_trials_and_the_sweep_says_how_to_continue(project, number):
    check_signal(project, number)
