"""A copy of the workspace in which tests change files, and run pages in a separate process."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from course.manifest import ROOT

SHOW = """
import json, sys
from streamlit.testing.v1 import AppTest
shown = {}
for name in sys.argv[1:]:
    app = AppTest.from_file("project/app.py", default_timeout=60).run()
    app.switch_page(f"views/{name}.py").run()
    shown[name] = {
        "notices": [alert.value for alert in [*app.info, *app.error, *app.warning]],
        "exceptions": [exception.message for exception in app.exception],
        "title": [title.value for title in app.title],
    }
print(json.dumps(shown))
"""


def copy(folder: Path) -> Path:
    """Copy what the app needs into this folder."""
    for name in ("minitorch", "project", "course"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "staff"))
    return folder


def turn_optimized_kernels_off(folder: Path) -> None:
    """Make the compiled backend use the kernels of the tasks, as in a student's workspace."""
    path = folder / "minitorch" / "fast_ops.py"
    source = path.read_text(encoding="utf-8")
    setting = "    optimized = not compiler_is_off()"
    assert source.count(setting) == 1
    path.write_text(source.replace(setting, "    optimized = False"), encoding="utf-8")


def execute(folder: Path, script: str, *arguments: str) -> str:
    """The output of a Python script that runs in the workspace."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)}
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def show(folder: Path, views: list[str]) -> dict:
    """For each page of the workspace: its title, its notices and its exceptions."""
    return json.loads(execute(folder, SHOW, *views).splitlines()[-1])
