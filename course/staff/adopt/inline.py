"""Copy what a student's files import from files that the student added, such as `minitorch/helpers.py`, into them.

A submission has only the files in which students write, so what such a file needs must be in it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from pathlib import Path

import libcst as cst
import libcst.matchers as m

from course.staff.adopt.original import absolute_module, added_files, read_text
from course.staff.adopt.prune import bindings
from course.workspace import function_source

DEEPEST = 10
"""How many added files may import each other in a chain."""


class NotInlined(Exception):
    """Why an added file was not copied, for the teacher."""


def inline_added(text: str, path: str, root: Path, known: Collection[str], given: str) -> tuple[str, dict[str, str]]:
    """A file with the code of the added files that it imports.

    Args:
        text: The student's file.
        path: Its path in this course.
        root: The student's repository.
        known: The paths of this course's files.
        given: The same file of a workspace.

    Returns:
        The text, and for each added file that it still imports, why.
    """
    failed: dict[str, str] = {}
    for _ in range(DEEPEST):
        waiting = [added for added in added_files(text, path, root, known) if added not in failed]
        if not waiting:
            break
        try:
            text = _inline(text, path, root, waiting[0], given)
        except (NotInlined, cst.ParserSyntaxError, RecursionError) as error:
            failed[waiting[0]] = str(error)
    return text, failed | {
        added: "too many files import each other" for added in added_files(text, path, root, known) if added not in failed
    }


def _inline(text: str, path: str, root: Path, added: str, given: str) -> str:
    """A file with the code of one added file."""
    found = read_text(root / added)
    if found is None:
        raise NotInlined("it is not valid Python, or too large")
    body, of_body = _detach(_absolute(found, added), added, _module_of(path))
    rest, of_rest = _detach(text, path, _module_of(added))
    if of_body:  # the added file imports from this one under other names
        raise NotInlined(f"it imports {next(iter(of_body.values()))} as {next(iter(of_body))}")
    theirs = bindings(_without_imports(function_source.parse(body)))
    taken = bindings(_without_imports(function_source.parse(rest)))
    if both := sorted(theirs & taken):
        raise NotInlined(f"both files define {both[0]}")
    stem = Path(added).stem
    for name in sorted(theirs & bindings(function_source.parse(given))):
        new = f"{stem}_{name}"
        if _is_argument(body, name) or _is_argument(rest, name) or new in theirs | taken:
            raise NotInlined(f"this course has another {name}")
        body, rest = (cst.parse_module(one).visit(_Renamer(name, new)).code for one in (body, rest))
        of_rest = {local: new if original == name else original for local, original in of_rest.items()}
    if "from __future__ import annotations" not in given:
        body = cst.parse_module(body).visit(_WithoutAnnotations()).code
    aliases = "".join(f"{local} = {original}\n" for local, original in of_rest.items())
    return _insert(rest, f"{body.strip()}\n\n{aliases}")


def _module_of(path: str) -> str:
    """The dotted name of a file in the original course, whose package has no subfolders."""
    return path.removesuffix(".py").replace("/", ".").replace("minitorch.nn.functional", "minitorch.nn")


def _without_imports(tree: ast.Module) -> ast.Module:
    return ast.Module([node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))], [])


def _is_argument(text: str, name: str) -> bool:
    """Whether a function has a parameter of this name, or is called with one."""
    return any(isinstance(node, (ast.arg, ast.keyword)) and node.arg == name for node in ast.walk(function_source.parse(text)))


def _insert(text: str, code: str) -> str:
    """A file with code after its imports."""
    tree = function_source.parse(text)
    first = next((node for n, node in enumerate(tree.body) if not _is_head(node, n)), None)
    lines = text.split("\n")
    at = len(lines) if first is None else min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", ()))]) - 1
    return "\n".join([*lines[:at], *code.split("\n"), "", *lines[at:]])


def _is_head(node: ast.stmt, number: int) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom)) or (number == 0 and isinstance(node, ast.Expr))


def _absolute(text: str, path: str) -> str:
    """The definitions of an added file, with absolute imports, and without what it does when it is run."""
    tree = cst.parse_module(text)
    is_main = m.If(test=m.Comparison(left=m.Name("__name__")))
    is_text = m.SimpleStatementLine(body=[m.Expr(m.SimpleString() | m.ConcatenatedString())])
    is_future = m.SimpleStatementLine(body=[m.ImportFrom(module=m.Name("__future__"))])
    kept = [node for node in tree.body if not m.matches(node, is_main | is_text | is_future)]
    return tree.with_changes(body=kept, header=[]).visit(_Absolute(path)).code


class _Absolute(cst.CSTTransformer):
    """Makes the relative imports of a file absolute."""

    def __init__(self, path: str) -> None:
        self.path = path

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        if not updated_node.relative:
            return updated_node
        name = cst.parse_expression(absolute_module(self.path, _dotted(updated_node.module) or None, len(updated_node.relative)))
        return updated_node.with_changes(module=name, relative=(), whitespace_after_from=cst.SimpleWhitespace(" "))


def _detach(text: str, path: str, module: str) -> tuple[str, dict[str, str]]:
    """A file whose names of another module are its own: without the imports of it, and with `pick` for `helpers.pick`.

    Returns:
        The text, and the names in it that are names of the module under another name.
    """
    detacher = _Detacher(path, module)
    tree = cst.parse_module(text)
    tree.visit(_Finder(detacher))
    return tree.visit(detacher).code, detacher.aliases


class _Detacher(cst.CSTTransformer):
    """Removes the imports of a module.

    Args:
        path: The path of the file.
        module: The dotted name of the module.

    Attributes:
        aliases: Names imported from the module under another name.
        modules: The expressions that mean the module in this file.
    """

    def __init__(self, path: str, module: str) -> None:
        self.path = path
        self.package, _, self.name = module.rpartition(".")
        self.module = module
        self.aliases: dict[str, str] = {}
        self.modules: set[str] = set()

    def imports(self, node: cst.ImportFrom) -> str:
        """What a statement imports from: "module", "package" (and the module is among its names), or nothing of it."""
        name = absolute_module(self.path, _dotted(node.module) or None, len(node.relative))
        if self.is_module(name):
            return "module"
        is_named = not isinstance(node.names, cst.ImportStar) and any(_dotted(alias.name) == self.name for alias in node.names)
        return "package" if name == self.package and is_named else ""

    def is_module(self, name: str) -> bool:
        """Whether a dotted name in an import means the module. A program may import a file beside it by its bare name."""
        return name == self.module or (name == self.name and self.path.startswith(f"{self.package}/") and self.package == "project")

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.BaseSmallStatement | cst.RemovalSentinel:
        kind = self.imports(original_node)
        if not kind:
            return updated_node
        if kind == "module" or isinstance(updated_node.names, cst.ImportStar):
            return cst.RemoveFromParent()  # a body that becomes empty gets a pass
        kept = [alias for alias in updated_node.names if _dotted(alias.name) != self.name]
        return _with_names(updated_node, kept)

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.BaseSmallStatement | cst.RemovalSentinel:
        kept = [
            alias.with_changes(name=cst.Name(self.package))
            if self.is_module(_dotted(alias.name)) and alias.asname is None and "." in _dotted(alias.name)
            else alias
            for alias in updated_node.names
            if not (self.is_module(_dotted(alias.name)) and (alias.asname is not None or "." not in _dotted(alias.name)))
        ]
        return _with_names(updated_node, kept)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        return updated_node.attr if _dotted(original_node.value) in self.modules else updated_node


def _with_names(node: cst.ImportFrom | cst.Import, names: list[cst.ImportAlias]) -> cst.BaseSmallStatement | cst.RemovalSentinel:
    """An import of fewer names."""
    if not names:
        return cst.RemoveFromParent()
    return node.with_changes(names=[*names[:-1], names[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)])


class _Finder(cst.CSTVisitor):
    """Finds the names under which a file knows a module and what is in it."""

    def __init__(self, detacher: _Detacher) -> None:
        self.detacher = detacher

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        kind = self.detacher.imports(node)
        if not kind or isinstance(node.names, cst.ImportStar):
            return
        for alias in node.names:
            name, local = _dotted(alias.name), _local(alias)
            if kind == "package" and name == self.detacher.name:
                self.detacher.modules.add(local)
            elif kind == "module" and local != name:
                self.detacher.aliases[local] = name

    def visit_Import(self, node: cst.Import) -> None:
        self.detacher.modules |= {_local(alias) for alias in node.names if self.detacher.is_module(_dotted(alias.name))}


class _Renamer(cst.CSTTransformer):
    """Renames a variable; attributes and keywords keep their names."""

    def __init__(self, name: str, new: str) -> None:
        self.name = name
        self.new = new

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=self.new) if updated_node.value == self.name else updated_node


class _WithoutAnnotations(cst.CSTTransformer):
    """Removes annotations of functions, which may name what is only imported for type checking."""

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        return updated_node.with_changes(annotation=None)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        return updated_node.with_changes(returns=None)


def _local(alias: cst.ImportAlias) -> str:
    """The name that an import binds, or the dotted name of a module without `as`."""
    return _dotted(alias.asname.name) if alias.asname is not None else _dotted(alias.name)


def _dotted(node: cst.CSTNode | None) -> str:
    return "" if node is None else cst.Module([]).code_for_node(node)
