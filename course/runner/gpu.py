"""Detect a GPU; without one, the tests of GPU tasks run in numba's simulator."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from functools import cache

from course.manifest import Task

SIMULATOR = {"NUMBA_ENABLE_CUDASIM": "1"}
"""Environment variables that make numba simulate a GPU; they must be set before Python imports numba."""


@cache
def has_gpu() -> bool:
    """Whether NVIDIA's driver is installed and finds a GPU. Does not import numba, which takes seconds."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        count = ctypes.c_int(0)
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    except (OSError, AttributeError):  # no driver, or another library of that name
        return False


def environment(task: Task) -> dict[str, str]:
    """The additional environment variables for a process that runs the tests of a task."""
    return dict(SIMULATOR) if task.gpu and not has_gpu() else {}


def simulated(environ: Mapping[str, str]) -> bool:
    """Whether numba simulates the GPU in this environment."""
    try:
        return int(environ.get("NUMBA_ENABLE_CUDASIM", "0")) != 0
    except ValueError:
        return False
