"""All outputs by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from course.staff import RequestError
from course.staff.grading.results import Result
from course.staff.outputs.class_page import write_class_page
from course.staff.outputs.classroom import write_classroom
from course.staff.outputs.feedback import write_feedback
from course.staff.outputs.gradescope import write_gradescope
from course.staff.outputs.junit import write_junit
from course.staff.outputs.table import write_table

FILES: Mapping[str, tuple[str, Callable[[Sequence[Result], Path], None]]] = {
    "feedback": ("feedback", write_feedback),
    "page": ("class.html", write_class_page),
    "table": ("class.csv", write_table),
    "junit": ("junit.xml", write_junit),
    "gradescope": ("gradescope", write_gradescope),
    "classroom": ("classroom", write_classroom),
}
"""What each output is called in the folder, a file or a folder, and what writes it."""

USUAL = ("feedback", "page", "table")
"""What is written if nothing else is asked for."""


def check_kinds(kinds: Collection[str]) -> None:
    """Refuse names of outputs that do not exist, before a night's grading rather than after it.

    Raises:
        RequestError: If there is no output of a name.
    """
    if unknown := [name for name in kinds if name not in FILES]:
        raise RequestError(f"there is no output {', '.join(unknown)}; the outputs are {', '.join(FILES)}", "course-staff outputs --help")


def write_outputs(
    results: Sequence[Result], out: Path, kinds: Collection[str] = USUAL, titles: Mapping[str, str] | None = None
) -> dict[str, Path]:
    """Write outputs, and say where by name.

    Args:
        results: Of all submissions.
        out: The folder.
        kinds: Names of outputs.
        titles: Names of tasks by id, for the class page.

    Raises:
        RequestError: If there is no output of a name.
    """
    check_kinds(kinds)
    written = {}
    for name, (file, write) in FILES.items():
        if name not in kinds:
            continue
        if name == "page":
            write_class_page(results, out / file, titles=titles, feedback="feedback" if "feedback" in kinds else "")
        else:
            write(results, out / file)
        written[name] = out / file
    return written
