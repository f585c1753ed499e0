"""What goes wrong in one process is an error on every rank within seconds, and the job ends."""

from .jobs import needs_mpi, run_job

pytestmark = needs_mpi


def errors(fault):
    """The last lines of the errors of both ranks, and the launcher's own line."""
    job = run_job(2, "faults.py", fault, timeout=60)
    assert job.status != 0
    assert not any("trained" in job.lines(rank) for rank in range(2))
    (own,) = [line for line in job.err.splitlines() if not line.startswith("[rank ")]
    return job, own


def check_both(fault, *lines):
    """Both ranks end with an error of these lines."""
    job, own = errors(fault)
    for rank in range(2):
        assert job.errors(rank).splitlines()[-len(lines) :] == list(lines)
    assert own == "run: a process failed with exit status 1, see its output above; all processes have ended"


def check_mismatch(fault, op, left, right):
    check_both(
        fault,
        f"RuntimeError: {op} expected the same call on every rank, got",
        f"  rank 0: {left}",
        f"  rank 1: {right}",
        "make the program do the same on every rank",
    )


def test_other_shapes_are_named_on_every_rank():
    check_mismatch("shape", "all_reduce", "all_reduce(shape (2, 3), float64, op=sum)", "all_reduce(shape (3, 3), float64, op=sum)")
