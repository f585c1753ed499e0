"""What each student reads: one page of Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from course.staff.grading.results import Result, TaskResult
from course.staff.outputs.words import clean, earned, file_names, line, markdown, number, told
from course.workspace.atomic_files import write_bytes


def feedback(result: Result) -> str:
    """The page: the mark, what passed, and for each other task what may be said."""
    parts = [f"# {markdown(line(result.submission))}"]
    if result.refused:
        parts.append(f"Nothing of this submission could be graded:\n\n{_fenced(clean(result.refused))}")
        return "\n\n".join(parts) + "\n"
    parts.append(f"**{number(result.mark)} of {number(result.points)} points.**")
    if passed := [task for task in result.tasks if task.passed and not told(task)]:
        parts.append(f"Passed: {', '.join(_title(task) for task in passed)}.")
    for task in result.tasks:
        if task not in passed:
            parts += [f"## Task {task.task}: {earned(task)}", *map(_paragraph, told(task))]
    if result.left_out:
        names = "\n".join(f"- `{clean(name).replace('`', '')}`" for name in result.left_out)
        parts.append(
            f"## Not taken\n\nThese files are not yours to write; they were left out, and fresh copies took their place.\n\n{names}"
        )
    return "\n\n".join(parts) + "\n"


def write_feedback(results: Sequence[Result], folder: Path) -> None:
    """Write NAME.md for each submission."""
    for name, result in zip(file_names(results), results, strict=True):
        write_bytes(folder / f"{name}.md", feedback(result).encode())


def _title(task: TaskResult) -> str:
    """A passed task, with what its kernels ran on."""
    where = task.verdict.removeprefix("PASS").strip()
    return f"{task.task} {where}" if where else task.task


def _paragraph(text: str) -> str:
    """Text of ours stays as it is; what a test printed, or a list of several lines, stands as code."""
    if text.count("\n") and not text.startswith("What is not right yet"):
        return _fenced(text)
    head, *items = text.split("\n")
    return "\n".join([markdown(head), *([""] if items else []), *(f"- {markdown(item.removeprefix('- '))}" for item in items)])


def _fenced(text: str) -> str:
    """A block of code, with a fence that does not occur in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", text))])
    return f"{fence}text\n{text}\n{fence}"
