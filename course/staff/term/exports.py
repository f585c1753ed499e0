"""Exports of a term's marks: tables for Canvas, Moodle and spreadsheets, and a page for each student."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from course.staff import RequestError
from course.staff.outputs.table import escape_formula
from course.staff.outputs.words import clean, line, markdown, number
from course.staff.term.gradebook import Standing, lateness, total
from course.staff.term.history import MARK, Event, History
from course.staff.term.policy import Deadline, Policy, Student
from course.staff.term.roster import read_text
from course.workspace.atomic_files import write_bytes

Standings = Mapping[str, Sequence[Standing]]

POINTS_POSSIBLE = "    Points Possible"
"""The name, including its spaces, by which Canvas recognizes the row of points."""

WORKSHEET = ("Identifier", "Grade", "Last modified (grade)")
"""The columns that Moodle requires in a grading worksheet."""


def write_exports(policy: Policy, standings: Standings, history: History, folder: Path, now: datetime) -> dict[str, Path]:
    """Write all exports.

    Args:
        policy: The policy.
        standings: The standings by student.
        history: The history of the term.
        folder: The output folder.
        now: The current time; deadlines that are closed by then count.

    Returns:
        Their paths by name.
    """
    files = {name: folder / f"{name}.csv" for name in ("marks", "canvas", "moodle")}
    _write(files["marks"], marks_table(policy, standings, now))
    _write(files["canvas"], canvas(policy, standings))
    _write(files["moodle"], moodle(policy, standings))
    for id, student in policy.students.items():
        write_bytes(folder / "students" / f"{id}.md", student_page(student, standings[id], history, now).encode("utf-8", "replace"))
    return {**files, "students": folder / "students"}


def marks_table(policy: Policy, standings: Standings, now: datetime) -> list[list[str]]:
    """A row for each student: mark, lateness and submission for each deadline, then the final mark in percent."""
    columns = [
        f"{deadline.name} {what}" for deadline in policy.deadlines for what in ("mark", "points", "days late", "percent lost", "submission")
    ]
    rows = [["id", "name", "email", "section", *columns, "final percent"]]
    for id, student in policy.students.items():
        cells = []
        for standing in standings[id]:
            cells += [_score(standing), number(standing.points), str(standing.days), number(standing.percent), standing.submission]
        final = total(standings[id], now)
        rows.append([id, student.name, student.email, student.section, *cells, "" if final is None else number(final)])
    return rows


def canvas(policy: Policy, standings: Standings) -> list[list[str]]:
    """The gradebook as Canvas imports it: five columns about the student, then the assignments; the first row holds their points.

    Canvas finds a student by its own ID, then by SIS user ID, login and name; an assignment by the id in parentheses, then by title.
    """
    points = {standing.deadline.name: number(standing.points) for each in standings.values() for standing in each}
    titles = [f"{deadline.name} ({deadline.canvas})" if deadline.canvas else deadline.name for deadline in policy.deadlines]
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles]]
    rows.append([POINTS_POSSIBLE, "", "", "", "", *(points.get(deadline.name, "") for deadline in policy.deadlines)])
    for id, student in policy.students.items():
        rows.append([student.name, student.canvas, lms_id(student), student.login, student.section, *map(_score, standings[id])])
    return rows


def lms_id(student: Student) -> str:
    """The student's number in the LMS."""
    return student.id if student.lms_id is None else student.lms_id


def moodle(policy: Policy, standings: Standings) -> list[list[str]]:
    """Grades as Moodle's gradebook imports them: three columns about the student, then a mark and feedback for each deadline."""
    columns = [column for deadline in policy.deadlines for column in (deadline.name, f"{deadline.name} feedback")]
    rows = [["ID number", "Email address", "Full name", *columns]]
    for id, student in policy.students.items():
        cells = [cell for standing in standings[id] for cell in (_score(standing), " ".join(_notes(standing)))]
        rows.append([lms_id(student), student.email, student.name, *cells])
    return rows


def fill_worksheet(sheet: Path, policy: Policy, standings: Mapping[str, Standing], path: Path) -> list[str]:
    """Fill in a grading worksheet that Moodle exported for one assignment; all other cells stay unchanged.

    Args:
        sheet: The worksheet.
        policy: The policy.
        standings: By student, for the deadline of the assignment.
        path: The output file.

    Returns:
        The names of participants who match no student, or more than one.

    Raises:
        RequestError: If it is not such a worksheet, or its maximum grade differs from what the tasks are worth.
    """
    rows = list(csv.reader(io.StringIO(read_text(sheet)[0])))
    positions = {name: number for number, name in enumerate(rows[0] if rows else ())}
    if missing := [name for name in WORKSHEET if name not in positions]:
        needed = f"{', '.join(WORKSHEET[:-1])} and {WORKSHEET[-1]}"
        raise RequestError(
            f"{sheet} expected the columns {needed} of a grading worksheet; missing {', '.join(missing)}",
            "download it again with Moodle in English",
        )
    unknown = []
    for row in rows[1:]:
        cells = {name: row[number] for name, number in positions.items() if number < len(row)}
        if not re.fullmatch(r"Participant \d+", cells["Identifier"]):
            raise RequestError(f"{sheet} expected an identifier such as Participant 501, got {cells['Identifier']}", f"fix {sheet}")
        student = _participant(cells, policy)
        if student is None:
            unknown.append(line(cells.get("Full name") or cells["Identifier"]))
            continue
        standing = standings[student.id]
        _check_maximum(sheet, cells.get("Maximum grade", ""), standing)
        if standing.score is not None:
            row[positions["Grade"]] = number(standing.score)
            if (feedback := positions.get("Feedback comments")) is not None:
                row[feedback] = escape_formula(line(" ".join(_notes(standing))))
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    write_bytes(path, text.getvalue().encode("utf-8-sig"))
    return unknown


def _participant(cells: Mapping[str, str], policy: Policy) -> Student | None:
    """The student in a row of a worksheet: by ID number, by email address, or by name if it is unique."""
    students = policy.students.values()
    keys = ((lms_id, "ID number"), (lambda student: student.email.casefold(), "Email address"), (lambda student: student.name, "Full name"))
    for key, column in keys:
        value = cells.get(column, "").strip()
        matches = [student for student in students if value and key(student) in (value, value.casefold())]
        if len(matches) == 1:
            return matches[0]
    return None


def _check_maximum(sheet: Path, maximum: str, standing: Standing) -> None:
    """Check that Moodle's maximum grade equals the points of the tasks.

    Raises:
        RequestError: If it does not.
    """
    try:
        fits = not maximum or math.isclose(float(maximum.replace(",", ".")), standing.points)
    except ValueError:
        fits = False
    if not fits:
        name, points = standing.deadline.name, number(standing.points)
        raise RequestError(
            f"{sheet} expected the maximum grade {points}, as {name} is worth {points} points, got {maximum}; change it in Moodle",
            "download the worksheet again",
        )


def student_page(student: Student, standings: Sequence[Standing], history: History, now: datetime) -> str:
    """The page of marks that a student reads."""
    final = total(standings, now)
    lines = [f"# {markdown(line(student.name or student.id))}", ""]
    lines += [f"**{number(final)} % so far.**", ""] if final is not None else []
    for standing in standings:
        lines += [f"## {markdown(line(standing.deadline.name))}: {_points(standing)}", ""]
        lines += [f"- {markdown(line(note))}" for note in _notes(standing)]
        marks = ", ".join(
            f"{task} {number(mark)}{' (by hand)' if task in standing.by_hand else ''}" for task, mark in standing.marks.items()
        )
        lines += [f"- Tasks: {marks}"] if marks else []
        lines += _remarks(history, student, standing.deadline)
        lines.append("")
    if about := [event for event in history.comments(student.id) if not event.about]:
        lines += ["## Comments", "", *(f"- {markdown(line(text))}" for event in about for text in event.why), ""]
    return "\n".join(lines)


def _remarks(history: History, student: Student, deadline: Deadline) -> Iterable[str]:
    """The teacher's reasons and comments on a deadline's tasks."""
    for task, event in history.overrides(student.id).items():
        if task in deadline.tasks:
            yield f"- Task {task}, by hand: {markdown(line(' '.join(event.why)))}"
    for event in history.comments(student.id):
        if event.about in deadline.tasks:
            yield f"- Task {event.about}: {markdown(line(' '.join(event.why)))}"


def _points(standing: Standing) -> str:
    if standing.score is None:
        return "no submission yet"
    return f"{number(standing.score)} of {number(standing.points)} points"


def _notes(standing: Standing) -> list[str]:
    notes = [*lateness(standing), *standing.notes]
    return [*notes, f"Not graded: {line(standing.refused)}"] if standing.refused else notes


def _score(standing: Standing) -> str:
    return "" if standing.score is None else number(standing.score)


def format_history(events: Sequence[Event]) -> list[str]:
    """A student's history, a line for each event."""
    lines = []
    for event in events:
        value = "" if event.score is None else f" {number(event.score)}"
        of = f" of {number(event.details['points'])}" if event.kind == MARK else ""
        about = f" {event.about}" if event.about else ""
        withdrawn = " withdrawn" if event.kind == "override" and event.score is None else ""
        lines.append(
            f"{event.time}  {event.kind}{about}{value}{of}{withdrawn}  {'; '.join(event.why)}{f'  ({event.by})' if event.by else ''}"
        )
    return lines


def _write(path: Path, rows: Iterable[Sequence[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([[cell if cell == POINTS_POSSIBLE else _cell(cell) for cell in row] for row in rows])
    write_bytes(path, text.getvalue().encode("utf-8-sig"))


def _cell(text: str) -> str:
    """A cell on one line that no spreadsheet takes for a formula; ids stay unchanged."""
    return escape_formula(re.sub(r"\s*[\t\r\n]\s*", " ", clean(text)))
