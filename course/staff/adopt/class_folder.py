"""Convert the work of a whole class in the original MiniTorch course: one folder or archive a student becomes one submission a student."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from course.manifest import Manifest
from course.staff import RequestError
from course.staff.adopt.adopt import AdoptedWork, adopt, write_submission
from course.staff.adopt.original import find_original
from course.staff.grading.archives import Refusal
from course.staff.grading.submissions import JUNK, JUNK_FILES, stem, unpack


@dataclass(frozen=True)
class AdoptedStudent:
    """The work of one student of a class.

    Attributes:
        name: The name of the student's folder or archive.
        work: The converted work; None if it was refused.
        refused: Why.
    """

    name: str
    work: AdoptedWork | None
    refused: str = ""

    def absent(self, manifest: Manifest) -> list[str]:
        """The tasks of which nothing is written, up to the last module that the student has worked on."""
        written = self.work.written if self.work else {}
        last = max((manifest.task(id).stage for id in written), default=-1)
        return [task.id for task in manifest.tasks if task.id not in written and task.stage <= last and not task.extra]


def students_in(folder: Path, manifest: Manifest) -> dict[str, Path]:
    """The students' folders and archives in a folder, by name; none if it is the folder of one student.

    A class has an archive, or the same module more than once.
    """
    if not folder.is_dir() or (folder / "minitorch").is_dir():
        return {}
    entries = [path for path in sorted(folder.iterdir()) if path.name not in JUNK and not path.name.startswith((".", *JUNK_FILES))]
    students, modules = {}, Counter[int]()
    has_archives = False
    for path in entries:
        if path.is_dir():
            try:
                modules.update(set(find_original(path, manifest).modules.values()))
            except RequestError:  # adopt says why
                has_archives |= any(stem(inside) != inside.name for inside in path.iterdir())
            students[path.name] = path
        elif stem(path) != path.name:
            students[stem(path)] = path
            has_archives = True
    return students if has_archives or any(count > 1 for count in modules.values()) else {}


def adopt_class(
    students: Mapping[str, Path], manifest: Manifest, out: Path, shown: Callable[[AdoptedStudent], object] = lambda student: None
) -> list[AdoptedStudent]:
    """Convert the work of every student into a submission of its own.

    Args:
        students: Folders and archives, by the name of the student.
        manifest: The course.
        out: The folder for the submissions.
        shown: Called for every student.

    Raises:
        RequestError: If the folder is not empty.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RequestError(f"{out} exists already; name a new folder", "course-staff adopt --help")
    done = []
    for name, path in students.items():
        done.append(_adopt_student(name, path, manifest, out / name))
        shown(done[-1])
    return done


def _adopt_student(name: str, path: Path, manifest: Manifest, out: Path) -> AdoptedStudent:
    with tempfile.TemporaryDirectory() as folder:
        try:
            inside = Path(folder)
            unpack(path, inside)
            adopted = adopt(inside, manifest)
            if not adopted.written:
                return AdoptedStudent(name, None, "nothing in it is written")
            write_submission(adopted, out)
        except (Refusal, RequestError) as refusal:
            return AdoptedStudent(name, None, str(refusal).replace(f"{folder}/", "").replace(folder, name))
    return AdoptedStudent(name, adopted)
