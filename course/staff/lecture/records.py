"""The activity records and results that a class has handed in; a submission may hold anything, so records are read strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course.manifest import Manifest
from course.staff import RequestError
from course.staff.grading.archives import Refusal, open_archive
from course.staff.grading.journal import RESULTS
from course.staff.grading.results import Result, read_result
from course.staff.grading.submissions import find
from course.workspace.activity import HANDED_IN, MAX_BYTES, TaskActivity, decode

Record = Mapping[str, TaskActivity]


@dataclass
class Material:
    """What the statistics are computed from.

    Attributes:
        records: One for each student who handed in a record.
        results: What grading found.
        submissions: How many students handed in something, with or without a record.
        warnings: Records that were ignored, with the reason.
    """

    records: list[Record] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    submissions: int = 0
    warnings: list[str] = field(default_factory=list)


def read_material(paths: Sequence[Path], manifest: Manifest) -> Material:
    """Read submissions and folders that `course-staff grade` has filled.

    Args:
        paths: Submissions, folders of submissions, and graded folders.
        manifest: The course.

    Raises:
        RequestError: If a path does not exist, or there is neither a record nor a result.
        StaffError: If a result is of another version of the course.
    """
    graded = [path for path in paths if (path / RESULTS).is_dir()]
    submissions = [path for path in paths if path not in graded]
    material = Material(results=[read_result(file) for folder in graded for file in sorted((folder / RESULTS).glob("*.json"))])
    found: dict[str, Record] = {}
    students = set()
    for name, path in find(submissions, manifest).items() if submissions else ():
        student = name.rpartition("/")[2].partition("@")[0].casefold()
        students.add(student)
        try:
            record = read_record(path)
        except ValueError as error:
            material.warnings.append(f"{name}: its record was ignored: {error}")
            continue
        if record and _active(record) >= _active(found.get(student, {})):  # a later record contains the earlier one
            found[student] = record
    material.records, material.submissions = list(found.values()), len(students)
    if not material.records and not material.results:
        raise RequestError(
            "expected records or results, got none; students include theirs by course submit --with-record",
            "course-staff grade SUBMISSIONS --out graded, then course-staff lecture SUBMISSIONS graded --out lecture.html",
        )
    return material


def _active(record: Record) -> int:
    return sum(about.active for about in record.values())


def read_record(path: Path) -> Record:
    """The record in a submission; empty if there is none.

    Raises:
        ValueError: If it is not a valid record, or the archive cannot be read.
    """
    data = _in_folder(path) if path.is_dir() else _in_archive(path)
    return {} if data is None else decode(data)


def _in_folder(path: Path) -> bytes | None:
    places = [path, *(sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink()))]
    for file in (place / HANDED_IN for place in places):
        if file.is_file() and not file.is_symlink() and not file.parent.is_symlink():
            with file.open("rb") as stream:
                return stream.read(MAX_BYTES + 1)
    return None


def _in_archive(path: Path) -> bytes | None:
    try:
        with open_archive(path) as entries:
            for entry in entries:
                name = entry.path.removeprefix("./")
                if entry.kind == "file" and HANDED_IN in (name, name.partition("/")[2]):
                    return entry.read(MAX_BYTES + 1)
    except Refusal as refusal:
        raise ValueError(str(refusal)) from None
    return None
