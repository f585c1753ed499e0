"""The roster of a term: made, and filled from the lists that LMSs export."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

from course.manifest import Manifest
from course.staff import RequestError
from course.staff.term.policy import FILE, parse_policy, read_policy
from course.workspace.atomic_files import write_bytes

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("sis user id", "sis id", "id number", "student id", "sid", "identifier", "username", "login", "sis login id", "id"),
    "name": ("student", "name", "full name", "student name"),
    "first": ("first name", "given name"),
    "last": ("last name", "surname", "family name"),
    "email": ("email address", "email", "e-mail"),
    "section": ("section", "sections", "group", "groups"),
    "login": ("sis login id", "login", "username", "github_username"),
    "canvas": ("id",),
}
"""For each field the headings of columns that hold it, the best first: Canvas, Moodle, Gradescope, GitHub Classroom, and plain tables."""

NEW = """\
# The term of a class: who takes part, what is due when, and what lateness costs.

[course]
title = "MiniTorch"
timezone = "UTC"       # of dates that do not say it, such as "Europe/Berlin"
profile = "full"       # or "published": what the original MiniTorch course demands
anonymous = false      # true: who grades sees other names

[late]
days = 0               # late days that cost nothing, for each student over the term
percent = 10           # of what was earned, what each further day costs
most = 7               # after so many days nothing is taken
grace = 10             # minutes that are no lateness
"""

DEADLINE = """
[[deadline]]
name = "Module {number}"
tasks = ["{number}"]   # a module, or tasks such as "{number}.1"
due = {due}            # the end of that day, or a time: 2027-01-31T18:00:00
# attempts = 3         # submissions that are taken; the last one counts
"""


def make_term(folder: Path, manifest: Manifest, first: str) -> Path:
    """Write a `term.toml` with a deadline for every module, to be changed by hand.

    Args:
        folder: Where to.
        manifest: The course.
        first: The date of all deadlines, "2027-01-31".

    Raises:
        RequestError: If there is one already.
    """
    path = folder / FILE
    if path.exists():
        raise RequestError(f"there is a {path} already; change it, or name another folder", "course-staff term --help")
    stages = sorted({task.stage for task in manifest.tasks})
    write_bytes(path, (NEW + "".join(DEADLINE.format(number=stage, due=first) for stage in stages)).encode())
    for deadline in read_policy(folder, manifest).deadlines:
        (folder / "submissions" / deadline.slug).mkdir(parents=True)
    return path


def import_roster(folder: Path, table: Path, manifest: Manifest) -> tuple[int, int]:
    """Add the students of a CSV table to `term.toml`; those that are there stay as they are.

    Returns:
        How many were added, and how many were there.

    Raises:
        RequestError: If the table cannot be read, has no column with ids, or says an id twice; nothing is written then.
    """
    known = read_policy(folder, manifest).students
    rows = _rows(table)
    added = [row for row in rows if row["id"].casefold() not in map(str.casefold, known)]
    text = (folder / FILE).read_text(encoding="utf-8")
    for row in added:
        lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in row.items() if value]
        text += "\n".join(["\n[[student]]", *lines, ""])
    try:
        parse_policy(text, folder / FILE, manifest)
    except RequestError as error:
        raise RequestError(f"{table} cannot be taken: {error}", f"mend {table}") from None
    write_bytes(folder / FILE, text.encode())
    return len(added), len(rows) - len(added)


def _rows(path: Path) -> list[dict[str, str]]:
    """The students of a table, as the fields of theirs that it has."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise RequestError(f"there is no {path}; name a CSV table", "course-staff roster --help") from None
    except UnicodeDecodeError:
        raise RequestError(
            f"{path} expected a CSV table in UTF-8, got another encoding; save it as UTF-8", "course-staff roster --help"
        ) from None
    head = text.partition("\n")[0]
    rows = csv.DictReader(io.StringIO(text), delimiter=max(",;\t", key=head.count))
    headings = {heading.strip().casefold(): heading for heading in rows.fieldnames or () if heading}
    found = {field: [headings[name] for name in names if name in headings] for field, names in COLUMNS.items()}
    if not found["id"]:
        known = ", ".join(COLUMNS["id"])
        raise RequestError(
            f"{path} expected a column of ids ({known}), got: {', '.join(headings) or 'no heading'}", "course-staff roster --help"
        )
    students: list[dict[str, str]] = []
    for row in rows:
        value = {field: next((row[name].strip() for name in names if (row[name] or "").strip()), "") for field, names in found.items()}
        first, last = value.pop("first"), value.pop("last")
        value["name"] = value["name"] or " ".join(filter(None, (first, last)))
        value["canvas"] = value["canvas"] if found["canvas"] and "student" in headings else ""  # as Canvas has them
        if value["id"] and value["name"].casefold() not in ("points possible", "student, test"):
            students.append(value)
    ids = [student["id"].casefold() for student in students]
    if again := [id for id in ids if ids.count(id) > 1]:
        raise RequestError(f"{path} expected each id once, got {again[0]} {ids.count(again[0])} times", f"mend {path}")
    if not students:
        raise RequestError(f"{path} expected students, got none", f"mend {path}")
    return students
