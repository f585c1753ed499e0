"""Task 6.10 in several real processes, over sockets and over MPI."""

import numpy as np
import pytest

from minitorch import manual_seed, tensor
from minitorch.language.model import GPT2, cross_entropy
from tests.distributed.jobs import PROGRAMS, needs_mpi, run_job
from tests.distributed.test_torch_distributed import launch

PROGRAM = PROGRAMS / "machines.py"


def check(folder, processes):
    """Compare what each process has found with sums by NumPy, and with the gradients of the whole model."""
    found = [dict(np.load(folder / f"{rank}.npz")) for rank in range(processes)]
    for each in found[1:]:
        assert all(each[name].tobytes() == found[0][name].tobytes() for name in each if name != "loss")
    for size in (0, 1, 2, 7, 100_000):
        arrays = [np.random.default_rng((rank, size)).normal(size=size) for rank in range(processes)]
        np.testing.assert_allclose(found[0][f"sum of {size}"], np.sum(arrays, 0), rtol=1e-12, atol=1e-12)
    assert found[0]["whole"].dtype == np.int32
    assert found[0]["whole"].tolist() == [[processes * (processes + 1) // 2, 0]]
    manual_seed(0)
    model = GPT2(5, 4, 2, 1, 4)
    tokens, targets = (tensor(np.random.default_rng(seed).integers(0, 5, (5, 4))) for seed in (1, 2))
    loss = cross_entropy(model(tokens), targets)
    loss.backward()
    assert [float(each["loss"]) for each in found] == pytest.approx([0.0] * (processes - 1) + [loss.item()])
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(found[0][name], parameter.value.grad.to_numpy(), rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("processes", [1, 3])
def test_processes_over_sockets(tmp_path, processes):
    done = launch(PROGRAM, tmp_path, processes=processes)
    assert done.returncode == 0, done.stderr
    check(tmp_path, processes)


@needs_mpi
@pytest.mark.parametrize("processes", [1, 3])
def test_processes_over_mpi(tmp_path, processes):
    job = run_job(processes, PROGRAM, tmp_path)
    assert job.status == 0, job.err
    check(tmp_path, processes)
