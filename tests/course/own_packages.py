"""Grades hand-ins of the original course in their own package, without a sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from course.manifest import course
from course.staff.grading.own_package import compiler_settings
from course.staff.probes import PUBLISHED, Outcome, plain_launcher, run_probes
from course.staff.probes.own_package import LIMITS, SUPPORT, use_own_package


def outcomes(folder: Path, task: str) -> list[Outcome]:
    """The outcomes of a task's probes in the package of a hand-in."""
    for module in (SUPPORT, LIMITS):
        shutil.copyfile(module, folder / module.name)
    launch, of_gpu = plain_launcher(folder), {"NUMBA_ENABLE_CUDASIM": "1"} if course().task(task).gpu else {}

    def launch_child(environment: Mapping[str, str]):
        return launch({**environment, **of_gpu, **compiler_settings(course().task(task))})

    with use_own_package():
        return run_probes(course().task(task), launch_child, 7, profile=PUBLISHED)


def lost(folder: Path, *tasks: str) -> dict[str, list[str]]:
    """The failed requirements of tasks, with their reasons; only tasks that lose something."""
    failed = {task: [f"{one.says}: {one.reason}" for one in outcomes(folder, task) if not one.passed and one.weight] for task in tasks}
    return {task: reasons for task, reasons in failed.items() if reasons}
