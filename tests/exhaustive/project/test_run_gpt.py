"""The program that trains a GPT on a text: what it learns, prints, refuses and saves, and how it resumes."""

import os
import subprocess
import sys
from pathlib import Path

from project import run_gpt
from project.lab.training import checkpoint
from tests.project.test_run_gpt import file, small

PROGRAM = Path(run_gpt.__file__)


def test_it_runs_as_a_file_from_any_directory_and_a_reader_that_goes_stops_it_in_good_order(file, tmp_path):
    there = tmp_path / "elsewhere"
    there.mkdir()
    environment = os.environ | {"PYTHONPATH": str(PROGRAM.parent.parent), "PYTHONUNBUFFERED": ""}
    command = [sys.executable, str(PROGRAM), *small(file, "--steps", "1000", "--log-every", "1", "--checkpoint", "run")]
    process = subprocess.Popen(command, cwd=there, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith(str(file))
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 1  # output that could not be printed cannot be flushed either
    outcome, how = err.splitlines()
    assert outcome.startswith("run_gpt.py: stopped. ")
    assert how == f"Resume with: python project/run_gpt.py --text '{file}' --checkpoint run --resume"
    assert checkpoint.load(there / "run").about["step"] >= 1
