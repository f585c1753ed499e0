"""A machine without a GPU: the errors of the cuda backend, and its tests are reported as not run."""

import os
import subprocess
import sys

import pytest

from minitorch.kernels.cuda import device as cuda_device
from tests.test_cuda_missing import ROOT


@pytest.mark.skipif(cuda_device.available(), reason="there is a GPU here, or the simulator")
def test_gpu_tests_are_reported_as_not_run():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/cuda/test_cuda_storage.py"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NUMBA_ENABLE_CUDASIM": "0"})
    assert run.returncode == 0
    assert "passed" not in run.stdout
    assert "NOT RUN: no NVIDIA GPU here; make test-cuda-sim runs this in the simulator" in run.stdout
