"""`course solution`: the reference's solution of a task beside the student's own, once the task has passed."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from course.cli.common import up_to_date_states
from course.cli.problem import USAGE, Problem
from course.manifest import Manifest, Task
from course.workspace import backups, function_source, released

SIDE_BY_SIDE = 130
"""Columns of a terminal from which on the two solutions are shown side by side."""


@dataclass(frozen=True)
class Comparison:
    """One function of a task.

    Attributes:
        file: The file, relative to the workspace.
        name: The function's path in it, such as "Scalar.__add__".
        yours: The student's definition, or that of the function around it if it is nested there under another name; a comment if the
            name is bound in another way.
        reference: The reference's definition.
        same: Whether the two differ in nothing but layout, comments and docstrings.
    """

    file: str
    name: str
    yours: str
    reference: str
    same: bool


def run(root: Path, manifest: Manifest, console: Console, task: Task, as_json: bool, time_limit: float | None = None) -> int:
    """Print the two solutions, and what to learn from the difference; return the exit code.

    Args:
        root: The workspace.
        manifest: Its manifest.
        console: Where to print.
        task: The task.
        as_json: Print one object for programs.
        time_limit: Limit for each test, if the tests have to run again.

    Raises:
        Problem: If the task has not passed, or its solution has not been released.
    """
    state = up_to_date_states(root, [task], time_limit)[task.id].state
    if state != "passed":
        raise Problem(f"the solution of Task {task.id} opens once the task has passed, it is {state}; run: course test {task.id}", USAGE)
    bodies, lesson = released.solution(root, manifest, task)
    comparisons = compare(root, task, bodies)
    if as_json:
        print(json.dumps({"task": task.id, "lesson": lesson, "functions": [asdict(each) for each in comparisons]}, indent=1))
        return 0
    _print(console, task, comparisons, lesson)
    return 0


def compare(root: Path, task: Task, bodies: dict[str, str]) -> list[Comparison]:
    """Compare every function of a task with its reference.

    Args:
        root: The workspace.
        task: The task.
        bodies: The reference's definitions by "module:name".
    """
    found = []
    for file in task.files:
        module = file.removesuffix(".py").replace("/", ".")
        yours = function_source.definitions(function_source.decode(backups.content(root, file) or b"")[0])
        for name in task.names_in(file):
            own, reference = function_source.unix(_own_definition(name, yours)).strip("\n"), bodies[f"{module}:{name}"].strip("\n")
            found.append(Comparison(file, name, own, reference, _meaning(own) == _meaning(reference)))
    return found


def _own_definition(name: str, definitions: Mapping[str, str]) -> str:
    """The student's definition of a function, else of the function around it, else a comment."""
    outer = name
    while outer and outer not in definitions:
        outer = outer.rpartition(".")[0]
    return definitions.get(outer, f"# no def of {name.rpartition('.')[2]}: an assignment or an import binds the name")


def _meaning(definition: str) -> str:
    """The syntax tree of a definition without docstrings, as text; it does not depend on comments and layout."""
    tree = ast.parse(definition)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def _print(console: Console, task: Task, comparisons: list[Comparison], lesson: str) -> None:
    """Print the functions that differ, then the names of the others, then the lesson."""
    console.print(Text(f"Task {task.id} {task.title}", style="bold"))
    for each in comparisons:
        if not each.same:
            console.print(Text(f"\n{each.file}  {each.name}", style="bold cyan"), soft_wrap=True)
            console.print(_both(each, console.width))
    if same := [each.name for each in comparisons if each.same]:
        console.print(f"\nThe same as the reference: {', '.join(same)}", markup=False)
    if lesson:
        console.print(f"\n{lesson}", markup=False)


def _both(each: Comparison, width: int) -> RenderableType:
    """The two definitions side by side, or one above the other in a narrow terminal."""
    yours, reference = (Syntax(code, "python", theme="ansi_dark", word_wrap=True) for code in (each.yours, each.reference))
    if width < SIDE_BY_SIDE:
        return Group(Text("yours", style="dim"), Padding(yours, (0, 2)), Text("reference", style="dim"), Padding(reference, (0, 2)))
    table = Table("yours", "reference", box=None, expand=True, padding=(0, 2), header_style="dim")
    table.columns[0].ratio = table.columns[1].ratio = 1
    table.add_row(yours, reference)
    return table
