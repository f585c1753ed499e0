"""What happens before a page needs compiled kernels: a check that they return, and their compilation in the background."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import streamlit as st

from course.manifest import ROOT
from project.lab import sources
from project.lab.training.jobs import Job

LIMIT = 30.0
"""Seconds for the whole check, most of which is the import of the package."""

SWITCH = "MINITORCH_COMPILE_IN_BACKGROUND"
"""An environment variable; if it is 0, nothing is compiled in the background."""

FEWEST = 27
"""Compiled kernels on disk with which the page on images starts at once."""


def check() -> None:
    """Run each kernel without the compiler, where an endless loop can be interrupted.

    Raises:
        StudentCodeFailed: If a kernel does not return.
    """
    _check(st.session_state.get("sources") or sources.stamp())


@st.cache_data(show_spinner="Checking that your kernels return …", max_entries=4)
def _check(files: sources.Stamp) -> None:
    """Run the check again when a file has changed. A failed check is not cached."""
    from project.lab.training import kernel_check  # here, because it imports the student's code

    Job(kernel_check.PROGRAM, environment={"NUMBA_DISABLE_JIT": "1"}).wait(LIMIT)


@st.cache_resource(show_spinner=False)
def compile_in_background() -> subprocess.Popen[bytes] | None:
    """Start to compile what the training pages need, once, if it is not on disk yet; returns the process, if there is one.

    It has the lowest priority, and ends with the process of the app. A page waits for nothing.
    """
    if os.environ.get(SWITCH) == "0" or os.environ.get("NUMBA_DISABLE_JIT") == "1" or ready():
        return None
    return subprocess.Popen(
        [sys.executable, str(ROOT / "project" / "lab" / "training" / "compile_kernels.py")],
        cwd=ROOT,
        stdin=subprocess.PIPE,  # closed when the app ends, which ends the process
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def ready() -> bool:
    """Return whether enough kernels are on disk for a page to compute without waiting."""
    return compiled() >= FEWEST


def compiled() -> int:
    """Return how many compiled kernels are on disk that are newer than the source of the package."""
    package = ROOT / "minitorch"
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or package)
    newest = max((path.stat().st_mtime for path in package.rglob("*.py")), default=0.0)
    return sum(path.stat().st_mtime > newest for path in folder.rglob("*.nbc"))
