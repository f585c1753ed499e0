"""The notebook that takes a repository to a GPU: its cells run without a GPU, and in a miniature with all around them faked."""

import json
import os
import subprocess
import sys
import zipfile

import nbformat
import pytest

from course.manifest import ROOT
from tests.test_notebook import CELLS, execute


def miniature(folder):
    """A repository with a GPU that is not there, and programs that only say that they ran."""
    files = {
        "course/__init__.py": "",
        "course/tasks.toml": "",
        "course/runner/__init__.py": "",
        "course/runner/gpu.py": "def has_gpu():\n    return True\n",
        "project/timing.py": "import os, sys\nprint('timing', *sys.argv[1:], os.environ.get('NUMBA_ENABLE_CUDASIM'))\n",
        "project/run_fast_tensor.py": "import sys\nprint('training', *sys.argv[1:])\nsys.exit('gpu' in sys.argv)\n",
        "tests/test_marks.py": "import pytest as p\n@p.mark.task3_3\ndef test_one(): pass\n@p.mark.task3_4\ndef test_two(): assert 0\n",
        "pytest.ini": "[pytest]\nmarkers =\n    task3_3: a\n    task3_4: b\n",
        "reports/gpu/speed.png": "a picture",
        "bin/nvidia-smi": "#!/bin/sh\necho a card\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "bin" / "nvidia-smi").chmod(0o755)
    return f"import os\nos.environ['PATH'] = {str(folder / 'bin')!r} + os.pathsep + os.environ['PATH']\n"


def test_with_a_gpu_the_report_holds_what_every_step_printed_and_what_failed(tmp_path):
    before = miniature(tmp_path) + "os.environ['NUMBA_ENABLE_CUDASIM'] = '1'\n"  # it must not reach the steps
    execute(tmp_path, before)
    with zipfile.ZipFile(tmp_path / "reports" / "gpu.zip") as archive:
        assert archive.namelist() == ["reports/gpu/report.md", "reports/gpu/speed.png"]
        report = archive.read("reports/gpu/report.md").decode()
    sections = dict(section.split("\n", 1) for section in report.split("\n## ")[1:])
    assert sections["The GPU"] == "\n```\n$ nvidia-smi\na card\n```\n"
    assert "1 passed, 1 deselected" in sections["Task 3.3"]
    assert "FAIL" not in sections["Task 3.3"]
    assert "1 failed, 1 deselected" in sections["Task 3.4"]
    assert "FAIL: the command ended with status 1" in sections["Task 3.4"]
    assert "timing --report reports/gpu 0" in sections["Matrix products"]
    assert sections["Training on the GPU"].endswith("\nFAIL: the command ended with status 1\n```\n")
    assert "--backend cpu" in sections["Training on the processor"]
    assert "FAIL" not in sections["Training on the processor"]


@pytest.mark.parametrize(("program", "cell"), [("project/timing.py", "timing"), ("project/run_fast_tensor.py", "training-gpu")])
def test_the_programs_that_it_runs_know_its_flags(program, cell):
    flags = [word for word in "".join(CELLS[cell]["source"]).replace('"', " ").replace(",", " ").split() if word.startswith("--")]
    told = subprocess.run([sys.executable, program, "--help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    assert flags
    assert [flag for flag in flags if flag not in told] == []


COLAB = """
import subprocess, sys, types, zipfile
asked = []
def upload():
    with zipfile.ZipFile("sent.zip", "w") as archive:
        archive.writestr("mine/course/tasks.toml", "")
        archive.writestr("mine/course/__init__.py", "")
        archive.writestr("mine/course/runner/__init__.py", "")
        archive.writestr("mine/course/runner/gpu.py", "def has_gpu():\\n    return False\\n")
    return {"sent.zip": b""}
files = types.SimpleNamespace(upload=upload, download=lambda path: print("downloaded", path))
sys.modules["google.colab"] = types.SimpleNamespace(files=files)
subprocess.run = lambda command, **options: print("ran", command[1:], options["cwd"])
"""


def test_on_colab_it_unpacks_installs_and_downloads(tmp_path):
    outputs = execute(tmp_path, COLAB)
    root = tmp_path / "workspace" / "mine"
    assert outputs["repository"] == f"The repository is in {root}\n"
    lists = ["requirements.txt", "requirements.extra.txt", "requirements.cuda.txt"]
    command = ["-m", "pip", "install", "--quiet", *[word for name in lists for word in ("-r", name)], "-e", "."]
    assert outputs["install"] == f"ran {command} {root}\ninstalled: {', '.join(lists)}\n"
    assert outputs["gpu"] == "NOT RUN: no NVIDIA GPU with a driver here\n"
    assert outputs["report"].endswith(f"downloaded {root / 'reports' / 'gpu.zip'}\n")
