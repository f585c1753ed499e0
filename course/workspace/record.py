"""The current task, tries and open hints of a student, in .course/record.json. The file may be deleted at any time."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from course.manifest import Task
from course.workspace.atomic_files import write_json
from course.workspace.function_source import iter_functions

SCHEMA = 1
"""Version of the file format."""

RECORD = Path(".course") / "record.json"

MOST = 50
"""Maximum number of tries that are stored for a task."""


@dataclass
class Record:
    """The stored state.

    Attributes:
        current: The task that the student works on; None if there is none yet.
        tries: For each task, hashes of the code on which its tests have run.
        hints: For each task, the numbers of its open hints, in the order in which they were opened.
        since: When the current task was chosen, in seconds since the epoch; files that are saved later may belong to another one.
    """

    current: str | None = None
    tries: dict[str, list[str]] = field(default_factory=dict)
    hints: dict[str, list[int]] = field(default_factory=dict)
    since: float = 0.0


def read_record(root: Path) -> Record:
    """Read the record of a workspace; it is empty if the file is missing, old or damaged."""
    try:
        document = json.loads((root / RECORD).read_text(encoding="utf-8"))
        if document.pop("schema") != SCHEMA:
            return Record()
        record = Record(**document)
        tries = {str(id): [str(code) for code in codes] for id, codes in record.tries.items()}
        hints = {str(id): [*map(int, range(1, opened + 1) if isinstance(opened, int) else opened)] for id, opened in record.hints.items()}
        return Record(None if record.current is None else str(record.current), tries, hints, float(record.since))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Record()


def write_record(root: Path, record: Record) -> None:
    """Write the record; in a workspace that is not writable, nothing is stored."""
    with contextlib.suppress(OSError):
        write_json(root / RECORD, {"schema": SCHEMA} | asdict(record))


def note_tries(root: Path, tasks: Sequence[Task]) -> None:
    """Count a run of the tests of these tasks as a try, once for each version of their code."""
    record = read_record(root)
    changed, record.since = not record.since, record.since or time.time()
    for task in tasks:
        tries, code = record.tries.setdefault(task.id, []), code_of(task, root)
        if code not in tries and len(tries) < MOST:
            tries.append(code)
            changed = True
    if changed:
        write_record(root, record)


def code_of(task: Task, root: Path) -> str:
    """A hash of the code that the student wrote for a task, without comments and spaces as long as the file is valid Python."""
    digest = hashlib.sha256()
    for file in task.files:
        names = task.names_in(file)
        try:
            source = (root / file).read_bytes()
        except OSError:
            continue
        try:
            pieces = [ast.dump(node) for name, node in iter_functions(ast.parse(source)) if name in names]
        except (SyntaxError, ValueError, RecursionError):
            pieces = [repr(source)]
        digest.update("\0".join(pieces).encode())
    return digest.hexdigest()
