"""`term.toml`: the roster and the policy of a term, parsed and validated."""

from __future__ import annotations

import difflib
import re
import secrets
import tomllib
import zoneinfo
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, NoReturn

from course.manifest import Manifest
from course.staff import RequestError
from course.staff.outputs.table import FORMULA
from course.staff.probes import FULL, PUBLISHED
from course.staff.variants.registry import FAMILIES

FILE = "term.toml"

SHORTEST_SEED = 16
"""Minimum length. Anybody who guesses the seed can compute every student's variant."""

KINDS = {str: "a string", bool: "true or false", int: "an integer", float: "a number", list: "a list", dict: "a table", date: "a date"}


@dataclass(frozen=True)
class Student:
    """A student.

    Attributes:
        id: Unique; the names of submissions begin with it.
        name: Full name.
        email: Email address in the LMS.
        section: Section or group.
        login: The login name in the LMS.
        canvas: The number that Canvas assigns.
        lms_id: SIS user ID in Canvas, ID number in Moodle; None if it equals `id`, empty if the student has none.
        extensions: Extra days, by the name of a deadline.
    """

    id: str
    name: str = ""
    email: str = ""
    section: str = ""
    login: str = ""
    canvas: str = ""
    lms_id: str | None = None
    extensions: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Late:
    """The late policy.

    Attributes:
        days: Free late days for each student over the term.
        percent: Penalty for each further day, in percent of the points earned.
        most: Submissions are accepted up to this many days late.
        grace: Minutes after the deadline that do not count as late.
    """

    days: int = 0
    percent: float = 10.0
    most: int = 7
    grace: int = 0


@dataclass(frozen=True)
class Deadline:
    """A deadline for several tasks.

    Attributes:
        name: The name, such as "Module 0".
        tasks: The ids of the tasks.
        due: When they are due.
        weight: Weight in the final mark, relative to the other deadlines.
        attempts: How many submissions are accepted; None for any number.
        canvas: The id of the assignment in Canvas; None to find it by its name.
    """

    name: str
    tasks: tuple[str, ...]
    due: datetime
    weight: float
    attempts: int | None = None
    canvas: int | None = None

    @property
    def slug(self) -> str:
        """The name of its folders."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True)
class VariantPolicy:
    """Which tasks differ from student to student.

    Attributes:
        seed: The secret from which students' parameters are derived.
        families: Names of families of variants.
        percent: The share of a task's points that a student's own functions earn.
    """

    seed: str
    families: tuple[str, ...]
    percent: float


@dataclass(frozen=True)
class Policy:
    """The contents of `term.toml`.

    Attributes:
        title: Title of the course.
        zone: Time zone of dates without an offset.
        profile: Grading profile.
        anonymous: Whether submissions are graded and shown under aliases.
        late: The late policy.
        deadlines: Sorted by date.
        students: Students by id.
        variants: Which tasks differ from student to student; None if there are no variants.
    """

    title: str
    zone: zoneinfo.ZoneInfo
    profile: str
    anonymous: bool
    late: Late
    deadlines: tuple[Deadline, ...]
    students: Mapping[str, Student]
    variants: VariantPolicy | None = None

    def student(self, id: str) -> Student:
        """The student with an id.

        Raises:
            RequestError: If there is no such student.
        """
        if id not in self.students:
            raise RequestError(f"there is no student {id!r}{_nearest(id, self.students)}", "course-staff roster --help")
        return self.students[id]

    def deadline_of(self, task: str) -> Deadline:
        """The deadline of a task.

        Raises:
            RequestError: If the task has no deadline.
        """
        for deadline in self.deadlines:
            if task in deadline.tasks:
                return deadline
        known = ", ".join(id for deadline in self.deadlines for id in deadline.tasks)
        raise RequestError(f"Task {task} has no deadline; the tasks of this term are {known}", "course-staff override --help")

    def select(self, names: Sequence[str]) -> list[Deadline]:
        """The deadlines with these names, or all if there are no names.

        Raises:
            RequestError: If a name is unknown.
        """
        known = [name for deadline in self.deadlines for name in (deadline.name, deadline.slug)]
        if unknown := [name for name in names if name not in known]:
            raise RequestError(f"there is no deadline {unknown[0]!r}{_nearest(unknown[0], known)}", f"use a name from {FILE}")
        return [deadline for deadline in self.deadlines if not names or {deadline.name, deadline.slug} & set(names)]


def read_policy(folder: Path, manifest: Manifest) -> Policy:
    """Read the `term.toml` of a folder.

    Args:
        folder: The folder of the term.
        manifest: The course.

    Returns:
        The policy.

    Raises:
        RequestError: If the file is missing or invalid; the message gives the location, the expected value and the actual one.
    """
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RequestError(f"there is no {path}; use the folder of a term", "course-staff term DIR") from None
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8: {error}", f"fix {path}") from None
    return parse_policy(text, path, manifest)


def parse_policy(text: str, path: Path, manifest: Manifest) -> Policy:
    """Parse the text of a `term.toml`.

    Args:
        text: The text.
        path: Its path, for messages.
        manifest: The course.

    Returns:
        The policy.

    Raises:
        RequestError: If the text is invalid.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RequestError(f"{path} is not valid TOML: {error}", f"fix {path}") from None
    top = _Table(document, str(path))
    course = _Table(top.pop("course", dict, {}), f"{path}, [course]")
    title, zone_name = course.pop("title", str, "MiniTorch"), course.pop("timezone", str, "UTC")
    profile, anonymous = course.pop("profile", str, FULL), course.pop("anonymous", bool, False)
    try:
        zone = zoneinfo.ZoneInfo(zone_name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        course.refuse("timezone", "a name such as Europe/Berlin", zone_name)
    if profile not in (FULL, PUBLISHED):
        course.refuse("profile", f"{FULL} or {PUBLISHED}", profile)
    course.close()
    late = _late(_Table(top.pop("late", dict, {}), f"{path}, [late]"))
    deadlines = _deadlines(top.pop("deadline", list, []), path, manifest, zone)
    students = _students(top.pop("student", list, []), path, {deadline.name for deadline in deadlines})
    variants = top.pop("variants", dict, None)
    top.close()
    differing = None if variants is None else _variants(_Table(variants, f"{path}, [variants]"))
    return Policy(title, zone, profile, anonymous, late, deadlines, students, differing)


def _variants(table: _Table) -> VariantPolicy:
    seed = table.pop("seed", str, "")
    if len(seed) < SHORTEST_SEED:
        got = f"{len(seed)} characters" if seed else "nothing"
        table.refuse("seed", f'a secret of at least {SHORTEST_SEED} characters, such as "{secrets.token_hex(16)}"', got)
    families = table.pop("families", list, list(FAMILIES))
    for name in families:
        if name not in FAMILIES:
            table.refuse("families", f"some of {', '.join(FAMILIES)}", repr(name))
    percent = table.number("percent", 30.0, most=90.0)
    if not percent:
        table.refuse("percent", "a number above 0", "0")
    table.close()
    return VariantPolicy(seed, tuple(families), percent)


def _late(table: _Table) -> Late:
    late = Late(
        table.count("days", 0), table.number("percent", 10.0, most=100.0), table.count("most", 7), table.count("grace", 0)
    )  # fmt: skip
    table.close()
    return late


def _deadlines(entries: list[Any], path: Path, manifest: Manifest, zone: zoneinfo.ZoneInfo) -> tuple[Deadline, ...]:
    deadlines: list[Deadline] = []
    for number, entry in enumerate(entries, 1):
        table = _Table(entry, f"{path}, [[deadline]] {number}")
        name = table.pop("name", str)
        table.where = f"{path}, [[deadline]] {name}"
        tasks = _tasks(table, manifest)
        points = sum(task.points for task in manifest.tasks if task.id in tasks and not task.extra)
        due = _due_time(table.pop("due", date), zone)
        attempts = table.count("attempts", None, least=1)
        canvas = table.count("canvas", None, least=1)
        deadline = Deadline(name, tasks, due, table.number("weight", float(points)), attempts, canvas)
        table.close()
        for other in deadlines:
            if other.slug == deadline.slug or not deadline.slug:
                table.refuse("name", "a unique name", name)
            if again := set(other.tasks) & set(tasks):
                table.refuse("tasks", f"tasks that are not in {other.name}", ", ".join(sorted(again)))
        deadlines.append(deadline)
    return tuple(sorted(deadlines, key=lambda deadline: deadline.due))


def _tasks(table: _Table, manifest: Manifest) -> tuple[str, ...]:
    """The ids of a deadline's tasks, with modules expanded."""
    names = table.pop("tasks", list)
    for name in names:
        if not any(name in (task.id, str(task.stage)) for task in manifest.tasks):
            table.refuse("tasks", f"tasks ({', '.join(task.id for task in manifest.tasks)}) or modules, as strings", repr(name))
    if not names:
        table.refuse("tasks", "at least one task", "none")
    return tuple(task.id for task in manifest.tasks if {task.id, str(task.stage)} & set(names))


def _students(entries: list[Any], path: Path, deadlines: set[str]) -> dict[str, Student]:
    students: dict[str, Student] = {}
    for number, entry in enumerate(entries, 1):
        table = _Table(entry, f"{path}, [[student]] {number}")
        id = table.pop("id", str)
        if not is_id(id):
            table.refuse("id", "a string without @ and slashes that does not begin with one of . = + -", repr(id))
        if id.casefold() in map(str.casefold, students):
            table.refuse("id", "a unique id", id)
        texts = {name: table.pop(name, str, "") for name in ("name", "email", "section", "login", "canvas")}
        texts["lms_id"] = table.pop("lms_id", str, None)
        for key in ("email", "login", "canvas", "lms_id"):
            if (texts[key] or "").startswith(FORMULA):
                table.refuse(
                    key, "a string that does not begin with one of = + - @, which start a formula in spreadsheets", repr(texts[key])
                )
        extensions = _Table(table.pop("extensions", dict, {}), f"{path}, extensions of {id}")
        for name in extensions.entries:
            if name not in deadlines:
                extensions.refuse(name, f"a deadline ({', '.join(sorted(deadlines)) or 'there is none'})", repr(name))
        students[id] = Student(id, **texts, extensions={name: extensions.number(name) for name in list(extensions.entries)})
        table.close()
    return students


def is_id(text: str) -> bool:
    """Whether a text may be a student's id: it is safe in a file name and not a formula in a spreadsheet."""
    return bool(text) and text == text.strip() and not text.startswith((".", *FORMULA)) and not re.search(r"[/\\\x00-\x1f@]", text)


def _due_time(value: date, zone: zoneinfo.ZoneInfo) -> datetime:
    """The end of a date, or a time; a time without an offset is in the time zone of the course."""
    moment = value if isinstance(value, datetime) else datetime.combine(value, time(23, 59, 59))
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def due_date(deadline: Deadline, student: Student) -> datetime:
    """When a deadline is due for a student, with an extension if there is one."""
    return deadline.due + timedelta(days=student.extensions.get(deadline.name, 0))


REQUIRED = object()


class _Table:
    """A table of the file; its entries are validated and removed one by one.

    Args:
        entries: The table.
        where: Its location, for messages.
    """

    def __init__(self, entries: Any, where: str) -> None:
        self.where = where
        if not isinstance(entries, dict):
            self.refuse("entry", "a table", repr(entries))
        self.entries = dict(entries)
        self._known: list[str] = []

    def pop(self, name: str, kind: type, default: Any = REQUIRED) -> Any:
        """Remove an entry of this type and return it, or the default."""
        self._known.append(name)
        if name not in self.entries:
            if default is REQUIRED:
                self.refuse(name, KINDS[kind], "nothing")
            return default
        value = self.entries.pop(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.refuse(name, KINDS[kind], repr(value))
        return value

    def number(self, name: str, default: Any = REQUIRED, most: float = 1e6) -> float:
        """Remove a number from 0 to `most` and return it."""
        given = self.entries.get(name)
        if isinstance(given, int) and not isinstance(given, bool):
            self.entries[name] = float(given)
        value = self.pop(name, float, default)
        if not 0 <= value <= most:
            self.refuse(name, f"a number from 0 to {most:g}", str(value))
        return value

    def count(self, name: str, default: int | None, least: int = 0) -> Any:
        """Remove an integer of at least `least` and return it."""
        value = self.pop(name, int, default)
        if value is not None and value < least:
            self.refuse(name, f"an integer of at least {least}", str(value))
        return value

    def close(self) -> None:
        """Raise an error if an entry is left."""
        for name in self.entries:
            self.refuse(name, f"one of {', '.join(self._known)}", f"{name!r}{_nearest(name, self._known)}")

    def refuse(self, name: str, expected: str, got: str) -> NoReturn:
        """Raise an error about an entry."""
        raise RequestError(f"{self.where}: {name} expected {expected}, got {got}", f"fix {FILE}")


def _nearest(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    found = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""
