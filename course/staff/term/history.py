"""`history.jsonl`: every mark that a student has had and why, and every decision of a teacher. The file is append-only."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course.staff import StaffError

FILE = "history.jsonl"

MARK, OVERRIDE, COMMENT = "mark", "override", "comment"


@dataclass(frozen=True)
class Event:
    """An event in the history of a student's marks.

    Attributes:
        kind: "mark", "override" or "comment".
        student: The student's id.
        about: The deadline of a mark, the task of an override, or the task of a comment; empty for a general comment.
        time: When it happened, in UTC.
        by: The login name of the person who ran the command.
        score: The new mark, or the mark that an override sets; None if an override is withdrawn, and for comments.
        why: Sentences.
        details: What a mark was computed from, see `gradebook.Standing`.
    """

    kind: str
    student: str
    about: str = ""
    time: str = ""
    by: str = ""
    score: float | None = None
    why: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


class History:
    """The history of a term.

    Args:
        folder: The folder of the term.

    Attributes:
        events: All events in order.
        warnings: Lines that could not be read; they stay in the file.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.events: list[Event] = []
        self._latest: dict[tuple[str, str, str], Event] = {}
        self.warnings: list[str] = []
        data = self.path.read_bytes() if self.path.exists() else b""
        self._ends_with_newline = not data or data.endswith(b"\n")
        for number, line in enumerate(data.splitlines(), 1):
            try:
                entry = json.loads(line)
                self._append(Event(**{**entry, "why": tuple(entry["why"])}))
            except (ValueError, TypeError, KeyError):
                self.warnings.append(f"{self.path}, line {number} cannot be read and was ignored; it stays in the file")

    def add(self, events: Iterable[Event]) -> None:
        """Append events and flush them to the disk.

        Raises:
            StaffError: If they cannot be written; earlier events are not lost.
        """
        stamped = [Event(**{**asdict(event), "why": event.why, "time": _now(), "by": _login()}) for event in events]
        if not stamped:
            return
        lines = "".join(json.dumps(asdict(event), ensure_ascii=False) + "\n" for event in stamped)
        try:
            with self.path.open("ab") as file:
                file.write((b"" if self._ends_with_newline else b"\n") + lines.encode("utf-8", "surrogatepass"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StaffError(f"{self.path} could not be written ({error.strerror}); free some space or fix its permissions") from None
        self._ends_with_newline = True
        for event in stamped:
            self._append(event)

    def _append(self, event: Event) -> None:
        self.events.append(event)
        self._latest[event.kind, event.student, event.about] = event

    def last_mark(self, student: str, deadline: str) -> Event | None:
        """The latest mark of a student for a deadline; None if there is none yet."""
        return self._latest.get((MARK, student, deadline))

    def overrides(self, student: str) -> dict[str, Event]:
        """The active overrides of a student, by task."""
        latest = {task: event for (kind, id, task), event in self._latest.items() if (kind, id) == (OVERRIDE, student)}
        return {task: event for task, event in latest.items() if event.score is not None}

    def comments(self, student: str) -> Sequence[Event]:
        """The comments for a student."""
        return [event for event in self.events if event.kind == COMMENT and event.student == student]

    def of(self, student: str) -> Sequence[Event]:
        """All events of a student."""
        return [event for event in self.events if event.student == student]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
