"""What was handed in for a deadline: by whom, when, and which of a student's attempts counts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from course.staff import RequestError
from course.staff.grading.submissions import JUNK, JUNK_FILES, stem
from course.staff.term.policy import Deadline, Policy, Student, extended

TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)[T ](\d\d)[.:-]?(\d\d)(?:[.:-]?(\d\d))?(Z?)")
"""A time as it may stand behind an @ in a name: 2027-01-31T18.30.00, 20270131T1830, with a Z for UTC."""

CANVAS = re.compile(r"[^_]+_(?:LATE_)?(\d+)_\d+_.*")
"""How Canvas names what it lets a teacher download; the number is the student's."""

MOODLE = re.compile(r"(.+)_\d+_assignsubmission_.*")
"""How Moodle does; first comes the student's name."""


@dataclass(frozen=True)
class Attempt:
    """One submission of a student for a deadline.

    Attributes:
        student: The id.
        path: Where it lies.
        time: When it was handed in.
        is_named: Whether its name says when; else it is the file's own time.
    """

    student: str
    path: Path
    time: datetime
    is_named: bool

    def name(self, alias: str) -> str:
        """What grading calls it."""
        return f"{alias}@{self.time:%Y-%m-%dT%H.%M.%S}"


@dataclass(frozen=True)
class Choice:
    """Which attempt of a student counts.

    Attributes:
        attempt: The one; None if nothing was handed in that may count.
        days: How many days it is late, begun ones as whole ones.
        notes: What was passed over and why, for the student.
    """

    attempt: Attempt | None
    days: int
    notes: tuple[str, ...]


def find_attempts(folder: Path, policy: Policy) -> tuple[dict[str, list[Attempt]], list[str]]:
    """The attempts in a folder by student, the first ones first, and the names of entries that are nobody's.

    Raises:
        RequestError: If there is no such folder.
    """
    if not folder.is_dir():
        raise RequestError(
            f"there is no folder {folder}; put what was handed in there, as ID@2027-01-31T18.30.00.zip", f"mkdir -p {folder}"
        )
    found: dict[str, list[Attempt]] = {}
    strangers: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.name in JUNK or path.name.startswith((".", *JUNK_FILES)):
            continue
        student = student_of(stem(path), policy)
        if student is None:
            strangers.append(path.name)
            continue
        stamped = _stamped(stem(path).rpartition("@")[2] if "@" in path.name else "", policy)
        moment = stamped or datetime.fromtimestamp(path.stat().st_mtime, policy.zone)
        found.setdefault(student.id, []).append(Attempt(student.id, path, moment, stamped is not None))
    return {id: sorted(attempts, key=lambda attempt: attempt.time) for id, attempts in found.items()}, strangers


def student_of(name: str, policy: Policy) -> Student | None:
    """The student whom a name means: by id, by the number of Canvas, or by Moodle's full name if only one has it."""
    id = name.partition("@")[0]
    if id in policy.students:
        return policy.students[id]
    students = policy.students.values()
    if match := CANVAS.fullmatch(name):
        alike = [student for student in students if student.canvas == match[1]]
    elif match := MOODLE.fullmatch(name):
        alike = [student for student in students if student.name.casefold() == match[1].casefold()]
    else:
        alike = [student for student in students if student.id.casefold() == id.casefold()]
    return alike[0] if len(alike) == 1 else None


def _stamped(text: str, policy: Policy) -> datetime | None:
    """The time that a name says."""
    match = TIME.fullmatch(text)
    if match is None:
        return None
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC if match[7] else policy.zone)
    except ValueError:
        return None


def choose(attempts: Sequence[Attempt], deadline: Deadline, student: Student, policy: Policy) -> Choice:
    """The attempt that counts: the last of those that are taken and not too late."""
    notes: list[str] = []
    due = extended(deadline, student)
    if deadline.attempts is not None and len(attempts) > deadline.attempts:
        notes.append(f"{len(attempts)} were handed in; {deadline.attempts} are taken, the first ones.")
        attempts = attempts[: deadline.attempts]
    for attempt in reversed(attempts):
        days = days_late(attempt.time, due, policy.late.grace)
        if days <= policy.late.most:
            return Choice(attempt, days, tuple(notes))
        when = f"{attempt.time:%Y-%m-%d %H:%M}"
        notes.append(f"What was handed in at {when} is {in_days(days)} late, and not taken after {policy.late.most}.")
    return Choice(None, 0, tuple(notes))


def days_late(moment: datetime, due: datetime, grace: int) -> int:
    """Begun days between a deadline and a later moment; none within the minutes of grace."""
    late = moment - due - timedelta(minutes=grace)
    return max(0, math.ceil(late / timedelta(days=1)))


def free_days(late: Mapping[str, int], policy: Policy) -> dict[str, int]:
    """How a student's free late days are spent, on the deadlines as they come; by the deadlines' names.

    Args:
        late: How many days late each deadline's submission was.
        policy: The policy.
    """
    left = policy.late.days
    spent = {}
    for deadline in policy.deadlines:
        spent[deadline.name] = min(left, late.get(deadline.name, 0))
        left -= spent[deadline.name]
    return spent


def in_days(days: int) -> str:
    """A number of days in words."""
    return "1 day" if days == 1 else f"{days} days"
