"""The base of a task: a workspace up to the task's module, in which all other tasks are solved correctly.

Helpers that only the reference's solutions call are removed, so that nobody earns marks by calling them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from course.manifest import Manifest, Task
from course.staff import StaffError
from course.staff.grading.submissions import student_files
from course.staff.handout.generate import leave_out, leave_out_modules, stub_files, write_names
from course.staff.handout.released import released_bodies
from course.staff.handout.selection import select
from course.workspace import function_source


@dataclass(frozen=True)
class Base:
    """The workspace in which a task is graded.

    Attributes:
        task: The task.
        files: The workspace by path, with stubs where the student writes. Once it is on disk, only the files in which students write.
        lacks: Dotted names of modules and functions of the reference that workspaces do not have.
        companions: Functions of other tasks, by path, that are taken from the student together with the task's own functions: a backward
            pass reads what the forward pass saved.
        student_functions: The functions of all tasks, by path; all other code is given.
    """

    task: Task
    files: Mapping[str, str | bytes]
    lacks: frozenset[str]
    companions: Mapping[str, tuple[str, ...]]
    student_functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def prerequisites(task: Task, manifest: Manifest) -> set[str]:
    """The ids of the tasks that a task requires, directly or indirectly."""
    found: set[str] = set()
    waiting = list(task.requires)
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            waiting += manifest.task(id).requires
    return found


def complete_workspace(root: Path, manifest: Manifest, task: Task) -> dict[str, str | bytes]:
    """The files of a complete, correct workspace that the tests and probes of a task need.

    Prerequisites of the task and tasks of earlier modules use the reference's solutions, so that numba can cache their kernels from disk.
    The task itself and all other tasks use released solutions, which do not depend on removed helpers, so that most helpers can be left
    out.

    Args:
        root: The reference.
        manifest: Its manifest.
        task: The task; the workspace ends with its module.

    Returns:
        File contents by path.

    Raises:
        StaffError: If the reference does not match its manifest.
    """
    earlier = {other.id for other in manifest.tasks if other.stage < task.stage}
    return _complete_workspace(root, manifest, task.stage, prerequisites(task, manifest) | earlier)


def right_answer(root: Path, manifest: Manifest) -> dict[str, bytes]:
    """A submission in which all tasks are correct, without helpers that workspaces lack; file contents by path."""
    files = _complete_workspace(root, manifest, max(task.stage for task in manifest.tasks), set())
    return {path: str(files[path]).encode() for path in student_files(manifest)}


def _complete_workspace(root: Path, manifest: Manifest, last: int, keep: Collection[str]) -> dict[str, str | bytes]:
    """A complete workspace up to a module; tasks in `keep` use the reference's solutions."""
    reference = select(root, manifest, last)
    others = [other for other in manifest.tasks if other.stage <= last and other.id not in keep]
    names: dict[str, dict[str, str]] = {}
    for other in others:
        for path, found in write_names(manifest, last, other.id).items():
            names.setdefault(path, {}).update(found)
    files = grading_files(_remove_solutions(stub_files(reference, names), others), manifest)
    released = released_bodies(root, manifest, reference, last)
    for path, found in names.items():
        own, module = function_source.definitions(str(reference[path])), path.removesuffix(".py").replace("/", ".")
        is_test = path.startswith("tests/")
        given = {name: own[name] if is_test else released[f"{module}:{name}"] for name in found}
        files[path] = function_source.graft(str(files[path]), given, whole={name for name in given if is_test})
    return files


def _remove_solutions(files: Mapping[str, str | bytes], others: Iterable[Task]) -> dict[str, str | bytes]:
    """The files without the helpers that only the solutions of these tasks call, where nothing else uses them."""
    result = dict(files)
    for module, _, name in [full.partition(":") for other in others for full in other.leave_out if ":" in full]:
        with contextlib.suppress(StaffError):
            result = leave_out(result, {module.replace(".", "/") + ".py": {name: ""}})
    modules = [full for other in others for full in other.leave_out if ":" not in full]
    for module in [*modules] * len(modules):  # a module may depend on the next one
        if module.replace(".", "/") + ".py" in result:
            with contextlib.suppress(StaffError):
                result = leave_out_modules(result, {module: ""})
    return result


def make_base(files: Mapping[str, str | bytes], manifest: Manifest, task: Task) -> Base:
    """The base of a task.

    Args:
        files: The result of `complete_workspace`.
        manifest: The course.
        task: The task.
    """
    stubbed = stub_files(files, write_names(manifest, task.stage, task.id))
    lacks = frozenset(full.replace(":", ".") for other in manifest.tasks for full in other.leave_out)
    functions = {path: tuple(name for other in manifest.tasks for name in other.names_in(path)) for path in student_files(manifest)}
    return Base(task, stubbed, lacks, _companions(manifest, task), functions)


def grading_files(files: Mapping[str, str | bytes], manifest: Manifest) -> dict[str, str | bytes]:
    """The files of a workspace that tests and probes need."""
    folders = (f"{manifest.package}/", "course/", "tests/", "project/run_", "project/lab/", "pyproject.toml")
    return {path: content for path, content in files.items() if path.startswith(folders)}


def _companions(manifest: Manifest, task: Task) -> dict[str, tuple[str, ...]]:
    """The forward functions, in prerequisites of a task, of the classes whose backward functions the task asks for."""
    wanted = {full.removesuffix(".backward") + ".forward" for full in task.write if full.endswith(".backward")} - set(task.write)
    found: dict[str, list[str]] = {}
    for other in manifest.tasks:
        for full in other.write:
            if full in wanted and other.id in prerequisites(task, manifest):
                module, _, name = full.partition(":")
                found.setdefault(module.replace(".", "/") + ".py", []).append(name)
    return {path: tuple(names) for path, names in found.items()}
