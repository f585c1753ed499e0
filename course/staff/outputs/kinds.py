"""The outputs of grading, by name."""

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
from course.staff.similarity.document import read_document

FILES: Mapping[str, tuple[str, Callable[[Sequence[Result], Path], None]]] = {
    "feedback": ("feedback", write_feedback),
    "page": ("class.html", write_class_page),
    "table": ("class.csv", write_table),
    "junit": ("junit.xml", write_junit),
    "gradescope": ("gradescope", write_gradescope),
    "classroom": ("classroom", write_classroom),
}
"""The file or folder of each output, and the function that writes it."""

USUAL = ("feedback", "page", "table")
"""The outputs that are written by default."""


def check_kinds(kinds: Collection[str]) -> None:
    """Check the names of outputs, so that a wrong one ends the command before anything is graded.

    Raises:
        RequestError: If a name is not that of an output.
    """
    if unknown := [name for name in kinds if name not in FILES]:
        raise RequestError(f"there is no output {', '.join(unknown)}; the outputs are {', '.join(FILES)}", "course-staff outputs --help")


def write_outputs(
    results: Sequence[Result], out: Path, kinds: Collection[str] = USUAL, titles: Mapping[str, str] | None = None
) -> dict[str, Path]:
    """Write outputs into a folder.

    The class page links to the students' feedback and to the report on similarity if the folder has them.

    Args:
        results: The results of all submissions.
        out: The folder.
        kinds: Names of outputs.
        titles: Titles of tasks by id, for the class page.

    Returns:
        The path of each output by its name.

    Raises:
        RequestError: If a name is not that of an output.
    """
    check_kinds(kinds)
    written = {}
    for name, (file, write) in FILES.items():
        if name not in kinds:
            continue
        if name == "page":
            feedback = "feedback" if "feedback" in kinds or (out / "feedback").is_dir() else ""
            write_class_page(results, out / file, titles=titles, feedback=feedback, similarity=read_document(out))
        else:
            write(results, out / file)
        written[name] = out / file
    return written
