"""The program that trains a GPT on a text: what it learns, prints, refuses and saves, and how it resumes."""

import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from project import run_gpt
from project.lab.training import checkpoint
from project.lab.training.text_trainer import Run, Setting
from tests.project.test_run_gpt import SENTENCE, file, small

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


def test_a_run_learns_more_than_how_frequent_each_character_is():
    text = SENTENCE * 20
    frequencies = np.array(list(Counter(text).values())) / len(text)
    entropy = -(frequencies * np.log(frequencies)).sum()
    run = Run(Setting(steps=200, batch=8, context=16, layers=1, heads=2, width=16, rate=0.01), text)
    before = run.validation_loss()
    assert before == pytest.approx(math.log(256), abs=0.1)  # any of 256 bytes is as likely
    while not run.done:
        run.advance()
    assert run.validation_loss() < 0.6 * entropy
    assert np.mean(run.losses[-10:]) < 0.6 * entropy
