"""One submission, graded task by task: the visible tests for feedback, the probes for the mark, and a second run of what did not pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from course.manifest import Task
from course.staff.grading.code_review import unusual
from course.staff.grading.grafting import Along, Graft, graft
from course.staff.grading.own_tests import OwnTest, grade_own_tests
from course.staff.grading.reference import COMPILING, Prepared, Reference
from course.staff.grading.results import (
    FAIL,
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
from course.staff.probes import FULL, probes_of, weights_of
from course.staff.variants.grading import varied
from course.staff.variants.variant import Variant

SLOWER = 20
"""The visible tests of a submission may take so many times as long as with a right answer."""

AT_LEAST = {False: (90.0, 10.0), True: (400.0, 60.0)}
"""Seconds by the clock for all visible tests of a task, and of computing for one, however fast a right answer is; True: they compile."""

HELPED: dict[Along, str] = {
    "used": "",
    "nothing": "graded without what you wrote outside this task, because the task fails with it",
    "all": "graded together with all your other tasks, because the task fails when the others are right",
}
"""With what of the student's other work a task is tried, one after the other, and what to say where that counts."""

MOST_SECONDS = 3600.0
"""After so many seconds by the clock no further task of a submission is begun: one that is slow everywhere must not hold up a class."""

SHOWN = 3
"""So many failures are named in a reason."""


@dataclass(frozen=True)
class Attempt:
    """How one run over a task ended.

    Attributes:
        visible: The visible tests.
        probes: The probes, and what the student's own tests have earned.
        forged: Whether the visible tests' report cannot be believed.
        helped: What right code of other tasks it needed.
        hung: Whether the visible tests took too long.
        answers: What the functions of the student's variant answered.
    """

    visible: tuple[VisibleTest, ...]
    probes: tuple[HiddenProbe, ...]
    forged: bool = False
    helped: str = ""
    hung: bool = False
    answers: Mapping[str, list[Any]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Of the task's points, from 0 to 1."""
        whole = sum(probe.weight for probe in self.probes)
        earned = sum(probe.weight for probe in self.probes if probe.passed)
        return 1.0 if all(probe.passed for probe in self.probes) else earned / whole

    @property
    def outcomes(self) -> tuple:
        """What must be the same in every run."""
        return self.forged, [(test.id, test.outcome) for test in self.visible], [(probe.says, probe.passed) for probe in self.probes]


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
        reference: What is known of the course.
        submission: What was handed in.
        tasks: What is graded.
        own_tests: The tests that students write.
        done: Called after each task.
        variant: The student's variant.

    Raises:
        SandboxError: If the sandbox does not work: then nothing follows for the submission.
    """
    begun = time.monotonic()
    results: list[TaskResult] = []
    for task in () if submission.refused else tasks:
        if time.monotonic() - begun > MOST_SECONDS:
            why = f"not graded: the tasks before it took more than {MOST_SECONDS / 60:g} minutes"
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
        level=reference.desk.sandbox.level,
        number=reference.desk.number,
        profile=reference.desk.profile,
        seconds=round(time.monotonic() - begun, 1),
    )


def mark_task(
    reference: Reference, submission: Submission, task: Task, own_tests: Sequence[OwnTest], variant: Variant | None = None
) -> TaskResult:
    """Grade a submission in one task."""
    begun = time.monotonic()
    result = TaskResult(task.id, NOT_RUN, task.points, 0.0, extra=task.extra)
    if not probes_of(task.id, reference.desk.profile) and not own_tests:
        return replace(result, reason="not graded: there are no hidden probes for this task")
    prepared = reference.prepared(task)
    if prepared.trouble:
        return replace(result, reason="not graded: even a right answer does not pass on this machine", note=prepared.trouble)
    if variant is not None and (of_task := variant.of_task(task.id)) is not None:
        prepared = varied(
            prepared, of_task, sum(weights_of(task.id, reference.desk.profile).values()) + sum(test.weight for test in own_tests)
        )
        result = replace(result, variant=of_task.document)
    bench = _Bench(reference, prepared, submission, own_tests)
    taken = graft(prepared.base, submission.files, "used")
    if len(taken.unwritten) == len(prepared.task.write):
        attempt = bench.untried("; ".join(taken.troubles) or "it is not written")
        return _told(result, taken, attempt, None, reference, begun)
    attempt, best = bench.attempt(taken)
    again = replace(bench.run(best), helped=attempt.helped) if attempt.share < 1 else None
    told = _told(result, taken, attempt, again, reference, begun)
    if found := unusual(prepared.base, best, submission.files, reference.manifest):
        note = f"look at the code: {_listed(found)}"
        told = replace(told, unusual=tuple(found), note="; ".join(filter(None, [told.note, note])))
    return told


class _Bench:
    """A submission and a task, as often as they must meet.

    Args:
        reference: What is known of the course.
        prepared: What is known of the task.
        submission: What was handed in.
        own_tests: The tests that the task has the student write.
    """

    def __init__(self, reference: Reference, prepared: Prepared, submission: Submission, own_tests: Sequence[OwnTest]) -> None:
        self.desk = reference.desk
        self.prepared = prepared
        self.task = prepared.task
        self.submission = submission
        self.own_tests = own_tests
        longest, single = AT_LEAST[self.task.stage >= COMPILING]
        self.seconds = max(longest, SLOWER * prepared.seconds)
        self.each = max(single, prepared.seconds)

    def untried(self, why: str) -> Attempt:
        """What an attempt would come to for which nothing must be run."""
        visible = tuple(VisibleTest(id, "failed", why) for id in self.prepared.ids)
        weights = weights_of(self.task.id, self.desk.profile) | {probe.says: probe.weight for probe in self.prepared.probes({})}
        probes = [HiddenProbe(says, weight, False, why) for says, weight in weights.items()]
        names = [test.name.partition(":")[2] for test in self.own_tests]
        return Attempt(visible, (*probes, *grade_own_tests(self.own_tests, names, {}, lambda files, ids: {})))

    def attempt(self, first: Graft) -> tuple[Attempt, Graft]:
        """Run the tests and put the probes, each in a fresh sandbox; how that ended, and with what.

        What of the student's other work comes along may help, or be to blame: neither must cost anything here. So where a run does not earn
        all, others are tried, and the best counts: with what the task's functions use; with nothing; with all, as in the student's own
        workspace, where functions of several tasks may agree on something that is not the course's way. What takes too long is not tried
        again.

        Args:
            first: The graft with what the functions use.
        """
        tried: list[tuple[Attempt, Graft]] = []
        for along, helped in HELPED.items():
            taken = first if along == "used" else graft(self.prepared.base, self.submission.files, along)
            if taken.files in [before.files for _, before in tried]:
                continue
            tried.append((replace(self.run(taken), helped=helped), taken))
            if tried[-1][0].share == 1 or tried[-1][0].hung:
                break
        return max(tried, key=lambda one: one[0].share)

    def run(self, taken: Graft) -> Attempt:
        """Run the tests and put the probes to one graft."""
        prepared = self.prepared
        files, answers = {**prepared.given, **taken.files}, dict[str, list[Any]]()
        tests = list(dict.fromkeys(id.partition("::")[0] for id in prepared.ids))
        ran = self.desk.visible(prepared.tree, files, self.task, tests, self.seconds, self.each, prepared.cache)
        outcomes = self.desk.probes(prepared.tree, files, self.task, prepared.cache, more=prepared.probes(answers))
        probes = [HiddenProbe(outcome.says, outcome.weight, outcome.passed, outcome.reason) for outcome in outcomes]
        return Attempt(ran.of(prepared.ids), (*probes, *self._own(taken)), ran.forged, hung=ran.hung, answers=answers)

    def _own(self, taken: Graft) -> list[HiddenProbe]:
        """What the student's own tests earn, each time among right code but for what they are to notice."""
        tests = {path: text for path, text in taken.files.items() if path.startswith("tests/")}
        paths = {
            full.partition(":")[0].replace(".", "/") + ".py" for test in self.own_tests for answer in test.notices for full in answer.patch
        }
        right = {path: self.prepared.right.get(path) or self.prepared.text(path) for path in sorted(paths)}
        code = {path: text for path, text in self.prepared.right.items() if not path.startswith("tests/")}

        def run(changed: Mapping[str, str], ids: Sequence[str]) -> Mapping[str, VisibleTest]:
            ran = self.desk.visible(
                self.prepared.tree, {**code, **tests, **changed}, self.task, ids, self.seconds, self.each, self.prepared.cache
            )
            return {test.id: test for test in ran.of(ids)}

        return grade_own_tests(self.own_tests, taken.unwritten, right, run) if self.own_tests else []


def _told(result: TaskResult, taken: Graft, attempt: Attempt, again: Attempt | None, reference: Reference, begun: float) -> TaskResult:
    """The result of a task from its runs."""
    task = reference.manifest.task(result.task)
    flaky = again is not None and again.outcomes != attempt.outcomes
    counts = min(attempt, again or attempt, key=lambda one: one.share)
    passed = counts.share == 1
    verdict = (PASS_GPU if reference.desk.on_gpu(task) else PASS_SIM) if task.gpu else PASS
    all_visible = all(test.outcome == "passed" for test in counts.visible)
    notes = []
    if counts.forged:
        notes.append("the run of the visible tests forged its report")
    if all_visible and not passed:
        notes.append("all visible tests pass, but not all probes")
    elif passed and not all_visible and reference.desk.profile == FULL:  # visible tests demand more than the original course
        lost = next(test for test in counts.visible if test.outcome != "passed")
        notes.append(f"all probes pass, but not {lost.id}")
    disagrees = bool(notes)
    if flaky:
        notes.append("a second run had another outcome")
    failed = [test.id for test in counts.visible if test.outcome != "passed"] + [probe.says for probe in counts.probes if not probe.passed]
    return replace(
        result,
        verdict=verdict if passed else PART if counts.share else FAIL,
        mark=round(task.points * counts.share, 2),
        reason="" if passed else _reason(taken, counts),
        visible=counts.visible,
        probes=counts.probes,
        disagrees=disagrees,
        flaky=flaky,
        nearest=None if passed else _nearest(task, failed),
        seconds=round(time.monotonic() - begun, 1),
        note="; ".join(notes),
        variant={**result.variant, "answers": dict(counts.answers)} if result.variant else {},
    )


def _reason(taken: Graft, attempt: Attempt) -> str:
    """Why a task has not passed, without the inputs of probes."""
    parts = [*taken.troubles]
    if taken.unwritten and not taken.troubles:
        parts.append(f"not written: {_listed(taken.unwritten)}")
    if attempt.helped:
        parts.append(attempt.helped)
    lost = [probe.says for probe in attempt.probes if not probe.passed]
    if len(lost) < len(attempt.probes) or not parts:
        parts.append(f"these requirements do not hold: {_listed([says.rstrip('.') for says in lost])}")
    if taken.remarks:
        parts.append(f"note: {_listed(taken.remarks)}")
    return "; ".join(parts)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _nearest(task: Task, failed: Sequence[str]) -> Nearest | None:
    """The known wrong answer that fails most alike."""
    from course.staff.grading.nearest import nearest

    return nearest(task.id, failed)
