"""Removes solutions from a source through its syntax tree: bodies of functions, whole functions, and imports.

The rest of the source does not change by a byte. A function is named by its path, as in `course.workspace.function_source`, which finds
functions and restores bodies.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

import libcst as cst
from libcst.helpers import get_full_name_for_node

from course.staff import StaffError

Change = Callable[[str, cst.FunctionDef], cst.FunctionDef | cst.RemovalSentinel]

PRAGMA = re.compile(r"#\s*(type:|noqa|pyright:|pragma:|fmt:)")


class SyntaxTreeError(StaffError):
    """A source lacks a name, or its code cannot be rewritten."""


WIDTH = 140
"""The longest line of a comment list."""


def stub(source: str, tasks: Mapping[str, str], is_test: bool = False, bare: bool = False) -> str:
    """The source with the bodies of the named functions replaced by an error that names their task.

    Docstrings and the `super().__init__()` of an `__init__` stay. A test that students write also loses its arguments and its decorators
    except marks, because choosing them is part of the task.

    Args:
        source: Python source.
        tasks: The task id by function name.
        is_test: Whether the source is a file of tests.
        bare: Remove the docstrings of functions as well, and list at the top of the file what each function must do.

    Raises:
        SyntaxTreeError: If a name does not occur in the source exactly once, or the function consists of a docstring.
    """
    docstrings: dict[str, str] = {}

    def to_stub(name: str, node: cst.FunctionDef) -> cst.FunctionDef:
        docstring, rest = _split(node)
        if not rest:
            raise SyntaxTreeError(f"{name} has nothing but a docstring: there is nothing to take out")
        docstrings[name] = node.get_docstring() or ""
        kept = [line for line in rest if node.name.value == "__init__" and _code(line).startswith("super().__init__(")]
        error = cst.parse_statement(f'raise NotImplementedError("Need to implement for Task {tasks[name]}")')
        above = docstring if is_test or not bare else []
        block = cst.IndentedBlock(body=[*above, *(_bare(line) for line in kept), error], header=_header(node))
        if not is_test:
            return node.with_changes(body=block)
        marks = [line for line in node.decorators if (get_full_name_for_node(line.decorator) or "").startswith("pytest.mark.")]
        return node.with_changes(decorators=marks, lines_after_decorators=(), params=cst.Parameters(), body=block)

    stubbed = _rewrite(source, tasks, to_stub)
    return stubbed if is_test or not bare else _with_list(stubbed, tasks, docstrings)


def _with_list(source: str, tasks: Mapping[str, str], docstrings: Mapping[str, str]) -> str:
    """The source with a comment below its docstring that lists the functions to write by task, with their results and errors."""
    lines = ["", "# To be written in this file, docstrings included:"]
    for task in dict.fromkeys(tasks.values()):
        lines += ["#", f"# Task {task}"]
        for name in (name for name in docstrings if tasks[name] == task):
            summary, *sections = re.split(r"\n\s*\n", inspect.cleandoc(docstrings[name]))
            text = f"# - {name}: {' '.join(summary.split())}" if summary else f"# - {name}"
            lines += textwrap.wrap(text, WIDTH, subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False)
            owed = [line for section in sections if section.startswith(("Returns:", "Raises:")) for line in section.splitlines()]
            lines += [f"#   {line}" for line in owed]
    first = ast.parse(source).body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    place = (first.end_lineno or 0) if documented else 0
    text = source.split("\n")
    return "\n".join([*text[:place], *lines[0 if documented else 1 :], *([] if documented else [""]), *text[place:]])


def remove(source: str, names: Collection[str]) -> str:
    """The source without the named functions and the comments directly above them.

    Raises:
        SyntaxTreeError: If a name does not occur in the source exactly once, or is still used.
    """
    return _check_unused(_rewrite(source, dict.fromkeys(names), lambda name, node: cst.RemoveFromParent()), names)


def remove_imports(source: str, module: str, names: Collection[str]) -> str:
    """The source without these names in its `from module import …`.

    Raises:
        SyntaxTreeError: If one of them is still used.
    """
    imported = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)] if module in source else []
    if not any(node.module == module and any(alias.name in names for alias in node.names) for node in imported):
        return source
    importer = _Importer(module, names)
    return _check_unused(_parse(source).visit(importer).code, importer.bound)


def _check_unused(source: str, names: Collection[str]) -> str:
    """The source, after a check that it does not use the removed names."""
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    if lost := sorted(used & set(names)):
        raise SyntaxTreeError(f"{', '.join(lost)} is taken out, but still used")
    return source


def needed_modules(source: str) -> set[str]:
    """The dotted names that the source imports anywhere, except where it handles a missing module.

    `from a import b` counts as a and a.b.
    """
    found: set[str] = set()
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.With) and "suppress(ModuleNotFoundError)" in map(ast.unparse, (item.context_expr for item in node.items)):
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


class _Walker(cst.CSTTransformer):
    """Replaces every function, inner functions first, by the result of `change(name, node)`.

    Args:
        change: Called for each function.
        names: Visit only code that can contain these functions. Default: everything.
    """

    def __init__(self, change: Change, names: Collection[str] | None = None) -> None:
        super().__init__()
        self.change = change
        self.names = names
        self.path: list[str] = []

    def may_contain(self) -> bool:
        """Whether one of the names may be inside this path."""
        path = ".".join(self.path) + "."
        return self.names is None or any(name.startswith(path) for name in self.names)

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self.path.append(node.name.value)
        return self.may_contain()

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        self.path.pop()
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.path.append(node.name.value + _role(node))
        return self.may_contain()

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef | cst.RemovalSentinel:
        name = ".".join(self.path)
        self.path.pop()
        return self.change(name, updated_node)


class _Importer(cst.CSTTransformer):
    """Removes names from the imports of a module.

    Args:
        module: Its dotted name.
        names: The names to remove.

    Attributes:
        bound: The names that the removed imports had bound.
    """

    def __init__(self, module: str, names: Collection[str]) -> None:
        super().__init__()
        self.module = module
        self.names = names
        self.bound: set[str] = set()

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom | cst.RemovalSentinel:
        if isinstance(updated_node.names, cst.ImportStar) or get_full_name_for_node(updated_node.module or "") != self.module:
            return updated_node
        removed = [alias for alias in updated_node.names if alias.evaluated_name in self.names]
        self.bound |= {alias.evaluated_alias or alias.evaluated_name for alias in removed}
        kept = [alias for alias in updated_node.names if alias not in removed]
        if not kept:
            return cst.RemoveFromParent()
        kept[-1] = kept[-1].with_changes(comma=updated_node.names[-1].comma)  # a trailing comma is kept as it was
        return updated_node.with_changes(names=kept)

    def leave_With(self, original_node: cst.With, updated_node: cst.With) -> cst.With | cst.RemovalSentinel:
        return updated_node if updated_node.body.body else cst.RemoveFromParent()


def _rewrite(source: str, names: Mapping[str, object], change: Change) -> str:
    """The source after `change` of the named functions, each of which must occur in it once."""
    counts = dict.fromkeys(names, 0)

    def count_change(name: str, node: cst.FunctionDef) -> cst.FunctionDef | cst.RemovalSentinel:
        if name not in counts:
            return node
        counts[name] += 1
        return change(name, node)

    code = _parse(source).visit(_Walker(count_change, names)).code
    for name, count in counts.items():
        if count != 1:
            raise SyntaxTreeError(f"expected one function {name}, found {count or 'none'}")
    return code


@lru_cache(maxsize=32)
def _parse(source: str) -> cst.Module:
    """The syntax tree, which is immutable; cached because wrong answers and stubs change the same few files many times."""
    try:
        return cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        raise SyntaxTreeError(f"not valid Python, line {error.raw_line}: {error.message}") from None


def _split(node: cst.FunctionDef) -> tuple[list[cst.BaseStatement], list[cst.BaseStatement]]:
    """The docstring of a function, if it has one, and its other statements."""
    if isinstance(node.body, cst.SimpleStatementSuite):  # def f(x): return x
        lines: list[cst.BaseStatement] = [cst.SimpleStatementLine(body=node.body.body)]
    else:
        lines = [line for line in node.body.body if isinstance(line, cst.BaseStatement)]
    first = lines[0]
    if not isinstance(first, cst.SimpleStatementLine) or node.get_docstring(clean=False) is None:
        return [], lines
    docstring = _bare(first.with_changes(body=[first.body[0].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]))
    same_line = [first.with_changes(body=first.body[1:])] if len(first.body) > 1 else []
    return [docstring], [*same_line, *lines[1:]]


def _bare(line: cst.BaseStatement) -> cst.BaseStatement:
    """The statement without the comments before and after it."""
    return line.with_changes(leading_lines=(), trailing_whitespace=cst.TrailingWhitespace())


def _header(node: cst.FunctionDef) -> cst.TrailingWhitespace:
    """The rest of the line of `def`: only a comment that a tool reads."""
    header = node.body.header if isinstance(node.body, cst.IndentedBlock) else cst.TrailingWhitespace()
    comment = header.comment
    return header if comment is None or PRAGMA.match(comment.value) else cst.TrailingWhitespace()


def _role(node: cst.FunctionDef) -> str:
    """The suffix of a name: "@setter" and similar for the parts of a property, "@overload" for an overload."""
    for line in node.decorators:
        last = (get_full_name_for_node(line.decorator) or "").split(".")[-1]
        if last in ("setter", "getter", "deleter", "overload"):
            return f"@{last}"
    return ""


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
