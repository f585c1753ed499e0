"""The process group, in one process and in jobs that do not fit."""

import builtins
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import minitorch
from minitorch import distributed
from minitorch.distributed import group, staging
from tests.errors import raises

from .jobs import needs_mpi


def test_a_program_alone_is_a_group_of_one(alone):
    assert distributed.is_initialized()
    assert (distributed.get_rank(), distributed.get_world_size(), distributed.get_local_rank()) == (0, 1, 0)
    x = minitorch.tensor([1.0, 2.0])
    assert distributed.all_reduce(x) is x
    assert distributed.all_reduce(x, "mean").tolist() == [1.0, 2.0]
    assert distributed.broadcast(x).tolist() == [1.0, 2.0]
    (gathered,) = distributed.all_gather(x)
    x[0] = 5.0
    assert gathered.tolist() == [1.0, 2.0]  # a copy
    distributed.barrier()


def test_a_program_alone_does_not_import_mpi4py():
    source = "import sys, minitorch.distributed as d; d.init_process_group(); d.barrier(); print('mpi4py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_group_ends_and_can_begin_again():
    for _ in range(2):
        assert not distributed.is_initialized()
        distributed.init_process_group(timeout=1)
        assert distributed.is_initialized()
        distributed.destroy_process_group()
    assert not distributed.is_initialized()


@pytest.mark.parametrize("name", ["get_rank", "get_world_size", "get_local_rank", "barrier", "destroy_process_group"])
def test_without_a_group_there_is_an_error(name):
    with raises(RuntimeError, f"{name} expected a process group, got none; call minitorch.distributed.init_process_group() first"):
        getattr(distributed, name)()


def test_a_job_without_mpi4py_is_an_error_with_the_remedy(monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setattr(group, "_mpi", lambda: builtins.__import__("no_such_module"))
    with raises(
        RuntimeError,
        "init_process_group expected mpi4py in a job of several processes, got ModuleNotFoundError: No module named 'no_such_module'; "
        "install it: pip install -r requirements.distributed.txt",
    ):
        distributed.init_process_group()
    assert not distributed.is_initialized()


@needs_mpi
def test_an_mpiexec_of_another_mpi_is_an_error():
    """Then every process believes to be alone. mpiexec of Open MPI sets OMPI_COMM_WORLD_SIZE."""
    source = "import os; os.environ['OMPI_COMM_WORLD_SIZE'] = '3'; import minitorch.distributed as d; d.init_process_group()"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "RuntimeError: init_process_group expected 3 processes as mpiexec said, got 1: mpiexec belongs to another MPI than mpi4py's; "
        "start the program with python -m minitorch.distributed.run"
    )


def test_a_sampler_takes_its_share_from_the_group(alone):
    assert list(minitorch.data.DistributedSampler(range(3), shuffle=False)) == [0, 1, 2]


def test_a_sampler_without_numbers_needs_a_group():
    for numbers in ({}, {"num_replicas": 1}, {"rank": 0}):
        with raises(
            RuntimeError, "DistributedSampler expected a process group, got none; call minitorch.distributed.init_process_group() first"
        ):
            minitorch.data.DistributedSampler(range(3), **numbers)


# Arguments


ONE, TWO_BOOLS, TWO_INTEGERS = (minitorch.zeros((n,), dtype=dtype) for n, dtype in ((1, "float64"), (2, "bool"), (2, "int64")))
PARAMETER = minitorch.Parameter(ONE)


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        (distributed.broadcast, (PARAMETER,), TypeError, "expected a Tensor, got Parameter; of a Parameter, pass its value"),
        (distributed.all_reduce, (PARAMETER,), TypeError, "expected a Tensor, got Parameter; of a Parameter, pass its value"),
        (distributed.all_gather, (PARAMETER,), TypeError, "expected a Tensor, got Parameter; of a Parameter, pass its value"),
        *(
            (distributed.broadcast, (ONE, src), ValueError, f"expected src from 0 to 0, got {src}; ranks count from 0")
            for src in (-1, 1, 0.0, None)
        ),
        (
            distributed.all_reduce, (ONE, "max"), ValueError,
            "expected op to be 'sum' or 'mean', got 'max'; divide or compare gathered tensors for others",
        ),
        (distributed.all_reduce, (TWO_BOOLS, "sum"), TypeError, "expected numbers for a sum, got bool; convert: x.to(minitorch.int64)"),
        (distributed.all_reduce, (TWO_BOOLS, "mean"), TypeError, "expected floats for a mean, got bool; convert: x.double()"),
        (distributed.all_reduce, (TWO_INTEGERS, "mean"), TypeError, "expected floats for a mean, got int64; convert: x.double()"),
        (
            distributed.init_process_group, (), RuntimeError,
            "expected to be called once, but the group exists; call destroy_process_group() first",
        ),
    ],
)  # fmt: skip
def test_wrong_arguments_in_a_group_are_refused(alone, function, arguments, error, message):
    with raises(error, f"{function.__name__} {message}"):
        function(*arguments)


@pytest.mark.parametrize(
    ("error", "timeouts", "message"),
    [
        (TypeError, ["5", None, True], "expected timeout in seconds, got {!r}; pass a number such as 300.0"),
        (ValueError, [0, -1.5, float("inf"), float("nan")], "expected a finite timeout > 0 seconds, got {}; a day is 86400.0"),
    ],
)
def test_a_timeout_is_a_positive_and_finite_number(error, timeouts, message):
    for timeout in timeouts:
        with raises(error, f"init_process_group {message.format(timeout)}"):
            distributed.init_process_group(timeout)


# GPUs


@pytest.mark.parametrize(("gpus", "selected"), [(0, []), (1, []), (2, [1]), (4, [3])])
def test_each_process_of_a_machine_gets_its_own_gpu(monkeypatch, gpus, selected):
    found = []
    monkeypatch.setattr(staging, "cuda", SimpleNamespace(gpus=range(gpus), select_device=found.append))
    monkeypatch.setattr(staging, "available", lambda: gpus > 0)
    staging.select_device(3)
    assert found == selected


class Late:
    """A request that is complete at the third look."""

    looks = 0

    def Test(self):
        self.looks += 1
        return self.looks > 2


class Loop(group.ProcessGroup):
    """A process that receives what it sends; a message counts as sent only after some time."""

    def __init__(self):
        super().__init__(None, 0, 5.0)
        self.parts, self.requests = [], []

    def start_send(self, elements, dst, tag):
        self.parts.append(elements.view(np.uint8))
        self.requests.append(Late())
        return self.requests[-1]

    def start_receive(self, place, src, tag):
        place.view(np.uint8)[...] = self.parts.pop(0)
        return SimpleNamespace(Test=lambda: True)


def test_arrays_of_any_shape_and_dtype_are_sent_as_copies_and_received_in_order():
    peer = Loop()
    arrays = [np.arange(6.0).reshape(2, 3), np.zeros((0, 2), np.float32), np.array(True), np.arange(4)[::2], np.arange(6).reshape(2, 3).T]
    for array in arrays:
        peer.send(array, 0)
    before = [array.copy() for array in arrays]
    arrays[0][:] = 9
    for array in before:
        received = peer.receive(0)
        assert received.dtype == array.dtype
        np.testing.assert_array_equal(received, array, strict=True)
        received[...] = 0  # may be written


def test_a_process_leaves_after_its_messages_are_delivered():
    peer = Loop()
    peer.send(np.ones(2), 0)
    for _ in range(3):  # a later send forgets what is delivered
        peer.send(np.ones(3), 0)
    assert len(peer._sending) < len(peer.requests)
    peer.close()
    assert all(request.looks > 2 for request in peer.requests)
