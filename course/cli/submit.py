"""`course submit`: packs the files that students write, the reports of training and, on request, the activity record in a zip file."""

from __future__ import annotations

import ast
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.text import Text

from course.cli import report
from course.cli.common import changed_signatures
from course.cli.problem import ENVIRONMENT, TESTS_FAIL, USAGE, Problem
from course.manifest import Manifest
from course.runner.progress import cached_states
from course.workspace import additions, backups, function_source, given_tests, pristine
from course.workspace.activity import ACTIVITY, HANDED_IN, TaskActivity, encode, read_activity

LARGEST = 10_000_000
"""Maximum size of a file in bytes."""

SKIPPED = {".git", ".venv", ".course", ".hypothesis", ".pytest_cache", ".ruff_cache", "__pycache__", "_build", "node_modules", "data"}
"""Folders that are not searched for the student's files."""

LEFT_OUT = "given code, graded with a fresh copy"
NEW = "belongs to no task"


@dataclass
class Contents:
    """The contents of the zip file, and what is left out.

    Attributes:
        files: The files by path.
        left_out: Files that the student wrote or changed but that are left out, with the reason, by path.
        broken: Files that are not valid Python, as "path, line 3: …".
        warnings: Problems that grading will have.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def run(
    root: Path,
    manifest: Manifest,
    console: Console,
    out: Path | str = "submission.zip",
    anyway: bool = False,
    as_json: bool = False,
    with_record: bool = False,
) -> int:
    """Write the zip file; returns the exit code.

    Args:
        root: The workspace.
        manifest: Its manifest.
        console: Where to list the contents.
        out: The zip file, relative to the workspace; an earlier one is replaced.
        anyway: Include files that are not valid Python.
        as_json: Print a JSON object instead of the list.
        with_record: Include the record of the student's activity.

    Raises:
        Problem: If there is nothing to hand in, a file is not valid Python, or the zip file cannot be written.
    """
    target = _check_target(root / out)
    found = collect(root, manifest)
    if not found.files:
        raise Problem("none of the files that you write exists; run: course doctor", ENVIRONMENT)
    if found.broken and not anyway:
        raise Problem(f"{'; '.join(found.broken)}; such a file cannot be graded: fix it, or run: course submit --anyway", TESTS_FAIL)
    activity = read_activity(root)
    if with_record:
        found.files[HANDED_IN] = encode(activity)
    packed = pristine.make_zip(dict(sorted(found.files.items())))
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(packed)
        unfinished.replace(target)
    except OSError as error:
        raise Problem(f"{target} cannot be written ({error.strerror}); run: course submit --out FILE", ENVIRONMENT) from None
    finally:
        unfinished.unlink(missing_ok=True)
    states = {id: state.state for id, state in cached_states(root).items()}
    if as_json:
        about = {"states": states, "left_out": found.left_out, "broken": found.broken, "warnings": found.warnings}
        print(json.dumps({"file": str(target), "bytes": len(packed), "files": sorted(found.files)} | about, indent=1))
        return 0
    _print_contents(console, manifest, found, states)
    if with_record:
        console.print(Text("Record    ", style="bold").append(f"{HANDED_IN}, as course submit --show-record shows it", style="not bold"))
    elif activity:
        console.print(
            "Your record of time, test runs and hints stays on this machine. To include it: course submit --with-record", soft_wrap=True
        )
    console.print(f"{target}: {len(found.files)} files, {len(packed)} bytes", soft_wrap=True, markup=False)
    untested = {"unknown", "stale"} & set(states.values())
    console.print("Some tasks are untested: course status runs the tests." if untested else "Submit this file.")
    return 0


def show_record(root: Path, console: Console, as_json: bool = False) -> int:
    """Show the complete record that `--with-record` would include; returns the exit code.

    Args:
        root: The workspace.
        console: Where to print.
        as_json: Print the file itself.
    """
    tasks = read_activity(root)
    if as_json:
        print(encode(tasks).decode(), end="")
        return 0
    if not tasks:
        console.print("Nothing is recorded yet.")
        return 0
    for id, about in sorted(tasks.items()):
        console.print(f"Task {id}: started {about.started}, {_minutes(about.active)} of work", style="bold", soft_wrap=True)
        for line in _events(about):
            console.print(Text(f"  {line}"), soft_wrap=True)
    console.print(f"\nThis is all. It is in {ACTIVITY.as_posix()}, which you may delete, and nothing is sent anywhere.", soft_wrap=True)
    console.print("To include it in your submission: course submit --with-record", soft_wrap=True)
    return 0


def _events(about: TaskActivity) -> Iterator[str]:
    """Every run, hint and use of `course explain` of a task, in order."""
    for place in range(len(about.runs) + 1):
        for hint in about.hints:
            if hint.runs == place:
                yield f"{_minutes(hint.after):>11}  opened hint {hint.level}"
        for _ in range(about.explains.count(place)):
            yield f"{'':>11}  course explain"
        if place < len(about.runs):
            run = about.runs[place]
            failed = f"; failed: {', '.join(run.failed)}" if run.failed else ""
            yield f"{_minutes(run.after):>11}  {run.state}: {run.passed} of {run.total} tests passed{failed}"


def _minutes(seconds: int) -> str:
    """A time in minutes and seconds: "3 min 20 s"."""
    return f"{seconds // 60} min {seconds % 60:02} s"


def collect(root: Path, manifest: Manifest) -> Contents:
    """Collect the files of a workspace that go into the zip file.

    Raises:
        Problem: If one of them cannot be read.
    """
    found = Contents()
    for path in dict.fromkeys(path for task in manifest.tasks for path in task.files):
        try:
            data = backups.content(root, path)
        except Problem as problem:
            found.left_out[path] = str(problem)
            continue
        if data is None:
            found.left_out[path] = "is missing; course reset restores its stubs"
            continue
        _add(found, path, data)
        try:
            function_source.parse(function_source.decode(data)[0])
        except function_source.Unreadable as error:
            found.broken.append(f"{path}, {error}")
    for task in manifest.tasks:
        found.warnings += [f"{message}; change it back, or the tests cannot call it" for message in changed_signatures(root, task)]
    for paths in report.files(root, [task.id for task in manifest.tasks]).values():
        for path in paths:
            try:
                _add(found, path, backups.content(root, path) or b"")
            except Problem as problem:
                found.left_out[path] = str(problem)
    _look_around(root, manifest, found)
    if message := given_tests.warning(root, manifest):
        found.warnings.append(message)
    return found


def _add(found: Contents, path: str, data: bytes) -> None:
    if len(data) > LARGEST:
        found.left_out[path] = f"{len(data)} bytes, the maximum is {LARGEST}"
    else:
        found.files[path] = data


def _look_around(root: Path, manifest: Manifest, found: Contents) -> None:
    """Find what the student changed or added but grading does not take: whole files, imports of them, and lines of given code."""
    try:
        given = pristine.read(root)
    except Problem as problem:
        found.warnings.append(str(problem))
        return
    added = set()
    for path in _walk(root):
        if path in found.files or path in found.left_out or path == pristine.PATH:
            continue
        if path in given.hashes:
            if not given.is_as_given(path, (root / path).read_bytes()):
                found.left_out[path] = LEFT_OUT
        elif path.endswith(".py"):
            found.left_out[path] = NEW
            added.add(path)
    for path, data in found.files.items():
        for other in sorted(_imports(path, data) & added):
            found.warnings.append(f"{path} imports {other}, which {NEW} and is left out; move what it needs to {path}")
        if path in given.files:
            tasks = [name for task in manifest.tasks for name in task.names_in(path)]
            found.warnings += [
                f"{path}, {remark.replace('was not taken', 'is not taken by grading')}"
                for remark in _not_taken(given.files[path], data, tasks)
            ]


def _not_taken(given: bytes, data: bytes, tasks: list[str]) -> list[str]:
    """What grading does not take from a file: statements that run on import, and changes of given code."""
    try:
        base, mine = (function_source.unix(function_source.decode(each)[0]) for each in (given, data))
        return [*additions.remove_conflicts(mine, base)[1], *additions.changed_functions(base, mine, tasks)]
    except function_source.Unreadable:  # listed as broken
        return []


def _walk(root: Path) -> Iterator[str]:
    """The files of a workspace, without caches, data and links."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
        for name in sorted(names):
            file = Path(folder) / name
            if file.is_file() and not file.is_symlink():
                yield file.relative_to(root).as_posix()


def _imports(path: str, data: bytes) -> set[str]:
    """The paths of the workspace's files that a file may import."""
    if not path.endswith(".py"):
        return set()
    try:
        tree = function_source.parse(function_source.decode(data)[0])
    except function_source.Unreadable:
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = path.split("/")[: -node.level] if node.level else []
            module = ".".join([*package, node.module] if node.module else package)
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return {name.replace(".", "/") + ".py" for name in found}


def _check_target(target: Path) -> Path:
    """Return the path if a zip file may be written there.

    Raises:
        Problem: If another file or a folder is in the way, or the parent folder does not exist.
    """
    if target.is_dir() or (target.exists() and not zipfile.is_zipfile(target)):
        what = "is a folder" if target.is_dir() else "exists and is not a zip file"
        raise Problem(f"{target} {what}; choose another file: course submit --out FILE", USAGE)
    if not target.parent.is_dir():
        raise Problem(f"the folder {target.parent} does not exist; choose a file in an existing folder: course submit --out FILE", USAGE)
    return target


# Printing


def _print_contents(console: Console, manifest: Manifest, found: Contents, states: Mapping[str, str]) -> None:
    """List the files of each task, what is left out, and warnings."""
    for task in manifest.tasks:
        mine = [path for path in found.files if path in task.files or _is_report_of(path, task.id)]
        line = Text(f"Task {task.id:<5}{states.get(task.id, 'unknown'):<9}", style="bold")
        console.print(line.append(", ".join(mine) or "nothing", style="not bold"), soft_wrap=True)
    _print_list(console, "Left out:", [f"{path}: {why}" for path, why in found.left_out.items()])
    _print_list(console, "Warning:", [*found.broken, *found.warnings])


def _print_list(console: Console, heading: str, lines: Iterable[str]) -> None:
    for number, line in enumerate(lines):
        if number == 0:
            console.print(heading, style="bold")
        console.print(Text(f"  {line}"), soft_wrap=True)


def _is_report_of(path: str, task: str) -> bool:
    """Whether a file belongs to the report of a task."""
    parts = path.split("/")
    return parts[0] == report.FOLDER.as_posix() and any(entry.task == task and entry.name == parts[1] for entry in report.HAND_INS)
