"""`term.toml`: the roster and the policy of a term, read and checked."""

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
from course.staff.probes import FULL, PUBLISHED
from course.staff.variants.registry import FAMILIES

FILE = "term.toml"

SHORTEST_SEED = 16
"""Characters. Whoever guesses the seed can compute every student's variant."""

KINDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", list: "a list", dict: "a table", date: "a date"}


@dataclass(frozen=True)
class Student:
    """One student.

    Attributes:
        id: Unique; submissions are named by it.
        name: As people write it.
        email: As the LMS has it.
        section: The group.
        login: The name in the LMS.
        canvas: The number that Canvas gives.
        extensions: Days more, by the name of a deadline.
    """

    id: str
    name: str = ""
    email: str = ""
    section: str = ""
    login: str = ""
    canvas: str = ""
    extensions: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Late:
    """What it costs to be late.

    Attributes:
        days: Late days that cost nothing, for each student over the term.
        percent: Of what was earned, what each further day costs.
        most: After so many days nothing is taken any more.
        grace: Minutes that are no lateness.
    """

    days: int = 0
    percent: float = 10.0
    most: int = 7
    grace: int = 0


@dataclass(frozen=True)
class Deadline:
    """Tasks that are due together.

    Attributes:
        name: "Module 0".
        tasks: Their ids.
        due: When.
        weight: Its share of the final mark, relative to the others.
        attempts: How many submissions are taken; None for any number.
    """

    name: str
    tasks: tuple[str, ...]
    due: datetime
    weight: float
    attempts: int | None = None

    @property
    def slug(self) -> str:
        """Its name as that of a folder."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True)
class VariantPolicy:
    """Which tasks differ from student to student.

    Attributes:
        seed: The secret that students' parameters are drawn with.
        families: Names of families of variants.
        percent: The share of a task's points that a student's own functions earn.
    """

    seed: str
    families: tuple[str, ...]
    percent: float


@dataclass(frozen=True)
class Policy:
    """What `term.toml` says.

    Attributes:
        title: Of the course.
        zone: In which dates are meant that do not say so.
        profile: What is marked.
        anonymous: Whether submissions are graded and shown under other names.
        late: What it costs to be late.
        deadlines: In the order of their dates.
        students: By id.
        variants: Which tasks differ from student to student; None if all have the same.
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
        """A student by id.

        Raises:
            RequestError: If there is none.
        """
        if id not in self.students:
            raise RequestError(f"there is no student {id!r}{_nearest(id, self.students)}", "course-staff roster --help")
        return self.students[id]

    def deadline_of(self, task: str) -> Deadline:
        """The deadline of a task.

        Raises:
            RequestError: If it has none.
        """
        for deadline in self.deadlines:
            if task in deadline.tasks:
                return deadline
        known = ", ".join(id for deadline in self.deadlines for id in deadline.tasks)
        raise RequestError(f"Task {task} has no deadline; those of this term are {known}", "course-staff override --help")

    def chosen(self, names: Sequence[str]) -> list[Deadline]:
        """The deadlines of these names, or all for none.

        Raises:
            RequestError: If there is none of a name.
        """
        known = [name for deadline in self.deadlines for name in (deadline.name, deadline.slug)]
        if unknown := [name for name in names if name not in known]:
            raise RequestError(f"there is no deadline {unknown[0]!r}{_nearest(unknown[0], known)}", f"name one of {FILE}")
        return [deadline for deadline in self.deadlines if not names or {deadline.name, deadline.slug} & set(names)]


def read_policy(folder: Path, manifest: Manifest) -> Policy:
    """Read the `term.toml` of a folder.

    Raises:
        RequestError: If there is none, or something in it cannot be; it says what, where and what may stand there.
    """
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RequestError(f"there is no {path}; name the folder of a term", "course-staff term DIR makes one") from None
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8: {error}", f"mend {path}") from None
    return parse_policy(text, path, manifest)


def parse_policy(text: str, path: Path, manifest: Manifest) -> Policy:
    """Read the text of a `term.toml`.

    Raises:
        RequestError: As `read_policy`.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RequestError(f"{path} is not valid TOML: {error}", f"mend {path}") from None
    top = _Table(document, str(path))
    course = _Table(top.take("course", dict, {}), f"{path}, [course]")
    title, zone_name = course.take("title", str, "MiniTorch"), course.take("timezone", str, "UTC")
    profile, anonymous = course.take("profile", str, FULL), course.take("anonymous", bool, False)
    try:
        zone = zoneinfo.ZoneInfo(zone_name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        course.refuse("timezone", "a name such as Europe/Berlin", zone_name)
    if profile not in (FULL, PUBLISHED):
        course.refuse("profile", f"{FULL} or {PUBLISHED}", profile)
    course.end()
    late = _late(_Table(top.take("late", dict, {}), f"{path}, [late]"))
    deadlines = _deadlines(top.take("deadline", list, []), path, manifest, zone)
    students = _students(top.take("student", list, []), path, {deadline.name for deadline in deadlines})
    variants = top.take("variants", dict, None)
    top.end()
    differing = None if variants is None else _variants(_Table(variants, f"{path}, [variants]"))
    return Policy(title, zone, profile, anonymous, late, deadlines, students, differing)


def _variants(table: _Table) -> VariantPolicy:
    seed = table.take("seed", str, "")
    if len(seed) < SHORTEST_SEED:
        got = f"{len(seed)} characters" if seed else "nothing"
        table.refuse("seed", f'a secret of at least {SHORTEST_SEED} characters, such as "{secrets.token_hex(16)}"', got)
    families = table.take("families", list, list(FAMILIES))
    for name in families:
        if name not in FAMILIES:
            table.refuse("families", f"some of {', '.join(FAMILIES)}", repr(name))
    percent = table.number("percent", 30.0, most=90.0)
    if not percent:
        table.refuse("percent", "a number above 0", "0")
    table.end()
    return VariantPolicy(seed, tuple(families), percent)


def _late(table: _Table) -> Late:
    late = Late(
        table.count("days", 0), table.number("percent", 10.0, most=100.0), table.count("most", 7), table.count("grace", 0)
    )  # fmt: skip
    table.end()
    return late


def _deadlines(entries: list[Any], path: Path, manifest: Manifest, zone: zoneinfo.ZoneInfo) -> tuple[Deadline, ...]:
    deadlines: list[Deadline] = []
    for place, entry in enumerate(entries, 1):
        table = _Table(entry, f"{path}, [[deadline]] {place}")
        name = table.take("name", str)
        table.where = f"{path}, [[deadline]] {name}"
        tasks = _tasks(table, manifest)
        points = sum(task.points for task in manifest.tasks if task.id in tasks and not task.extra)
        due = _moment(table.take("due", date), zone)
        attempts = table.count("attempts", None, least=1)
        deadline = Deadline(name, tasks, due, table.number("weight", float(points)), attempts)
        table.end()
        for other in deadlines:
            if other.slug == deadline.slug or not deadline.slug:
                table.refuse("name", "another name than the other deadlines have", name)
            if again := set(other.tasks) & set(tasks):
                table.refuse("tasks", f"tasks that {other.name} does not have", ", ".join(sorted(again)))
        deadlines.append(deadline)
    return tuple(sorted(deadlines, key=lambda deadline: deadline.due))


def _tasks(table: _Table, manifest: Manifest) -> tuple[str, ...]:
    """The ids that a deadline means: tasks, or whole modules."""
    names = table.take("tasks", list)
    for name in names:
        if not any(name in (task.id, str(task.stage)) for task in manifest.tasks):
            table.refuse("tasks", f"tasks ({', '.join(task.id for task in manifest.tasks)}) or modules, as texts", repr(name))
    if not names:
        table.refuse("tasks", "at least one", "none")
    return tuple(task.id for task in manifest.tasks if {task.id, str(task.stage)} & set(names))


def _students(entries: list[Any], path: Path, deadlines: set[str]) -> dict[str, Student]:
    students: dict[str, Student] = {}
    for place, entry in enumerate(entries, 1):
        table = _Table(entry, f"{path}, [[student]] {place}")
        id = table.take("id", str)
        if not id.strip() or id != id.strip() or re.search(r"[/\\\x00-\x1f@]", id) or id.startswith("."):
            table.refuse("id", "a text without @, slashes and spaces around it", repr(id))
        if id.casefold() in map(str.casefold, students):
            table.refuse("id", "another one than the other students have", id)
        texts = {name: table.take(name, str, "") for name in ("name", "email", "section", "login", "canvas")}
        extensions = _Table(table.take("extensions", dict, {}), f"{path}, extensions of {id}")
        for name in extensions.entries:
            if name not in deadlines:
                extensions.refuse(name, f"a deadline ({', '.join(sorted(deadlines)) or 'there is none'})", repr(name))
        students[id] = Student(id, **texts, extensions={name: extensions.number(name) for name in list(extensions.entries)})
        table.end()
    return students


def _moment(value: date, zone: zoneinfo.ZoneInfo) -> datetime:
    """A date as the end of its day; a time without an offset as one of the course's zone."""
    moment = value if isinstance(value, datetime) else datetime.combine(value, time(23, 59, 59))
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def extended(deadline: Deadline, student: Student) -> datetime:
    """When a student must hand in."""
    return deadline.due + timedelta(days=student.extensions.get(deadline.name, 0))


NEEDED = object()


class _Table:
    """A table of the file, whose entries are taken out one by one, each as what it must be.

    Args:
        entries: The table.
        where: How it is called in messages.
    """

    def __init__(self, entries: Any, where: str) -> None:
        self.where = where
        if not isinstance(entries, dict):
            self.refuse("entry", "a table", repr(entries))
        self.entries = dict(entries)
        self._known: list[str] = []

    def take(self, name: str, kind: type, default: Any = NEEDED) -> Any:
        """An entry of a kind."""
        self._known.append(name)
        if name not in self.entries:
            if default is NEEDED:
                self.refuse(name, KINDS[kind], "nothing")
            return default
        value = self.entries.pop(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.refuse(name, KINDS[kind], repr(value))
        return value

    def number(self, name: str, default: Any = NEEDED, most: float = 1e6) -> float:
        """A number from 0 on."""
        given = self.entries.get(name)
        if isinstance(given, int) and not isinstance(given, bool):
            self.entries[name] = float(given)
        value = self.take(name, float, default)
        if not 0 <= value <= most:
            self.refuse(name, f"a number from 0 to {most:g}", str(value))
        return value

    def count(self, name: str, default: int | None, least: int = 0) -> Any:
        """A whole number."""
        value = self.take(name, int, default)
        if value is not None and value < least:
            self.refuse(name, f"a whole number from {least} on", str(value))
        return value

    def end(self) -> None:
        """Refuse what is left over."""
        for name in self.entries:
            self.refuse(name, f"one of {', '.join(self._known)}", f"{name!r}{_nearest(name, self._known)}")

    def refuse(self, name: str, expected: str, got: str) -> NoReturn:
        """Say what is wrong."""
        raise RequestError(f"{self.where}: {name} expected {expected}, got {got}", f"mend {FILE}")


def _nearest(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    found = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""
