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
