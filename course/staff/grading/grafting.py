"""What a task is graded in: a workspace that ends with its module, in which all other tasks are written and right.

Only this task's functions come from the student, with what was added around them; given code is always the base's. What only the
reference's solutions call is not there, so that nobody earns marks by calling it.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from course.manifest import Manifest, Task
from course.staff import StaffError
from course.staff.grading.submissions import written
from course.staff.handout.generate import leave_out, leave_out_modules, stub_files, write_names
from course.staff.handout.released import released_bodies
from course.staff.handout.selection import select
from course.workspace import function_source
from course.workspace.merge import with_additions

MOST_CLASSES = 100
"""Classes that a student's file may have."""

STUB = re.compile(r'(super\(\)\.__init__\(.*\)\n)?raise NotImplementedError\("Need to implement for Task \S+"\)')
"""What stands in a function that is not written."""

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Base:
    """What a task is graded in.

    Attributes:
        task: The task.
        files: The workspace, by path, with stubs where the student writes; once it stands on disk, only those in which he does.
        lacks: What a workspace does not have, as dotted names: modules and functions of the reference's solutions.
        companions: Functions of other tasks, by path, that are taken from the student together with the task's: a forward saves what its
            backward reads.
    """

    task: Task
    files: Mapping[str, str | bytes]
    lacks: frozenset[str]
    companions: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Graft:
    """A student's work, put into a base.

    Attributes:
        files: What is other than in the base, by path.
        unwritten: Functions of the task that are still stubs, or not there.
        troubles: Why files, or parts of them, could not be taken, in words for the student.
        companions: How many functions of other tasks came along.
    """

    files: dict[str, str]
    unwritten: tuple[str, ...]
    troubles: tuple[str, ...]
    companions: int = 0


# The base


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
        files[path] = function_source.graft(str(files[path]), given, whole=is_test)
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
    return Base(task, stubbed, lacks, _companions(manifest, task))


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


# The graft


def graft(base: Base, submitted: Mapping[str, bytes], companions: bool = False) -> Graft:
    """Put a student's functions, with the helpers, constants and imports that were added around them, into the base of a task.

    Args:
        base: The base.
        submitted: The student's files by path.
        companions: Whether to take the companions, too.
    """
    files: dict[str, str] = {}
    unwritten: list[str] = []
    troubles: list[str] = []
    came = 0
    for path in base.task.files:
        names = base.task.names_in(path)
        given = str(base.files[path])
        if path not in submitted:
            troubles.append(f"{path} is missing")
            unwritten += names
            continue
        try:
            yours = _readable(submitted[path])
            also = [name for name in base.companions.get(path, ()) if companions and _is_written(yours, name)]
            text, taken = _put(given, yours, [*names, *also], path.startswith("tests/"))
            _check_imports(path, given, text, base.lacks)
        except (function_source.Unreadable, RecursionError) as error:
            reason = error if isinstance(error, function_source.Unreadable) else "its expressions are nested too deeply"
            troubles.append(f"{path}, {reason}")
            unwritten += names
            continue
        unwritten += [name for name in names if name not in taken]
        came += len([name for name in also if name in taken])
        if text != given:
            files[path] = text
    return Graft(files, tuple(unwritten), tuple(troubles), came)


def _readable(data: bytes) -> str:
    """A student's file as text with plain line ends.

    Raises:
        Unreadable: If it is not valid Python, or too much of it.
    """
    text = function_source.unix(function_source.decode(data)[0]).removeprefix("\ufeff")
    classes = sum(isinstance(node, ast.ClassDef) for node in ast.walk(function_source.parse(text)))
    if classes > MOST_CLASSES:
        raise function_source.Unreadable(f"{classes} classes, more than {MOST_CLASSES}")
    return text


def _is_written(text: str, name: str) -> bool:
    code = function_source.codes(text).get(name)
    return code is not None and STUB.fullmatch(code) is None


def _put(given: str, yours: str, names: Iterable[str], is_test: bool) -> tuple[str, set[str]]:
    """A file of the base with the student's functions in it, and which these are."""
    given = function_source.unix(given)
    part = function_source.definitions if is_test else function_source.codes
    stubs, theirs, mine = part(given), part(yours), function_source.definitions(yours)
    taken = {name: mine[name] for name in names if name in mine and theirs[name] != stubs.get(name)}
    text = function_source.graft(given, taken, whole=is_test)
    text = with_additions(given, _without_rivals(yours, given), text)
    function_source.parse(text)
    return text, set(taken)


def _without_rivals(yours: str, given: str) -> str:
    """A student's file without the statements that bind names which the base binds otherwise: what is given stays what it is."""
    lines = yours.split("\n")
    theirs = dict(_scopes(function_source.parse(given)))
    for path, body in _scopes(function_source.parse(yours)):
        known = {ast.unparse(node) for node in theirs.get(path, ())}
        kinds = {(type(node), node.name) for node in theirs.get(path, ()) if isinstance(node, DEFINITIONS)}
        taken = {name for node in theirs.get(path, ()) for name in _bound(node)}
        for node in body:
            if ast.unparse(node) in known or not taken & _bound(node):
                continue
            kept = ""
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [alias for alias in node.names if not taken & _names_of(alias)]
                kept = " " * node.col_offset + ast.unparse(_importing(node, names)) if names else ""
            elif isinstance(node, DEFINITIONS) and (type(node), node.name) in kinds:
                continue  # where that of the base stays, or the student's body goes into it
            first, last = min([node.lineno, *(line.lineno for line in getattr(node, "decorator_list", ()))]), node.end_lineno or 0
            lines[first - 1 : last] = [kept, *[""] * (last - first)]
    return "\n".join(lines)


def _importing(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.stmt:
    return ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)


def _scopes(tree: ast.AST, path: str = "") -> Iterator[tuple[str, list[ast.stmt]]]:
    """The statements of the module, and of every class by its name."""
    yield path, tree.body  # type: ignore[attr-defined]  # modules and classes have one
    for node in tree.body:  # type: ignore[attr-defined]
        if isinstance(node, ast.ClassDef):
            yield from _scopes(node, f"{path}.{node.name}".removeprefix("."))


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement of a module or class binds."""
    if isinstance(node, DEFINITIONS):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {name for alias in node.names for name in _names_of(alias)}
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}


def _names_of(alias: ast.alias) -> set[str]:
    return {alias.asname or alias.name.partition(".")[0]}


def _check_imports(path: str, given: str, text: str, lacks: Collection[str]) -> None:
    """See that the student's work asks for nothing that no workspace has.

    Raises:
        Unreadable: If it does.
    """
    for name in sorted(_imported(path, text) - _imported(path, given)):
        if found := [module for module in lacks if name == module or name.startswith(f"{module}.")]:
            raise function_source.Unreadable(f"it imports {found[0]}, which is not in your workspace")


def _imported(path: str, text: str) -> set[str]:
    """All that a text imports, wherever it does, as dotted names."""
    found: set[str] = set()
    for node in ast.walk(function_source.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = path.split("/")[: -node.level] if node.level else []
            module = ".".join([*package, node.module] if node.module else package)
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found
