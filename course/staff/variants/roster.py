"""The variants of a class, and the submissions whose answers match another student's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from course.manifest import course
from course.staff import RequestError
from course.staff.grading.journal import RESULTS, Journal
from course.staff.grading.results import Result, write_result
from course.staff.outputs.words import variant_note
from course.staff.term.attempts import alias, find_student
from course.staff.term.policy import FILE, Policy, read_policy
from course.staff.variants.grading import matching_students
from course.staff.variants.registry import FAMILIES
from course.staff.variants.variant import Variant, draw_variant


@dataclass(frozen=True)
class Roster:
    """The variants of the students of a term.

    Attributes:
        policy: The policy of the term.
        variants: Variants by the student's id.
        shown: The same by the name that results may show: an alias if submissions are graded anonymously.
    """

    policy: Policy
    variants: Mapping[str, Variant]
    shown: Mapping[str, Variant]

    def for_submissions(self, submissions: Iterable[str], err: Console) -> dict[str, Variant]:
        """The variants of submissions by name; warns about submissions of nobody on the roster, which are graded without a variant."""
        students = {name: find_student(name, self.policy) for name in submissions}
        for name, student in students.items():
            if student is None:
                err.print(f"[yellow]{escape(name)} matches no student and is graded without a variant; name it ID@TIME[/yellow]")
        return {name: self.variants[student.id] for name, student in students.items() if student is not None}

    def indistinguishable_pairs(self) -> list[tuple[str, str, str]]:
        """Pairs of students between whom a copy cannot be recognized, as (family, student, student)."""
        return [
            (name, one, other)
            for name, family in FAMILIES.items()
            for one, other in combinations(self.variants, 2)
            if name in self.variants[one].parameters
            and not family.distinct(self.variants[one].parameters[name], self.variants[other].parameters[name])
        ]


def roster_of(policy: Policy, alias: Callable[[str], str]) -> Roster | None:
    """The variants of a term; None if its policy has none.

    Args:
        policy: The policy.
        alias: Returns the name under which results show a student.
    """
    if policy.variants is None:
        return None
    rules = policy.variants
    variants = {id: draw_variant(rules.seed, id, rules.families, rules.percent) for id in policy.students}
    return Roster(policy, variants, {alias(id): variant for id, variant in variants.items()})


def read_roster(folder: Path) -> Roster:
    """Read the variants of a term.

    Raises:
        RequestError: If its policy is missing, is invalid or has no variants.
    """
    policy = read_policy(folder, course())
    roster = roster_of(policy, lambda id: alias(policy, id, folder))
    if roster is None:
        raise RequestError(f"{folder / FILE} has no table [variants]; add one with a seed", "see docs/teachers/variants.md")
    return roster


def note_copies(out: Path, results: Sequence[Result], shown: Mapping[str, Variant]) -> list[Result]:
    """Record in each task the students whose variant the answers match, and rewrite the files of changed results.

    Args:
        out: The output folder of grading.
        results: The results of all submissions.
        shown: Variants of the class, by the name that the teacher sees.

    Returns:
        The updated results, in the same order.
    """
    noted = [
        replace(result, tasks=tuple(replace(task, carries=matching_students(task, shown)) for task in result.tasks)) for result in results
    ]
    changed = {(result.submission, result.hash): result for result, before in zip(noted, results, strict=True) if result != before}
    journal = Journal(out)
    for path in sorted((out / RESULTS).glob("*.json")) if changed else []:
        found = journal.find(path)
        if found is not None and found in results and (found.submission, found.hash) in changed:
            write_result(path, changed[found.submission, found.hash])
    return noted


def describe_copies(results: Sequence[Result]) -> list[str]:
    """A sentence for each task of a submission whose answers match another student's variant."""
    return [f"{result.submission}: Task {task.task} {variant_note(task)}" for result in results for task in result.tasks if task.carries]
