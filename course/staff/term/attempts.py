"""Submissions for a deadline: whose they are, when they were handed in, and which of a student's attempts counts."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from course.staff import RequestError
from course.staff.grading.journal import Journal
from course.staff.grading.submissions import JUNK, JUNK_FILES, stem
from course.staff.term.policy import Deadline, Policy, Student, due_date

TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)[T ](\d\d)[.:-]?(\d\d)(?:[.:-]?(\d\d))?(Z?)")
"""A time after the @ in a file name: 2027-01-31T18.30.00 or 20270131T1830, with a Z for UTC."""

CANVAS = re.compile(r"[^_]+_(?:LATE_)?(\d+)_\d+_.*")
"""The name of a submission downloaded from Canvas; the first number is the student's."""

MOODLE = re.compile(r"(.+)_\d+_assignsubmission_.*")
"""The name of a submission downloaded from Moodle; it begins with the student's name."""


@dataclass(frozen=True)
class Attempt:
    """One submission of a student for a deadline.

    Attributes:
        student: The student's id.
        path: The file or folder.
        time: When it was handed in.
        is_named: Whether the time is part of the name; otherwise it is the time of the file.
    """

    student: str
    path: Path
    time: datetime
    is_named: bool

    def name(self, alias: str) -> str:
        """The name under which it is graded."""
        return f"{alias}@{self.time:%Y-%m-%dT%H.%M.%S}"


@dataclass(frozen=True)
class Choice:
    """The attempt of a student that counts.

    Attributes:
        attempt: The attempt; None if no accepted submission exists.
        days: How many days it is late, rounded up.
        notes: Which attempts were ignored and why, for the student.
    """

    attempt: Attempt | None
    days: int
    notes: tuple[str, ...]


def find_attempts(folder: Path, policy: Policy) -> tuple[dict[str, list[Attempt]], list[str]]:
    """Find the attempts in a folder.

    Args:
        folder: The folder.
        policy: The policy.

    Returns:
        The attempts by student, oldest first, and the names of entries that match no student.

    Raises:
        RequestError: If the folder does not exist.
    """
    if not folder.is_dir():
        raise RequestError(
            f"there is no folder {folder}; create it and put submissions there, named ID@2027-01-31T18.30.00.zip", f"mkdir -p {folder}"
        )
    found: dict[str, list[Attempt]] = {}
    unknown: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.name in JUNK or path.name.startswith((".", *JUNK_FILES)):
            continue
        student = find_student(stem(path), policy)
        if student is None:
            unknown.append(path.name)
            continue
        named = _parse_time(stem(path).rpartition("@")[2] if "@" in path.name else "", policy)
        moment = named or datetime.fromtimestamp(path.stat().st_mtime, policy.zone)
        found.setdefault(student.id, []).append(Attempt(student.id, path, moment, named is not None))
    return {id: sorted(attempts, key=lambda attempt: attempt.time) for id, attempts in found.items()}, unknown


def find_student(name: str, policy: Policy) -> Student | None:
    """The student whose id, number in Canvas or unique full name in Moodle is in the name of a submission; None if there is none."""
    id = name.partition("@")[0]
    if id in policy.students:
        return policy.students[id]
    students = policy.students.values()
    if match := CANVAS.fullmatch(name):
        matches = [student for student in students if student.canvas == match[1]]
    elif match := MOODLE.fullmatch(name):
        matches = [student for student in students if student.name.casefold() == match[1].casefold()]
    else:
        matches = [student for student in students if student.id.casefold() == id.casefold()]
    return matches[0] if len(matches) == 1 else None


def _parse_time(text: str, policy: Policy) -> datetime | None:
    """The time in a name; None if there is none."""
    match = TIME.fullmatch(text)
    if match is None:
        return None
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC if match[7] else policy.zone)
    except ValueError:
        return None


def choose(attempts: Sequence[Attempt], deadline: Deadline, student: Student, policy: Policy) -> Choice:
    """Choose the attempt that counts: the last one that is accepted and not too late."""
    notes: list[str] = []
    due = due_date(deadline, student)
    if deadline.attempts is not None and len(attempts) > deadline.attempts:
        notes.append(f"{len(attempts)} submissions were handed in; only the first {deadline.attempts} are accepted.")
        attempts = attempts[: deadline.attempts]
    for attempt in reversed(attempts):
        days = days_late(attempt.time, due, policy.late.grace)
        if days <= policy.late.most:
            return Choice(attempt, days, tuple(notes))
        most = format_days(policy.late.most)
        notes.append(
            f"The submission of {attempt.time:%Y-%m-%d %H:%M} is {format_days(days)} late; submissions are accepted up to {most} late."
        )
    return Choice(None, 0, tuple(notes))


def days_late(moment: datetime, due: datetime, grace: int) -> int:
    """Days between a deadline and a later moment, rounded up; 0 within the minutes of grace."""
    late = moment - due - timedelta(minutes=grace)
    return max(0, math.ceil(late / timedelta(days=1)))


def free_days(late: Mapping[str, int], policy: Policy) -> dict[str, int]:
    """How many free late days a student spends at each deadline, in the order of the deadlines.

    Args:
        late: How many days late the submissions were, by the deadline's name.
        policy: The policy.
    """
    left = policy.late.days
    spent = {}
    for deadline in policy.deadlines:
        spent[deadline.name] = min(left, late.get(deadline.name, 0))
        left -= spent[deadline.name]
    return spent


def format_days(days: int) -> str:
    """A number of days in words."""
    return "1 day" if days == 1 else f"{days} days"


def alias(policy: Policy, id: str, folder: Path) -> str:
    """The name under which a student's submissions are graded and shown: the id, or an alias derived from the secret of the class."""
    if not policy.anonymous:
        return id
    secret = Journal(folder / "graded").number()
    return f"student-{hashlib.sha256(f'{secret} {id}'.encode()).hexdigest()[:8]}"
