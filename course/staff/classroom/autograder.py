"""What Gradescope's run_autograder starts, in the folder of a bundle: grades one submission and writes results.json.

`python -m course.staff.classroom.autograder FOLDER` where FOLDER is /autograder; with --warm it grades the reference itself, so that all
that must be known of it is found out when the image is built, and a machine on which a right answer does not pass is found out too.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from course.manifest import ROOT, load
from course.staff import StaffError
from course.staff.grading.results import Result
from course.staff.outputs.gradescope import document
from course.staff.outputs.words import number
from course.workspace.atomic_files import write_json

SETTINGS = Path("autograder.json")
"""In the root of a bundle: the tasks that count, the class's number, and whether to do without a sandbox."""


def main(arguments: list[str]) -> int:
    """Grade what is in FOLDER/submission, or the reference; returns the exit code."""
    folder = Path(arguments[0])
    settings = json.loads((ROOT / SETTINGS).read_text(encoding="utf-8"))
    if "--warm" in arguments:
        return warm(settings)
    try:
        [result] = graded(folder / "submission", settings)
        write_json(folder / "results" / "results.json", document(result))
    except StaffError as error:
        print(f"error: {error}\nnext: {error.next}")
        write_json(folder / "results" / "results.json", ungraded())
    except Exception:
        traceback.print_exc(file=sys.stdout)  # for the teacher; the student is told that it was not his fault
        write_json(folder / "results" / "results.json", ungraded())
    return 0


def graded(submission: Path, settings: dict[str, Any]) -> list[Result]:
    """The result of what was handed in."""
    from course.staff.grading.grade import grade

    with tempfile.TemporaryDirectory(prefix="course-staff-") as out:
        tasks, number = settings["tasks"], settings["number"]
        results = grade([submission], Path(out), tasks=tasks, workers=1, seed=number, no_sandbox=settings["no_sandbox"])
    if len(results) != 1:
        raise StaffError(f"{submission} holds {len(results)} submissions; expected one, as a zip file of `course submit` or as its files")
    return results


def ungraded() -> dict[str, Any]:
    """What Gradescope shows of a submission that could not be graded though nothing is known to be wrong with it."""
    said = "This could not be graded, and nothing is known to be wrong with it. Please tell your teacher, who sees why in the log."
    return {"score": 0, "output": said, "output_format": "text", "visibility": "visible", "stdout_visibility": "hidden", "tests": []}


def warm(settings: dict[str, Any]) -> int:
    """Grade the reference; 1 if it does not earn all points."""
    manifest = load(ROOT / "course" / "tasks.toml")
    with tempfile.TemporaryDirectory(prefix="course-staff-") as name:
        for path in {path for task in manifest.tasks if task.id in settings["tasks"] for path in task.files}:
            (Path(name) / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, Path(name) / path)
        [result] = graded(Path(name), settings)
    print(f"the reference earns {number(result.mark)} of {number(result.points)} points in the sandbox {result.level}")
    for task in result.tasks:
        if not task.passed:
            print(f"Task {task.task}: {task.verdict}: {task.reason}")
    return 0 if all(task.passed for task in result.tasks) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
