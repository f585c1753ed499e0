"""The program that Gradescope's run_autograder starts in a bundle: it grades one submission and writes results.json.

`python -m course.staff.classroom.autograder FOLDER`, where FOLDER is /autograder. With --warm it grades the reference when the image is
built: this fills the caches, and fails on a machine on which a correct answer does not pass.
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
"""Settings at the root of a bundle: the tasks to grade, the secret number of the class, and whether to grade without a sandbox."""


def main(arguments: list[str]) -> int:
    """Grade FOLDER/submission, or the reference with --warm; returns the exit code."""
    folder = Path(arguments[0])
    settings = json.loads((ROOT / SETTINGS).read_text(encoding="utf-8"))
    if "--warm" in arguments:
        return grade_reference(settings)
    try:
        [result] = grade_one(folder / "submission", settings)
        write_json(folder / "results" / "results.json", document(result))
    except StaffError as error:
        print(f"error: {error}\nnext: {error.next}")
        write_json(folder / "results" / "results.json", failure_document())
    except Exception:
        traceback.print_exc(file=sys.stdout)  # only teachers see it
        write_json(folder / "results" / "results.json", failure_document())
    return 0


def grade_one(submission: Path, settings: dict[str, Any]) -> list[Result]:
    """Grade a submission; returns its result in a list.

    Raises:
        StaffError: If there is not exactly one submission, or the sandbox fails.
    """
    from course.staff.grading.grade import grade

    with tempfile.TemporaryDirectory(prefix="course-staff-") as out:
        tasks, number = settings["tasks"], settings["number"]
        results = grade([submission], Path(out), tasks=tasks, workers=1, seed=number, no_sandbox=settings["no_sandbox"])
    if len(results) != 1:
        raise StaffError(
            f"{submission} holds {len(results)} submissions; expected one: the zip file that course submit writes, or its files"
        )
    return results


def failure_document() -> dict[str, Any]:
    """The document for a submission that could not be graded for a reason that is not the student's."""
    message = "The autograder failed, which is not your fault. Please tell your teacher, who can see the reason in the log."
    return {"score": 0, "output": message, "output_format": "text", "visibility": "visible", "stdout_visibility": "hidden", "tests": []}


def grade_reference(settings: dict[str, Any]) -> int:
    """Grade the reference; returns 1 if it does not earn all points."""
    manifest = load(ROOT / "course" / "tasks.toml")
    with tempfile.TemporaryDirectory(prefix="course-staff-") as name:
        for path in {path for task in manifest.tasks if task.id in settings["tasks"] for path in task.files}:
            (Path(name) / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, Path(name) / path)
        [result] = grade_one(Path(name), settings)
    print(f"the reference earns {number(result.mark)} of {number(result.points)} points in the sandbox {result.level}")
    for task in result.tasks:
        if not task.passed:
            print(f"Task {task.task}: {task.verdict}: {task.reason}")
    return 0 if all(task.passed for task in result.tasks) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
