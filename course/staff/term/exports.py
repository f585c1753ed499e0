"""The marks of a term for those who need them: tables for Canvas, Moodle and spreadsheets, and a page for each student."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from course.staff.outputs.table import harmless
from course.staff.outputs.words import line, markdown, number
from course.staff.term.gradebook import Standing, lateness, total
from course.staff.term.history import MARK, Event, History
from course.staff.term.policy import Deadline, Policy, Student
from course.workspace.atomic_files import write_bytes

Standings = Mapping[str, Sequence[Standing]]


def write_exports(policy: Policy, standings: Standings, history: History, folder: Path, now: datetime) -> dict[str, Path]:
    """Write all of them, and say where.

    Args:
        policy: The policy.
        standings: By student.
        history: Of the term.
        folder: Where to.
        now: For deadlines that are over.
    """
    files = {name: folder / f"{name}.csv" for name in ("marks", "canvas", "moodle")}
    _write(files["marks"], table(policy, standings, now))
    _write(files["canvas"], canvas(policy, standings))
    _write(files["moodle"], moodle(policy, standings))
    for id, student in policy.students.items():
        write_bytes(folder / "students" / f"{id}.md", page(student, standings[id], history, now).encode("utf-8", "replace"))
    return {**files, "students": folder / "students"}


def table(policy: Policy, standings: Standings, now: datetime) -> list[list[str]]:
    """A row for each student: for each deadline the mark, lateness and the submission as its feedback is named; the final percent."""
    columns = [
        f"{deadline.name} {what}" for deadline in policy.deadlines for what in ("mark", "points", "days late", "percent lost", "submission")
    ]
    rows = [["id", "name", "email", "section", *columns, "final percent"]]
    for id, student in policy.students.items():
        cells = []
        for standing in standings[id]:
            cells += [_mark(standing), number(standing.points), str(standing.days), number(standing.percent), standing.submission]
        final = total(standings[id], now)
        rows.append([id, student.name, student.email, student.section, *cells, "" if final is None else number(final)])
    return rows


def canvas(policy: Policy, standings: Standings) -> list[list[str]]:
    """As Canvas exports its gradebook and takes it back: five columns about the student, one for each assignment, its points below."""
    points = {standing.deadline.name: number(standing.points) for each in standings.values() for standing in each}
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(deadline.name for deadline in policy.deadlines)]]
    rows.append(["    Points Possible", "", "", "", "", *(points.get(deadline.name, "") for deadline in policy.deadlines)])
    for id, student in policy.students.items():
        rows.append([student.name, student.canvas, id, student.login, student.section, *map(_mark, standings[id])])
    return rows


def moodle(policy: Policy, standings: Standings) -> list[list[str]]:
    """As Moodle's import of grades takes it: who it is, then a mark and a feedback for each deadline."""
    columns = [column for deadline in policy.deadlines for column in (deadline.name, f"{deadline.name} feedback")]
    rows = [["ID number", "Email address", "Full name", *columns]]
    for id, student in policy.students.items():
        cells = [cell for standing in standings[id] for cell in (_mark(standing), " ".join(_notes(standing)))]
        rows.append([id, student.email, student.name, *cells])
    return rows


def page(student: Student, standings: Sequence[Standing], history: History, now: datetime) -> str:
    """What a student may read of the term."""
    final = total(standings, now)
    lines = [f"# {markdown(line(student.name or student.id))}", ""]
    lines += [f"**{number(final)} % so far.**", ""] if final is not None else []
    for standing in standings:
        lines += [f"## {markdown(line(standing.deadline.name))}: {_worth(standing)}", ""]
        lines += [f"- {markdown(line(note))}" for note in _notes(standing)]
        marks = ", ".join(
            f"{task} {number(mark)}{' (by hand)' if task in standing.by_hand else ''}" for task, mark in standing.marks.items()
        )
        lines += [f"- Tasks: {marks}"] if marks else []
        lines += _told(history, student, standing.deadline)
        lines.append("")
    if about := [event for event in history.comments(student.id) if not event.about]:
        lines += ["## Comments", "", *(f"- {markdown(line(text))}" for event in about for text in event.why), ""]
    return "\n".join(lines)


def _told(history: History, student: Student, deadline: Deadline) -> Iterable[str]:
    """What a teacher has said of a deadline's tasks."""
    for task, event in history.overrides(student.id).items():
        if task in deadline.tasks:
            yield f"- Task {task}, by hand: {markdown(line(' '.join(event.why)))}"
    for event in history.comments(student.id):
        if event.about in deadline.tasks:
            yield f"- Task {event.about}: {markdown(line(' '.join(event.why)))}"


def _worth(standing: Standing) -> str:
    if standing.score is None:
        return "nothing handed in yet"
    return f"{number(standing.score)} of {number(standing.points)} points"


def _notes(standing: Standing) -> list[str]:
    said = [*lateness(standing), *standing.notes]
    return [*said, f"Not graded: {line(standing.refused)}"] if standing.refused else said


def _mark(standing: Standing) -> str:
    return "" if standing.score is None else number(standing.score)


def told(events: Sequence[Event]) -> list[str]:
    """A student's history, a line for each event."""
    lines = []
    for event in events:
        value = "" if event.score is None else f" {number(event.score)}"
        of = f" of {number(event.details['points'])}" if event.kind == MARK else ""
        about = f" {event.about}" if event.about else ""
        taken = " taken back" if event.kind == "override" and event.score is None else ""
        lines.append(f"{event.time}  {event.kind}{about}{value}{of}{taken}  {'; '.join(event.why)}{f'  ({event.by})' if event.by else ''}")
    return lines


def _write(path: Path, rows: Iterable[Sequence[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(
        [[harmless(line(cell)) if cell.strip() == cell else cell for cell in row] for row in rows]
    )
    write_bytes(path, text.getvalue().encode("utf-8-sig"))
