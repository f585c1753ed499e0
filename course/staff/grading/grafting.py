"""Grafting: inserts a student's functions of one task into the task's base, together with the additions that they need.

Given code always comes from the base. Changes to it are not taken but reported, so that students learn why a test that passes in their
workspace may fail here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from course.staff.grading.bases import Base
from course.staff.grading.reading import check_imports, decode_source, defined_in
from course.workspace import function_source
from course.workspace.additions import bound_names, changed_functions, remove_conflicts, scopes
from course.workspace.merge import with_additions
from course.workspace.signatures import misfits, signatures

STUB = re.compile(r"""(super\(\)\.__init__\(.*\)\n)?raise NotImplementedError\(["']Need to implement for Task \S+["']\)""")
"""The body of a function that is not written."""

OtherWork = Literal["nothing", "used", "all"]


@dataclass(frozen=True)
class Graft:
    """A student's work in a base.

    Attributes:
        files: The files that differ from the base, by path.
        unwritten: Functions of the task that are missing or still stubs.
        troubles: Why files could not be taken, in whole or in part, for the student.
        companions: How many functions of other tasks, and files of other tasks with additions, are included.
        remarks: Changes to given code that were not taken, and signatures that do not match the course's calls, for the student.
    """

    files: dict[str, str]
    unwritten: tuple[str, ...]
    troubles: tuple[str, ...]
    companions: int = 0
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _GraftedFile:
    """A file of the base with the student's work in it.

    Attributes:
        text: The text of the file.
        names: The functions of the task that come from the student.
        source: The source that was taken; only the names in it are used.
        remarks: What was not taken.
    """

    text: str
    names: frozenset[str]
    source: str
    remarks: tuple[str, ...]


def graft(base: Base, submitted: Mapping[str, bytes], other_work: OtherWork = "nothing") -> Graft:
    """Insert a student's functions, with the helpers, constants and imports around them, into the base of a task.

    Args:
        base: The base.
        submitted: The student's files by path.
        other_work: How much of the student's work on other tasks is included: "nothing"; "used", the companions and those additions to
            files of other tasks that the task's functions name; or "all", as in the student's own workspace.

    Returns:
        The graft.
    """
    files: dict[str, str] = {}
    unwritten: list[str] = []
    troubles: list[str] = []
    remarks: list[str] = []
    companions = 0
    used: set[str] = set()
    lacks = base.lacks - defined_in(submitted)
    for path in base.task.files:
        names, is_test = base.task.names_in(path), path.startswith("tests/")
        base_text = _base_text(base, path)
        if path not in submitted:
            troubles.append(f"{path} is missing")
            unwritten += names
            continue
        try:
            student_text = decode_source(submitted[path])
            others = {"nothing": (), "used": base.companions.get(path, ()), "all": base.student_functions.get(path, ())}[other_work]
            also = [name for name in others if name not in names and _is_written(student_text, name)]
            taken = _graft_file(base_text, student_text, [*names, *also], is_test)
            check_imports(path, base_text, taken.text, lacks)
        except (function_source.Unreadable, RecursionError) as error:
            reason = error if isinstance(error, function_source.Unreadable) else "its expressions are nested too deeply"
            troubles.append(f"{path}, {reason}")
            unwritten += names
            continue
        unwritten += [name for name in names if name not in taken.names]
        companions += len([name for name in also if name in taken.names])
        found = [*(() if is_test else misfits(base_text, student_text, names).values()), *taken.remarks]
        found += changed_functions(base_text, student_text, {*names, *base.student_functions.get(path, ())})
        remarks += [f"{path}, {remark}" for remark in found]
        used |= _identifiers(taken.source) | (_identifiers(taken.text) - _identifiers(base_text))
        if taken.text != base_text:
            files[path] = taken.text
    if other_work != "nothing":
        added, more_remarks = _additions(base, submitted, lacks, used) if other_work == "used" else _other_files(base, submitted, lacks)
        files |= added
        companions += len(added)
        remarks += more_remarks
    return Graft(files, tuple(unwritten), tuple(troubles), companions, tuple(dict.fromkeys(remarks)))


def _is_written(text: str, name: str) -> bool:
    code = function_source.codes(text).get(name)
    return code is not None and STUB.fullmatch(code) is None


# One file


def _graft_file(base_text: str, student_text: str, names: Iterable[str], is_test: bool) -> _GraftedFile:
    """Insert the student's functions into a file of the base.

    A function whose signature the student has changed is taken with its signature. If the function is nested in another one that the
    student has also changed, the outer function is taken whole. If the student binds the name with an assignment, such as
    `__radd__ = __add__`, that statement is taken.
    """
    part = function_source.definitions if is_test else function_source.codes
    stubs, bodies, definitions = part(base_text), part(student_text), function_source.definitions(student_text)
    written = [name for name in names if name in bodies and bodies[name] != stubs.get(name)]
    assigned = [name for name in names if name not in bodies and _is_assigned(student_text, name)]
    roots = {name: _outermost(name, stubs) for name in written}
    whole = {root for name, root in roots.items() if name != root and not _enclosing_unchanged(base_text, student_text, root, name)}
    published, own = signatures(base_text), signatures(student_text)
    text = _remove_functions(base_text, assigned)
    taken = {root if root in whole else name: definitions[root if root in whole else name] for name, root in roots.items()}
    taken = {name: _add_marks(text, stubs[name]) for name, text in taken.items()} if is_test else taken
    changed = {name for name in taken if name in published and published[name].text != own[name].text}
    text = function_source.graft(text, taken, whole=set(taken) if is_test else changed | whole)
    kept, remarks = remove_conflicts(student_text, _remove_functions(base_text, assigned))
    text = with_additions(_remove_functions(base_text, assigned), kept, text)
    function_source.parse(text)
    return _GraftedFile(text, frozenset([*written, *assigned]), "\n".join(taken.values()), tuple(remarks))


def _add_marks(test: str, base_text: str) -> str:
    """A student's test with the pytest marks of the given one; without the mark of its task it would not run."""
    has, wanted = ([ast.unparse(line) for line in _decorators(text)] for text in (test, base_text))
    return "".join(f"@{mark}\n" for mark in wanted if mark.startswith("pytest.mark.") and mark not in has) + test


def _decorators(definition: str) -> list[ast.expr]:
    node = function_source.parse(definition).body[0]
    return node.decorator_list if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []


def put_functions(base_text: str, student_text: str, names: Iterable[str], is_test: bool = False) -> str:
    """Insert a student's functions, and what the student added around them, into a file.

    Args:
        base_text: The file as it was handed out.
        student_text: The student's file.
        names: The functions to take.
        is_test: Whether signatures and decorators are the student's choice.

    Returns:
        The text of the file.

    Raises:
        Unreadable: If the student's file is not valid Python.
    """
    return _graft_file(base_text, student_text, names, is_test).text


def _outermost(name: str, functions: Collection[str]) -> str:
    """The outermost function that encloses a function; the function itself if none does."""
    parts = name.split(".")
    return next(path for end in range(1, len(parts) + 1) if (path := ".".join(parts[:end])) in functions or end == len(parts))


def _enclosing_unchanged(base_text: str, student_text: str, root: str, name: str) -> bool:
    """Whether the function that encloses the student's is unchanged apart from the student's function."""
    inner = {name: function_source.definitions(student_text)[name]}
    once = function_source.definitions(function_source.graft(base_text, inner, whole={name}))[root]
    return ast.unparse(ast.parse(once)) == ast.unparse(ast.parse(function_source.definitions(student_text)[root]))


def _is_assigned(text: str, name: str) -> bool:
    """Whether an assignment in a module or class, such as `add = operator.add`, binds the name."""
    scope, _, last = name.rpartition(".")
    bodies = dict(scopes(function_source.parse(text)))
    return any(isinstance(node, (ast.Assign, ast.AnnAssign)) and last in bound_names(node) for node in bodies.get(scope, ()))


def _remove_functions(text: str, names: Iterable[str]) -> str:
    """A text without these functions."""
    for name in names:
        function = function_source.find(text)[name]
        text = text[: function.start] + text[function.end :]
    return text


# Additions to files of other tasks


@dataclass(frozen=True)
class _Addition:
    """A file of another task with the student's additions.

    Attributes:
        text: The file of the base with the additions.
        names: The names that the additions bind.
        mentions: The names that only the additions mention.
        remarks: Lines that were not taken.
    """

    text: str
    names: frozenset[str]
    mentions: frozenset[str]
    remarks: tuple[str, ...]


@lru_cache(maxsize=128)  # most files are the same in the bases of several tasks
def _addition(path: str, base_text: str, data: bytes, lacks: frozenset[str]) -> _Addition | None:
    """The student's additions to a file of another task; None if there are none or they cannot be taken, which the other task reports."""
    try:
        kept, remarks = remove_conflicts(decode_source(data), base_text)
        text = with_additions(base_text, kept, base_text)
        if text == base_text:
            return None
        function_source.parse(text)
        check_imports(path, base_text, text, lacks)
    except (function_source.Unreadable, RecursionError):
        return None
    names = frozenset(name for _, name in _bindings(text) - _bindings(base_text))
    mentions = frozenset(_identifiers(text) - _identifiers(base_text))
    return _Addition(text, names, mentions, tuple(f"{path}, {remark}" for remark in remarks))


def _bindings(text: str) -> set[tuple[str, str]]:
    """The names that the statements of a module and of its classes bind, each with the name of its class."""
    return {(path, name) for path, body in scopes(function_source.parse(text)) for node in body for name in bound_names(node)}


def _additions(base: Base, submitted: Mapping[str, bytes], lacks: frozenset[str], used: set[str]) -> tuple[dict[str, str], list[str]]:
    """The student's additions to files of other tasks, if these names, or other chosen additions, use them.

    Returns:
        The files of the base with the additions, by path, and remarks about lines that were not taken.
    """
    found = {path: _addition(path, _base_text(base, path), submitted[path], lacks) for path in _other_paths(base, submitted)}
    left = {path: added for path, added in found.items() if added is not None}
    files: dict[str, str] = {}
    remarks: list[str] = []
    while chosen := [path for path, added in left.items() if any(name in used or name.startswith("__") for name in added.names)]:
        for path in chosen:  # Python calls special methods implicitly
            added = left.pop(path)
            files[path] = added.text
            used = used | added.mentions
            remarks += added.remarks
    return files, remarks


def _other_files(base: Base, submitted: Mapping[str, bytes], lacks: frozenset[str]) -> tuple[dict[str, str], list[str]]:
    """The files of other tasks with everything that the student wrote in them; returns as `_additions`."""
    files: dict[str, str] = {}
    remarks: list[str] = []
    for path in _other_paths(base, submitted):
        base_text = _base_text(base, path)
        try:
            student_text = decode_source(submitted[path])
            taken = _graft_file(
                base_text, student_text, [name for name in base.student_functions.get(path, ()) if _is_written(student_text, name)], False
            )
            check_imports(path, base_text, taken.text, lacks)
        except (function_source.Unreadable, RecursionError):
            continue
        if taken.text != base_text:
            files[path] = taken.text
            remarks += [f"{path}, {remark}" for remark in taken.remarks]
    return files, remarks


def _other_paths(base: Base, submitted: Mapping[str, bytes]) -> list[str]:
    """The submitted files of other tasks, except tests."""
    return sorted(path for path in base.files.keys() & submitted.keys() - set(base.task.files) if not path.startswith("tests/"))


def _base_text(base: Base, path: str) -> str:
    """A file of the base, with Unix line endings."""
    return function_source.unix(str(base.files[path]))


def _identifiers(text: str) -> set[str]:
    """All names that a text mentions."""
    names: set[str] = set()
    for node in ast.walk(function_source.parse(text)):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names |= {node.name.rpartition(".")[2], node.asname or node.name}
    return names
