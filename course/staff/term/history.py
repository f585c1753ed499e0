"""`history.jsonl`: every mark that a student has had and why, and what was decided by hand. It is only ever added to."""

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
    """Something that happened to a student's marks.

    Attributes:
        kind: "mark", "override" or "comment".
        student: The id.
        about: The deadline of a mark, the task of an override, either or nothing for a comment.
        time: When, in UTC.
        by: Whose login it was.
        score: What a mark is now, or what an override says; None where an override is taken back, and for comments.
        why: Sentences.
        details: Of a mark: what it was made from, see `gradebook.Standing`.
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
        folder: Of the term.

    Attributes:
        events: In their order.
        warnings: Which lines could not be read; they stay in the file.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.events: list[Event] = []
        self._latest: dict[tuple[str, str, str], Event] = {}
        self.warnings: list[str] = []
        data = self.path.read_bytes() if self.path.exists() else b""
        self._whole = not data or data.endswith(b"\n")
        for number, line in enumerate(data.splitlines(), 1):
            try:
                entry = json.loads(line)
                self._take(Event(**{**entry, "why": tuple(entry["why"])}))
            except (ValueError, TypeError, KeyError):
                self.warnings.append(f"{self.path}, line {number} cannot be read and was passed over; it stays there")

    def add(self, events: Iterable[Event]) -> None:
        """Write events, and see that they are on the disk.

        Raises:
            StaffError: If they cannot be written; nothing that was there is lost.
        """
        stamped = [Event(**{**asdict(event), "why": event.why, "time": _now(), "by": _login()}) for event in events]
        if not stamped:
            return
        lines = "".join(json.dumps(asdict(event), ensure_ascii=False) + "\n" for event in stamped)
        try:
            with self.path.open("ab") as file:
                file.write((b"" if self._whole else b"\n") + lines.encode("utf-8", "surrogatepass"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StaffError(f"{self.path} could not be written ({error.strerror}); make room or mend its rights") from None
        self._whole = True
        for event in stamped:
            self._take(event)

    def _take(self, event: Event) -> None:
        self.events.append(event)
        self._latest[event.kind, event.student, event.about] = event

    def last_mark(self, student: str, deadline: str) -> Event | None:
        """The mark that a student has for a deadline; None if there is none yet."""
        return self._latest.get((MARK, student, deadline))

    def overrides(self, student: str) -> dict[str, Event]:
        """What holds by hand, by task."""
        latest = {task: event for (kind, whose, task), event in self._latest.items() if (kind, whose) == (OVERRIDE, student)}
        return {task: event for task, event in latest.items() if event.score is not None}

    def comments(self, student: str) -> Sequence[Event]:
        """What was said to a student."""
        return [event for event in self.events if event.kind == COMMENT and event.student == student]

    def of(self, student: str) -> Sequence[Event]:
        """All that happened to a student."""
        return [event for event in self.events if event.student == student]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
