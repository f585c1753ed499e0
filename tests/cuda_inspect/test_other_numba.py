"""The inspection in numba's simulator, and where numba.cuda cannot be imported: in processes of their own."""

import os
import subprocess
import sys

from course.manifest import ROOT

SIMULATOR = """
import numpy as np
from numba import cuda
from minitorch import cuda_ops, operators
from minitorch.cuda import inspect_kernel
from minitorch.kernels.cuda.device import SIMULATED, number_function

assert SIMULATED
a = np.linspace(-1.0, 1.0, 20)
kernel = cuda_ops.tensor_map(number_function(operators.sigmoid))
report = inspect_kernel(kernel, 3, 8, np.zeros(20), (20,), (1,), 20, a, (20,), (1,))
assert report.findings == []
np.testing.assert_allclose(report.arrays["out"], 1 / (1 + np.exp(-a)), rtol=1e-12)
"""

LIMITS = """
import numpy as np
from numba import cuda, float64
from minitorch.kernels.cuda.device import jit, launch

def constant(out):
    cuda.shared.array(cuda.blockDim.x, float64)

def shared(out):
    a, b = cuda.shared.array(6000, float64), out
    c = cuda.shared.array(6000, float64)

def local(out):
    cuda.local.array(70000, float64)

def right(out):
    a, b = cuda.shared.array(6000, float64), cuda.local.array(60000, float64)
    out[cuda.grid(1)] = 1

for kernel, grid, block in [(constant, 1, 2), (shared, 1, 1), (local, 1, 1), (right, 1, (2, 1, 65)), (right, (1, 65536), 1), (right, 0, 1)]:
    try:
        launch(jit(kernel), grid, block, np.zeros(4))
    except ValueError as error:
        print(error)
out = np.zeros(4)
launch(jit(right), 2, 2, out)
assert out.tolist() == [1, 1, 1, 1]
"""

WITHOUT = """
import sys
sys.modules["numba.cuda"] = None
import numpy as np
from minitorch import cuda_ops
from minitorch.cuda import inspect_kernel

assert cuda_ops.cuda is None
report = inspect_kernel(cuda_ops._sum_practice, 2, 32, np.zeros(2), np.arange(40.0), 40)
assert report.findings == []
assert report.arrays["out"].tolist() == [sum(range(32)), sum(range(32, 40))]
"""


def run(program, simulator):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": simulator, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_a_kernel_of_the_simulator_is_inspected_with_the_functions_that_it_wraps():
    done = run(SIMULATOR, "1")
    assert done.returncode == 0, done.stderr


def test_neither_numba_cuda_nor_a_gpu_is_needed():
    done = run(WITHOUT, "0")
    assert done.returncode == 0, done.stderr


def test_the_simulator_has_the_limits_of_a_gpu_and_its_compiler():
    done = run(LIMITS, "1")
    assert done.returncode == 0, done.stderr
    problems = done.stdout.splitlines()
    assert len(problems) == 6
    for problem, part in zip(
        problems,
        [
            "expected a size that is known when the kernel is compiled",
            "the shared arrays of a block expected at most 49152 bytes, got 96000; use smaller tiles",
            "the local arrays of a thread expected at most 524288 bytes, got 560000; use smaller tiles",
            "block expected at most 1024 threads and 64 along z, got (2, 1, 65): 130 threads; use more blocks",
            "grid expected at most 2147483647 blocks along x and 65535 along y and z, got (1, 65536, 1); ",
            "grid expected sizes of at least 1, got (0, 1, 1); ",
        ],
        strict=True,
    ):
        assert part in problem
