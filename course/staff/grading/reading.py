"""A student's file as text, and what it imports: nothing that no workspace has."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Collection, Mapping

from course.workspace import function_source

MOST_CLASSES = 100
"""Classes that a student's file may have."""


def readable(data: bytes) -> str:
    """A student's file as text with plain line ends.

    Raises:
        Unreadable: If it is not valid Python, or too much of it.
    """
    text = function_source.unix(function_source.decode(data)[0]).removeprefix("\ufeff")
    classes = sum(isinstance(node, ast.ClassDef) for node in ast.walk(function_source.parse(text)))
    if classes > MOST_CLASSES:
        raise function_source.Unreadable(f"{classes} classes, more than {MOST_CLASSES}")
    return text


def check_imports(path: str, given: str, text: str, lacks: Collection[str]) -> None:
    """See that the student's work asks for nothing that no workspace has.

    Raises:
        Unreadable: If it does.
    """
    for name in sorted(_imported(path, text) - _imported(path, given)):
        if found := [module for module in lacks if name == module or name.startswith(f"{module}.")]:
            raise function_source.Unreadable(f"it imports {found[0]}, which is not in your workspace")


def defined_in(submitted: Mapping[str, bytes]) -> set[str]:
    """The functions that a student's files define, as dotted names: what one of them imports from another is there."""
    found: set[str] = set()
    for path, data in submitted.items():
        with contextlib.suppress(function_source.Unreadable, RecursionError):
            module = path.removesuffix(".py").replace("/", ".")
            found |= {f"{module}.{name}" for name in function_source.find(readable(data))}
    return found


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
