"""Reads a student's file as text and rejects imports of modules that workspaces do not have."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from functools import lru_cache

from course.workspace import function_source

MOST_CLASSES = 100
"""The most classes that a student's file may define."""


@lru_cache(maxsize=64)  # every task reads all files of the same submission
def decode_source(data: bytes) -> str:
    """Decode a student's file and normalize its line endings.

    Returns:
        The text.

    Raises:
        Unreadable: If the file is not valid Python, or defines too many classes.
    """
    text = function_source.unix(function_source.decode(data)[0]).removeprefix("\ufeff")
    classes = sum(isinstance(node, ast.ClassDef) for node in ast.walk(function_source.parse(text)))
    if classes > MOST_CLASSES:
        raise function_source.Unreadable(f"it defines {classes} classes, more than {MOST_CLASSES}")
    return text


def check_imports(path: str, given: str, text: str, lacks: Collection[str]) -> None:
    """Check that the student's work imports nothing that workspaces lack.

    Raises:
        Unreadable: If it imports such a module or function.
    """
    for name in sorted(_imports(path, text) - _imports(path, given)):
        if found := [module for module in lacks if name == module or name.startswith(f"{module}.")]:
            raise function_source.Unreadable(f"it imports {found[0]}, which is not in your workspace")


def defined_in(submitted: Mapping[str, bytes]) -> frozenset[str]:
    """Dotted names of the functions that a student's files define; one file may import them from another."""
    return frozenset().union(*(_defined_in(path, data) for path, data in submitted.items()))


@lru_cache(maxsize=64)
def _defined_in(path: str, data: bytes) -> frozenset[str]:
    """Dotted names of the functions in one file; none if it is not valid Python."""
    module = path.removesuffix(".py").replace("/", ".")
    try:
        return frozenset(f"{module}.{name}" for name in function_source.find(decode_source(data)))
    except (function_source.Unreadable, RecursionError):
        return frozenset()


def _imports(path: str, text: str) -> set[str]:
    """Dotted names of everything that a text imports, at any depth."""
    found: set[str] = set()
    for node in ast.walk(function_source.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = path.split("/")[: -node.level] if node.level else []
            module = ".".join([*package, node.module] if node.module else package)
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found
