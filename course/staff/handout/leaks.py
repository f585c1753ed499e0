"""Search for solutions that a workspace still shows: in other functions, tests, pages, comments and docstrings.

A removed body leaks if N of its consecutive tokens occur in a file. Names, numbers and operators count; all strings are the same token;
layout and comments do not count, and the comments of a file are searched as a separate text. Tokens that two different bodies have in
common are a pattern, not a solution, because given functions follow it as well. `shapes` finds copies that were renamed or reordered.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from course.staff.handout.shapes import find_near_copies
from course.workspace.function_source import codes

N = 14
"""The number of consecutive tokens that make a leak."""

SHORTEST = 8
"""A body with fewer tokens cannot be recognized; a body with fewer than N tokens leaks as a whole."""

TOKEN = re.compile(r'"[^"\n]*"|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\w+|[^\w\s]')

INNER_HEADER = re.compile(r"\bdef \w+\((?:[^()]|\([^()]*\))*\)[^:]*:")
"""The header of an inner function: its types tell no more than those of the given function around it."""


@dataclass(frozen=True)
class Leak:
    """A piece of a solution in a file of the workspace.

    Attributes:
        name: The function whose body was removed, as in the manifest.
        path: The file that shows it.
        line: The line number, from 1.
        text: The tokens found.
    """

    name: str
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} shows the solution of {self.name}: {self.text}"


def find_leaks(removed: Mapping[str, str], files: Mapping[str, str | bytes], also: Mapping[str, str] | None = None) -> list[Leak]:
    """The locations where files still show a removed body, one for each pair of body and file.

    Args:
        removed: The removed bodies by the manifest's name of their function.
        files: The workspace.
        also: Other bodies, of which no 2 N consecutive tokens may appear; shorter sequences are idioms that any page may use.
    """
    grams: dict[tuple[str, ...], list[str]] = {}
    bodies: dict[tuple[str, ...], set[str]] = {}
    sizes = set()
    for n, several in ((N, removed), (2 * N, also or {})):
        for name, body in several.items():
            whole = " ".join(token for token, _ in _tokens(_without_comments(body)))
            for part in INNER_HEADER.split(_without_comments(body)):
                tokens = [token for token, _ in _tokens(part)]
                size = min(n, len(tokens))
                if size >= SHORTEST:
                    sizes.add(size)
                    for gram in _windows(tokens, size):
                        grams.setdefault(gram, []).append(name)
                        bodies.setdefault(gram, set()).add(whole)
    grams = {gram: names for gram, names in grams.items() if len(bodies[gram]) == 1}
    beginnings = {gram[:SHORTEST] for gram in grams}
    leaks: dict[tuple[str, str], Leak] = {}
    for path, content in files.items():
        if isinstance(content, bytes):
            continue
        for text in (_without_comments(content), _comments_alone(content)):
            tokens = _tokens(text)
            words = [token for token, _ in tokens]
            for i, beginning in enumerate(_windows(words, SHORTEST)):
                for size in sizes if beginning in beginnings else ():
                    gram = tuple(words[i : i + size])
                    for name in grams.get(gram, ()):
                        leaks.setdefault((name, path), Leak(name, path, tokens[i][1], " ".join(gram)))
    return sorted(leaks.values(), key=lambda leak: (leak.path, leak.line, leak.name))


def find_orphans(before: str, after: str) -> list[str]:
    """The private top-level functions, classes, constants and imports that only the removed bodies used.

    Args:
        before: The file of the reference.
        after: The same file with stubs.
    """
    used, still = _uses(before), _uses(after)
    return [name for name in _private(before) if used[name] > 1 and still[name] <= 1]


def bodies_of_modules(reference: Mapping[str, str | bytes], modules: Iterable[str]) -> dict[str, str]:
    """The bodies of all functions of these modules; an inner function is part of the outer one."""
    bodies = {}
    for module in modules:
        found = codes(str(reference[module.replace(".", "/") + ".py"]))
        bodies |= {f"{module}:{name}": body for name, body in found.items() if name.rpartition(".")[0] not in found}
    return bodies


def leaks_of(
    reference: Mapping[str, str | bytes],
    files: Mapping[str, str | bytes],
    names: Mapping[str, Mapping[str, str]],
    also: Mapping[str, str] | None = None,
    stated: Collection[str] = (),
) -> list[str]:
    """Descriptions of leaks, one line each: parts and near copies of removed bodies, and private helpers that only they used.

    Args:
        reference: The workspace with the solutions.
        files: The workspace.
        names: The functions that were removed from files, as in `write_names`.
        also: Other bodies, of which no long part may appear, by name.
        stated: Functions whose whole definition the workspace states in words; near copies of them show nothing new.
    """
    orphans = [
        f"{path}: only removed solutions use {name}; define it in the function that uses it, or add it to `write` or `leave_out`"
        for path in names
        for name in find_orphans(str(reference[path]), str(files[path]))
    ]
    removed = removed_bodies(reference, names)
    solutions = {name: body for name, body in removed.items() if name not in stated}
    return [*map(str, find_leaks(removed, files, also)), *map(str, find_near_copies(solutions, files)), *orphans]


def removed_bodies(reference: Mapping[str, str | bytes], names: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The removed bodies by "module:name"."""
    removed = {}
    for path, tasks in names.items():
        bodies = codes(str(reference[path]))
        removed |= {f"{path.removesuffix('.py').replace('/', '.')}:{name}": bodies[name] for name in tasks}
    return removed


def _private(source: str) -> list[str]:
    names = []
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names += [alias.asname or alias.name for alias in node.names]
    return [name for name in names if name.startswith("_") and not name.startswith("__")]


def _uses(source: str) -> Counter[str]:
    """How often each name occurs, its definition included; docstrings and the list of a bare workspace, which is comments, count."""
    return Counter(token for token, _ in _tokens(source))


def _windows(tokens: list[str], size: int) -> Iterable[tuple[str, ...]]:
    return (tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1))


def _tokens(text: str) -> list[tuple[str, int]]:
    """The tokens with their lines; all strings are the same token."""
    text = re.sub(r'"""|\'\'\'', " ", text)  # the content of docstrings is searched
    tokens = []
    for number, line in enumerate(text.split("\n"), start=1):
        tokens += [('"…"' if token.startswith('"') and len(token) > 1 else token, number) for token in TOKEN.findall(line)]
    return tokens


def _without_comments(text: str) -> str:
    return re.sub(r"#[^\n]*", "", text)


def _comments_alone(text: str) -> str:
    """The comments of a text, each on its own line."""
    return "\n".join(line.partition("#")[2].replace("#", " ") for line in text.split("\n"))
