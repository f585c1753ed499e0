"""The folder of a term: grades submissions under its policy, and writes marks, exports and pages for students.

term.toml                     the roster and the policy
submissions/DEADLINE/         submissions, named ID@2027-01-31T18.30.00.zip
graded/DEADLINE/              grading results and outputs
history.jsonl                 every mark, and why it changed
marks/                        tables for the LMS, and a page for each student
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from course.manifest import ROOT, Manifest, load
from course.staff.grading.grader import Progress
from course.staff.grading.journal import RESULTS, Journal
from course.staff.grading.results import Result
from course.staff.grading.submissions import read
from course.staff.outputs.kinds import USUAL, write_outputs
from course.staff.term.attempts import Attempt, Choice, alias, choose, find_attempts
from course.staff.term.exports import write_exports
from course.staff.term.gradebook import Standing, changes, compute_standings
from course.staff.term.history import Event, History
from course.staff.term.policy import Deadline, Policy, Student, read_policy
from course.staff.variants.roster import Roster, describe_copies, note_copies, roster_of


@dataclass(frozen=True)
class Outcome:
    """The outcome of marking a term.

    Attributes:
        changed: The marks that changed.
        standings: The standings by student, one for each deadline.
        unknown: Submissions that match no student on the roster, by deadline.
        warnings: Further warnings for the teacher.
        files: The exports, by name.
    """

    changed: tuple[Event, ...]
    standings: Mapping[str, Sequence[Standing]]
    unknown: Mapping[str, Sequence[str]]
    warnings: tuple[str, ...]
    files: Mapping[str, Path]


def mark(
    folder: Path,
    names: Sequence[str] = (),
    *,
    grades: bool = True,
    again: bool = False,
    workers: int | None = None,
    no_sandbox: bool = False,
    scale: str = "",
    progress: Callable[[Progress], object] = lambda state: None,
    root: Path = ROOT,
) -> Outcome:
    """Grade the attempts that count, and write marks, exports and pages.

    Args:
        folder: The folder of the term.
        names: Names of deadlines; all if empty.
        grades: Whether to grade; otherwise marks are computed from existing results.
        again: Whether to regrade submissions that were graded with other probes or versions; otherwise they keep their marks.
        workers: As for `grade`.
        no_sandbox: As for `grade`.
        scale: As for `grade`.
        progress: As for `grade`.
        root: The reference.

    Returns:
        The outcome.

    Raises:
        RequestError: If `term.toml` or a folder is missing or invalid.
        StaffError: As for `grade`.
    """
    manifest = load(root / "course" / "tasks.toml")
    policy = read_policy(folder, manifest)
    selected = policy.select(names)
    with Journal(folder / "graded").lock():
        history = History(folder)
        found = {deadline.name: find_attempts(folder / "submissions" / deadline.slug, policy) for deadline in policy.deadlines}
        choices = {
            id: {name: choose(attempts.get(id, []), _deadline(policy, name), student, policy) for name, (attempts, _) in found.items()}
            for id, student in policy.students.items()
        }
        roster = roster_of(policy, lambda id: alias(policy, id, folder))
        results: dict[str, dict[str, Result]] = {id: {} for id in policy.students}
        for deadline in policy.deadlines:
            counting = {id: choice.attempt for id in choices if (choice := choices[id][deadline.name]).attempt is not None}
            options = {"workers": workers, "no_sandbox": no_sandbox, "scale": scale, "progress": progress, "root": root}
            graded = _grade(
                folder, policy, deadline, counting, manifest, again, options if grades and deadline in selected else None, roster
            )
            for id, result in graded.items():
                results[id][deadline.name] = result
        standings = _standings(policy, choices, results, history, manifest)
        changed = changes(history, [standing for each in standings.values() for standing in each])
        history.add(changed)
        files = write_exports(policy, standings, history, folder / "marks", datetime.now(UTC))
    untimed = [
        attempt.path.name for attempts, _ in found.values() for each in attempts.values() for attempt in each if not attempt.is_named
    ]
    warnings = [*history.warnings, *describe_copies([result for each in results.values() for result in each.values()])]
    if untimed:
        many = f"1 submission has no time in its name ({untimed[0]})"
        many = many if len(untimed) == 1 else f"{len(untimed)} submissions have no time in their names (such as {untimed[0]})"
        warnings.append(f"{many}: the modification time of the file was used; name submissions ID@TIME")
    return Outcome(tuple(changed), standings, {name: others for name, (_, others) in found.items() if others}, tuple(warnings), files)


def _deadline(policy: Policy, name: str) -> Deadline:
    return next(deadline for deadline in policy.deadlines if deadline.name == name)


def _grade(
    folder: Path,
    policy: Policy,
    deadline: Deadline,
    counting: Mapping[str, Attempt | None],
    manifest: Manifest,
    again: bool,
    options: Mapping[str, object] | None,
    roster: Roster | None,
) -> dict[str, Result]:
    """Grade the attempts for a deadline, or read existing results if `options` is None; returns the results by student."""
    from course.staff.grading.grade import grade

    out = folder / "graded" / deadline.slug
    paths = {id: (attempt.name(alias(policy, id, folder)), attempt.path) for id, attempt in counting.items() if attempt is not None}
    journal = Journal(out)
    kept: dict[tuple[str, str], Result] = {}
    for path in sorted((out / RESULTS).glob("*.json"), key=lambda path: path.stat().st_mtime):
        if (result := journal.find(path)) is not None and _is_of(result, deadline, policy):
            kept[result.submission, result.hash] = result
    results = {}
    for id, (name, path) in paths.items():
        if (result := kept.get((name, read(name, path, manifest).hash))) is not None:
            results[id] = result
    todo = {name: path for id, (name, path) in paths.items() if again or id not in results}
    if options is not None and todo:
        variants = {name: roster.variants[id] for id, (name, _) in paths.items()} if roster else None
        options = {**options, "tasks": deadline.tasks, "profile": policy.profile, "variants": variants}
        found = {result.submission: result for result in grade(todo, out, **options)}  # type: ignore[arg-type]
        results |= {id: found[name] for id, (name, _) in paths.items() if name in found}
    if roster is not None:
        results = dict(zip(results, note_copies(out, list(results.values()), roster.shown), strict=True))
    if options is not None and results:
        write_outputs(list(results.values()), out, USUAL, {task.id: task.title for task in manifest.tasks})
    return results


def _is_of(result: Result, deadline: Deadline, policy: Policy) -> bool:
    return bool(result.refused) or ({task.task for task in result.tasks} == set(deadline.tasks) and result.profile == policy.profile)


def _standings(
    policy: Policy,
    choices: Mapping[str, Mapping[str, Choice]],
    results: Mapping[str, Mapping[str, Result]],
    history: History,
    manifest: Manifest,
) -> dict[str, list[Standing]]:
    points = {task.id: float(task.points) for task in manifest.tasks}
    extra = frozenset(task.id for task in manifest.tasks if task.extra)
    return {
        id: compute_standings(policy, student, choices[id], results[id], history.overrides(id), points, extra)
        for id, student in policy.students.items()
    }


def record_decision(folder: Path, event: Event, root: Path = ROOT) -> tuple[Policy, Student]:
    """Append a teacher's decision, an override or a comment, to the history.

    Args:
        folder: The folder of the term.
        event: The decision.
        root: The reference.

    Returns:
        The policy and the student.

    Raises:
        RequestError: If there is no such student, or the task is not part of the term.
    """
    policy = read_policy(folder, load(root / "course" / "tasks.toml"))
    student = policy.student(event.student)
    if event.about:
        policy.deadline_of(event.about)
    with Journal(folder / "graded").lock():
        History(folder).add([event])
    return policy, student
