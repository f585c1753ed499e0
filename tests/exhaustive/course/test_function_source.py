"""Functions in a student's file: finding, removing and inserting them leaves every other byte unchanged."""

import ast
from collections import Counter
from collections.abc import Iterator

from course.manifest import ROOT, course
from course.workspace import function_source
from tests.course.test_function_source import check_removed_and_restored


def names_of_functions(tree: ast.AST, path: str = "") -> Iterator[str]:
    """The path of every function except property setters and the like."""
    for node in ast.iter_child_nodes(tree):
        name = f"{path}{node.name}" if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else None
        if isinstance(node, ast.FunctionDef) and not any(isinstance(decorator, ast.Attribute) for decorator in node.decorator_list):
            yield f"{name}"
        yield from names_of_functions(node, f"{name}." if name else path)


def test_grafting_a_file_s_own_functions_leaves_it_unchanged() -> None:
    for file in sorted((ROOT / course().package).rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        count = Counter(names_of_functions(ast.parse(source)))  # a function may be defined in both branches of an `if`
        definitions = function_source.definitions(source)
        unique = {name: text for name, text in definitions.items() if "@overload" not in name and count[name] <= 1}
        assert function_source.graft(source, unique, whole=set(unique)) == source, file


def test_every_function_of_the_manifest_can_be_removed_and_restored() -> None:
    check_removed_and_restored(course().tasks[-1].stage)
