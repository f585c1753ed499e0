"""The solutions that a teacher releases: for every stage a file with all tasks up to that stage.

The bodies are those of the reference. A function that a workspace lacks because only solutions call it is inserted into the body that
calls it.
"""

from __future__ import annotations

import ast
import json
import textwrap
import tomllib
from collections.abc import Mapping
from pathlib import Path

from course.manifest import Manifest
from course.staff import RequestError, StaffError
from course.staff.handout import rewriter
from course.workspace import function_source
from course.workspace.released import SCHEMA

LESSONS = Path(__file__).with_name("lessons.toml")


def released_bodies(root: Path, manifest: Manifest, reference: Mapping[str, str | bytes], last: int) -> dict[str, str]:
    """The definitions of all functions that students write up to a stage, by "module:name".

    Args:
        root: The repository.
        manifest: Its manifest.
        reference: A workspace with the solutions.
        last: The last stage whose bodies are released.

    Raises:
        RequestError: If the stage does not exist.
        StaffError: If a body needs a module that a workspace lacks.
    """
    tasks = [task for task in manifest.tasks if task.stage <= last]
    if last not in [task.stage for task in tasks]:
        known = ", ".join(str(number) for number in sorted({task.stage for task in manifest.tasks}))
        raise RequestError(f"--staff expected a module with tasks, {known}, got {last}", "course-staff handout --help")
    helpers, modules = _left_out(manifest, reference)
    given = {}
    for task in tasks:
        for full in task.write:
            module, _, name = full.partition(":")
            if f"{module.replace('.', '/')}.py" not in reference:
                raise RequestError(f"Module {last} is not in this workspace; release one that is", "course-staff handout --help")
            own = function_source.definitions(_source(reference, module))[name]
            given[full] = _with_helpers(own, helpers)
            if lost := sorted(rewriter.needed_modules(given[full]) & modules):
                raise StaffError(f"{full} imports {', '.join(lost)}, which workspaces lack; leave the choice of kernels to its caller")
    return given


def released_files(given: Mapping[str, str], manifest: Manifest, last: int) -> dict[str, str]:
    """The files that `course start TASK --staff N` and `course solution TASK` read, for every N up to a stage, by path."""
    files, lessons = {}, read_lessons()
    for stage in sorted({task.stage for task in manifest.tasks if task.stage <= last}):
        tasks = [task for task in manifest.tasks if task.stage <= stage]
        entries = {full: given[full] for task in tasks for full in task.write}
        texts = {task.id: lessons[task.id] for task in tasks if task.id in lessons}
        document = {"schema": SCHEMA, "stage": stage, "bodies": entries, "lessons": texts}
        files[f"course/released/stage{stage}.json"] = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    return files


def read_lessons() -> dict[str, str]:
    """For each task, what a student can learn by comparing the reference's solution with their own."""
    with LESSONS.open("rb") as file:
        return {id: " ".join(text.split()) for id, text in tomllib.load(file).items()}


def _left_out(manifest: Manifest, reference: Mapping[str, str | bytes]) -> tuple[dict[str, str], set[str]]:
    """The functions that every workspace lacks, by their names without the module, and the modules."""
    entries = [full for task in manifest.tasks for full in task.leave_out]
    helpers = {}
    for module, _, name in (full.partition(":") for full in entries if ":" in full):
        if f"{module.replace('.', '/')}.py" in reference:  # otherwise it belongs to a later stage
            helpers[name] = function_source.definitions(_source(reference, module))[name]
    return helpers, {full for full in entries if ":" not in full}


def _with_helpers(definition: str, helpers: Mapping[str, str]) -> str:
    """The definition of a function with the functions inside that it calls and a workspace lacks."""
    tree = ast.parse(definition)
    (name,) = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    for helper in sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & set(helpers)):
        place = next(function for path, function in function_source.find(definition).items() if path.partition("@")[0] == name)
        inside = textwrap.indent(helpers[helper].strip("\n"), place.inner)
        code = definition[place.code :].lstrip("\n")
        definition = f"{definition[: place.code]}\n{inside}\n\n{code}"
    return definition


def _source(reference: Mapping[str, str | bytes], module: str) -> str:
    """The source of a module."""
    return str(reference[module.replace(".", "/") + ".py"])
