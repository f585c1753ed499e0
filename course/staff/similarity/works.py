"""The functions that each student wrote, by task, as tokens, with their names, comments and strings."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from course.manifest import Manifest
from course.staff.grading.reading import decode_source
from course.staff.grading.submissions import Submission, find, read
from course.staff.similarity import syntax
from course.staff.similarity.fingerprints import hashes
from course.workspace import function_source

CLASS, EARLIER, PUBLIC = "class", "earlier", "public"
"""Kinds of works: of the class, of earlier years, and solutions that anybody can read."""

LONG_NAME = 6
"""Minimum length of a shared name that counts as evidence."""

LONG_TEXT = 12
"""Minimum length of a shared comment or string that counts as evidence."""


@dataclass(frozen=True, eq=False)
class Function:
    """A function that a student wrote.

    Attributes:
        task: The task that it belongs to.
        path: Its file.
        name: Its qualified name in the file, such as "Scalar.chain_rule".
        first: The number of its first line.
        lines: Its source.
        tokens: Hashes of its tokens.
        places: The line of each token, counted from 0 in `lines`.
        runs: Hashes of its runs of tokens, by position.
        texts: Names that the student chose, comments and strings, as ("name", "…"), ("comment", "…"), ("string", "…").
    """

    task: str
    path: str
    name: str
    first: int
    lines: tuple[str, ...]
    tokens: np.ndarray
    places: np.ndarray
    runs: np.ndarray
    texts: frozenset[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Work:
    """A submission or a public solution, prepared for comparison.

    Attributes:
        name: Its name.
        kind: CLASS, EARLIER or PUBLIC.
        functions: The functions that the student wrote.
        refused: Why it could not be read; empty if it could.
        troubles: Why some of its files could not be read.
    """

    name: str
    kind: str
    functions: tuple[Function, ...] = ()
    refused: str = ""
    troubles: tuple[str, ...] = ()


class Reader:
    """Reads submissions, and extracts the functions that the student wrote.

    Attributes:
        manifest: The course's manifest.
        given: Hashes of all runs of tokens in given functions, sorted.
        given_names: The names of the given functions, by path.

    Args:
        root: The reference, which contains the given code.
        manifest: Its manifest.
    """

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self._tasks = {
            path: _tasks_by_function(manifest, path) for path in dict.fromkeys(path for task in manifest.tasks for path in task.files)
        }
        self.given = np.empty(0, np.uint64)
        self.given_names: dict[str, frozenset[str]] = {}
        self._words: dict[str, frozenset[tuple[str, str]]] = {}
        self._file = lru_cache(maxsize=4096)(self._read_file)
        runs = []
        for path, tasks in self._tasks.items():
            if not (root / path).is_file():
                continue
            text = (root / path).read_text(encoding="utf-8")
            found = dict(function_source.iter_functions(function_source.parse(text)))
            left_out = {full.partition(":")[2] for task in manifest.tasks for full in task.leave_out if _path(full) == path}
            names = frozenset(name for name in found if name not in tasks and name not in left_out and not _is_nested_in(name, tasks))
            self.given_names[path] = names
            self._words[path] = frozenset(_words(text))
            imported = syntax.imported_names(function_source.parse(text))
            runs += [hashes(_hash_tokens(syntax.tokens(found[name], (), imported))) for name in names if not _encloses(name, tasks)]
        self.given = np.unique(np.concatenate([self.given, *runs]))

    def read_all(self, paths: Sequence[Path], kind: str, done: Callable[[str], object] = lambda name: None) -> list[Work]:
        """Read submissions, or folders of them; returns a work for each.

        Raises:
            RequestError: If a path does not exist, or is an empty folder.
        """
        works = []
        for name, path in find(paths, self.manifest).items():
            works.append(self.work(read(name, path, self.manifest), kind))
            done(name)
        return works

    def work(self, submission: Submission, kind: str) -> Work:
        """Extract the functions that the student wrote from a submission."""
        functions: list[Function] = []
        troubles: list[str] = []
        for path, data in submission.files.items():
            try:
                functions += self._file(path, data)
            except function_source.Unreadable as error:
                troubles.append(f"{path}, {error}")
            except RecursionError:
                troubles.append(f"{path}, its expressions are nested too deeply")
        return Work(submission.name, kind, tuple(functions), submission.refused, tuple(troubles))

    def _read_file(self, path: str, data: bytes) -> tuple[Function, ...]:
        """The functions of a file that the student wrote.

        Raises:
            Unreadable: If it is not valid Python.
        """
        text = decode_source(data)
        tree = function_source.parse(text)
        nodes = dict(function_source.iter_functions(tree))
        tasks = self._tasks[path]
        given = self.given_names.get(path, frozenset())
        written = [name for name in nodes if name in tasks]
        helpers = [name for name in nodes if name not in tasks and name not in given and not _is_nested_in(name, tasks)]
        helpers = [name for name in helpers if not _is_nested_in(name, helpers)]
        task_of = {name: tasks[name] for name in written} | _tasks_of_helpers(nodes, written, helpers, tasks)
        known = self._words.get(path, frozenset())
        classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and ("name", node.name) not in known}
        own = {name.rpartition(".")[2] for name in helpers} | classes
        imported = syntax.imported_names(tree)
        lines = text.split("\n")
        found = []
        for name in [*written, *helpers]:
            node = nodes[name]
            first, last = node.lineno, node.end_lineno or node.lineno
            source = tuple(lines[first - 1 : last])
            if _is_stub(node):
                continue
            around = [nodes[outer] for outer in nodes if name.startswith(f"{outer}.")]
            outside = own.union(*map(syntax.bound_names, around))
            tokens = syntax.tokens(node, outside, imported)
            values = _hash_tokens(tokens)
            places = np.array([max(0, at - first) for _, at in tokens], np.int32)
            texts = frozenset((kind, text) for kind, text in _texts(node, source, outside) if (kind, text) not in known)
            found.append(Function(task_of[name], path, name, first, source, values, places, hashes(values), texts))
        return tuple(found)


def _tasks_by_function(manifest: Manifest, path: str) -> dict[str, str]:
    """The task of every function that students write in a file."""
    return {name: task.id for task in manifest.tasks for name in task.names_in(path)}


def _path(full: str) -> str:
    return full.partition(":")[0].replace(".", "/") + ".py"


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function ends like a stub: raise NotImplementedError("Need to implement for Task 1.4")."""
    last = node.body[-1]
    error = ast.unparse(last.exc) if isinstance(last, ast.Raise) and last.exc else ""
    return error.startswith("NotImplementedError('Need to implement")


def _is_nested_in(name: str, names: Collection[str]) -> bool:
    """Whether one of these functions encloses a function."""
    return any(name.startswith(f"{outer}.") for outer in names)


def _encloses(name: str, names: Collection[str]) -> bool:
    """Whether a function encloses one of these."""
    return any(inner.startswith(f"{name}.") for inner in names)


def _hash_tokens(tokens: syntax.Tokens) -> np.ndarray:
    return np.array([syntax.token_hash(token) for token, _ in tokens], np.uint64)


def _tasks_of_helpers(
    nodes: Mapping[str, ast.AST], written: Sequence[str], helpers: Sequence[str], tasks: Mapping[str, str]
) -> dict[str, str]:
    """The task of every helper: that of the first function that uses it, directly or indirectly, or of the file's first function."""
    short: dict[str, list[str]] = {}
    for name in helpers:
        for part in name.split("."):  # using a class counts as using its methods
            short.setdefault(part, []).append(name)
    found: dict[str, str] = {}
    for name in written:
        todo = [name]
        while todo:
            used = {word for node in ast.walk(nodes[todo.pop()]) for word in _names_in(node)}
            for helper in [helper for word in used & short.keys() for helper in short[word] if helper not in found]:
                found[helper] = tasks[name]
                todo.append(helper)
    first = tasks[written[0]] if written else next(iter(tasks.values()))
    return {name: found.get(name, first) for name in helpers}


def _names_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr


def _texts(node: ast.FunctionDef | ast.AsyncFunctionDef, source: Sequence[str], outside: Collection[str]) -> Iterator[tuple[str, str]]:
    """The names that a student chose in a function, its comments and its strings, if they are long enough to be evidence."""
    for name in {*syntax.bound_names(node), node.name} - set(outside):
        if len(name) >= LONG_NAME:
            yield "name", name
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and len(inner.value) >= LONG_TEXT:
            yield "string", " ".join(inner.value.split())
    yield from (("comment", text) for text in _comments(source) if len(text) >= LONG_TEXT)


def _comments(source: Sequence[str]) -> Iterator[str]:
    """The comments of a function, without the leading #."""
    if not any("#" in line for line in source):
        return
    indent = len(source[0]) - len(source[0].lstrip())
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join([source[0][indent:], *source[1:]]) + "\n").readline):
            if token.type == tokenize.COMMENT:
                yield " ".join(token.string.lstrip("#! ").split())
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return  # the last lines have inconsistent indentation; the comments so far count


def _words(text: str) -> Iterator[tuple[str, str]]:
    """All names, comments and strings of a given file."""
    for node in ast.walk(function_source.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield "string", " ".join(node.value.split())
        elif isinstance(node, ast.arg):
            yield "name", node.arg
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield "name", node.name
        else:
            yield from (("name", name) for name in _names_in(node))
    yield from (("comment", comment) for comment in _comments(text.split("\n")))
