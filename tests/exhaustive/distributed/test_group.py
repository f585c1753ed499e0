"""The process group, in one process and in jobs that do not fit."""

import subprocess
import sys

from tests.distributed.jobs import needs_mpi, run_job


@needs_mpi
def test_plain_mpiexec_works_too_and_ends_at_an_exception(tmp_path):
    from minitorch.distributed.run import find_mpiexec

    source = [
        "from minitorch import distributed as d",
        "d.init_process_group(20)",
        "if d.get_rank(): raise ValueError('fails')",
        "d.barrier()",
    ]
    (tmp_path / "plain.py").write_text("\n".join(source))
    line = [find_mpiexec(), "-n", "2", sys.executable, str(tmp_path / "plain.py")]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "ValueError: fails" in done.stderr.splitlines()
    assert "expected all 2 processes" not in done.stderr  # the other did not have to wait


@needs_mpi
def test_one_process_under_mpiexec_is_a_group_of_one():
    job = run_job(1, "collectives.py")
    assert job.results(0)["rank"] == [0, 1, 0]
    assert job.results(0)["sum"] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
