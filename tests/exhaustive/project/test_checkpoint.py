"""Checkpoint files: exact round trips, a whole file after an interruption at any moment, and errors that name the file."""

import signal
import subprocess
import sys

from project.lab.training import checkpoint
from tests.project.test_checkpoint import ROOT, SAMPLE


def test_a_program_killed_while_it_saves_leaves_a_whole_checkpoint(tmp_path):
    script = """
import sys, numpy as np
from project.lab.training import checkpoint
for n in range(10**9):
    checkpoint.save(sys.argv[1], checkpoint.Checkpoint({"n": n}, {"a": np.full(20_000, n)}))
    print(n, flush=True)
"""
    path = tmp_path / "run.safetensors"
    for lines in (1, 7, 20):
        process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        printed = [int(process.stdout.readline()) for _ in range(lines)][-1]
        process.send_signal(signal.SIGKILL)
        process.communicate()
        found = checkpoint.load(path)
        assert found.about["n"] >= printed
        assert set(found.arrays["a"].tolist()) == {found.about["n"]}  # the JSON part and the arrays are from the same moment
    checkpoint.save(path, SAMPLE)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.safetensors"]  # a leftover draft has been overwritten
