"""Output of command-line tools for the page on the tools of the course."""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path


def run_tool(files: Mapping[str, str], *command: str) -> None:
    """Run a module of this Python in a folder with some files, and print what a terminal would show, without times.

    Args:
        files: Contents by file name; empty lines at their start are dropped.
        command: The module's name and its arguments.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, source in files.items():
            (Path(folder) / name).write_text(source.lstrip("\n"), encoding="utf-8")
        result = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=60)
    lines = [line.rstrip() for line in (result.stdout + result.stderr).splitlines()]
    print(re.sub(r" in \d[\d.]*s", "", "\n".join(lines)).strip())


def show_diff(before: str, after: str, name: str) -> None:
    """Print the difference between two versions of a file as `git diff` does, without the lines on hashes."""
    versions = [text.lstrip("\n").splitlines() for text in (before, after)]
    print("\n".join(difflib.unified_diff(*versions, f"a/{name}", f"b/{name}", n=1, lineterm="")))
