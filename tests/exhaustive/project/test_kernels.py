"""Compiled kernels: what a program reports while it compiles them, and their compilation in the background."""

import json
import subprocess
import sys

import pytest

from course.manifest import ROOT
from project.lab.training import kernel_events
from tests.marks import needs_compiler


@needs_compiler
@pytest.mark.parametrize("program", kernel_events.COUNTS)
def test_the_number_of_kernels_is_about_the_expected_one(program):
    command = [sys.executable, str(ROOT / "project" / kernel_events.PROGRAM), f"{program}.py", "--json", "--epochs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    numbers = [line["kernel"] for line in map(json.loads, done.stdout.splitlines()) if "kernel" in line]
    assert numbers[-1] == pytest.approx(kernel_events.COUNTS[program], abs=3)  # with one core, no loop is divided among threads
