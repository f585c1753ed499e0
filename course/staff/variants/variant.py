"""A student's variant: derived from the course's secret and the student's id, and inserted into the reference before it is stubbed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course.manifest import Manifest, Task
from course.staff import StaffError
from course.staff.handout import rewriter
from course.staff.variants.family import Family, Parameters
from course.staff.variants.registry import FAMILIES
from course.workspace import function_source

RECORD = "course/variant.json"
"""The file in a workspace with its student's parameters; it reveals nothing about the secret or other students."""

SCHEMA = 1

Files = Mapping[str, str | bytes]


@dataclass(frozen=True)
class Variant:
    """The parameters of one student.

    Attributes:
        parameters: Parameters by the name of the family.
        percent: The share of a task's points that its added functions earn.
    """

    parameters: Mapping[str, Parameters]
    percent: float

    @property
    def families(self) -> list[tuple[Family, Parameters]]:
        """Each family with the student's parameters, in the order of the tasks."""
        return [(family, self.parameters[name]) for name, family in FAMILIES.items() if name in self.parameters]

    @property
    def document(self) -> dict[str, Any]:
        """The variant as plain data; see `from_document`."""
        return {"schema": SCHEMA, "percent": self.percent, "parameters": {name: dict(each) for name, each in self.parameters.items()}}

    def functions(self, files: Files) -> int:
        """The number of functions that it adds to a workspace."""
        return sum(len(family.write) for family, _ in self.families if family.file in files)

    def of_task(self, task: str) -> Variant | None:
        """The part that belongs to a task; None if there is none."""
        parameters = {family.name: each for family, each in self.families if family.task == task}
        return Variant(parameters, self.percent) if parameters else None

    def apply(self, manifest: Manifest, files: Files) -> tuple[Manifest, dict[str, str | bytes]]:
        """Insert the student's functions, tests and texts into a workspace of the reference.

        Args:
            manifest: The course.
            files: The workspace by path, including the solutions. Families whose file is not in it are skipped.

        Returns:
            The changed manifest and files.

        Raises:
            StaffError: If the reference lacks what a family is inserted below.
        """
        result, tasks = dict(files), {task.id: task for task in manifest.tasks}
        for family, parameters in self.families:
            if family.file not in files:
                continue
            result[family.file] = insert_functions(str(result[family.file]), family, family.fill(family.solution, parameters))
            result[family.test_file] = family.fill(family.tests, parameters)
            for path, text in insertions(family, parameters, result).items():
                result[path] = text
            for id, about in family.about.items():
                if (path := f"docs/{tasks[id].page}.md") in files:
                    result[path] = _with_box(str(result[path]), id, family.fill(about, parameters))
            tasks[family.task] = with_functions(tasks[family.task], family)
            result["course/tasks.toml"] = _add_to_manifest(str(result["course/tasks.toml"]), family)
        result[RECORD] = json.dumps(self.document, indent=1) + "\n"
        return replace(manifest, tasks=tuple(tasks.values())), result


def draw_variant(seed: str, student: str, families: Sequence[str], percent: float) -> Variant:
    """Derive the variant of a student.

    Args:
        seed: The secret of the course.
        student: The student's id.
        families: Names of families.
        percent: See `Variant`.

    Returns:
        The variant.
    """
    return Variant({name: FAMILIES[name].draw(seed, student) for name in families}, percent)


def from_document(document: Mapping[str, Any]) -> Variant:
    """The variant from the result of `Variant.document`."""
    return Variant(document["parameters"], document["percent"])


def with_functions(task: Task, family: Family) -> Task:
    """The task with the functions of a family added to those that students write."""
    return replace(task, write=(*task.write, *family.write))


def insert_functions(text: str, family: Family, functions: str) -> str:
    """Insert functions into a module of the reference, below the function that the family names; returns the text.

    Raises:
        StaffError: If the module does not have that function.
    """
    name = family.after.partition(":")[2]
    found = function_source.find(text).get(name)
    if found is None:
        raise StaffError(
            f"the variants of family {family.name} expected a function {family.after}, found none; change `after` of the family"
        )
    end = found.start + len(text[found.start : found.end].rstrip()) + 1
    return text[:end] + functions + text[end:]


def stubs_of(family: Family, parameters: Parameters) -> str:
    """The functions of a family as stubs."""
    return rewriter.stub(family.fill(family.solution, parameters), {full.partition(":")[2]: family.task for full in family.write})


def insertions(family: Family, parameters: Parameters, files: Files) -> dict[str, str]:
    """The given files to which a family adds text, by path.

    Raises:
        StaffError: If a text below which the family inserts does not occur exactly once.
    """
    changed: dict[str, str] = {}
    for (path, above), template in family.insertions.items():
        text = changed.get(path) or str(files[path])
        if text.count(above) != 1:
            raise StaffError(
                f"the variants of family {family.name} expected once in {path}, found {text.count(above)} times: {above.strip()}; "
                "change `insertions` of the family"
            )
        changed[path] = text.replace(above, above + family.fill(template, parameters))
    return changed


def _with_box(page: str, task: str, text: str) -> str:
    """A page of the book with a box that contains a paragraph, below the box of a task."""
    task_box = f"```{{task}} {task}\n```\n"
    return page.replace(task_box, f"{task_box}\n```{{admonition}} Your variant\n:class: task-box\n\n{text.strip()}\n```\n")


def _add_to_manifest(manifest: str, family: Family) -> str:
    """The text of `tasks.toml` with the functions of a family in `write` of its task."""
    write = re.compile(rf'(?ms)(^\[\[task\]\]\nid = "{re.escape(family.task)}"\n.*?^write = \[[^\]]*?")(,?\s*\])')
    added = "".join(f', "{full}"' for full in family.write)
    return write.sub(lambda match: f"{match[1]}{added}{match[2]}", manifest, count=1)
