"""Prune a student's files of the original course: keep the student's functions, and what they use that this course lacks."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from course.workspace import function_source

Scope = ast.Module | ast.ClassDef

CHANGES = (ast.Assign, ast.AugAssign, ast.Delete, ast.Expr, ast.For, ast.While, ast.If, ast.With, ast.Try)
"""Statements of a module that may change a variable."""


class _File:
    """One file, and the statements of it that are kept.

    Args:
        text: The student's file.
        given: The same file of a workspace.
        names: The functions that students write in it.
    """

    def __init__(self, text: str, given: str, names: Sequence[str]) -> None:
        self.text = text
        self.wanted = set(names)
        self.tree = ast.parse(text)
        self.scopes = _scopes(self.tree)
        self.given = {path: bindings(scope) for path, scope in _scopes(ast.parse(given))}
        self.given_imports = {ast.unparse(node) for node in ast.parse(given).body if isinstance(node, (ast.Import, ast.ImportFrom))}
        self.kept: set[ast.stmt] = set()
        self.used = set().union(*(_identifiers(node) for name, node in function_source.iter_functions(self.tree) if name in self.wanted))

    def keep(self, asked: set[str], everywhere: set[str]) -> None:
        """Keep the statements that are new and used.

        Args:
            asked: Names that other files import from this one, or read as attributes of it.
            everywhere: Names that the student's functions in all files mention: each may be a method of a class in this file.
        """
        for path, scope in self.scopes:
            for node in scope.body:
                if node not in self.kept and self._is_needed(path, node, everywhere if path else self.used | asked):
                    self.kept.add(node)
                    self.used |= _identifiers(node)

    def uses(self) -> set[tuple[str, str]]:
        """The names that it uses from other files, as pairs: the last part of the module's name, and the name in it."""
        imports = [node for node in self.tree.body if isinstance(node, ast.ImportFrom) and node.module]
        asked = {(str(node.module).rpartition(".")[2], alias.name) for node in imports for alias in node.names}
        read = {
            (node.value.id, node.attr)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        return {(module, name) for module, name in asked if name in self.used} | read

    def _is_needed(self, path: str, node: ast.stmt, used: set[str]) -> bool:
        names = {_join(path, name) for name in _bound(node)}
        if isinstance(node, ast.Assign) and names & self.wanted:  # __radd__ = __add__
            return True
        if path and (self._is_whole(path) or isinstance(node, ast.AnnAssign)):
            return False  # a student's class is kept as a whole or not at all; the fields of a given class are given
        if not path and ast.unparse(node) in self.given_imports:  # it shows where to put additions that use it
            return bool(_bound(node) & used)
        tasks = {name.split(".")[0] for name in self.wanted}
        return bool((_bound(node) - self.given.get(path, set())) & used) and (bool(path) or not _bound(node) & tasks)

    def _is_whole(self, path: str) -> bool:
        """Whether the student has added this class."""
        return path.split(".")[0] not in self.given[""]

    def source(self) -> str:
        """The text of the statements that are kept."""
        lines = self.text.split("\n")
        for path, scope in reversed(self.scopes):
            for node in reversed(scope.body):
                inside = _join(path, node.name) if isinstance(node, (ast.ClassDef, ast.FunctionDef)) else ""
                is_task = bool(inside) and any(name == inside or name.startswith(f"{inside}.") for name in self.wanted)
                is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
                if node in self.kept or is_task or is_future or (path and self._is_whole(path)):
                    continue
                first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
                lines[first - 1 : node.end_lineno] = [""] * ((node.end_lineno or first) - first + 1)
        return re.sub(r"\n{4,}", "\n\n\n", _with_bodies("\n".join(lines)))


def prune(files: Mapping[str, str], given: Mapping[str, str], names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The student's functions of each file, with what they use in all files.

    Args:
        files: The student's files by path.
        given: The same files of a workspace.
        names: The functions that students write, by path.
    """
    opened = {path: _File(text, given[path], names[path]) for path, text in files.items()}
    before = -1
    while (now := sum(len(file.kept) for file in opened.values())) != before:
        before = now
        everywhere = set().union(*(file.used for file in opened.values()))
        uses = set().union(*(file.uses() for file in opened.values()))
        for path, file in opened.items():
            module = path.rpartition("/")[2].removesuffix(".py")
            file.keep({name for asked, name in uses if asked == module}, everywhere)
    return {path: file.source() for path, file in opened.items()}


def lost_statements(text: str, names: Sequence[str]) -> list[str]:
    """The first lines of statements that change a variable of the file on import, such as `TABLE["a"] = 1`, if a task's function uses it.

    Workspaces and the grader take definitions, assignments to names, and imports only.

    Args:
        text: The student's file.
        names: The functions that students write in it.
    """
    tree = ast.parse(text)
    functions = [node for name, node in function_source.iter_functions(tree) if name in names]
    used = set().union(*(_identifiers(node) for node in functions))
    for node in [node for node in tree.body if _bound(node) & used and not isinstance(node, (ast.Import, ast.ImportFrom, ast.ClassDef))]:
        used |= _identifiers(node)  # what the function calls, and what that uses
    variables = set().union(*(_bound(node) for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)))) & used
    lost = [node for node in tree.body if isinstance(node, CHANGES) and not _is_definition(node) and _identifiers(node) & variables]
    return [ast.unparse(node).split("\n")[0] for node in lost]


def _is_definition(node: ast.stmt) -> bool:
    """Whether a statement only binds names, or belongs to a program and not to the module."""
    if isinstance(node, ast.If):
        return "__name__" in ast.unparse(node.test) or "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.Assign) and bool(_bound(node))


def bindings(scope: Scope) -> set[str]:
    """The names that the statements of a module or class bind."""
    return {name for node in scope.body for name in _bound(node)}


def _join(path: str, name: str) -> str:
    return f"{path}.{name}".removeprefix(".")


def _with_bodies(text: str) -> str:
    """The text, with a `pass` in each class that has become empty."""
    lines = text.split("\n")
    result: list[str] = []
    for n, line in enumerate(lines):
        result.append(line)
        if line.lstrip().startswith("class ") and line.rstrip().endswith(":"):
            indent = len(line) - len(line.lstrip())
            following = next((later for later in lines[n + 1 :] if later.strip()), "")
            if len(following) - len(following.lstrip()) <= indent:
                result.append(" " * (indent + 4) + "pass")
    return "\n".join(result)


def _scopes(tree: Scope, path: str = "") -> list[tuple[str, Scope]]:
    """The module and all classes, with their paths."""
    found: list[tuple[str, Scope]] = [(path, tree)]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found += _scopes(node, _join(path, node.name))
    return found


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement of a module or class binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}


def _identifiers(tree: ast.AST) -> set[str]:
    """All names and attributes that a piece of code mentions."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
