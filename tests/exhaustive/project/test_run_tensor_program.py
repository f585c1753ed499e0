"""The training program for Tensors: its own name, defaults and report; what it shares with that for Scalars is tested there."""

import os
import subprocess
import sys
from pathlib import Path

from tests.project.test_run_tensor_program import HERE, PROGRAM


def test_it_runs_as_a_file_and_as_a_module_from_any_directory(tmp_path: Path) -> None:
    arguments = ["--points", "3", "--epochs", "1"]
    for command in ([str(PROGRAM)], ["-m", "project.run_tensor"]):
        done = subprocess.run([sys.executable, *command, *arguments], cwd=tmp_path, env=os.environ | HERE, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("epoch 1/1  loss")
