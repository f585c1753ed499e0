"""torch.distributed against PyTorch's own, and over MPI."""

import json
import subprocess
import sys

import pytest

from course.manifest import ROOT
from tests.distributed.jobs import PROGRAMS, needs_mpi, run_job
from tests.distributed.test_torch_distributed import free_port, launch, variables

PROGRAM = PROGRAMS / "torch_calls.py"


def results(folder):
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def by_hand(library, folder, *arguments):
    """Run the program in two processes without a launcher."""
    folder.mkdir()
    port, command = free_port(), [sys.executable, str(PROGRAM), library, str(folder), *arguments]
    processes = [subprocess.Popen(command, cwd=ROOT, env=variables(rank, port) | {"PYTHONPATH": path()}) for rank in range(2)]
    assert [process.wait(timeout=200) for process in processes] == [0, 0]
    return results(folder)


def path():
    return ":".join([str(ROOT), *sys.path])


def close(ours, theirs):
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return abs(ours - theirs) <= 1e-12 * max(1.0, abs(theirs)) if isinstance(theirs, float) else ours == theirs


def test_every_call_gives_what_pytorch_gives(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    ours, theirs = by_hand("minitorch.torch", tmp_path / "ours"), by_hand("torch", tmp_path / "theirs")
    for rank in range(2):
        assert ours[rank].keys() == theirs[rank].keys()
        assert [name for name in theirs[rank] if not close(ours[rank][name], theirs[rank][name])] == []


@needs_mpi
def test_mpi_gives_what_sockets_give(tmp_path):
    job = run_job(2, PROGRAM, "minitorch.torch", tmp_path, timeout=200)
    assert job.status == 0, job.err
    (tmp_path / "sockets").mkdir()
    done = launch(PROGRAM, "minitorch.torch", tmp_path / "sockets", f"file://{tmp_path}/meeting?world_size=2", timeout=200)
    assert done.returncode != 0  # a file says nothing about ranks
    assert launch(PROGRAM, "minitorch.torch", tmp_path / "sockets", timeout=200).returncode == 0
    assert results(tmp_path) == results(tmp_path / "sockets")
