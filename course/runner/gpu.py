"""Whether a GPU is here, and what a task that needs one runs in where there is none: numba's simulator."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from functools import cache

from course.manifest import Task

SIMULATOR = {"NUMBA_ENABLE_CUDASIM": "1"}
"""What must be in the environment before Python starts, for numba to run every thread of the GPU as a thread of Python."""


@cache
def has_gpu() -> bool:
    """Whether NVIDIA's driver is installed here and sees a GPU; numba, which takes long to load, is not asked."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        count = ctypes.c_int(0)
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    except (OSError, AttributeError):  # no driver, or another library of that name
        return False


def environment(task: Task) -> dict[str, str]:
    """What a process that runs the tests of a task needs in its environment, besides what is there."""
    return dict(SIMULATOR) if task.gpu and not has_gpu() else {}


def simulated(environ: Mapping[str, str]) -> bool:
    """Whether numba would run kernels in its simulator, as it reads the environment."""
    try:
        return int(environ.get("NUMBA_ENABLE_CUDASIM", "0")) != 0
    except ValueError:
        return False
