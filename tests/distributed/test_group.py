"""The process group, in one process and in jobs that do not fit."""

import builtins
import subprocess
import sys

import pytest

import minitorch
from minitorch import distributed
from minitorch.distributed import group, staging

from .jobs import needs_mpi


@pytest.fixture
def alone():
    distributed.init_process_group()
    yield
    distributed.destroy_process_group()


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


@pytest.mark.parametrize(
    "function",
    [
        distributed.get_rank, distributed.get_world_size, distributed.get_local_rank, distributed.barrier,
        distributed.destroy_process_group,
    ],
)  # fmt: skip
def test_without_a_group_there_is_an_error(function):
    expected = rf"^{function.__name__} expected a process group, got none; call minitorch\.distributed\.init_process_group\(\) first$"
    with pytest.raises(RuntimeError, match=expected):
        function()


def test_a_second_group_is_refused(alone):
    expected = r"^init_process_group expected to be called once, but the group exists; call destroy_process_group\(\) first$"
    with pytest.raises(RuntimeError, match=expected):
        distributed.init_process_group()


@pytest.mark.parametrize("timeout", ["5", None, True])
def test_a_timeout_is_a_number(timeout):
    with pytest.raises(
        TypeError, match=rf"^init_process_group expected timeout in seconds, got {timeout!r}; pass a number such as 300\.0$"
    ):
        distributed.init_process_group(timeout)


@pytest.mark.parametrize("timeout", [0, -1.5, float("inf"), float("nan")])
def test_a_timeout_is_positive_and_finite(timeout):
    expected = rf"^init_process_group expected a finite timeout > 0 seconds, got {timeout}; a day is 86400\.0$"
    with pytest.raises(ValueError, match=expected):
        distributed.init_process_group(timeout)


def test_a_job_without_mpi4py_is_an_error_with_the_remedy(monkeypatch):
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setattr(group, "_mpi", lambda: builtins.__import__("no_such_module"))
    expected = (
        r"^init_process_group expected mpi4py in a job of several processes, got ModuleNotFoundError: No module named 'no_such_module'; "
        r"install it: pip install -r requirements\.distributed\.txt$"
    )
    with pytest.raises(RuntimeError, match=expected):
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
    expected = r"^DistributedSampler expected a process group, got none; call minitorch\.distributed\.init_process_group\(\) first$"
    for numbers in ({}, {"num_replicas": 1}, {"rank": 0}):
        with pytest.raises(RuntimeError, match=expected):
            minitorch.data.DistributedSampler(range(3), **numbers)


# Arguments of collective operations


def test_a_parameter_is_not_a_tensor(alone):
    parameter = minitorch.Parameter(minitorch.zeros((1,)))
    for function in (distributed.broadcast, distributed.all_reduce, distributed.all_gather):
        expected = rf"^{function.__name__} expected a Tensor, got Parameter; of a Parameter, pass its value$"
        with pytest.raises(TypeError, match=expected):
            function(parameter)


@pytest.mark.parametrize("src", [-1, 1, 0.0, None])
def test_a_source_is_a_rank(alone, src):
    with pytest.raises(ValueError, match=rf"^broadcast expected src from 0 to 0, got {src}; ranks count from 0$"):
        distributed.broadcast(minitorch.zeros((1,)), src)


def test_an_unknown_reduction_is_refused(alone):
    expected = r"^all_reduce expected op to be 'sum' or 'mean', got 'max'; divide or compare gathered tensors for others$"
    with pytest.raises(ValueError, match=expected):
        distributed.all_reduce(minitorch.zeros((1,)), "max")


@pytest.mark.parametrize(
    ("dtype", "op", "message"),
    [
        ("bool", "sum", r"expected numbers for a sum, got bool; convert: x\.to\(minitorch\.int64\)"),
        ("bool", "mean", r"expected floats for a mean, got bool; convert: x\.double\(\)"),
        ("int64", "mean", r"expected floats for a mean, got int64; convert: x\.double\(\)"),
    ],
)
def test_a_dtype_without_the_reduction_is_refused(alone, dtype, op, message):
    with pytest.raises(TypeError, match=rf"^all_reduce {message}$"):
        distributed.all_reduce(minitorch.zeros((2,), dtype=dtype), op)


# GPUs


@pytest.mark.parametrize(("gpus", "selected"), [(0, []), (1, []), (2, [1]), (4, [3])])
def test_each_process_of_a_machine_gets_its_own_gpu(monkeypatch, gpus, selected):
    class Cuda:
        def __init__(self):
            self.gpus, self.selected = range(gpus), []

        def select_device(self, number):
            self.selected.append(number)

    cuda = Cuda()
    monkeypatch.setattr(staging, "cuda", cuda)
    monkeypatch.setattr(staging, "available", lambda: gpus > 0)
    staging.select_device(3)
    assert cuda.selected == selected
