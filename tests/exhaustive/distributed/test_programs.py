"""The programs that train in several processes: the same result for any number, and resuming after a job was killed."""

import re

import numpy as np
import pytest

from minitorch import distributed
from project import run_mnist_multiclass
from tests.distributed.jobs import ROOT, needs_mpi, run_job
from tests.distributed.test_programs import arrays

OPTIONS = ["--epochs", "3", "--dtype", "float64", "--batch", "9", "--limit", "37"]  # the last batch of an epoch is one image


EXAMPLE = ROOT / "project" / "distributed_example.py"


def check_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-12, err_msg=name)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The checkpoint of a run in one process without --distributed, and its log without times."""
    path = tmp_path_factory.mktemp("alone") / "run"
    job = run_job(1, "images.py", 0, *OPTIONS, "--checkpoint", path)
    return arrays(path), without_times(job.lines(0))


def without_times(lines):
    return [re.sub(r"\d+\.\d\d? s|\(\d\.\d+ s an epoch\)|Compiling.*", "", line).strip() for line in lines if "Resuming" not in line]


@needs_mpi
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_the_digits_give_the_same_weights_and_log_for_every_number_of_processes(processes, alone, tmp_path):
    job = run_job(processes, "images.py", 0, *OPTIONS, "--distributed", "--checkpoint", tmp_path / "run")
    assert job.status == 0
    assert without_times(job.lines(0)) == alone[1]
    assert [job.lines(rank) for rank in range(1, processes)] == [[]] * (processes - 1)  # rank 0 alone logs
    check_equal(arrays(tmp_path / "run"), alone[0])


@needs_mpi
def test_a_killed_job_resumes_with_another_number_of_processes(alone, tmp_path):
    path = tmp_path / "run"
    killed = run_job(2, "images.py", 8, *OPTIONS, "--distributed", "--checkpoint", path)
    assert killed.status == 9
    assert killed.err == "run: signal 9 (Killed) ended rank 1; all processes have ended\n"
    resumed = run_job(3, "images.py", 0, "--distributed", "--checkpoint", path, "--resume")
    assert resumed.lines(0)[0] == "Resuming after epoch 1, step 0 of 5."
    assert without_times(killed.lines(0) + resumed.lines(0)) == alone[1]
    check_equal(arrays(path), alone[0])


@needs_mpi
def test_the_example_learns_and_resumes_with_another_number_of_processes(tmp_path):
    path = tmp_path / "digits.safetensors"
    whole = run_job(2, EXAMPLE, "--epochs", 3).lines(0)
    begun = run_job(2, EXAMPLE, "--epochs", 2, "--checkpoint", path)
    resumed = run_job(4, EXAMPLE, "--epochs", 3, "--checkpoint", path)
    assert begun.lines(0) == [line.replace("/3", "/2") for line in whole[:2]]
    (last,) = resumed.lines(0)
    loss, valid = map(float, re.fullmatch(r"epoch 3/3  loss (\d\.\d{4})  valid (\d+\.\d\d)%  on 4 processes", last).groups())
    assert loss == pytest.approx(float(whole[2].split()[3]), abs=2e-3)  # the shards of the last batch are padded differently
    assert valid > 90
    assert all(job.lines(rank) == [] for job in (begun, resumed) for rank in (1, 2, 3))


def test_without_mpi_distributed_is_one_process(capsys):
    try:
        assert run_mnist_multiclass.main(["--distributed", "--epochs", "1", "--limit", "8"]) == 0
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()
    assert re.match(r"epoch 1/1  loss \d\.\d{4}  train .*\n1 of 1 epochs in ", capsys.readouterr().out)
