"""Numba's diagnostics of a kernel's loops, for the textbook kernels and for faulty ones."""

import os
import subprocess
import sys
from pathlib import Path

from project import parallel_check
from project.lab.explorers.diagnostics import PARALLEL, examine
from tests.project.test_parallel_check import fates_of

PROGRAM = Path(parallel_check.__file__)


def test_the_outer_loop_of_the_matrix_product_is_parallel_and_allocates_nothing():
    report = examine("matmul")
    assert report.parallel
    assert set(fates_of(report)) == {("for i in prange(out_shape[1]):", PARALLEL)}  # once for each dtype compiled so far
    assert not any(loop.allocations for each in report.compiled for loop in each.loops)


def test_loops_that_compute_indices_allocate_arrays_in_every_iteration():
    report = examine("map")
    assert (report.parallel, report.problem) == (True, "")
    (kernel,) = report.compiled
    aligned, other = kernel.loops
    assert (kernel.name, kernel.file) == ("_map", "minitorch/fast_ops.py")
    assert (aligned.fate, aligned.allocations) == (PARALLEL, ())
    assert (other.fate, other.source) == (PARALLEL, "for i in prange(len(out)):")
    assert other.allocations == (other.line + 1, other.line + 2)  # out_index and in_index
    assert "Parallel loop listing" in report.raw


def test_without_the_compiler_the_program_says_what_to_do(tmp_path):
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(PROGRAM.parent.parent)}
    done = subprocess.run([sys.executable, str(PROGRAM)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    message = "parallel_check.py: expected the compiler to be on, got NUMBA_DISABLE_JIT=1; unset it\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
