"""Hints, which open one by one, the first after some tries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from course.manifest import Task
from course.workspace.activity import note_hint
from course.workspace.record import read_record, write_record

TRIES = 2
"""Number of runs of a task's tests, each on different code, before its first hint opens; `main.hint` and `main._introduce` spell it out."""


@dataclass(frozen=True)
class Hint:
    """An open hint.

    Attributes:
        task: Its task's id.
        level: Its number, from 1.
        last: The number of hints of the task.
        text: The hint.
    """

    task: str
    level: int
    last: int
    text: str


class HintClosed(RuntimeError):
    """The hint is not open yet.

    Args:
        message: What has to happen first, with the next command.
        missing_tries: The number of missing tries.
    """

    def __init__(self, message: str, missing_tries: int = 0) -> None:
        super().__init__(message)
        self.missing_tries = missing_tries


def is_open(root: Path, task: Task) -> bool:
    """Whether the first hint of a task is open."""
    record = read_record(root)
    return bool(task.hints) and (task.id in record.hints or len(record.tries.get(task.id, ())) >= TRIES)


def open_hint(root: Path, task: Task, level: int | None = None) -> Hint:
    """Open a hint of a task, or return it again.

    Args:
        root: The workspace.
        task: The task.
        level: Its number, from 1. Default: the first that is not open, else the last.

    Raises:
        ValueError: If the task has no such hint.
        HintClosed: If the student has not tried often enough, or the hint before this one is not open.
    """
    record, last = read_record(root), len(task.hints)
    open_ones = min(record.hints.get(task.id, 0), last)
    wanted = min(open_ones + 1, last) if level is None else level
    if not 1 <= wanted <= last:
        raise ValueError(
            f"task {task.id} expected a hint from 1 to {last}, got {wanted}; run: course hint {task.id} {min(max(wanted, 1), last)}"
        )
    tries = len(record.tries.get(task.id, ()))
    if open_ones == 0 and tries < TRIES:
        missing = TRIES - tries
        more = f"{missing} more tries, each with different code" if missing > 1 else "1 more try, with different code"
        raise HintClosed(f"the hints of task {task.id} open after {TRIES} tries, got {tries}: {more}; run: course test {task.id}", missing)
    if wanted > open_ones + 1:
        raise HintClosed(f"hint {wanted} of task {task.id} opens after hint {open_ones + 1}; run: course hint {task.id} {open_ones + 1}")
    if wanted > open_ones:
        record.hints[task.id] = wanted
        write_record(root, record)
        note_hint(root, task.id, wanted)
    return Hint(task.id, wanted, last, task.hints[wanted - 1])
