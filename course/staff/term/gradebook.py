"""What each student has earned at each deadline under the policy, and what changed since the last time and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from course.staff.grading.results import Result
from course.staff.outputs.words import line, number
from course.staff.term.attempts import Choice, format_days, free_days
from course.staff.term.history import MARK, Event, History
from course.staff.term.policy import Deadline, Policy, Student, due_date


@dataclass(frozen=True)
class Standing:
    """What a student has earned at a deadline.

    Attributes:
        student: The student's id.
        deadline: The deadline.
        closes: After this time no submission is accepted.
        score: Points after the late penalty; None without an override if there is no submission yet, or it was refused.
        points: What the tasks are worth, without extra tasks.
        marks: What was earned before the late penalty, by task.
        by_hand: The tasks whose mark a teacher has set.
        submission: The name under which the counting attempt was graded; empty if there is none.
        hash: Hash of its files.
        days: How many days it is late.
        free: How many of these days are free.
        percent: Penalty for the other days.
        refused: Why it could not be graded; empty if it could.
        notes: Further notes for the student.
    """

    student: str
    deadline: Deadline
    closes: datetime
    score: float | None
    points: float
    marks: Mapping[str, float]
    by_hand: tuple[str, ...] = ()
    submission: str = ""
    hash: str = ""
    days: int = 0
    free: int = 0
    percent: float = 0.0
    refused: str = ""
    notes: tuple[str, ...] = ()

    @property
    def details(self) -> dict[str, Any]:
        """What the score was computed from, as the history stores it."""
        names = ("points", "submission", "hash", "days", "free", "percent", "refused")
        return {"marks": dict(self.marks), "by_hand": list(self.by_hand), **{name: getattr(self, name) for name in names}}


def compute_standings(
    policy: Policy,
    student: Student,
    choices: Mapping[str, Choice],
    results: Mapping[str, Result],
    overrides: Mapping[str, Event],
    points: Mapping[str, float],
    extra: frozenset[str] = frozenset(),
) -> list[Standing]:
    """Compute a student's standings.

    Args:
        policy: The policy.
        student: The student.
        choices: The attempt that counts, by the deadline's name.
        results: Its grading result, by the deadline's name; missing if it is not graded yet.
        overrides: Active overrides, by task.
        points: What each task is worth.
        extra: Tasks whose points are extra.

    Returns:
        One standing for each deadline.
    """
    spent = free_days({name: choice.days for name, choice in choices.items()}, policy)
    standings = []
    for deadline in policy.deadlines:
        choice, result = choices.get(deadline.name, Choice(None, 0, ())), results.get(deadline.name)
        worth = sum(points[task] for task in deadline.tasks if task not in extra)
        marks = {task.task: task.mark for task in result.tasks if task.task in deadline.tasks} if result else {}
        by_hand = {task: event.score for task, event in overrides.items() if task in deadline.tasks and event.score is not None}
        marks |= by_hand
        free = spent[deadline.name]
        percent = min(100.0, policy.late.percent * (choice.days - free))
        earned = sum(marks.values()) if by_hand or (result and not result.refused) else None
        standings.append(
            Standing(
                student.id,
                deadline,
                due_date(deadline, student) + timedelta(days=policy.late.most),
                None if earned is None else round(earned * (1 - percent / 100), 2),
                worth,
                dict(sorted(marks.items())),
                tuple(sorted(by_hand)),
                result.submission if result else "",
                result.hash if result else "",
                choice.days,
                free,
                percent,
                result.refused if result else "",
                choice.notes,
            )
        )
    return standings


def total(standings: Sequence[Standing], now: datetime) -> float | None:
    """The final mark in percent, weighted over the deadlines that have a score; None if none counts.

    A closed deadline without a submission counts as 0.
    """
    counted = [standing for standing in standings if standing.points and (standing.score is not None or now > standing.closes)]
    weight = sum(standing.deadline.weight for standing in counted)
    if not weight:
        return None
    return round(100 * sum(standing.deadline.weight * (standing.score or 0.0) / standing.points for standing in counted) / weight, 2)


def changes(history: History, standings: Sequence[Standing]) -> list[Event]:
    """The marks that differ from the latest ones in the history, with the reasons."""
    events = []
    for standing in standings:
        last = history.last_mark(standing.student, standing.deadline.name)
        if standing.score is None and last is None and not standing.refused:
            continue
        if last is None or last.score != standing.score or last.details != standing.details:
            why = reasons(last, standing, history)
            events.append(Event(MARK, standing.student, standing.deadline.name, score=standing.score, why=why, details=standing.details))
    return events


def reasons(last: Event | None, standing: Standing, history: History) -> tuple[str, ...]:
    """Why a mark changed, one sentence for each cause."""
    if last is None:
        return (f"not graded: {line(standing.refused)}" if standing.refused else "first mark", *lateness(standing))
    before, found = last.details, []
    is_new = (before["submission"], before["hash"]) != (standing.submission, standing.hash)
    if is_new:
        found.append(f"another submission counts: {standing.submission or 'none'}")
    overrides = history.overrides(standing.student)
    for task in sorted({*before["marks"], *standing.marks}):
        old, new = before["marks"].get(task), standing.marks.get(task)
        was, is_ = task in before["by_hand"], task in standing.by_hand
        if old == new and was == is_:
            continue
        difference = f"Task {task}: {'–' if old is None else number(old)} → {'–' if new is None else number(new)}"
        if is_:
            found.append(f"{difference}, by hand: {' '.join(overrides[task].why)}" if task in overrides else f"{difference}, by hand")
        elif was:
            found.append(f"{difference}, no longer by hand")
        else:
            found.append(difference if is_new else f"{difference}, regraded with other probes, tasks or versions")
    then, now = _lateness(before["days"], before["free"], before["percent"]), _lateness(standing.days, standing.free, standing.percent)
    if then != now:
        found.append(f"lateness: before {then}, now {now}")
    if before["points"] != standing.points:
        found.append(f"worth {number(standing.points)} points, before {number(before['points'])}")
    if before["refused"] != standing.refused:
        found.append(f"not graded: {line(standing.refused)}" if standing.refused else "could be graded this time")
    return tuple(found)


def lateness(standing: Standing) -> tuple[str, ...]:
    """The lateness in words; empty if the submission was on time."""
    return (_lateness(standing.days, standing.free, standing.percent),) if standing.days else ()


def _lateness(days: int, free: int, percent: float) -> str:
    if not days:
        return "on time"
    return f"{format_days(days)} late{f' ({free} free)' if free else ''}: {number(percent)} % penalty"
