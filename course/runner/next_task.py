"""Which task comes next: one rule for the command line, the watching terminal and the app."""

from __future__ import annotations

from collections.abc import Mapping

from course.manifest import Manifest, Task
from course.runner.progress import TaskState

DONE = ("passed", "stale")
"""States of a task that counts as done: a stale task counts as passed until its tests fail."""


def next_task(manifest: Manifest, states: Mapping[str, TaskState], current: Task | None) -> Task | None:
    """The current task until it is done, then the first one that is not, in the order of the course; None if all are done."""
    if current is not None and states[current.id].state not in DONE:
        return current
    return next((task for task in manifest.tasks if states[task.id].state not in DONE), None)
