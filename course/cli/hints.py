"""Hints, which open one by one, the first after some tries, and those about the function that fails before the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course.manifest import Task
from course.runner.progress import last_states
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
        next: The number of a hint that is not open; 0 if all are.
    """

    task: str
    level: int
    last: int
    text: str
    next: int = field(default=0, compare=False)


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
        level: Its number, from 1. Default: of those that are not open, the first about the function that fails, else the first; if all
            are open, the last.

    Raises:
        ValueError: If the task has no such hint.
        HintClosed: If the student has not tried often enough, or a hint before this one is not open.
    """
    record, last = read_record(root), len(task.hints)
    opened = record.hints.get(task.id, [])
    closed = [number for number in range(1, last + 1) if number not in opened]
    following = choose(task, _failing_functions(root, task), closed) if closed else last
    wanted = following if level is None else level
    if not 1 <= wanted <= last:
        raise ValueError(
            f"task {task.id} expected a hint from 1 to {last}, got {wanted}; run: course hint {task.id} {min(max(wanted, 1), last)}"
        )
    tries = len(record.tries.get(task.id, ()))
    if not opened and tries < TRIES:
        missing = TRIES - tries
        more = f"{missing} more tries, each with different code" if missing > 1 else "1 more try, with different code"
        raise HintClosed(f"the hints of task {task.id} open after {TRIES} tries, got {tries}: {more}; run: course test {task.id}", missing)
    if wanted in closed:
        if wanted not in (closed[0], following):
            raise HintClosed(f"hint {wanted} of task {task.id} opens after hint {closed[0]}; run: course hint {task.id} {closed[0]}")
        closed.remove(wanted)
        record.hints[task.id] = [*opened, wanted]
        write_record(root, record)
        note_hint(root, task.id, wanted)
    return Hint(task.id, wanted, last, task.hints[wanted - 1], min(closed, default=0))


def choose(task: Task, functions: Sequence[str], numbers: Sequence[int] = ()) -> int:
    """The number of a hint: the first about one of the functions that fail, else the first.

    Args:
        task: The task.
        functions: Qualified names, such as "Exp.backward".
        numbers: The hints to choose from; without them, all.
    """
    numbers = numbers or range(1, len(task.hints) + 1)
    return next((number for number in numbers if _is_about(task.hints[number - 1], functions)), numbers[0])


def _failing_functions(root: Path, task: Task) -> list[str]:
    """The functions that the card of the task's last failure names."""
    card = last_states(root)[task.id].card
    places = [card.place, *card.called] if card else []
    return [place.function for place in places if place and place.in_task]


WORDS = {"sub": "subtraction", "gt": "greater-than|a > b"}
"""Words for a method whose name no hint uses."""


def _is_about(hint: str, functions: Sequence[str]) -> bool:
    """Whether a hint names one of these functions: "reduce" is a name of tensor_reduce._reduce, "Exp" one of Exp.backward."""
    for function in functions:
        owner, _, name = function.rpartition(".")
        method = name.strip("_")
        words = [owner] if name in ("forward", "backward", "__init__") else [name, method, WORDS.get(method, method)]
        if re.search(rf"\b({'|'.join(words)})\b", hint):
            return True
    return False
