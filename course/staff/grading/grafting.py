"""The graft: a student's functions of one task put into the task's base, with all that they need of what the student added.

Given code is always the base's. What was changed in it is not taken, and named: nobody shall wonder why a test that passes in a workspace
does not pass here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from course.staff.grading.bases import Base
from course.staff.grading.reading import check_imports, defined_in, readable
from course.workspace import function_source
from course.workspace.merge import with_additions
from course.workspace.signatures import misfits, signatures

STUB = re.compile(r'(super\(\)\.__init__\(.*\)\n)?raise NotImplementedError\("Need to implement for Task \S+"\)')
"""What stands in a function that is not written."""

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

ADDED = (*DEFINITIONS, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Pass)
"""The statements that `with_additions` takes."""


Along = Literal["nothing", "used", "all"]


@dataclass(frozen=True)
class Graft:
    """A student's work, put into a base.

    Attributes:
        files: What is other than in the base, by path.
        unwritten: Functions of the task that are still stubs, or not there.
        troubles: Why files, or parts of them, could not be taken, in words for the student.
        companions: How many functions of other tasks, and additions to files of other tasks, came along.
        remarks: Lines that were not taken, because they change given code, and signatures that the course's calls do not fit; in words for
            the student.
    """

    files: dict[str, str]
    unwritten: tuple[str, ...]
    troubles: tuple[str, ...]
    companions: int = 0
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Taken:
    """A file of the base with the student's work in it.

    Attributes:
        text: The file.
        names: The functions of the task that are the student's.
        source: What was taken, as source; only names in it matter.
        remarks: What was not.
    """

    text: str
    names: frozenset[str]
    source: str
    remarks: tuple[str, ...]


def graft(base: Base, submitted: Mapping[str, bytes], along: Along = "nothing") -> Graft:
    """Put a student's functions, with the helpers, constants and imports that were added around them, into the base of a task.

    Args:
        base: The base.
        submitted: The student's files by path.
        along: What of the student's work on other tasks comes along: nothing; what is used, which are the companions and, of what was added
            to files of other tasks, that which the task's functions name; or all, as in the student's own workspace.
    """
    files: dict[str, str] = {}
    unwritten: list[str] = []
    troubles: list[str] = []
    remarks: list[str] = []
    came = 0
    used: set[str] = set()
    lacks = base.lacks - defined_in(submitted)
    for path in base.task.files:
        names, is_test = base.task.names_in(path), path.startswith("tests/")
        given = _given(base, path)
        if path not in submitted:
            troubles.append(f"{path} is missing")
            unwritten += names
            continue
        try:
            yours = readable(submitted[path])
            others = {"nothing": (), "used": base.companions.get(path, ()), "all": base.written.get(path, ())}[along]
            also = [name for name in others if name not in names and _is_written(yours, name)]
            taken = _put(given, yours, [*names, *also], is_test)
            check_imports(path, given, taken.text, lacks)
        except (function_source.Unreadable, RecursionError) as error:
            reason = error if isinstance(error, function_source.Unreadable) else "its expressions are nested too deeply"
            troubles.append(f"{path}, {reason}")
            unwritten += names
            continue
        unwritten += [name for name in names if name not in taken.names]
        came += len([name for name in also if name in taken.names])
        remarks += [f"{path}, {said}" for said in (*(() if is_test else misfits(given, yours, names).values()), *taken.remarks)]
        remarks += [f"{path}, {said}" for said in _changed(given, yours, {*names, *base.written.get(path, ())})]
        used |= _identifiers(taken.source) | (_identifiers(taken.text) - _identifiers(given))
        if taken.text != given:
            files[path] = taken.text
    if along != "nothing":
        added, said = _additions(base, submitted, lacks, used) if along == "used" else _others(base, submitted, lacks)
        files |= added
        came += len(added)
        remarks += said
    return Graft(files, tuple(unwritten), tuple(troubles), came, tuple(dict.fromkeys(remarks)))


def _is_written(text: str, name: str) -> bool:
    code = function_source.codes(text).get(name)
    return code is not None and STUB.fullmatch(code) is None


# One file


def _put(given: str, yours: str, names: Iterable[str], is_test: bool) -> _Taken:
    """A file of the base with the student's functions in it.

    A function whose signature the student has changed is taken with it. Where a function stands within another one, and the student has
    changed that one, it is taken whole; where the student binds the name otherwise, as in `__radd__ = __add__`, the statement is.
    """
    part = function_source.definitions if is_test else function_source.codes
    stubs, theirs, mine = part(given), part(yours), function_source.definitions(yours)
    written = [name for name in names if name in theirs and theirs[name] != stubs.get(name)]
    assigned = [name for name in names if name not in theirs and _is_assigned(yours, name)]
    roots = {name: _outermost(name, stubs) for name in written}
    whole = {root for name, root in roots.items() if name != root and not _same_around(given, yours, root, name)}
    published, own = signatures(given), signatures(yours)
    text = _without(given, assigned)
    taken = {root if root in whole else name: mine[root if root in whole else name] for name, root in roots.items()}
    taken = {name: _marked(text, stubs[name]) for name, text in taken.items()} if is_test else taken
    changed = {name for name in taken if name in published and published[name].text != own[name].text}
    text = function_source.graft(text, taken, whole=set(taken) if is_test else changed | whole)
    kept, remarks = _without_rivals(yours, _without(given, assigned))
    text = with_additions(_without(given, assigned), kept, text)
    function_source.parse(text)
    return _Taken(text, frozenset([*written, *assigned]), "\n".join(taken.values()), tuple(remarks))


def _marked(test: str, given: str) -> str:
    """A student's test with the marks of the given one: without that of its task it would not be run."""
    has, wanted = ([ast.unparse(line) for line in _decorators(text)] for text in (test, given))
    return "".join(f"@{mark}\n" for mark in wanted if mark.startswith("pytest.mark.") and mark not in has) + test


def _decorators(definition: str) -> list[ast.expr]:
    node = function_source.parse(definition).body[0]
    return node.decorator_list if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []


def put_functions(given: str, yours: str, names: Iterable[str], is_test: bool = False) -> str:
    """A file with a student's functions in it, and what the student added around them.

    Args:
        given: The file as it was handed out.
        yours: The student's.
        names: The functions that are taken.
        is_test: Whether the student chose signatures and decorators.

    Raises:
        Unreadable: If the student's is no valid Python.
    """
    return _put(given, yours, names, is_test).text


def _outermost(name: str, functions: Collection[str]) -> str:
    """The function that is around all others around one, itself if none is."""
    parts = name.split(".")
    return next(path for end in range(1, len(parts) + 1) if (path := ".".join(parts[:end])) in functions or end == len(parts))


def _same_around(given: str, yours: str, root: str, name: str) -> bool:
    """Whether a function around the student's says what it said when it was handed out, but for the student's."""
    inner = {name: function_source.definitions(yours)[name]}
    once = function_source.definitions(function_source.graft(given, inner, whole={name}))[root]
    return ast.unparse(ast.parse(once)) == ast.unparse(ast.parse(function_source.definitions(yours)[root]))


def _is_assigned(text: str, name: str) -> bool:
    """Whether a name of a module or class is bound by an assignment: `add = operator.add`."""
    scope, _, last = name.rpartition(".")
    bodies = dict(_scopes(function_source.parse(text)))
    return any(isinstance(node, (ast.Assign, ast.AnnAssign)) and last in _bound(node) for node in bodies.get(scope, ()))


def _without(text: str, names: Iterable[str]) -> str:
    """A text without these functions."""
    for name in names:
        function = function_source.find(text)[name]
        text = text[: function.start] + text[function.end :]
    return text


def _without_rivals(yours: str, given: str) -> tuple[str, list[str]]:
    """A student's file without the statements that bind names which the base binds otherwise, and what to say of these."""
    lines = yours.split("\n")
    remarks: list[str] = []
    theirs = dict(_scopes(function_source.parse(given)))
    for path, body in _scopes(function_source.parse(yours)):
        known = {ast.unparse(node) for node in theirs.get(path, ())}
        kinds = {(type(node), node.name) for node in theirs.get(path, ()) if isinstance(node, DEFINITIONS)}
        taken = {name for node in theirs.get(path, ()) for name in _bound(node)}
        for node in body:
            if ast.unparse(node) in known:
                continue
            if not (rivals := taken & _bound(node)):
                if path in theirs and not isinstance(node, ADDED) and not _is_text(node):
                    remarks.append(f"line {node.lineno}: {_first_line(lines, node)} runs on import and was not taken")
                continue
            kept = ""
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [alias for alias in node.names if not taken & _names_of(alias)]
                kept = " " * node.col_offset + ast.unparse(_importing(node, names)) if names else ""
            elif isinstance(node, DEFINITIONS) and (type(node), node.name) in kinds:
                continue  # where that of the base stays, or the student's body goes into it
            else:
                remarks.append(f"line {node.lineno}: {_first_line(lines, node)} was not taken, because {min(rivals)} is given")
            first, last = min([node.lineno, *(line.lineno for line in getattr(node, "decorator_list", ()))]), node.end_lineno or 0
            lines[first - 1 : last] = [kept, *[""] * (last - first)]
    return "\n".join(lines), remarks


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _first_line(lines: list[str], node: ast.stmt) -> str:
    return lines[node.lineno - 1].strip()


def _changed(given: str, yours: str, tasks: Collection[str]) -> list[str]:
    """What to say of given functions whose code the student has changed.

    Args:
        given: The file of the base.
        yours: The student's.
        tasks: The functions that any task has the student write in it.
    """
    theirs, mine, places = _trees(given), _trees(yours), function_source.find(yours)
    inside = {name for name in theirs if any(name == task or name.startswith(f"{task}.") or task.startswith(f"{name}.") for task in tasks)}
    changed = [name for name in theirs if name in mine and name not in inside and theirs[name] != mine[name]]
    return [f"line {places[name].lines[0]}: {name} is given; what you changed in it was not taken" for name in changed]


def _trees(text: str) -> dict[str, str]:
    """The code of every function without comments and docstring, by its name."""
    found = {}
    for name, node in function_source.iter_functions(function_source.parse(text)):
        body = node.body[1:] if _is_text(node.body[0]) else node.body
        found[name] = "\n".join(map(ast.unparse, body))
    return found


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


# Additions to files of other tasks


@dataclass(frozen=True)
class _Added:
    """A file of another task with what the student added to it.

    Attributes:
        text: The file of the base with the additions.
        names: The names that they bind.
        mentions: The names that the text mentions and the base's file does not.
        remarks: What to say of lines that were not taken.
    """

    text: str
    names: frozenset[str]
    mentions: frozenset[str]
    remarks: tuple[str, ...]


@lru_cache(maxsize=128)  # most files are the same in the bases of several tasks
def _added(path: str, given: str, data: bytes, lacks: frozenset[str]) -> _Added | None:
    """What a student added to a file of another task; None if that is nothing, or cannot be taken: that matters to its own tasks."""
    try:
        kept, remarks = _without_rivals(readable(data), given)
        text = with_additions(given, kept, given)
        if text == given:
            return None
        function_source.parse(text)
        check_imports(path, given, text, lacks)
    except (function_source.Unreadable, RecursionError):
        return None
    names = frozenset(name for _, name in _bindings(text) - _bindings(given))
    mentions = frozenset(_identifiers(text) - _identifiers(given))
    return _Added(text, names, mentions, tuple(f"{path}, {remark}" for remark in remarks))


def _bindings(text: str) -> set[tuple[str, str]]:
    """The names that the statements of a module and of its classes bind, each with the name of its class."""
    return {(path, name) for path, body in _scopes(function_source.parse(text)) for node in body for name in _bound(node)}


def _additions(base: Base, submitted: Mapping[str, bytes], lacks: frozenset[str], used: set[str]) -> tuple[dict[str, str], list[str]]:
    """What the student added to the files of other tasks, where one of these names is used, or the new ones by other additions.

    Returns:
        The files of the base with the additions, by path, and what to say of lines that were not taken.
    """
    found = {path: _added(path, _given(base, path), submitted[path], lacks) for path in _elsewhere(base, submitted)}
    left = {path: added for path, added in found.items() if added is not None}
    files: dict[str, str] = {}
    remarks: list[str] = []
    while chosen := [path for path, added in left.items() if any(name in used or name.startswith("__") for name in added.names)]:
        for path in chosen:  # Python itself may use __names__
            added = left.pop(path)
            files[path] = added.text
            used = used | added.mentions
            remarks += added.remarks
    return files, remarks


def _others(base: Base, submitted: Mapping[str, bytes], lacks: frozenset[str]) -> tuple[dict[str, str], list[str]]:
    """The files of other tasks with all that the student wrote in them; see `_additions`."""
    files: dict[str, str] = {}
    remarks: list[str] = []
    for path in _elsewhere(base, submitted):
        given = _given(base, path)
        try:
            yours = readable(submitted[path])
            taken = _put(given, yours, [name for name in base.written.get(path, ()) if _is_written(yours, name)], False)
            check_imports(path, given, taken.text, lacks)
        except (function_source.Unreadable, RecursionError):
            continue
        if taken.text != given:
            files[path] = taken.text
            remarks += [f"{path}, {said}" for said in taken.remarks]
    return files, remarks


def _elsewhere(base: Base, submitted: Mapping[str, bytes]) -> list[str]:
    """The files of other tasks that were submitted, but for tests."""
    return sorted(path for path in base.files.keys() & submitted.keys() - set(base.task.files) if not path.startswith("tests/"))


def _given(base: Base, path: str) -> str:
    """A file of the base."""
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
