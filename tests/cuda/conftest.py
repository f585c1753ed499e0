"""The tests of the GPU backend run on a GPU, in numba's simulator, or not at all; a line at the end says which.

`make test-cuda-sim` runs them in the simulator, which must be chosen before Python starts.
"""

from pathlib import Path

import pytest

from course.runner.gpu import has_gpu
from minitorch import cuda_backend
from minitorch.kernels.cuda import device as cuda_device

from .machine import in_turns

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def cuda():
    """The GPU backend."""
    return cuda_backend()


@pytest.fixture(autouse=True, scope="session")
def watched():
    """In the simulator, run threads in turns and check their accesses to shared memory."""
    if not cuda_device.SIMULATED:
        yield
        return
    with in_turns():
        yield


def where():
    """Where the kernels run."""
    return "in the simulator" if cuda_device.SIMULATED else f"on a GPU ({cuda_device.device_name()})"


def not_run():
    """Why the kernels cannot run here, and what to do."""
    if not has_gpu():
        return "NOT RUN: no NVIDIA GPU here; make test-cuda-sim runs this in the simulator"
    problem = f" ({cuda_device.problem()})" if cuda_device.problem() else ""
    return (
        f"NOT RUN: an NVIDIA GPU is here, but numba cannot use it{problem}; install CUDA's compilers with "
        "pip install -r requirements.cuda.txt, or set NUMBA_ENABLE_CUDASIM=1 for the simulator"
    )


def pytest_collection_modifyitems(items):
    if not cuda_device.available():
        for item in items:
            if item.path.parent == HERE:
                item.add_marker(pytest.mark.skip(reason=not_run()))


def pytest_terminal_summary(terminalreporter):
    """Print one line with the verdict."""
    counts = {
        kind: sum("cuda/" in report.nodeid for report in terminalreporter.getreports(kind)) for kind in ("passed", "failed", "skipped")
    }
    if any(counts.values()):
        terminalreporter.section("CUDA")
    if counts["passed"] or counts["failed"]:
        terminalreporter.write_line(f"{counts['passed']} PASS, {counts['failed']} FAIL {where()}")
    if counts["skipped"]:
        other = "a GPU" if cuda_device.SIMULATED else "the simulator"
        reason = f"NOT RUN: only {other} can" if cuda_device.available() else not_run()
        terminalreporter.write_line(f"{counts['skipped']} {reason}")
