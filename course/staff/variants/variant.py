"""A student's variant: drawn from the course's secret and the student's id, and put into the reference before anything is cut from it."""

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
"""The file of a workspace that holds its student's parameters, and nothing about the secret or other students."""

SCHEMA = 1

Files = Mapping[str, str | bytes]


@dataclass(frozen=True)
class Variant:
    """The parameters of one student.

    Attributes:
        parameters: By the name of the family.
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
        """How many functions it adds to a workspace."""
        return sum(len(family.write) for family, _ in self.families if family.file in files)

    def of_task(self, task: str) -> Variant | None:
        """What of it belongs to a task; None if nothing does."""
        parameters = {family.name: each for family, each in self.families if family.task == task}
        return Variant(parameters, self.percent) if parameters else None

    def apply(self, manifest: Manifest, files: Files) -> tuple[Manifest, dict[str, str | bytes]]:
        """The course and a workspace of the reference, with the student's functions, tests and texts in them.

        Args:
            manifest: The course.
            files: The workspace by path, with the solutions in it. Families of tasks that it does not hold are left out.

        Raises:
            StaffError: If the reference does not have what a family is inserted below.
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
            result["course/tasks.toml"] = _listed(str(result["course/tasks.toml"]), family)
        result[RECORD] = json.dumps(self.document, indent=1) + "\n"
        return replace(manifest, tasks=tuple(tasks.values())), result


def draw_variant(seed: str, student: str, families: Sequence[str], percent: float) -> Variant:
    """The variant of a student.

    Args:
        seed: The secret of the course.
        student: The student's id.
        families: Names of families.
        percent: See `Variant`.
    """
    return Variant({name: FAMILIES[name].draw(seed, student) for name in families}, percent)


def from_document(document: Mapping[str, Any]) -> Variant:
    """A variant from its plain data."""
    return Variant(document["parameters"], document["percent"])


def with_functions(task: Task, family: Family) -> Task:
    """A task that also has the student write the functions of a family."""
    return replace(task, write=(*task.write, *family.write))


def insert_functions(text: str, family: Family, functions: str) -> str:
    """A module of the reference with functions inserted below the one that the family names."""
    name = family.after.partition(":")[2]
    found = function_source.find(text).get(name)
    if found is None:
        raise StaffError(
            f"the variants of family {family.name} expected a function {family.after}, found none; change `after` of the family"
        )
    end = found.start + len(text[found.start : found.end].rstrip()) + 1
    return text[:end] + functions + text[end:]


def stubs_of(family: Family, parameters: Parameters) -> str:
    """The functions of a family without their solutions."""
    return rewriter.stub(family.fill(family.solution, parameters), {full.partition(":")[2]: family.task for full in family.write})


def insertions(family: Family, parameters: Parameters, files: Files) -> dict[str, str]:
    """The given files that a family adds text to, by path."""
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
    """A page of the book with a paragraph in a box below that of a task."""
    task_box = f"```{{task}} {task}\n```\n"
    return page.replace(task_box, f"{task_box}\n```{{admonition}} Your variant\n:class: task-box\n\n{text.strip()}\n```\n")


def _listed(manifest: str, family: Family) -> str:
    """The text of `tasks.toml` with the functions of a family in `write` of its task."""
    write = re.compile(rf'(?ms)(^\[\[task\]\]\nid = "{re.escape(family.task)}"\n.*?^write = \[[^\]]*?")(,?\s*\])')
    added = "".join(f', "{full}"' for full in family.write)
    return write.sub(lambda match: f"{match[1]}{added}{match[2]}", manifest, count=1)
