"""Which known wrong answer a task's failures are most like: its sentence is the hint that fits."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING

from course.manifest import ROOT, ManifestError, course
from course.staff import RequestError
from course.staff.grading.patterns import PATTERNS, Patterns, collect_patterns, hash_of, hash_of_tests, read_patterns
from course.staff.grading.results import Nearest
from course.staff.proofs.answers import FOLDER, load_answers

if TYPE_CHECKING:
    from rich.console import Console

LIKE = 0.5
"""Failures that are less alike than this are those of another mistake."""

MOST_ALIKE = 3
"""If more wrong answers than these fail the very same tests, failing them says too little."""


def nearest(task_id: str, failed: Collection[str]) -> Nearest | None:
    """The known wrong answer whose failures are most like these.

    Args:
        task_id: The task.
        failed: Its visible tests that did not pass; anything else in it does not count.

    Returns:
        None where no wrong answer is near, or where all tests failed, which code that is not there does as well.
    """
    known = _known(task_id)
    return known and most_like(task_id, failed, *known)


def most_like(task_id: str, failed: Collection[str], patterns: Patterns, mistakes: Mapping[str, str]) -> Nearest | None:
    """The wrong answer most like these failures; of several the first by name.

    Likeness is Jaccard's, what both fail over what either fails, where a test that few wrong answers fail counts for more. Where others
    fail the very same tests as the one that is found, its sentence is followed by theirs.

    Args:
        task_id: The task.
        failed: Its visible tests that did not pass.
        patterns: What its wrong answers fail.
        mistakes: What each does, by name; others are left aside.
    """
    these = set(failed) & set(patterns.ids)
    if not these or len(these) == len(patterns.ids):
        return None
    failures = {name: patterns.failed(name) for name in sorted(mistakes) if name in patterns.answers}
    count = Counter(id for pattern in failures.values() for id in pattern)
    weight = {id: math.log(1 + len(failures) / max(1, count[id])) for id in patterns.ids}
    best, most = "", 0.0
    for name, pattern in failures.items():
        both, either = (math.fsum(weight[id] for id in ids) for ids in (these & pattern, these | pattern))
        if both / either > most:
            best, most = name, both / either
    if most < LIKE:
        return None
    same = [name for name, pattern in failures.items() if pattern == failures[best]]
    if len(same) > MOST_ALIKE:
        return None
    return Nearest(f"{task_id}/{best}", " Or: ".join(mistakes[name] for name in same), round(most, 3))


@cache
def _known(task_id: str) -> tuple[Patterns, Mapping[str, str]] | None:
    """The patterns of a task, and what its wrong answers do; None if its tests have changed since, or nothing was collected."""
    try:
        task = course().task(task_id)
    except ManifestError:
        return None
    patterns = read_patterns(PATTERNS).get(task_id)
    if patterns is None or hash_of_tests(patterns.tests, ROOT) != patterns.tests:
        return None
    bank = load_answers(FOLDER, [task])
    return patterns, {answer.name: answer.mistake for answer in bank if patterns.answers.get(answer.name, ("",))[0] == hash_of(answer)}


def alike(patterns: Patterns) -> list[tuple[str, ...]]:
    """Wrong answers that fail the very same tests, so that none of them can be told from the others."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, (_, places) in sorted(patterns.answers.items()):
        groups.setdefault(places, []).append(name)
    return [tuple(names) for names in groups.values() if len(names) > 1]


# The command


def run(out: Console, err: Console, ids: Collection[str] = (), again: bool = False) -> int:
    """Collect the patterns of tasks, all if none are named, and list the wrong answers that look alike; returns the exit code.

    Args:
        out: Where to list them.
        err: Where to show progress.
        ids: Of tasks.
        again: Run also what is known.

    Raises:
        RequestError: If there is no such task.
        StaffError: If the reference fails its own tests.
    """
    from rich.markup import escape
    from rich.progress import Progress

    from course.staff.proofs.prove import needed_files

    manifest = course()
    tasks = [task for task in manifest.tasks if not ids or task.id in ids]
    if unknown := set(ids) - {task.id for task in tasks}:
        known = ", ".join(task.id for task in manifest.tasks)
        raise RequestError(f"there is no task {', '.join(sorted(unknown))}; the tasks are {known}", "course-staff patterns")
    answers = load_answers(FOLDER, tasks)
    files = needed_files(ROOT, manifest)
    with Progress(console=err, transient=True, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task("collecting", total=len(answers))
        found = collect_patterns(answers, manifest, ROOT, files, PATTERNS, lambda: progress.advance(bar), again)
    for id, patterns in found.items():
        groups = alike(patterns)
        found_alike = f"{len(groups)} group{'' if len(groups) == 1 else 's'} that look alike"
        out.print(f"Task {id}: {len(patterns.answers)} wrong answers, {len(patterns.ids)} tests, {found_alike}")
        for names in groups:
            out.print(escape(f"  {', '.join(names)}"), soft_wrap=True)
    if any(map(alike, found.values())):
        out.print("next: a test that tells some of them apart, or one wrong answer in place of two")
    return 0
