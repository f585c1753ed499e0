"""Grades a task of a hand-in of the original MiniTorch course in its own package, as it was handed in.

`course-staff adopt` keeps the hand-in's repositories in the submission, beside their translation. Given code, helpers and conventions of
the hand-in are then its own; only what probes ask is translated, by `original_support.py`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from course.manifest import Task
from course.staff.adopt.original import ELSEWHERE, count_written
from course.staff.grading.grading_env import GradingEnv, write_tree
from course.staff.grading.own_tests import OwnTest
from course.staff.grading.reading import decode_source
from course.staff.grading.results import HiddenProbe
from course.staff.probes import Probe
from course.staff.probes.compare import Check, check_equal
from course.staff.probes.own_package import LIMITS, SUPPORT, support, use_own_package
from course.staff.probes.program import Program
from course.workspace import function_source

TEST_SECONDS = 60.0
"""Time limit of a test that the student wrote."""

ABSENT = re.compile(r"CudaSupportError|could not be imported.*No module named '(?!minitorch|project|tests)")
"""What a reason says if the machine lacks what the hand-in needs."""


def compiler_settings(task: Task) -> dict[str, str]:
    """Environment variables for the compiler: kernels of a hand-in run for moments and are compiled in every process.

    Without optimization, compiling takes two thirds of the time. Tasks without parallel kernels of their own run those of earlier tasks in
    one thread: serial kernels are compiled in a third of the time of parallel ones.
    """
    one_thread = not {"minitorch/fast_ops.py", "minitorch/fast_conv.py"}.intersection(task.files)
    return {"NUMBA_OPT": "0", **({"KERNELS_IN_ONE_THREAD": "1"} if one_thread else {})}


def packages(task: Task, submitted: Mapping[str, bytes]) -> list[dict[str, bytes]]:
    """The repositories in which a task is written, by path: that of its module, then the last one.

    Args:
        task: The task.
        submitted: The files of the submission.
    """
    found: dict[int, dict[str, bytes]] = {}
    for path, content in submitted.items():
        if match := re.match(r"original/module-(\d)/(.+)", path):
            found.setdefault(int(match[1]), {})[match[2]] = content
    numbers = [number for number in sorted(found) if number >= task.stage and _is_written(task, found[number])]
    return [found[number] for number in dict.fromkeys([*numbers[:1], *numbers[-1:]])]


def _is_written(task: Task, files: Mapping[str, bytes]) -> bool:
    """Whether a repository has at least one function of a task."""
    for path in task.files:
        content = files.get(ELSEWHERE.get(path, path))
        if content is None:
            continue
        try:
            if count_written(decode_source(content), task.names_in(path)):
                return True
        except (function_source.Unreadable, RecursionError):
            continue
    return False


def run_in_own_package(env: GradingEnv, task: Task, files: Mapping[str, bytes], own_tests: Sequence[OwnTest]) -> list[HiddenProbe]:
    """The outcomes of a task's probes, and of the tests that it asks for, in a hand-in's repository.

    Args:
        env: The environment.
        task: The task.
        files: The repository.
        own_tests: The tests that the task asks the student to write.

    Raises:
        SandboxError: If the sandbox fails.
    """
    with tempfile.TemporaryDirectory(prefix="course-staff-", ignore_cleanup_errors=True) as name, use_own_package():
        folder = Path(name) / "original"
        write_tree(folder, {**files, **{path.name: path.read_bytes() for path in (SUPPORT, LIMITS)}})
        outcomes = env.probes(folder, {}, task, more=[_probe_of(test) for test in own_tests], more_environment=compiler_settings(task))
    return [HiddenProbe(outcome.says, outcome.weight, outcome.passed, outcome.reason) for outcome in outcomes]


def _probe_of(test: OwnTest) -> Probe:
    """A probe that runs a student's test in the hand-in's repository."""

    def check(p: Program) -> Check:
        (got,) = yield [p.find(support("run_test"))(test.name)]
        check_equal(got, True)

    says = f"{test.name.partition(':')[2]} passes with correct code"
    return Probe(test.task, says, test.weight, check, {}, (), 1, TEST_SECONDS)


def is_absent_here(probes: Sequence[HiddenProbe]) -> bool:
    """Whether a hand-in needs what this machine lacks, such as a GPU."""
    return any(ABSENT.search(probe.reason) for probe in probes if not probe.passed)
