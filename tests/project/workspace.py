"""A copy of the workspace in which tests change files, and run pages in a separate process."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from course.manifest import ROOT, Task, course

SHOW = """
import functools, json, sys, time
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from project.lab import registry
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)  # as in tests/project/pages.py
shown = {}
for each in sys.argv[1:]:
    name, _, start = each.partition(":")
    app = AppTest.from_file("project/app.py", default_timeout=100).run()
    row = registry.view(name)
    app.switch_page(row.path).query_params.update(row.query)
    app.run()
    button = next((button for button in app.button if button.key == start and not button.disabled), None)
    if start and button and not app.error:
        button.click().run()
        stop = next((button.key for button in app.button if (button.key or "").endswith("stop")), None)
        end = time.monotonic() + 100
        while stop and not app.exception and not app.button(key=stop).disabled and time.monotonic() < end:
            time.sleep(0.2)
            app.run()
    shown[name] = {
        "notices": [alert.value.replace("\\\\", "") for alert in [*app.info, *app.error, *app.warning]],
        "errors": [alert.value.replace("\\\\", "") for alert in app.error],
        "code": [code.value for code in app.code],
        "exceptions": [exception.message for exception in app.exception],
        "title": [title.value for title in app.title],
    }
print(json.dumps(shown))
"""

START = {
    "playground": "pg_step",
    "m1_training": "step",
    "m2_training": "step",
    "m3_training": "step",
    "m3_speed": "start",
    "m4_images": "images_start",
    "m4_sentiment": "sentiment_start",
}
"""The buttons that run student code."""


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


def rewrite(folder: Path, body: Callable[[ast.FunctionDef, Task], list[ast.stmt]], tasks: Iterable[Task] | None = None) -> None:
    """Give every function of these tasks the body that `body` returns for it. If omitted, the tasks are all tasks of the course."""
    trees: dict[Path, ast.Module] = {}
    for task in course().tasks if tasks is None else tasks:
        for name in task.write:
            module, _, qualified = name.partition(":")
            path = folder / (module.replace(".", "/") + ".py")
            if path.exists():
                trees.setdefault(path, ast.parse(path.read_text(encoding="utf-8")))
                function = find_function(trees[path], qualified)
                function.body = body(function, task)
    for path, tree in trees.items():
        path.write_text(ast.unparse(ast.fix_missing_locations(tree)) + "\n", encoding="utf-8")


def find_function(tree: ast.Module, qualified: str) -> ast.FunctionDef:
    """The definition of a function, such as Mul.forward."""
    node: Any = tree
    for part in qualified.split("."):
        node = next(child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == part)
    return node


def execute(folder: Path, script: str, *arguments: str) -> str:
    """The output of a Python script that runs in the workspace."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)}
    environment["MINITORCH_COMPILE_IN_BACKGROUND"] = "0"
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def show(folder: Path, views: list[str], press: bool = True) -> dict:
    """The title, notices, code and exceptions of these pages of the workspace, after a press of the button that runs student code."""
    pages = [f"{name}:{START.get(name, '') if press else ''}" for name in views]
    return json.loads(execute(folder, SHOW, *pages).splitlines()[-1])
