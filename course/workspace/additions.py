"""What a student added to a file around the functions of tasks, and which of it grading does not take."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from course.workspace import function_source

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

ALLOWED_ADDITIONS = (*DEFINITIONS, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Pass)
"""The statements that `with_additions` takes."""


def remove_conflicts(student_text: str, base_text: str) -> tuple[str, list[str]]:
    """Remove the statements of a student's file that rebind names of the base; returns the text and remarks about them."""
    lines = student_text.split("\n")
    remarks: list[str] = []
    base_scopes = dict(scopes(function_source.parse(base_text)))
    for path, body in scopes(function_source.parse(student_text)):
        known = {ast.unparse(node) for node in base_scopes.get(path, ())}
        kinds = {(type(node), node.name) for node in base_scopes.get(path, ()) if isinstance(node, DEFINITIONS)}
        taken = {name for node in base_scopes.get(path, ()) for name in bound_names(node)}
        for node in body:
            if ast.unparse(node) in known:
                continue
            if not (conflicts := taken & bound_names(node)):
                if path in base_scopes and not isinstance(node, ALLOWED_ADDITIONS) and not _is_constant(node):
                    remarks.append(f"line {node.lineno}: {_first_line(lines, node)} runs on import and was not taken")
                continue
            kept = ""
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [alias for alias in node.names if not taken & _names_of(alias)]
                kept = " " * node.col_offset + ast.unparse(_import_statement(node, names)) if names else ""
            elif isinstance(node, DEFINITIONS) and (type(node), node.name) in kinds:
                continue  # the base's definition stays, or receives the student's body
            else:
                remarks.append(f"line {node.lineno}: {_first_line(lines, node)} was not taken, because {min(conflicts)} is given")
            first, last = min([node.lineno, *(line.lineno for line in getattr(node, "decorator_list", ()))]), node.end_lineno or 0
            lines[first - 1 : last] = [kept, *[""] * (last - first)]
    return "\n".join(lines), remarks


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _first_line(lines: list[str], node: ast.stmt) -> str:
    return lines[node.lineno - 1].strip()


def changed_functions(base_text: str, student_text: str, tasks: Collection[str]) -> list[str]:
    """Remarks about given functions whose code the student has changed.

    Args:
        base_text: The file of the base.
        student_text: The student's file.
        tasks: The functions in the file that any task asks for.
    """
    before, after, places = _trees(base_text), _trees(student_text), function_source.find(student_text)
    inside = {name for name in before if any(name == task or name.startswith(f"{task}.") or task.startswith(f"{name}.") for task in tasks)}
    changed = [name for name in before if name in after and name not in inside and before[name] != after[name]]
    return [f"line {places[name].lines[0]}: {name} is given; what you changed in it was not taken" for name in changed]


def _trees(text: str) -> dict[str, str]:
    """The code of every function without comments and docstring, by its name."""
    found = {}
    for name, node in function_source.iter_functions(function_source.parse(text)):
        body = node.body[1:] if _is_constant(node.body[0]) else node.body
        found[name] = "\n".join(map(ast.unparse, body))
    return found


def _import_statement(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.stmt:
    return ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)


def scopes(tree: ast.AST, path: str = "") -> Iterator[tuple[str, list[ast.stmt]]]:
    """The statements of the module, and of every class by its name."""
    yield path, tree.body  # type: ignore[attr-defined]  # modules and classes have a body
    for node in tree.body:  # type: ignore[attr-defined]
        if isinstance(node, ast.ClassDef):
            yield from scopes(node, f"{path}.{node.name}".removeprefix("."))


def bound_names(node: ast.stmt) -> set[str]:
    """The names that a statement of a module or class binds."""
    if isinstance(node, DEFINITIONS):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {name for alias in node.names for name in _names_of(alias)}
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}


def _names_of(alias: ast.alias) -> set[str]:
    return {alias.asname or alias.name.partition(".")[0]}
