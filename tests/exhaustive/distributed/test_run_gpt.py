"""run_gpt in several processes, over sockets and over MPI: the same run for any number of processes, also after Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from project.lab.training import checkpoint
from project.lab.training.text_trainer import Setting
from tests.distributed.jobs import ROOT, needs_mpi, run_job
from tests.distributed.test_torch_distributed import launch

PROGRAM = ROOT / "project" / "run_gpt.py"
SETTING = Setting(steps=6, batch=2, context=8, layers=1, heads=2, width=8, stories=50)
OPTIONS = [*SETTING.flags(), "--log-every", "2", "--length", "9"]


def without_times(out):
    """The lines of an output without the time that each step took."""
    return [re.sub(r"\d+\.\d+ s", "", line) for line in out.splitlines()]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The checkpoint and the output of a run in one process."""
    path = tmp_path_factory.mktemp("alone") / "run"
    done = subprocess.run([sys.executable, PROGRAM, *OPTIONS, "--checkpoint", path], capture_output=True, text=True, check=True)
    return checkpoint.load(path), without_times(done.stdout)


def check(path, out, alone):
    found, (expected, lines) = checkpoint.load(path), alone
    assert without_times(out) == lines
    assert found.about["step"] == 6
    for name, array in expected.arrays.items():
        np.testing.assert_allclose(found.arrays[name], array, rtol=1e-3, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("processes", [1, 2, 3])  # with three, one has no sequence of a batch
def test_every_number_of_processes_gives_the_same_log_and_weights_over_sockets(tmp_path, processes, alone):
    done = launch(PROGRAM, *OPTIONS, "--distributed", "--checkpoint", tmp_path / "run", processes=processes)
    assert done.returncode == 0, done.stderr
    check(tmp_path / "run", done.stdout, alone)


@needs_mpi
def test_over_mpi_too(tmp_path, alone):
    job = run_job(2, PROGRAM, *OPTIONS, "--distributed", "--checkpoint", tmp_path / "run")
    assert job.status == 0, job.err
    assert job.lines(1) == []
    check(tmp_path / "run", "\n".join(job.lines(0)), alone)


def test_ctrl_c_ends_all_processes_after_the_step(tmp_path):
    path, launcher = tmp_path / "run", [sys.executable, "-m", "minitorch.torch.distributed.run", "--nproc_per_node", "2"]
    endless = [*replace(SETTING, steps=100_000).flags(), "--log-every", "2", "--length", "9"]
    job = subprocess.Popen(
        [*launcher, PROGRAM, *endless, "--distributed", "--checkpoint", path],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while not path.exists() and job.poll() is None:
        time.sleep(0.1)
    os.killpg(job.pid, signal.SIGINT)  # as a terminal does
    _, err = job.communicate(timeout=60)
    assert "run_gpt.py: stopped. " in err
    stopped = checkpoint.load(path)
    assert stopped.about["step"] >= 2
    assert len(stopped.about["losses"]) == stopped.about["step"] % 2
