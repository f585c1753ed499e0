"""The notebook that takes a repository to a GPU: its cells run without a GPU, and in a miniature with all around them faked."""

import json
import os
import subprocess
import sys

import nbformat

from course.manifest import ROOT

NOTEBOOK = ROOT / "project" / "gpu.ipynb"
CELLS = {cell["id"]: cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]}
ON_A_GPU = ("gpu", "tests-3-3", "tests-3-4", "timing", "training-gpu", "training-cpu")
"""The cells that run something on the card."""

EXECUTE = """
import json, sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.reads(sys.stdin.read(), as_version=4)
NotebookClient(notebook, timeout=60).execute()
outputs = {cell.id: "".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells if cell.cell_type == "code"}
print(json.dumps(outputs))
"""


def execute(folder, before=""):
    """What each code cell prints when the notebook runs in a folder, after some code that no student has."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(before, id="before"))
    settings = folder / ".ipython"
    (settings / "profile_default").mkdir(parents=True)
    environment = os.environ | {"IPYTHONDIR": str(settings), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    result = subprocess.run(
        [sys.executable, "-c", EXECUTE],
        input=nbformat.writes(notebook), cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_the_notebook_is_valid_and_holds_no_outputs():
    nbformat.validate(nbformat.read(NOTEBOOK, as_version=4))
    assert [cell["id"] for cell in CELLS.values() if cell.get("outputs") or cell.get("execution_count")] == []


def test_it_names_only_files_and_marks_that_exist():
    source = "".join("".join(cell["source"]) for cell in CELLS.values())
    for path in ("requirements.txt", "requirements.extra.txt", "requirements.cuda.txt", "project/timing.py", "project/run_fast_tensor.py"):
        assert path in source
        assert (ROOT / path).is_file(), f"the notebook names {path}"


def test_without_a_gpu_every_step_says_not_run_and_why(tmp_path):
    for name in ("course", "requirements.txt"):
        (tmp_path / name).symlink_to(ROOT / name)
    no_gpu = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport course.runner.gpu\ncourse.runner.gpu.has_gpu = lambda: False\n"
    (tmp_path / "project").mkdir()
    outputs = execute(tmp_path / "project", no_gpu)
    assert outputs["repository"] == f"The repository is in {tmp_path}\n"
    assert outputs["install"] == "NOT RUN: this is not Colab, and your environment is not changed\n"
    assert {outputs[cell] for cell in ON_A_GPU} == {"NOT RUN: no NVIDIA GPU with a driver here\n"}
    report = (tmp_path / "reports" / "gpu" / "report.md").read_text()
    assert report.count("NOT RUN: no NVIDIA GPU with a driver here") == len(ON_A_GPU)
    assert outputs["report"].endswith("NOT RUN: this is not Colab, and there is nothing to download\n")
