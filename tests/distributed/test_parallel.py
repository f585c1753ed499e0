"""DistributedDataParallel: several processes on shards get the parameters of one process on the whole batch."""

import numpy as np

import minitorch
from minitorch import nn
from minitorch.nn.parallel import DistributedDataParallel, _assign
from tests.errors import raises

from .jobs import needs_mpi, run_job

EQUAL = 1e-12


def check_equality(processes, first_seed, configurations):
    job = run_job(processes, "parallel.py", first_seed, configurations, timeout=600)
    results = [job.results(rank) for rank in range(processes)]
    assert len(results[0]) == configurations
    for seed, (difference, description, checksum) in results[0].items():
        assert difference <= EQUAL, description
        assert [each[seed][2] for each in results] == [checksum] * processes, f"the ranks have different parameters: {description}"


@needs_mpi
def test_two_processes_train_as_one():
    check_equality(2, 1, 2)


# One process


def test_in_one_process_the_module_is_only_called(alone):
    model = nn.Linear(2, 1, dtype=minitorch.float64)
    wrapped = DistributedDataParallel(model)
    x = minitorch.tensor([[1.0, 2.0], [3.0, 5.0]], minitorch.FastBackend)
    wrapped(x).mean().backward()
    assert model.weight.value.grad.tolist() == [[2.0, 3.5]]
    assert model.weight.value._hooks is None
    assert np.array_equal(wrapped(x).to_numpy(), model(x).to_numpy())


def test_the_names_of_the_state_begin_with_module(alone):
    wrapped = DistributedDataParallel(nn.Linear(2, 1))
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    assert repr(wrapped).startswith("DistributedDataParallel(\n  processes=1\n  (module): Linear(")


def test_wrong_arguments_are_refused(alone):
    with raises(TypeError, "DistributedDataParallel expected a Module, got list; pass the model itself"):
        DistributedDataParallel([])  # type: ignore[arg-type]
    with raises(ValueError, "DistributedDataParallel expected bucket_cap_mb > 0, got 0; 25 is a good start"):
        DistributedDataParallel(nn.Linear(1, 1), bucket_cap_mb=0)


def test_a_group_is_needed():
    expected = "DistributedDataParallel expected a process group, got none; call minitorch.distributed.init_process_group() first"
    with raises(RuntimeError, expected):
        DistributedDataParallel(nn.Linear(1, 1))


def test_buckets_hold_the_last_parameters_first_up_to_their_size():
    def sizes(*counts, dtype="float64"):
        return [minitorch.zeros((count,), dtype=dtype) for count in counts]

    assert _assign(sizes(1, 1, 1), 16) == [[2, 1], [0]]
    assert _assign(sizes(1, 1, 1), 15) == [[2], [1], [0]]
    assert _assign(sizes(5, 1), 8) == [[1], [0]]  # one that is larger than a bucket has its own
    assert _assign(sizes(1, 1) + sizes(1, dtype="float16") + sizes(1, dtype="float32"), 100) == [[3, 2], [1, 0]]  # one dtype each
    assert _assign([], 16) == []
