"""The notebook that takes a repository to a GPU: its cells run without a GPU, and in a miniature with all around them faked."""

import zipfile

from tests.test_notebook import execute


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
