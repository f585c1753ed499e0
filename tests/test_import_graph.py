"""The import graph: no cycles, counting imports inside functions and for type checkers, and few edges between folders of the library."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from course.manifest import ROOT

from .test_structure import import_statements

MAX_EDGES = 50
"""Maximum number of pairs of folders of the library of which one imports the other."""


def module_name(path: Path) -> str:
    """The dotted name of a Python file of the repository."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_modules(source: str, modules: set[str]) -> set[str]:
    """The modules of the repository that a source imports, wherever the import is."""
    found = set()
    for node in import_statements(source):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module and not node.level:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & modules or {node.module}
    return found & modules


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """For each module of the repository except tests, the modules that it imports."""
    folders = ("minitorch", "course", "project", "benchmarks")
    paths = {module_name(path): path for folder in folders for path in (ROOT / folder).rglob("*.py")}
    modules = set(paths)
    return {name: imported_modules(path.read_text(encoding="utf-8"), modules) - {name} for name, path in paths.items()}


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of a cycle; none if there is no cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_imports_are_found_in_functions_and_for_type_checkers() -> None:
    modules = {"a", "a.b", "a.c", "d", "e"}
    source = "import d\nfrom a import b\nfrom a.c import f\nfrom math import e\nif TYPE_CHECKING:\n    import a\ndef f():\n    import e\n"
    assert imported_modules(source, modules) == {"d", "a.b", "a.c", "a", "e"}


def test_a_cycle_is_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_no_modules_import_each_other(graph: dict[str, set[str]]) -> None:
    assert len(graph) > 400
    assert cycle(graph) == []


def test_few_folders_of_the_library_import_each_other(graph: dict[str, set[str]]) -> None:
    def folder(module: str) -> str:
        package, _, rest = module.partition(".")
        name = rest.partition(".")[0]
        return name if package == "minitorch" and name and (ROOT / "minitorch" / name).is_dir() else ""

    edges = {(folder(name), folder(other)) for name, others in graph.items() for other in others}
    between = sorted((one, other) for one, other in edges if one and other and one != other)
    assert 8 <= len(between) <= MAX_EDGES, between
