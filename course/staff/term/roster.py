"""The roster of a term: creates `term.toml`, and adds students from the lists that an LMS exports."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from course.manifest import Manifest
from course.staff import RequestError
from course.staff.term.policy import FILE, is_id, parse_policy, read_policy
from course.workspace.atomic_files import write_bytes

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("sis user id", "sis id", "id number", "student id", "sid", "identifier", "username", "login", "sis login id", "id"),
    "name": ("student", "name", "full name", "student name"),
    "first": ("first name", "given name", "firstname"),
    "last": ("last name", "surname", "family name", "lastname"),
    "email": ("email address", "email", "e-mail"),
    "section": ("section", "sections", "group", "groups"),
    "login": ("sis login id", "login", "username", "github_username"),
    "canvas": ("id",),
    "lms_id": ("sis user id", "id number"),
    "role": ("role", "roles"),
}
"""For each field the column headings that may hold it, best first: Canvas, Moodle, Gradescope, GitHub Classroom, and plain tables."""

NOBODY = {"points possible", "student, test", "test student"}
"""Rows of a Canvas gradebook that are not students."""

STAFF = {"instructor", "ta", "reader", "observer", "teacher", "non-editing teacher", "teaching assistant", "manager", "course creator"}
"""Roles in Gradescope and Moodle of people who are not students."""

PARTICIPANT = re.compile(r"Participant \d+")
"""Moodle's identifier of a student in the worksheet of one assignment; it differs between assignments."""

TEMPLATE = """\
# The term of a class: students, deadlines and the late policy.

[course]
title = "MiniTorch"
timezone = "UTC"       # for dates without an offset, such as "Europe/Berlin"
profile = "full"       # or "published": what the original MiniTorch course asks for
anonymous = false      # true: graders see aliases instead of names

[late]
days = 0               # free late days for each student over the term
percent = 10           # penalty for each further day, in percent of the points earned
most = 7               # submissions are accepted up to this many days late
grace = 10             # minutes after the deadline that do not count as late
"""

DEADLINE = """
[[deadline]]
name = "Module {number}"
tasks = ["{number}"]   # a module, or tasks such as "{number}.1"
due = {due}            # the end of that day, or a time: 2027-01-31T18:00:00
# attempts = 3         # accepted submissions; the last one counts
# canvas = 1234        # the id of the assignment in Canvas
"""


def create_term(folder: Path, manifest: Manifest, first: str) -> Path:
    """Write a `term.toml` with a deadline for every module, to be edited by hand.

    Args:
        folder: The folder of the term.
        manifest: The course.
        first: The date of all deadlines, such as "2027-01-31".

    Returns:
        The path of the file.

    Raises:
        RequestError: If the file exists.
    """
    path = folder / FILE
    if path.exists():
        raise RequestError(f"{path} already exists; edit it, or choose another folder", "course-staff term --help")
    stages = manifest.required_stages
    write_bytes(path, (TEMPLATE + "".join(DEADLINE.format(number=stage, due=first) for stage in stages)).encode())
    for deadline in read_policy(folder, manifest).deadlines:
        (folder / "submissions" / deadline.slug).mkdir(parents=True)
    return path


@dataclass(frozen=True)
class ImportResult:
    """The outcome of an import.

    Attributes:
        added: Number of students that were added.
        known: Number of students that were already on the roster.
        warnings: What the teacher should check.
    """

    added: int
    known: int
    warnings: tuple[str, ...]


def import_roster(folder: Path, table: Path, manifest: Manifest) -> ImportResult:
    """Add the students of a CSV table to `term.toml`; students who are on the roster keep their entries.

    Args:
        folder: The folder of the term.
        table: The table.
        manifest: The course.

    Returns:
        The outcome.

    Raises:
        RequestError: If the table cannot be read, has no column of ids, or contains an id twice; nothing is written then.
    """
    known = read_policy(folder, manifest).students
    rows, warnings = read_rows(table)
    added = [row for row in rows if row["id"].casefold() not in map(str.casefold, known)]
    text = (folder / FILE).read_text(encoding="utf-8")
    for row in added:
        lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in row.items() if value or name == "lms_id"]
        text += "\n".join(["\n[[student]]", *lines, ""])
    try:
        parse_policy(text, folder / FILE, manifest)
    except RequestError as error:
        raise RequestError(f"{table} cannot be imported: {error}", f"fix {table}") from None
    write_bytes(folder / FILE, text.encode())
    return ImportResult(len(added), len(rows) - len(added), warnings)


def read_text(path: Path) -> tuple[str, bool]:
    """Read a table that an LMS or a spreadsheet saved.

    The encoding is UTF-8, UTF-16 with a byte order mark, or otherwise Windows-1252, the default of spreadsheets on Windows.

    Returns:
        The text, and whether its encoding is certain.

    Raises:
        RequestError: If the file does not exist, or has another encoding.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise RequestError(f"there is no {path}; pass a CSV table", "course-staff roster --help") from None
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return data.decode("utf-16"), True
        return data.decode("utf-8-sig"), True
    except UnicodeDecodeError:
        pass
    try:
        return data.decode("cp1252"), False
    except UnicodeDecodeError:
        raise RequestError(
            f"{path} expected a CSV table in UTF-8, got another encoding; save it as UTF-8", "course-staff roster --help"
        ) from None


def read_rows(path: Path) -> tuple[list[dict[str, str]], tuple[str, ...]]:
    """The students of a table, as fields by name, and warnings.

    Raises:
        RequestError: If the table cannot be read, has no column of ids, or contains an id twice.
    """
    text, certain = read_text(path)
    table = next((table for sign in ",;\t" if (table := _Table(text, sign)).places["id"]), None)
    if table is None:
        known, got = ", ".join(COLUMNS["id"]), ", ".join(_Table(text, ",").headings) or "no heading"
        raise RequestError(f"{path} expected a column of ids ({known}), got: {got}", "course-staff roster --help")
    students = table.students()
    ids = [student["id"].casefold() for student in students]
    if again := [id for id in ids if ids.count(id) > 1]:
        raise RequestError(f"{path} expected each id once, got {again[0]} {ids.count(again[0])} times", f"fix {path}")
    if not students:
        raise RequestError(f"{path} expected students, got none", f"fix {path}")
    unusual = next((student["name"] for student in students if not student["name"].isascii()), "")
    if certain or not unusual:
        return students, ()
    return students, (f"{path.name} is not UTF-8 and was read as Windows-1252; check the names, such as {unusual}",)


class _Table:
    """A CSV table.

    Args:
        text: The text of the table.
        delimiter: The delimiter between cells.

    Attributes:
        headings: The column headings in lower case.
        places: For each field the columns that may contain it, best first.
    """

    def __init__(self, text: str, delimiter: str) -> None:
        self.rows = csv.reader(io.StringIO(text), delimiter=delimiter)
        self.headings = [heading.strip().casefold() for heading in next(self.rows, [])]
        self.places = {field: [self.headings.index(name) for name in names if name in self.headings] for field, names in COLUMNS.items()}

    def students(self) -> list[dict[str, str]]:
        """The fields of each student."""
        found = []
        for row in self.rows:
            cells = {field: [row[place].strip() for place in places if place < len(row)] for field, places in self.places.items()}
            value = {field: next(filter(None, some), "") for field, some in cells.items()}
            name = value["name"] or " ".join(filter(None, (value["first"], value["last"])))
            if name.casefold() in NOBODY or value["role"].casefold() in STAFF or not (value["id"] or value["email"]):
                continue
            parts = [text.partition("@")[0] for text in (*cells["id"], value["email"])]
            id = next((text for text in (*cells["id"], *parts) if is_id(text) and not PARTICIPANT.fullmatch(text)), value["id"])
            student = {"id": id, "name": name} | {field: value[field] for field in ("email", "section", "login")}
            student["canvas"] = value["canvas"] if "sis login id" in self.headings else ""
            if cells["lms_id"] and cells["lms_id"][0] != id:
                student["lms_id"] = cells["lms_id"][0]
            found.append(student)
        return found
