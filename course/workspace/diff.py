"""`course diff`: what the student changed since the course was handed out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from rich.console import Console
from rich.text import Text

from course.cli.problem import USAGE, Problem
from course.manifest import Manifest, ManifestError
from course.workspace import backups, function_source, pristine

AROUND = 3
"""Lines shown above and below a change."""

STYLES = {"+": "green", "-": "red", "@": "cyan"}


def run(root: Path, manifest: Manifest, console: Console, id: str = "", as_json: bool = False) -> int:
    """Print the differences as a patch, in color on a terminal, and return the exit code.

    Args:
        root: The workspace.
        manifest: Its manifest.
        console: Where to print.
        id: Show only changes in the functions of this task, and changes in its files outside any task's functions. Default: all.
        as_json: Print one object: the lines of the patch by file.

    Raises:
        Problem: If there is no such task, or the record of what was handed out is missing.
    """
    patches = differences(root, manifest, id)
    if as_json:
        print(json.dumps(patches, indent=1))
        return 0
    for lines in patches.values():
        for line in lines:
            bold = line.startswith(("+++ ", "--- "))
            console.print(Text(line, style="bold" if bold else STYLES.get(line[:1], "")), soft_wrap=True)
    if not patches:
        console.print(f"Nothing is written{f' for Task {id}' if id else ''} yet; next: course test{f' {id}' if id else ''}")
    return 0


def differences(root: Path, manifest: Manifest, id: str = "") -> dict[str, list[str]]:
    """The lines of a patch for every file that differs.

    Raises:
        Problem: As `run` does.
    """
    try:
        tasks = [manifest.task(id)] if id else list(manifest.tasks)
    except ManifestError as error:
        raise Problem(f"{error}; run: course list", USAGE) from None
    given, everything = pristine.read(root), pristine.task_functions(manifest)
    patches = {}
    for path in dict.fromkeys(path for task in tasks for path in task.files):
        if path not in given.files:
            continue
        old, new = _text(given.files[path]), _text(backups.content(root, path) or b"")
        others = [name for name, task in everything[path].items() if id and task != id]
        if lines := _patch(path, old, new, others):
            patches[path] = lines
    return patches


def _text(data: bytes) -> str:
    """Decode a file, replacing invalid bytes."""
    try:
        return function_source.unix(function_source.decode(data)[0])
    except function_source.Unreadable:
        return function_source.unix(data.decode("utf-8", errors="replace"))


def _patch(path: str, old: str, new: str, without: Iterable[str]) -> list[str]:
    """The patch of one file, except for changes inside the functions `without`."""
    before, after = _lines(old), _lines(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    spans = [_spans(text, without) for text in (old, new)]
    opcodes = [code for code in matcher.get_opcodes() if code[0] == "equal" or not _inside(code, *spans)]
    lines = []
    for group in _groups(opcodes):
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        lines.append(f"@@ -{i1 + 1},{i2 - i1} +{j1 + 1},{j2 - j1} @@")
        for tag, a1, a2, b1, b2 in group:
            lines += [f" {line}" for line in before[a1:a2]] if tag == "equal" else []
            lines += [f"-{line}" for line in before[a1:a2]] if tag != "equal" else []
            lines += [f"+{line}" for line in after[b1:b2]] if tag != "equal" else []
    return [f"--- a/{path}", f"+++ b/{path}", *lines] if lines else []


def _lines(text: str) -> list[str]:
    """The lines in the form that patches use."""
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


Opcode = tuple[str, int, int, int, int]
Spans = Mapping[str, tuple[int, int]]


def _groups(opcodes: Sequence[Opcode]) -> list[list[Opcode]]:
    """Group changes with the equal lines around them, as patches do."""
    groups: list[list[Opcode]] = []
    for place, (tag, i1, i2, j1, j2) in enumerate(opcodes):
        if tag == "equal":
            continue
        before = opcodes[place - 1] if place and opcodes[place - 1][0] == "equal" else None
        after = opcodes[place + 1] if place + 1 < len(opcodes) and opcodes[place + 1][0] == "equal" else None
        head = min(AROUND, before[2] - before[1]) if before else 0
        tail = min(AROUND, after[2] - after[1]) if after else 0
        last = groups[-1][-1] if groups else None
        if last and before and last[2] >= i1 - head:  # their surrounding lines overlap
            groups[-1][-1] = ("equal", last[1], i1, last[3], j1)
            groups[-1].append((tag, i1, i2, j1, j2))
        else:
            groups.append([("equal", i1 - head, i1, j1 - head, j1), (tag, i1, i2, j1, j2)])
        groups[-1].append(("equal", i2, i2 + tail, j2, j2 + tail))
    return groups


def _spans(text: str, names: Iterable[str]) -> Spans:
    """The first and last lines of functions, from 0; empty if the text is not valid Python."""
    try:
        found = function_source.find(text)
    except function_source.Unreadable:
        return {}
    return {name: (found[name].lines[0] - 1, found[name].lines[1]) for name in names if name in found}


def _inside(code: Opcode, old: Spans, new: Spans) -> bool:
    """Whether a change is inside one of these functions."""
    _, i1, i2, j1, j2 = code
    in_old = any(first <= i1 and i2 <= last for first, last in old.values())
    return in_old and any(first <= j1 and j2 <= last for first, last in new.values())
