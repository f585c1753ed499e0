"""Merge what a student wrote in a file into a newer release of it: functions, helpers and imports.

Given code comes from the release. Changes by the student in given code are reported with their lines, and remain in the backup.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from course.workspace import function_source
from course.workspace.signatures import signatures


@dataclass
class MergeResult:
    """A file of the release with the student's work.

    Attributes:
        text: The file.
        taken: The functions whose code is the student's.
        gone: Functions that the student wrote and the release does not have.
        lost: Locations of other changes by the student: a function or class, or "line 7".
    """

    text: str
    taken: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def merge(old: str, yours: str, new: str, names: tuple[set[str], set[str]], is_test: bool = False) -> MergeResult:
    """Merge the student's work into a newer file.

    Args:
        old: The file as it was handed out.
        yours: The student's version.
        new: The file in the newer release.
        names: The functions that students write in it, before and now.
        is_test: Whether the student also chose the signature; otherwise the student's signature is kept only if it was changed.

    Raises:
        Unreadable: If one of the three is not valid Python.
    """
    windows = function_source.line_end(yours)
    old, yours, new = map(function_source.unix, (old, yours, new))
    mine, after = function_source.definitions(yours), function_source.definitions(new)
    part = function_source.definitions if is_test else function_source.codes
    stubs, written = part(old), part(yours)
    done = [name for name in mine if name in names[0] and written[name] != stubs.get(name)]
    taken = [name for name in done if name in names[1] and name in after]
    before, now = signatures(old), signatures(yours)
    changed = {name for name in taken if is_test or name not in before or now[name].text != before[name].text}
    merged = MergeResult(function_source.graft(new, {name: mine[name] for name in taken}, whole=changed), taken)
    merged.gone = [name for name in done if name not in taken]
    merged.text = with_additions(old, yours, merged.text)
    function_source.parse(merged.text)
    merged.lost = _lost(old, yours, new, merged)
    merged.text = merged.text.replace("\n", windows)
    return merged


# What the student added


@dataclass(frozen=True)
class _Item:
    """A statement of a module or class.

    Attributes:
        key: Identifies the statement across files.
        start: Its first line, from 0, including comments directly above it.
        end: The line after it.
        node: The statement.
    """

    key: str
    start: int
    end: int
    node: ast.stmt


def _items(body: list[ast.stmt], lines: list[str]) -> list[_Item]:
    items: list[_Item] = []
    for node in body:
        first = min([node.lineno, *(line.lineno for line in getattr(node, "decorator_list", []))]) - 1
        floor = items[-1].end if items else 0
        while first > floor and lines[first - 1].lstrip().startswith("#"):
            first -= 1
        items.append(_Item(_key(node), first, _end(node, lines), node))
    return items


def _end(node: ast.stmt, lines: list[str]) -> int:
    """The line after a statement, including comments that are indented deeper."""
    end = node.end_lineno or node.lineno
    for number in range(end, len(lines)):
        comment = lines[number].lstrip()
        if comment and not (comment.startswith("#") and len(lines[number]) - len(comment) > node.col_offset):
            break
        end = number + 1 if comment else end
    return end


def _key(node: ast.stmt) -> str:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return next(name for name, _ in function_source.iter_functions(ast.Module([node], [])))
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    if targets:
        return f"= {', '.join(ast.unparse(target) for target in targets)}"
    return ast.unparse(node)


def with_additions(old: str, yours: str, new: str) -> str:
    """The new text with the statements that the student added to the module and its classes, each after its old predecessor."""
    aliases = _aliases(old) | _aliases(new)
    for path in ["", *(name for name, _ in _classes(function_source.parse(yours)))]:
        lines = {text: text.split("\n") for text in (old, yours, new)}
        bodies_of = [_body(function_source.parse(text), path) for text in (old, yours, new)]
        if any(body is None for body in bodies_of):  # the student added or deleted the whole class
            continue
        was, mine, now = (_items(body or [], lines[text]) for body, text in zip(bodies_of, (old, yours, new), strict=True))
        known = {item.key for item in was} | {item.key for item in now}
        starts, ends = {item.key: item.start for item in now}, {item.key: item.end for item in now}
        anchor = _start(now)
        inserted: dict[int, list[str]] = {}
        for item, below in zip(mine, [*mine[1:], None], strict=False):  # an empty file has no items
            if item.key in ends:
                anchor = max(ends[item.key], _start(now))
            if item.key in known:
                continue
            text = lines[yours][item.start : item.end]
            if isinstance(item.node, (ast.Import, ast.ImportFrom)):
                text = _new_imports(item.node, text, aliases)
            elif not isinstance(item.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)):
                continue  # other code that runs on import: given code that the student changed, or a line that the report names
            above, under = _gap(lines[yours], item.start), _gap(lines[yours], below.start) if below else 0
            if text and below and below.key in starts and under < above:  # it belongs to the statement below
                inserted.setdefault(starts[below.key], []).extend([*text, *[""] * under])
            elif text:
                inserted.setdefault(anchor, []).extend([*[""] * above, *text])
        result = lines[new]
        for place in sorted(inserted, reverse=True):
            result = [*result[:place], *inserted[place], *result[place:]]
        new = "\n".join(result)
    return new


def _start(items: list[_Item]) -> int:
    """The line after the docstring and the imports from __future__."""
    start = items[0].start if items else 0
    for item in items:
        docstring = isinstance(item.node, ast.Expr) and isinstance(item.node.value, ast.Constant)
        if not docstring and not (isinstance(item.node, ast.ImportFrom) and item.node.module == "__future__"):
            break
        start = item.end
    return start


def _gap(lines: list[str], start: int) -> int:
    """The number of blank lines above this one."""
    gap = 0
    while gap < start and not lines[start - gap - 1].strip():
        gap += 1
    return gap


def _classes(tree: ast.AST, path: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield path + node.name, node
            yield from _classes(node, f"{path}{node.name}.")


def _body(tree: ast.Module, path: str) -> list[ast.stmt] | None:
    """The statements of a class, or of the module for ""."""
    return tree.body if not path else next((node.body for name, node in _classes(tree) if name == path), None)


def _aliases(text: str) -> set[tuple[str, str, str]]:
    """The names that the imports of a text bind: module, name and alias."""
    return {alias for node in function_source.parse(text).body for alias in _aliases_of(node)}


def _aliases_of(node: ast.stmt) -> list[tuple[str, str, str]]:
    if isinstance(node, ast.Import):
        return [("", alias.name, alias.asname or "") for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [("." * node.level + (node.module or ""), alias.name, alias.asname or "") for alias in node.names]
    return []


def _new_imports(node: ast.Import | ast.ImportFrom, text: list[str], known: set[tuple[str, str, str]]) -> list[str]:
    """The imports that only the student's file has."""
    found = _aliases_of(node)
    added = [alias for alias in found if alias not in known]
    if len(added) == len(found):
        return text
    words = [f"{name} as {other}" if other else name for _, name, other in added]
    return (
        [f"from {found[0][0]} import {', '.join(words)}" if isinstance(node, ast.ImportFrom) else f"import {', '.join(words)}"]
        if words
        else []
    )


# What could not be merged


def _lost(old: str, yours: str, new: str, merged: MergeResult) -> list[str]:
    """The locations of lines that the student wrote and that the merged file lacks."""
    mine, kept = _added_lines(old, yours), Counter(line for _, line in _added_lines(new, merged.text))
    kept += Counter(line for _, line in _added_lines(old, new))  # the release made the same change
    found, lost = function_source.find(yours), {}
    lines = yours.split("\n")
    imported = {node.lineno + i for node in function_source.parse(yours).body for i in range(_height(node)) if _aliases_of(node)}
    for number, line in mine:
        if kept[line] > 0:
            kept[line] -= 1
        elif number not in imported:
            around = [function for function in found.values() if function.lines[0] <= number <= function.lines[1]]
            name = min(around, key=lambda function: function.lines[1] - function.lines[0]).name if around else f"line {number}"
            lost[name] = lines[number - 1]
    return [name for name in lost if name not in merged.gone]


def _height(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _added_lines(old: str, new: str) -> list[tuple[int, str]]:
    """The lines, with their numbers, that a text adds to an older one, except blank ones."""
    before, after = ([line.strip() for line in text.split("\n")] for text in (old, new))
    opcodes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(i + 1, after[i]) for tag, _, _, j1, j2 in opcodes if tag != "equal" for i in range(j1, j2) if after[i]]


def written(old: str, yours: str, names: Mapping[str, str], is_test: bool = False) -> list[str]:
    """The named functions that differ from what was handed out.

    Raises:
        Unreadable: If one of the two is not valid Python.
    """
    part = function_source.definitions if is_test else function_source.codes
    stubs, mine = part(function_source.unix(old)), part(function_source.unix(yours))
    return [name for name in names if name in mine and mine[name] != stubs.get(name)]
