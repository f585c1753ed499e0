"""Solutions that a teacher has released, for all tasks up to a stage: written into the workspace after a backup."""

from __future__ import annotations

import json
from pathlib import Path

from course.cli.problem import ENVIRONMENT, USAGE, Problem
from course.manifest import Manifest, Task
from course.workspace import backups, function_source

SCHEMA = 1
"""Version of the file's format: schema, stage, bodies, a definition by "module:name", and lessons, a text by task."""


def write_solutions(root: Path, manifest: Manifest, stage: int) -> str | None:
    """Write the released solutions of all tasks up to a stage into the student's files.

    Args:
        root: The workspace.
        manifest: Its manifest.
        stage: The last stage whose solutions are written.

    Returns:
        The name of the backup; None if the files have all these solutions already.

    Raises:
        Problem: If nothing is released for the stage, or it does not match the workspace; then nothing has changed.
    """
    given = _read(root, manifest, stage)["bodies"]
    changes: dict[str, bytes | None] = {}
    for task in manifest.tasks:
        for file in task.files if task.stage <= stage else ():
            module = file.removesuffix(".py").replace("/", ".")
            try:
                new = {name: given[f"{module}:{name}"] for name in task.names_in(file)}
                text, codec = function_source.decode(changes.get(file) or backups.content(root, file) or b"")
                changes[file] = function_source.graft(text, new, whole={name for name in new if file.startswith("tests/")}).encode(codec)
            except KeyError as error:
                lost = f"{_path(stage)} has no body for {error.args[0]} of Task {task.id}"
                raise Problem(f"{lost}; ask your teacher for another, or run: course test {task.id}", ENVIRONMENT) from None
            except function_source.Unreadable as error:
                raise Problem(f"{file}, {error}; fix it, or run: course reset {task.id} --whole-files", USAGE) from None
    return backups.apply(root, changes, f"staff-{stage}")


def solution(root: Path, manifest: Manifest, task: Task) -> tuple[dict[str, str], str]:
    """The released solution of one task.

    Args:
        root: The workspace.
        manifest: Its manifest.
        task: The task.

    Returns:
        The definitions of its functions by "module:name", and what to learn from them.

    Raises:
        Problem: If nothing that is released contains the task, or the file is damaged.
    """
    stages = sorted({other.stage for other in manifest.tasks if other.stage >= task.stage})
    stage = next((stage for stage in stages if (root / _path(stage)).exists()), task.stage)
    document = _read(root, manifest, stage)
    names = [full for full in task.write if full not in document["bodies"]]
    if names:
        raise Problem(
            f"{_path(stage)} has no body for {names[0]} of Task {task.id}; ask your teacher for another, or run: course list", ENVIRONMENT
        )
    return {full: document["bodies"][full] for full in task.write}, document["lessons"].get(task.id, "")


def _path(stage: int) -> str:
    """The file with the solutions of a stage, relative to the workspace."""
    return f"course/released/stage{stage}.json"


def _read(root: Path, manifest: Manifest, stage: int) -> dict[str, dict[str, str]]:
    """The released definitions by "module:name", as "bodies", and the lessons by task, as "lessons"."""
    tasks = [task for task in manifest.tasks if task.stage <= stage]
    go_on = f"course test {tasks[-1].id}" if tasks else "course list"
    try:
        document = json.loads((root / _path(stage)).read_text(encoding="utf-8"))
        if document["schema"] == SCHEMA and document["stage"] == stage:
            entries = {"bodies": document["bodies"], "lessons": document.get("lessons", {})}
            return {kind: {str(name): str(text) for name, text in texts.items()} for kind, texts in entries.items()}
    except FileNotFoundError:
        raise Problem(f"your teacher has not released Module {stage}: there is no {_path(stage)}; run: {go_on}", USAGE) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    expected = f"{_path(stage)} expected schema {SCHEMA}, stage {stage} and bodies, got something else"
    raise Problem(f"{expected}; ask your teacher for another, or run: {go_on}", ENVIRONMENT)
