"""Runs the tests of a task in Pyodide, with the code that the reader wrote in the page, as `course test` does in a workspace."""

import contextlib
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path.cwd()
sys.path.insert(0, str(ROOT))

from course.cli.board import summary  # noqa: E402  # found through the line above
from course.manifest import load  # noqa: E402
from course.runner.failure_report import render, sentence  # noqa: E402
from course.runner.progress import TaskState, run_tasks  # noqa: E402

WIDTH = 78
"""Columns of a card."""


class Finished(contextlib.nullcontext[None]):
    """A run of pytest in this process, which has ended: a browser cannot start another one."""

    cancelled = False

    def __init__(self, output: str) -> None:
        super().__init__()
        self.output = output

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """What it printed."""
        return self.output, None


def run(task: str, files: Mapping[str, str], report: Callable[[str], object]) -> str:
    """The state of a task and the text for the reader, as JSON.

    Args:
        task: Its id.
        files: What the reader wrote, by path; other files are as students receive them.
        report: Called with a sentence on each test before it runs.
    """
    for path, text in files.items():
        if (ROOT / path).is_file():
            (ROOT / path).write_text(text, encoding="utf-8")

    class Reporter:
        def pytest_collection_finish(self) -> None:
            if history := getattr(sys.modules.get("minitorch.autodiff"), "History", None):
                free_in_turn(history)  # noqa: F821  # in free_graphs.py, which the worker runs first

        def pytest_runtest_logstart(self, nodeid: str) -> None:
            report(sentence(nodeid.rpartition("::")[2]))

    def launch(arguments: Sequence[str], root: Path, env: Mapping[str, str]) -> Any:
        printed = io.StringIO()
        kept = [argument for argument in arguments if not argument.startswith("--course-limit=")]  # a browser has no timers for it
        with contextlib.redirect_stdout(printed):
            pytest.main(kept, plugins=[Reporter()])
        return Finished(printed.getvalue())

    state = run_tasks([task], ROOT, launch=launch)[task]
    return json.dumps({"state": state.state, "text": describe(state)})


def describe(state: TaskState) -> str:
    """The summary of a task, and below it the card of what failed or what to do next."""
    task = load(ROOT / "course" / "tasks.toml").task(state.task)
    lines = [summary(task, state).plain]
    if state.state == "blocked":
        lines += ["", f"It needs the code of Task {', '.join(state.blocked_by)}. Write that first, in its chapter."]
    elif state.state == "todo" and state.card and state.card.place:
        lines += ["", f"Next, write {state.card.place.function} in {state.card.place.file}."]
    elif state.card and state.state == "failing":
        lines += ["", render(replace(state.card, task=None, nodeid=""), WIDTH).plain]  # without commands for a terminal
    return "\n".join(lines).rstrip()
