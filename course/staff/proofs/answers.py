"""Wrong answers: plausible mistakes as small patches of the reference, and the ledger of the mistakes that the tests catch."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tokenize
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from course.manifest import ROOT, Manifest, Task
from course.staff import StaffError
from course.staff.handout.selection import import_closure, marks
from course.workspace import function_source
from course.workspace.atomic_files import write_json

FOLDER = Path(__file__).parent.parent / "wrong_answers"
LEDGER = FOLDER / "ledger.json"
SCHEMA = 1


@dataclass(frozen=True)
class WrongAnswer:
    """One mistake.

    Attributes:
        task: The task whose tests must catch it.
        name: Its name, unique in the task.
        mistake: The mistake in one sentence.
        patch: Definitions by "module:function".
        compiled: Whether its tests run with numba's compiler, because the mistake shows only in compiled code.
    """

    task: str
    name: str
    mistake: str
    patch: Mapping[str, str]
    compiled: bool = False

    @property
    def key(self) -> str:
        """Its key in the ledger."""
        return f"{self.task}/{self.name}"


def load_answers(folder: Path, tasks: Iterable[Task], root: Path = ROOT) -> list[WrongAnswer]:
    """The wrong answers of these tasks, in order.

    An entry has a patch (whole definitions) or a change (old text, new text) of the function in the repository at root.

    Raises:
        StaffError: If a file is not TOML or an entry is incomplete; the message names both.
    """
    answers = []
    for task in tasks:
        file = folder / f"{task.id}.toml"
        document = _read(file)
        entries = document.get("wrong", [])
        names = [entry.get("name") for entry in entries]
        for entry, name in zip(entries, names, strict=True):
            known = {"name", "mistake"} <= set(entry) <= {"name", "mistake", "patch", "change", "compiled"}
            if not known or not {**entry.get("patch", {}), **entry.get("change", {})}:
                raise StaffError(
                    f"{file}: entry {name!r} has {', '.join(entry)}; "
                    "expected name, mistake, a patch or a change of at least one function, and perhaps compiled"
                )
            if names.count(name) > 1:
                raise StaffError(f"{file}: two entries are named {name!r}; give each its own name")
            patch = {**_patch_for_change(file, name, root, entry.get("change", {})), **entry.get("patch", {})}
            answers.append(WrongAnswer(task.id, name, entry["mistake"], patch, entry.get("compiled", False)))
    return answers


def _read(file: Path) -> dict[str, Any]:
    """The content of a file of wrong answers; a task need not have one."""
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise StaffError(f"{file} is not valid TOML: {error}") from None


def _patch_for_change(file: Path, name: str, root: Path, change: Mapping[str, list[str]]) -> dict[str, str]:
    """The patch for a change, whose old text must occur once in the function."""
    patch = {}
    for full, (old, new) in change.items():
        definition = _reference_definition(root, full)
        if not definition:
            raise StaffError(f"{file}: {name!r} changes {full}, but the reference has no such function")
        if (count := definition.count(old)) != 1:
            raise StaffError(f"{file}: {name!r} expected the text to change once in {full}, found it {count} times: {old}")
        patch[full] = definition.replace(old, new)
    return patch


def _reference_definition(root: Path, full: str) -> str:
    """The definition of "module:function" in the repository; "" if there is none."""
    module, _, name = full.partition(":")
    path = root / f"{module.replace('.', '/')}.py"
    return _functions(path.read_text(encoding="utf-8")).get(name, "") if path.is_file() else ""


@cache
def _functions(source: str) -> dict[str, str]:
    """The functions of a source; cached because hundreds of entries change the same file."""
    return function_source.definitions(source)


def apply_patch(answer: WrongAnswer, files: Mapping[str, str | bytes]) -> dict[str, str | bytes]:
    """The files with the mistake.

    Raises:
        StaffError: If a patch names a function that does not exist, or is not its definition.
    """
    result = dict(files)
    for full, definition in answer.patch.items():
        module, _, name = full.partition(":")
        path = module.replace(".", "/") + ".py"
        source = result.get(path)
        if not isinstance(source, str):
            raise StaffError(f"wrong answer {answer.key} patches {full}, but there is no {path}")
        try:
            result[path] = function_source.graft(source, {name: definition})
        except function_source.Unreadable as error:
            raise StaffError(f"wrong answer {answer.key} patches {full}: {error}") from None
    return result


def graded_files(task: Task, files: Mapping[str, str | bytes]) -> list[str]:
    """The files that hold tests of the task."""
    return [
        path for path, content in files.items() if path.startswith("tests/") and isinstance(content, str) and task.mark in marks(content)
    ]


def content_hash(answer: WrongAnswer, root: Path, files: Mapping[str, str | bytes], run: Iterable[str]) -> str:
    """A hash of everything that decides whether the answer is caught: the patch, the test files, the patched files, and their imports.

    Comments and docstrings do not run, so they do not count.

    Args:
        answer: The wrong answer.
        root: The repository.
        files: The files of the workspace of a proof, by path; no others count.
        run: The files that are run.

    Raises:
        StaffError: If a patch names a file that does not exist.
    """
    targets = {full.partition(":")[0].replace(".", "/") + ".py" for full in answer.patch}
    for path in sorted(targets):
        if path not in files:
            raise StaffError(f"wrong answer {answer.key} patches {', '.join(answer.patch)}, but there is no {path}")
    patch = sorted((full, executable_source(definition)) for full, definition in answer.patch.items())
    digest = hashlib.sha256(json.dumps([patch, *([True] if answer.compiled else [])]).encode())
    for path in sorted(import_closure(root, {*run, *targets}) & files.keys()):
        content = files[path]
        content = executable_source(content).encode() if isinstance(content, str) and path.endswith(".py") else content
        content = content.encode() if isinstance(content, str) else content
        digest.update(f"\n{path} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@cache
def executable_source(text: str) -> str:
    """Python source without its comments and docstrings; as it is, if it is not valid Python."""
    try:
        tree = function_source.parse(text)
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (function_source.Unreadable, tokenize.TokenError):
        return text
    lines: list[str | None] = list(text.split("\n"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node, clean=False):
            docstring = node.body[0]
            first, last = docstring.lineno - 1, (docstring.end_lineno or docstring.lineno) - 1
            if not (lines[first] or "")[: docstring.col_offset].strip():  # of `def f(): "text"` the line stays
                lines[first : last + 1] = [None] * (last + 1 - first)
    for token in tokens:
        if token.type == tokenize.COMMENT and (line := lines[token.start[0] - 1]) is not None:
            lines[token.start[0] - 1] = line[: token.start[1]].rstrip() or None
    return "\n".join(line for line in lines if line is not None)


def read_ledger(path: Path) -> dict[str, dict[str, str]]:
    """The entries of the ledger by key; empty if the ledger is missing or has another schema."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return document.get("answers", {}) if document.get("schema") == SCHEMA else {}


def write_ledger(path: Path, entries: Mapping[str, Mapping[str, str]], manifest: Manifest) -> None:
    """Write the ledger atomically, in the order of the tasks."""
    order = {task.id: i for i, task in enumerate(manifest.tasks)}
    keys = sorted(entries, key=lambda key: (order[key.split("/")[0]], key))
    document = {"schema": SCHEMA, "answers": {key: dict(entries[key]) for key in keys}}
    write_json(path, document)
