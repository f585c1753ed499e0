"""Gradescope's results.json, one for each submission."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course.staff.grading.results import Result
from course.staff.outputs.words import clean, file_names, messages, number, verdict_and_mark
from course.workspace.atomic_files import write_json


def document(result: Result) -> dict[str, Any]:
    """The document for a submission: a test for each task. All are visible, because one hidden test would hide the total score."""
    output = f"{number(result.mark)} of {number(result.points)} points."
    if result.refused:
        output = f"This submission could not be graded: {clean(result.refused)}"
    elif result.left_out:
        output += f"\nIgnored, as they are not files that you write: {', '.join(map(clean, result.left_out))}"
    tests = [
        {
            "score": round(task.mark, 4),
            "max_score": task.points,
            "status": "passed" if task.passed else "failed",
            "name": f"Task {task.task}: {verdict_and_mark(task)}",
            "number": task.task,
            "output": "\n\n".join(messages(task)),
            "output_format": "text",
            "visibility": "visible",
        }
        for task in result.tasks
    ]
    about = {"hash": result.hash, "level": result.level}
    return {
        "score": round(result.mark, 4),
        "execution_time": round(result.seconds),
        "output": output,
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": about,
        "tests": tests,
    }


def write_gradescope(results: Sequence[Result], folder: Path) -> None:
    """Write NAME/results.json for each submission."""
    for name, result in zip(file_names(results), results, strict=True):
        write_json(folder / name / "results.json", document(result))
