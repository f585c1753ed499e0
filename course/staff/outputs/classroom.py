"""GitHub Classroom: for each submission the result that its reporter reads, and a summary for the page of a workflow run."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course.staff.grading.results import Result
from course.staff.outputs.words import clean, file_names, first_failure, line, markdown, messages, number
from course.workspace.atomic_files import write_bytes

VERSION = 3
"""Version of the reporter's format: the first with scores for single tests."""


def document(result: Result) -> dict[str, Any]:
    """The document that the reporter reads: a test for each task. The reporter adds up their scores."""
    tests = []
    for task in result.tasks:
        failure = first_failure(task)
        status = "pass" if task.passed else "fail" if task.ran else "error"
        tests.append(
            {
                "name": f"Task {task.task}",
                "status": status,
                "score": round(task.mark, 4),
                "message": "\n\n".join(messages(task)),
                "test_code": f"course test {task.task}",
                "filename": failure.id.split("::")[0] if failure else "",
                "line_no": 0,
                "duration": round(task.seconds, 1),
            }
        )
    if result.refused:
        message = f"This submission could not be graded: {clean(result.refused)}"
        tests.append(
            {
                "name": "Submission",
                "status": "error",
                "score": 0,
                "message": message,
                "test_code": "",
                "filename": "",
                "line_no": 0,
                "duration": 0.0,
            }
        )
    statuses = {test["status"] for test in tests}
    status = "error" if result.refused else "pass" if statuses == {"pass"} else "fail"
    return {"version": VERSION, "status": status, "max_score": result.points, "tests": tests}


def line_of_output(result: Result) -> str:
    """The line that a workflow step appends to the file $GITHUB_OUTPUT."""
    return "result=" + base64.b64encode(json.dumps(document(result)).encode()).decode() + "\n"


def summary(result: Result) -> str:
    """Markdown for the file $GITHUB_STEP_SUMMARY."""
    if result.refused:
        return f"## Not graded\n\n{markdown(line(result.refused))}\n"
    lines = [f"## {number(result.mark)} of {number(result.points)} points", "", "| Task | Verdict | Points | |", "|---|---|---:|---|"]
    for task in result.tasks:
        paragraphs = messages(task)
        points = f"{number(task.mark)} of {number(task.points)}"
        lines.append(f"| {task.task} | {task.verdict} | {points} | {markdown(line(paragraphs[0])) if paragraphs else ''} |")
    return "\n".join(lines) + "\n"


def write_classroom(results: Sequence[Result], folder: Path) -> None:
    """Write NAME.output, the line for $GITHUB_OUTPUT, and NAME.md, the summary, for each submission."""
    for name, result in zip(file_names(results), results, strict=True):
        write_bytes(folder / f"{name}.output", line_of_output(result).encode())
        write_bytes(folder / f"{name}.md", summary(result).encode())
