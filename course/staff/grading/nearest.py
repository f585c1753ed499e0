"""Finds the known wrong answer whose failures are most similar to a task's; its description serves as a hint."""

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

MIN_LIKENESS = 0.5
"""Minimum likeness; failures that are less similar come from another mistake."""

MAX_ALIKE = 3
"""Maximum number of wrong answers with identical failures; if there are more, the failures are not specific."""


def nearest(task_id: str, failed: Collection[str]) -> Nearest | None:
    """The known wrong answer whose failures are most similar to these.

    Args:
        task_id: The task.
        failed: Its failing visible tests; other tests are ignored.

    Returns:
        The wrong answer. None if no wrong answer is similar, or if all tests failed, as they also do without any code.
    """
    known = _load_known(task_id)
    return known and most_like(task_id, failed, *known)


def most_like(task_id: str, failed: Collection[str], patterns: Patterns, mistakes: Mapping[str, str]) -> Nearest | None:
    """The wrong answer with the most similar failures; of several, the first by name.

    The likeness is a weighted Jaccard index: the weight of the tests that both fail, over the weight of the tests that either fails. A test
    that few wrong answers fail has a larger weight. If other wrong answers fail the same tests, their descriptions are appended.

    Args:
        task_id: The task.
        failed: Its failing visible tests.
        patterns: The failures of its wrong answers.
        mistakes: Descriptions of wrong answers, by name; others are ignored.

    Returns:
        The wrong answer; None if none is similar, or if all tests failed.
    """
    these = set(failed) & set(patterns.ids)
    if not these or len(these) == len(patterns.ids):
        return None
    failures = {name: patterns.failures(name) for name in sorted(mistakes) if name in patterns.answers}
    count = Counter(id for pattern in failures.values() for id in pattern)
    weight = {id: math.log(1 + len(failures) / max(1, count[id])) for id in patterns.ids}
    best, most = "", 0.0
    for name, pattern in failures.items():
        both, either = (math.fsum(weight[id] for id in ids) for ids in (these & pattern, these | pattern))
        if both / either > most:
            best, most = name, both / either
    if most < MIN_LIKENESS:
        return None
    same = [name for name, pattern in failures.items() if pattern == failures[best]]
    if len(same) > MAX_ALIKE:
        return None
    return Nearest(f"{task_id}/{best}", " Or: ".join(mistakes[name] for name in same), round(most, 3))


@cache
def _load_known(task_id: str) -> tuple[Patterns, Mapping[str, str]] | None:
    """The patterns of a task and the descriptions of its wrong answers; None if its tests have changed since, or nothing was collected."""
    try:
        task = course().task(task_id)
    except ManifestError:
        return None
    patterns = read_patterns(PATTERNS).get(task_id)
    if patterns is None or hash_of_tests(patterns.tests, ROOT) != patterns.tests:
        return None
    bank = load_answers(FOLDER, [task])
    return patterns, {answer.name: answer.mistake for answer in bank if patterns.answers.get(answer.name, ("",))[0] == hash_of(answer)}


def group_by_failures(patterns: Patterns) -> list[tuple[str, ...]]:
    """Groups of wrong answers that fail the same tests, so that they are indistinguishable."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, (_, positions) in sorted(patterns.answers.items()):
        groups.setdefault(positions, []).append(name)
    return [tuple(names) for names in groups.values() if len(names) > 1]


# The command


def run(out: Console, err: Console, ids: Collection[str] = (), again: bool = False) -> int:
    """Collect the patterns of tasks, and list the wrong answers that are indistinguishable.

    Args:
        out: The console for the list.
        err: The console for progress.
        ids: Ids of tasks; all if empty.
        again: Whether to rerun answers whose patterns are known.

    Returns:
        The exit code.

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
        groups = group_by_failures(patterns)
        found_alike = f"{len(groups)} group{'' if len(groups) == 1 else 's'} with the same failures"
        out.print(f"Task {id}: {len(patterns.answers)} wrong answers, {len(patterns.ids)} tests, {found_alike}")
        for names in groups:
            out.print(escape(f"  {', '.join(names)}"), soft_wrap=True)
    if any(map(group_by_failures, found.values())):
        out.print("next: add a test that distinguishes some of them, or remove one of them")
    return 0
