"""The run of the visible tests: what it imports, and what decides its outcome."""

import json
import os
import subprocess

from course.manifest import ROOT, course
from course.staff.grading.visible import command_for, run_environment

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
    command = [word.replace("{tmp}", str(tmp_path)) for word in command_for(course().task("0.1"), ["test_it.py"], 60)]
    environment = {key: value.replace("{tmp}", str(tmp_path)) for key, value in run_environment({}).items()}
    around = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")} | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=tmp_path, env=around | environment, capture_output=True, text=True, check=False)
    rows = json.loads((tmp_path / "report.json").read_text())["tests"]
    assert [(row["nodeid"], row["state"]) for row in rows] == [
        ("test_it.py::test_without_a_lock", "passed"),
        ("test_it.py::test_another_warning", "failing"),
    ]
