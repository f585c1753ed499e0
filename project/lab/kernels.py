"""A check, before a page compiles kernels, that they return."""

from __future__ import annotations

import streamlit as st

from project.lab import sources
from project.lab.training.jobs import Job

LIMIT = 30.0
"""Seconds for the whole check, most of which is the import of the package."""


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
