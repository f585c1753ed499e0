"""The run of the visible tests: what it imports, and what decides its outcome."""

from tests.course.test_visible import run_visible

NO_LOCK = """import warnings

import pytest


@pytest.mark.task0_1
def test_without_a_lock():
    warnings.warn("Could not obtain multiprocessing lock due to OS level error: [Errno 13] Permission denied")


@pytest.mark.task0_1
def test_another_warning():
    warnings.warn("division by zero")
"""


def test_a_sandbox_without_shared_memory_fails_no_test(tmp_path):
    """Warnings are errors in a workspace, and under Landlock numba warns when it first compiles a parallel kernel."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "-p course.runner.plugin"\nfilterwarnings = ["error"]\nmarkers = ["task0_1: Operators"]\n'
    )
    (tmp_path / "test_it.py").write_text(NO_LOCK)
    _, rows = run_visible(tmp_path, tmp_path)
    assert [(row["nodeid"], row["state"]) for row in rows] == [
        ("test_it.py::test_without_a_lock", "passed"),
        ("test_it.py::test_another_warning", "failing"),
    ]
