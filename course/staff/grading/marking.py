"""Grades a submission task by task: visible tests for feedback, probes for the mark, and a second run if the first one fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from course.manifest import Task
from course.staff.grading.beyond import with_beyond
from course.staff.grading.code_review import find_unusual
from course.staff.grading.grafting import Graft, OtherWork, graft
from course.staff.grading.own_package import is_absent_here, packages, run_in_own_package
from course.staff.grading.own_tests import OwnTest, grade_own_tests
from course.staff.grading.reference import FIRST_COMPILED_STAGE, PreparedTask, Reference
from course.staff.grading.results import (
    BEYOND,
    FAIL,
    NOT_HANDED_IN,
    NOT_RUN,
    PART,
    PASS,
    PASS_GPU,
    PASS_SIM,
    HiddenProbe,
    Nearest,
    Result,
    TaskResult,
    VisibleTest,
)
from course.staff.grading.submissions import Submission
from course.staff.probes import FULL, PUBLISHED, probes_of, weights_of
from course.staff.variants.grading import add_variant
from course.staff.variants.variant import Variant

TIME_FACTOR = 20
"""The time limit of the visible tests, as a multiple of the time that a correct answer takes."""

MIN_SECONDS = {False: (90.0, 10.0), True: (400.0, 60.0)}
"""Lower bounds of time limits, by whether the tests compile: wall time for all visible tests of a task, and computing time for one test."""

OTHER_WORK_NOTES: dict[OtherWork, str] = {
    "used": "",
    "nothing": "graded without your work on other tasks, because the task fails with it",
    "all": "graded together with all your other tasks, because the task fails when those are correct",
}
"""How much of the student's other work is included, in the order of the attempts, and the note for the student if that attempt counts."""

MAX_SECONDS = 3600.0
"""Wall time after which no further task of a submission is started, so that one slow submission does not delay the class."""

MAX_LISTED = 3
"""Number of names listed in a reason."""


@dataclass(frozen=True)
class Attempt:
    """The outcome of one run of a task.

    Attributes:
        visible: The visible tests.
        probes: The probes, and the marks for the student's own tests.
        forged: Whether the visible tests' report is untrustworthy.
        note: Which of the student's other work was excluded or included, if it matters.
        hung: Whether the visible tests exceeded their time limit.
        answers: The answers of the functions of the student's variant.
    """

    visible: tuple[VisibleTest, ...]
    probes: tuple[HiddenProbe, ...]
    forged: bool = False
    note: str = ""
    hung: bool = False
    answers: Mapping[str, list[Any]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of the task's points, from 0 to 1."""
        whole = sum(probe.weight for probe in self.probes)
        earned = sum(probe.weight for probe in self.probes if probe.passed)
        return earned / whole if any(probe.costs for probe in self.probes) else 1.0

    @property
    def outcomes(self) -> tuple:
        """What must be the same in every run. On a busy machine a visible test, which has a time limit, may fail in one run only."""
        return self.forged, [(probe.says, probe.passed) for probe in self.probes]


def mark_submission(
    reference: Reference,
    submission: Submission,
    tasks: Sequence[Task],
    own_tests: Sequence[OwnTest],
    done: Callable[[TaskResult], object] = lambda result: None,
    variant: Variant | None = None,
) -> Result:
    """Grade a submission.

    Args:
        reference: The reference.
        submission: The submission.
        tasks: The tasks to grade.
        own_tests: The tests that students write.
        done: Called after each task.
        variant: The student's variant.

    Returns:
        The result.

    Raises:
        SandboxError: If the sandbox fails, which says nothing about the submission.
    """
    start = time.monotonic()
    results: list[TaskResult] = []
    for task in () if submission.refused else tasks:
        if time.monotonic() - start > MAX_SECONDS:
            why = f"not graded: the earlier tasks took more than {MAX_SECONDS / 60:g} minutes"
            results.append(TaskResult(task.id, NOT_RUN, task.points, 0.0, reason=why, extra=task.extra))
        else:
            results.append(mark_task(reference, submission, task, [test for test in own_tests if test.task == task.id], variant))
        done(results[-1])
    return Result(
        submission=submission.name,
        hash=submission.hash,
        refused=submission.refused,
        tasks=tuple(results),
        left_out=submission.left_out,
        level=reference.env.sandbox.level,
        number=reference.env.number,
        profile=reference.env.profile,
        seconds=round(time.monotonic() - start, 1),
    )


def mark_task(
    reference: Reference, submission: Submission, task: Task, own_tests: Sequence[OwnTest], variant: Variant | None = None
) -> TaskResult:
    """Grade one task of a submission and return its result.

    Raises:
        SandboxError: If the sandbox fails.
    """
    start = time.monotonic()
    result = TaskResult(task.id, NOT_RUN, task.points, 0.0, extra=task.extra)
    if not probes_of(task.id, reference.env.profile) and not own_tests:
        return replace(result, reason="not graded: there are no hidden probes for this task")
    prepared = reference.prepare(task)
    if prepared.trouble:
        return replace(result, reason="not graded: even a correct answer does not pass on this machine", note=prepared.trouble)
    if variant is not None and (of_task := variant.of_task(task.id)) is not None:
        prepared = add_variant(
            prepared, of_task, sum(weights_of(task.id, reference.env.profile).values()) + sum(test.weight for test in own_tests)
        )
        result = replace(result, variant=of_task.document)
    task_run = _TaskRun(reference, prepared, submission, own_tests)
    grafted = graft(prepared.base, submission.files, "used")
    unwritten = len(grafted.unwritten) == len(prepared.task.write)
    is_published = reference.env.profile == PUBLISHED
    own = task_run.run_in_own_package() if is_published else None
    if own is None and unwritten and is_published:
        return replace(result, verdict=NOT_HANDED_IN, reason="not handed in: none of its functions is written")
    if unwritten and own is None:
        attempt = task_run.failed_attempt("; ".join(grafted.troubles) or "it is not written")
        return _task_result(result, grafted, attempt, None, reference, start)
    attempt, best = (own, grafted) if own is not None and (unwritten or own.share == 1) else task_run.attempt(grafted)
    if own is not None and own.share >= attempt.share:
        task_result = _own_result(result, grafted, own, reference, start)
    else:
        second = replace(task_run.run(best), note=attempt.note) if attempt.share < 1 else None
        task_result = _task_result(result, grafted, attempt, second, reference, start)
    if found := find_unusual(prepared.base, best, submission.files, reference.manifest):
        note = f"look at the code: {_list_names(found)}"
        task_result = replace(task_result, unusual=tuple(found), note="; ".join(filter(None, [task_result.note, note])))
    return task_result


class _TaskRun:
    """Runs one task of a submission.

    Args:
        reference: The reference.
        prepared: The prepared task.
        submission: The submission.
        own_tests: The tests that the task asks the student to write.

    Attributes:
        seconds: Wall time limit for all visible tests.
        each: Computing time limit for one test.
    """

    def __init__(self, reference: Reference, prepared: PreparedTask, submission: Submission, own_tests: Sequence[OwnTest]) -> None:
        self.env = reference.env
        self.prepared = prepared
        self.task = prepared.task
        self.submission = submission
        self.own_tests = own_tests
        longest, single = MIN_SECONDS[self.task.stage >= FIRST_COMPILED_STAGE]
        self.seconds = max(longest, TIME_FACTOR * prepared.seconds)
        self.each = max(single, prepared.seconds)

    def failed_attempt(self, why: str) -> Attempt:
        """The outcome when nothing can be run, for this reason."""
        visible = tuple(VisibleTest(id, "failed", why) for id in self.prepared.ids)
        weights = weights_of(self.task.id, self.env.profile) | {probe.says: probe.weight for probe in self.prepared.probes({})}
        probes = [HiddenProbe(says, weight, False, why) for says, weight in weights.items() if weight > 0]
        names = [test.name.partition(":")[2] for test in self.own_tests]
        return Attempt(visible, (*probes, *grade_own_tests(self.own_tests, names, {}, lambda files, ids: {})))

    def attempt(self, first: Graft) -> tuple[Attempt, Graft]:
        """Run the tests and the probes, each in a fresh sandbox; returns the best attempt and its graft.

        The student's work on other tasks may be needed by this task, or may break it; neither should cost marks here. If an attempt does
        not earn all points, further ones follow: first with the other work that the task's functions use, then with none, then with all of
        it, as in the student's own workspace, where functions of several tasks may share a convention that differs from the course's. There
        is no further attempt after one that exceeds a time limit.

        Args:
            first: The graft with the other work that the functions use.
        """
        attempts: list[tuple[Attempt, Graft]] = []
        for other_work, note in OTHER_WORK_NOTES.items():
            grafted = first if other_work == "used" else graft(self.prepared.base, self.submission.files, other_work)
            if grafted.files in [before.files for _, before in attempts]:
                continue
            attempts.append((replace(self.run(grafted), note=note), grafted))
            if attempts[-1][0].share == 1 or attempts[-1][0].hung:
                break
        return max(attempts, key=lambda one: one[0].share)

    def run(self, grafted: Graft) -> Attempt:
        """Run the tests and the probes on a graft."""
        prepared = self.prepared
        files, answers = {**prepared.given, **grafted.files}, dict[str, list[Any]]()
        tests = list(dict.fromkeys(id.partition("::")[0] for id in prepared.ids))
        ran = self.env.visible(prepared.tree, files, self.task, tests, self.seconds, self.each, prepared.cache)
        outcomes = self.env.probes(prepared.tree, files, self.task, prepared.cache, more=prepared.probes(answers))
        probes = [HiddenProbe(outcome.says, outcome.weight, outcome.passed, outcome.reason) for outcome in outcomes]
        return Attempt(ran.of(prepared.ids), (*probes, *self._run_own_tests(grafted)), ran.forged, hung=ran.hung, answers=answers)

    def run_in_own_package(self) -> Attempt | None:
        """The best run of the probes on a repository of the original course as it is; None if there is none.

        There are no visible tests, because its students have not seen those of this course.
        """
        attempts: list[Attempt] = []
        for files in packages(self.task, self.submission.files):
            attempts.append(Attempt((), tuple(run_in_own_package(self.env, self.task, files, self.own_tests))))
            if attempts[-1].share == 1:
                break
        return max(attempts, key=lambda one: one.share, default=None)

    def _run_own_tests(self, grafted: Graft) -> list[HiddenProbe]:
        """The marks for the student's own tests, each run with correct code except for the mistake that it must detect."""
        tests = {path: text for path, text in grafted.files.items() if path.startswith("tests/")}
        paths = {
            full.partition(":")[0].replace(".", "/") + ".py" for test in self.own_tests for answer in test.notices for full in answer.patch
        }
        right = {path: self.prepared.right.get(path) or self.prepared.text(path) for path in sorted(paths)}
        code = {path: text for path, text in self.prepared.right.items() if not path.startswith("tests/")}

        def run(changed: Mapping[str, str], ids: Sequence[str]) -> Mapping[str, VisibleTest]:
            ran = self.env.visible(
                self.prepared.tree, {**code, **tests, **changed}, self.task, ids, self.seconds, self.each, self.prepared.cache
            )
            return {test.id: test for test in ran.of(ids)}

        return grade_own_tests(self.own_tests, grafted.unwritten, right, run) if self.own_tests else []


def _task_result(
    result: TaskResult, grafted: Graft, attempt: Attempt, second: Attempt | None, reference: Reference, start: float
) -> TaskResult:
    """The result of a task from its runs."""
    task = reference.manifest.task(result.task)
    flaky = second is not None and second.outcomes != attempt.outcomes
    worse = min(attempt, second or attempt, key=lambda one: one.share)
    passed = worse.share == 1
    verdict = (PASS_GPU if reference.env.on_gpu(task) else PASS_SIM) if task.gpu else PASS
    is_full = reference.env.profile == FULL
    visible = worse.visible if is_full or worse.forged else with_beyond(worse.visible, passed)
    lost = [test.id for test in visible if test.outcome not in ("passed", BEYOND)]
    notes = []
    if worse.forged:
        notes.append("the run of the visible tests forged its report")
    if not lost and not passed:
        notes.append("all visible tests pass, but not all probes")
    elif passed and lost and is_full:
        notes.append(f"all probes pass, but not {lost[0]}")
    disagrees = bool(notes)
    if flaky:
        notes.append("a second run had a different outcome")
    failed = lost + [probe.says for probe in worse.probes if probe.costs]
    return replace(
        result,
        verdict=verdict if passed else PART if worse.share else FAIL,
        mark=round(task.points * worse.share, 2),
        reason="" if passed else _reason(grafted, worse),
        visible=visible,
        probes=worse.probes,
        disagrees=disagrees,
        flaky=flaky,
        nearest=None if passed or grafted.unwritten else _nearest(task, failed),
        seconds=round(time.monotonic() - start, 1),
        note="; ".join(notes),
        variant={**result.variant, "answers": dict(worse.answers)} if result.variant else {},
    )


def _own_result(result: TaskResult, grafted: Graft, own: Attempt, reference: Reference, start: float) -> TaskResult:
    """The result of a task from its run in the hand-in's own package."""
    nothing = replace(grafted, troubles=(), unwritten=(), remarks=())
    made = replace(_task_result(result, nothing, own, None, reference, start), own_package=True, disagrees=False, note="")
    if own.share < 1 and is_absent_here(own.probes):
        why = "not graded: your code needs something that the grading machine lacks, such as a GPU"
        return replace(made, verdict=NOT_RUN, mark=0.0, reason=why, probes=(), nearest=None)
    return made


def _reason(grafted: Graft, attempt: Attempt) -> str:
    """Why a task has not passed, without the inputs of probes."""
    parts = [*grafted.troubles]
    if grafted.unwritten and not grafted.troubles:
        parts.append(f"not written: {_list_names(grafted.unwritten)}")
    if attempt.note:
        parts.append(attempt.note)
    lost = [probe.says for probe in attempt.probes if probe.costs]
    if len(lost) < sum(probe.weight > 0 for probe in attempt.probes) or not parts:
        parts.append(f"these requirements are not met: {_list_names([says.rstrip('.') for says in lost])}")
    if grafted.remarks:
        parts.append(f"note: {_list_names(grafted.remarks)}")
    return "; ".join(parts)


def _list_names(names: Sequence[str]) -> str:
    """The first MAX_LISTED names, and the number of the others."""
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more


def _nearest(task: Task, failed: Sequence[str]) -> Nearest | None:
    """The known wrong answer with the most similar failures."""
    from course.staff.grading.nearest import nearest

    return nearest(task.id, failed)
