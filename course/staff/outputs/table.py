"""A table for spreadsheets, as CSV: a row for each submission."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from course.staff.grading.results import Result
from course.staff.outputs.words import flags, line, number, variant_note
from course.workspace.atomic_files import write_bytes

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""Characters that begin a formula in a spreadsheet, including full-width ones, which Japanese and Chinese versions accept."""


def write_table(results: Sequence[Result], path: Path) -> None:
    """Write name, mark, points, each task's mark and verdict, flags, and time.

    The file begins with a byte order mark, so that spreadsheets recognize UTF-8; read it with `encoding="utf-8-sig"`.
    """
    tasks = list(dict.fromkeys(task.task for result in results for task in result.tasks))
    columns = [column for task in tasks for column in (f"{task} mark", f"{task} verdict")]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(["submission", "mark", "points", *columns, "flags", "seconds", "hash"])
    for result in results:
        found = {task.task: task for task in result.tasks}
        marks = [cell for id in tasks for cell in ((number(found[id].mark), found[id].verdict) if id in found else ("", ""))]
        raised = [f"{task.task} {variant_note(task) if flag == 'variant' else flag}" for task in result.tasks for flag in flags(task)]
        raised += [f"refused: {line(result.refused)}"] if result.refused else []
        points = ["", ""] if result.refused else [number(result.mark), number(result.points)]
        row = [line(result.submission), *points, *marks, "; ".join(raised), number(result.seconds), result.hash]
        writer.writerow([escape_formula(cell) for cell in row])
    write_bytes(path, text.getvalue().encode("utf-8-sig"))


def escape_formula(cell: str) -> str:
    """A cell that no spreadsheet interprets as a formula."""
    return f"'{cell}" if cell.lstrip().startswith(FORMULA) else cell
