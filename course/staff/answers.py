"""Wrong answers: plausible mistakes as small patches of the reference, and the ledger of those that the tests are known to catch."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from course.files import write_json
from course.manifest import Manifest, Task
from course.staff import StaffError, syntax
from course.staff.selection import import_closure, marks

FOLDER = Path(__file__).with_name("wrong_answers")
LEDGER = FOLDER / "ledger.json"
SCHEMA = 1


@dataclass(frozen=True)
class WrongAnswer:
    """One mistake.

    Attributes:
        task: The task whose tests must catch it.
        name: Its name, unique in the task.
        mistake: What the student did, in a sentence.
        patch: Definitions by "module:function".
    """

    task: str
    name: str
    mistake: str
    patch: Mapping[str, str]

    @property
    def key(self) -> str:
        """Its name in the ledger."""
        return f"{self.task}/{self.name}"


def load_answers(folder: Path, tasks: Iterable[Task]) -> list[WrongAnswer]:
    """The wrong answers of these tasks, in order.

    Raises:
        StaffError: If a file is not TOML or an entry does not say what it must, naming both.
    """
    answers = []
    for task in tasks:
        file = folder / f"{task.id}.toml"
        if not file.is_file():
            continue
        try:
            entries = tomllib.loads(file.read_text(encoding="utf-8")).get("wrong", [])
        except tomllib.TOMLDecodeError as error:
            raise StaffError(f"{file} is not valid TOML: {error}") from None
        names = [entry.get("name") for entry in entries]
        for entry, name in zip(entries, names, strict=True):
            if set(entry) != {"name", "mistake", "patch"} or not entry["patch"]:
                raise StaffError(
                    f"{file}: entry {name!r} has {', '.join(entry)}; expected name, mistake and a patch of at least one function"
                )
            if names.count(name) > 1:
                raise StaffError(f"{file}: {name!r} stands there twice")
            answers.append(WrongAnswer(task.id, name, entry["mistake"], entry["patch"]))
    return answers


def patched(answer: WrongAnswer, files: Mapping[str, str | bytes]) -> dict[str, str | bytes]:
    """The files with the mistake in them.

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
            result[path] = syntax.graft(source, {name: definition})
        except syntax.SyntaxTreeError as error:
            raise StaffError(f"wrong answer {answer.key} patches {full}: {error}") from None
    return result


def graded_files(task: Task, files: Mapping[str, str | bytes]) -> list[str]:
    """The files that hold tests of the task."""
    return [
        path for path, content in files.items() if path.startswith("tests/") and isinstance(content, str) and task.mark in marks(content)
    ]


def content_hash(answer: WrongAnswer, root: Path, run: Iterable[str]) -> str:
    """A hash of what decides whether the answer is caught: the patch, the files that are run, those patched, and what all these import."""
    targets = {full.partition(":")[0].replace(".", "/") + ".py" for full in answer.patch}
    for path in sorted(targets):
        if not (root / path).is_file():
            raise StaffError(f"wrong answer {answer.key} patches {', '.join(answer.patch)}, but there is no {path}")
    digest = hashlib.sha256(json.dumps(sorted(answer.patch.items())).encode())
    for path in sorted(import_closure(root, {*run, *targets})):
        content = (root / path).read_bytes()
        digest.update(f"\n{path} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def read_ledger(path: Path) -> dict[str, dict[str, str]]:
    """The entries of the ledger by key; none if there is no ledger, or one of another format."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return document.get("answers", {}) if document.get("schema") == SCHEMA else {}


def write_ledger(path: Path, entries: Mapping[str, Mapping[str, str]], manifest: Manifest) -> None:
    """Write the ledger in the order of the tasks, all of it or nothing."""
    order = {task.id: i for i, task in enumerate(manifest.tasks)}
    keys = sorted(entries, key=lambda key: (order[key.split("/")[0]], key))
    document = {"schema": SCHEMA, "answers": {key: dict(entries[key]) for key in keys}}
    write_json(path, document)
