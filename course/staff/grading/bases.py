"""The base of a task: a workspace that ends with its module, in which all other tasks are written and right.

What only the reference's solutions call is not there, so that nobody earns marks by calling it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from course.manifest import Manifest, Task
from course.staff import StaffError
from course.staff.grading.submissions import written
from course.staff.handout.generate import leave_out, leave_out_modules, stub_files, write_names
from course.staff.handout.released import released_bodies
from course.staff.handout.selection import select
from course.workspace import function_source


@dataclass(frozen=True)
class Base:
    """What a task is graded in.

    Attributes:
        task: The task.
        files: The workspace, by path, with stubs where the student writes; once it stands on disk, only those in which students write.
        lacks: What a workspace does not have, as dotted names: modules and functions of the reference's solutions.
        companions: Functions of other tasks, by path, that are taken from the student together with the task's: a forward saves what its
            backward reads.
        written: What any task has the student write, by path: all else is given.
    """

    task: Task
    files: Mapping[str, str | bytes]
    lacks: frozenset[str]
    companions: Mapping[str, tuple[str, ...]]
    written: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def needed(task: Task, manifest: Manifest) -> set[str]:
    """The ids of the tasks that a task requires, and of those that they require."""
    found: set[str] = set()
    waiting = list(task.requires)
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            waiting += manifest.task(id).requires
    return found


def finished(root: Path, manifest: Manifest, task: Task) -> dict[str, str | bytes]:
    """What tests and probes of a task need of a workspace in which all is written and right.

    What the task requires and what earlier stages had is the reference's, whose kernels numba finds on disk; the task itself and all
    others have right answers that need nothing which workspaces lack, so that most of that need not be there.

    Args:
        root: The reference.
        manifest: Its manifest.
        task: The task; the workspace ends with its stage.

    Raises:
        StaffError: If the reference does not fit its manifest.
    """
    earlier = {other.id for other in manifest.tasks if other.stage < task.stage}
    return _finished(root, manifest, task.stage, needed(task, manifest) | earlier)


def right_answer(root: Path, manifest: Manifest) -> dict[str, bytes]:
    """A submission in which all tasks are right, and which needs nothing that workspaces lack."""
    files = _finished(root, manifest, max(task.stage for task in manifest.tasks), set())
    return {path: str(files[path]).encode() for path in written(manifest)}


def _finished(root: Path, manifest: Manifest, last: int, keep: Collection[str]) -> dict[str, str | bytes]:
    """A finished workspace that ends with a stage, in which these tasks are the reference's."""
    reference = select(root, manifest, last)
    others = [other for other in manifest.tasks if other.stage <= last and other.id not in keep]
    names: dict[str, dict[str, str]] = {}
    for other in others:
        for path, found in write_names(manifest, last, other.id).items():
            names.setdefault(path, {}).update(found)
    files = graded(_without_solutions(stub_files(reference, names), others), manifest)
    released = released_bodies(root, manifest, reference, last)
    for path, found in names.items():
        own, module = function_source.definitions(str(reference[path])), path.removesuffix(".py").replace("/", ".")
        is_test = path.startswith("tests/")
        given = {name: own[name] if is_test else released[f"{module}:{name}"] for name in found}
        files[path] = function_source.graft(str(files[path]), given, whole={name for name in given if is_test})
    return files


def _without_solutions(files: Mapping[str, str | bytes], others: Iterable[Task]) -> dict[str, str | bytes]:
    """The files without what the solutions of these tasks alone call, as far as nothing else uses it."""
    result = dict(files)
    for module, _, name in [full.partition(":") for other in others for full in other.leave_out if ":" in full]:
        with contextlib.suppress(StaffError):
            result = leave_out(result, {module.replace(".", "/") + ".py": {name: ""}})
    modules = [full for other in others for full in other.leave_out if ":" not in full]
    for module in [*modules] * len(modules):  # one may stand on the next
        if module.replace(".", "/") + ".py" in result:
            with contextlib.suppress(StaffError):
                result = leave_out_modules(result, {module: ""})
    return result


def make_base(files: Mapping[str, str | bytes], manifest: Manifest, task: Task) -> Base:
    """The base of a task.

    Args:
        files: What `finished` gives.
        manifest: The course.
        task: The task.
    """
    stubbed = stub_files(files, write_names(manifest, task.stage, task.id))
    lacks = frozenset(full.replace(":", ".") for other in manifest.tasks for full in other.leave_out)
    functions = {path: tuple(name for other in manifest.tasks for name in other.names_in(path)) for path in written(manifest)}
    return Base(task, stubbed, lacks, _companions(manifest, task), functions)


def graded(files: Mapping[str, str | bytes], manifest: Manifest) -> dict[str, str | bytes]:
    """Those files of a workspace that tests and probes need."""
    folders = (f"{manifest.package}/", "course/", "tests/", "project/run_", "project/lab/", "pyproject.toml")
    return {path: content for path, content in files.items() if path.startswith(folders)}


def _companions(manifest: Manifest, task: Task) -> dict[str, tuple[str, ...]]:
    """The forwards, in tasks that this one requires, of the classes whose backwards it has the student write."""
    wanted = {full.removesuffix(".backward") + ".forward" for full in task.write if full.endswith(".backward")} - set(task.write)
    found: dict[str, list[str]] = {}
    for other in manifest.tasks:
        for full in other.write:
            if full in wanted and other.id in needed(task, manifest):
                module, _, name = full.partition(":")
                found.setdefault(module.replace(".", "/") + ".py", []).append(name)
    return {path: tuple(names) for path, names in found.items()}
