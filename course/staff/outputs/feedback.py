"""Feedback for students: one Markdown page for each submission."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from course.staff.grading.results import BEYOND, Result, TaskResult
from course.staff.outputs.words import REQUIREMENTS, clean, file_names, line, markdown, messages, number, verdict_and_mark
from course.workspace.atomic_files import write_bytes


def feedback(result: Result) -> str:
    """The page of a submission: its mark, the tasks that passed, and the messages about each other task."""
    parts = [f"# {markdown(line(result.submission))}"]
    if result.refused:
        parts.append(f"This submission could not be graded:\n\n{_code_block(clean(result.refused))}")
        return "\n\n".join(parts) + "\n"
    parts.append(f"**{number(result.mark)} of {number(result.points)} points.**")
    if passed := [task for task in result.tasks if task.passed and not messages(task)]:
        parts.append(f"Passed: {', '.join(_title(task) for task in passed)}.")
    for task in result.tasks:
        if task not in passed:
            parts += [f"## Task {task.task}: {verdict_and_mark(task)}", *map(_paragraph, messages(task))]
    if beyond := sum(test.outcome == BEYOND for task in result.tasks for test in task.visible):
        tests = (
            "1 test of this course that does not pass checks" if beyond == 1 else f"{beyond} tests of this course that do not pass check"
        )
        parts.append(f"{tests} more than the original course asks for. This cost no points.")
    if result.left_out:
        names = "\n".join(f"- `{clean(name).replace('`', '')}`" for name in result.left_out)
        parts.append(f"## Files that were not graded\n\nNo task asks you to change these files; grading used the original ones.\n\n{names}")
    return "\n\n".join(parts) + "\n"


def write_feedback(results: Sequence[Result], folder: Path) -> None:
    """Write NAME.md for each submission into a folder."""
    for name, result in zip(file_names(results), results, strict=True):
        write_bytes(folder / f"{name}.md", feedback(result).encode())


def _title(task: TaskResult) -> str:
    """A task that passed, with the device of its kernels if it has some."""
    where = task.verdict.removeprefix("PASS").strip()
    return f"{task.task} {where}" if where else task.task


def _paragraph(text: str) -> str:
    """A message as Markdown: our own sentences as text, the output of tests as a code block."""
    if text.count("\n") and not text.startswith(REQUIREMENTS):
        return _code_block(text)
    head, *items = text.split("\n")
    return "\n".join([markdown(head), *([""] if items else []), *(f"- {markdown(item.removeprefix('- '))}" for item in items)])


def _code_block(text: str) -> str:
    """A code block, with a fence that the text does not contain."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", text))])
    return f"{fence}text\n{text}\n{fence}"
