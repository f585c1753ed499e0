"""What goes wrong in one process is an error on every rank within seconds, and the job ends."""

import time

import pytest

from tests.distributed.jobs import needs_mpi, run_job
from tests.distributed.test_faults import check_both, check_mismatch, errors

pytestmark = needs_mpi


LIMIT = 4
"""Seconds that faults.py waits for other processes."""


def check_one(fault, line):
    """Rank 0 ends with an error, rank 1 without."""
    job, _ = errors(fault)
    assert job.errors(0).splitlines()[-1] == line
    assert job.errors(1) == ""


@pytest.mark.parametrize(
    ("fault", "op", "left", "right"),
    [
        ("dtype", "broadcast", "broadcast(shape (2,), float64, src=0)", "broadcast(shape (2,), float32, src=0)"),
        ("model", "D", "first.weight of shape (2, 2), float32, trained", "first.weight of shape (3, 2), float32, trained"),
        ("names", "D", "layer.weight of shape (2, 2), float32, trained", "other.weight of shape (2, 2), float32, trained"),
        ("number of parameters", "D", "1 parameters and buffers", "2 parameters and buffers"),
    ],
)
def test_other_dtypes_and_parameters_are_named_on_every_rank(fault, op, left, right):
    check_mismatch(fault, "DistributedDataParallel" if op == "D" else op, left, right)


def test_another_operation_is_named_on_every_rank():
    job, _ = errors("operation")
    for rank, op in enumerate(("all_gather", "barrier")):
        assert job.errors(rank).splitlines()[-4:] == [
            f"RuntimeError: {op} expected the same call on every rank, got",
            "  rank 0: all_gather(shape (3, 2), float32)",
            "  rank 1: barrier()",
            "make the program do the same on every rank",
        ]


@pytest.mark.parametrize(
    ("fault", "missing"),
    [
        ("unused on one rank", ["  rank 1: second.bias, second.weight"]),
        ("unused on all ranks", ["  rank 0: second.bias, second.weight", "  rank 1: second.bias, second.weight"]),
        ("penalty first", ["  rank 0: first.weight", "  rank 1: first.weight"]),
    ],
)
def test_parameters_without_gradients_are_named_on_every_rank(fault, missing):
    check_both(
        fault,
        "RuntimeError: DistributedDataParallel expected a gradient for every parameter, got none from backward for",
        *missing,
        "use all of them in forward and in the loss, pass find_unused_parameters=True, or freeze them with requires_grad_(False); "
        "add a penalty after the loss: loss + penalty",
    )


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "twice",
            "RuntimeError: DistributedDataParallel expected calls with equally many examples before one backward pass, got 2 and 3; "
            "call backward() after each, or pass batch_dim=None",
        ),
        (
            "create_graph",
            "RuntimeError: DistributedDataParallel expected backward() without create_graph=True; differentiate twice through its `module`",
        ),
        (
            "grad",
            "RuntimeError: DistributedDataParallel expected the last backward pass to end, but it stopped after 1 of 4 parameters; "
            "call backward() on a loss computed from the output, not minitorch.grad",
        ),
        (
            "no tensor",
            "TypeError: DistributedDataParallel expected a first input with examples in dimension 0, got no tensor; "
            "pass batch_dim=None to weight all ranks equally",
        ),
        (
            "scalar",
            "TypeError: DistributedDataParallel expected a first input with examples in dimension 0, got shape (); "
            "pass batch_dim=None to weight all ranks equally",
        ),
    ],
)
def test_a_use_that_cannot_be_averaged_is_an_error(fault, message):
    check_both(fault, message)


def timed_out(op, rank):
    return (
        f"RuntimeError: {op} on rank {rank} expected all 2 processes to take part within {LIMIT} s, but some did not; "
        "one may have ended or stopped early, so look at its output, or pass a longer timeout to init_process_group"
    )


@pytest.mark.parametrize(("fault", "op"), [("exit", "barrier"), ("no backward", "the average of the gradients")])
def test_a_rank_that_ends_early_is_an_error_on_the_others_after_the_time_limit(fault, op):
    start = time.monotonic()
    check_one(fault, timed_out(op, 0))
    assert time.monotonic() - start < 10 * LIMIT


def test_a_rank_that_leaves_out_a_call_is_an_error_at_the_next_one():
    job, _ = errors("count")
    assert job.errors(0).splitlines()[-3:-1] == ["  rank 0: barrier()", "  rank 1: DistributedDataParallel(TwoLayers)"]


def test_a_rank_with_other_frozen_parameters_is_an_error():
    job = run_job(2, "faults.py", "frozen", timeout=60)
    assert job.errors(0).splitlines()[-1] == timed_out("the average of the gradients", 0)
    assert job.errors(1).splitlines()[-1] == timed_out("DistributedDataParallel", 1)


@pytest.mark.parametrize("fault", ["killed", "killed in backward"])
def test_a_rank_that_is_killed_ends_the_job(fault):
    job, own = errors(fault)
    assert job.status == 9
    assert own == "run: signal 9 (Killed) ended rank 1; all processes have ended"


def test_an_exception_on_one_rank_ends_the_job_with_its_traceback():
    job, own = errors("exception")
    lines = job.errors(1).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].startswith('  File "')
    assert 'faults.py", line' in lines[1]  # the program's own first line, not the launcher's
    assert lines[-1] == "ValueError: rank 1 fails"
    assert job.errors(0) == ""
    assert own == "run: a process failed with exit status 1, see its output above; all processes have ended"


def test_an_exit_status_of_one_rank_is_that_of_the_job():
    job, own = errors("status")
    assert job.status == 7
    assert own == "run: a process failed with exit status 7, see its output above; all processes have ended"
