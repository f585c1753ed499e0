"""The training program for compiled backends and its trainer: flags, mini-batches, and output about compilation."""

import os
import subprocess
import sys
from pathlib import Path

from tests.project.test_run_fast_tensor_program import HERE


def test_code_that_is_not_written_yet_ends_it_with_one_line(tmp_path: Path) -> None:
    script = (
        "from project import run_fast_tensor\n"
        "from project.lab.training import command_line\n"
        "def forward(self, inputs):\n"
        "    raise NotImplementedError('Need to implement for Task 3.5')\n"
        "run_fast_tensor.Linear.forward = forward\n"
        "command_line.run('run_fast_tensor.py', lambda: run_fast_tensor.main([]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=os.environ | HERE, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "run_fast_tensor.py: Need to implement for Task 3.5: forward in <string>, line 4\n"
