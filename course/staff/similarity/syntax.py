"""A function as a sequence of tokens that does not change under renaming, reformatting and small rewrites.

The tokens come from the syntax tree. Comments, docstrings, annotations and decorators are dropped. Names that the student chose become
one token, while names of the course, of NumPy and of Python stay. Numbers other than 0 and 1 become one token, and so do strings.
Operands of commutative operators are sorted, `a > b` becomes `b < a`, `x += y` becomes `x = x + y`, and a `while` loop over a counter, an
`append` loop and a comprehension become the same loop.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterator, Mapping
from functools import cache

Tokens = list[tuple[str, int]]
"""Tokens, each with the line of the source that it comes from."""

OWN = "name"
"""The token of every name that the student chose."""

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
NOTHING = (ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.expr_context, ast.type_ignore)


@cache
def token_hash(token: str) -> int:
    """A 64-bit hash that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def imported_names(tree: ast.Module) -> dict[str, str]:
    """The meaning of each imported name of a module: "" for a module (`np`), the original name for a function."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {(alias.asname or alias.name).partition(".")[0]: "" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {
                alias.asname or alias.name: "" if alias.name.islower() and node.module == "minitorch" else alias.name
                for alias in node.names
            }
    return found


def bound_names(function: ast.AST) -> set[str]:
    """The names that a function binds: parameters, variables, and nested functions."""
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (*DEFINITIONS, ast.ExceptHandler)) and node is not function:
            names.add(node.name or "")
    return names


def tokens(function: ast.FunctionDef | ast.AsyncFunctionDef, own: Collection[str], imported: Mapping[str, str]) -> Tokens:
    """The tokens of a function's body.

    Args:
        function: Its syntax tree.
        own: Names that the student chose outside the function: helpers, and variables of enclosing functions.
        imported: See `imported_names`.
    """
    return _Normalizer(bound_names(function) | set(own), imported).block(function.body)


class _Normalizer:
    """Converts syntax trees to tokens.

    Args:
        own: The names that the student chose.
        imported: See `imported_names`.
    """

    def __init__(self, own: Collection[str], imported: Mapping[str, str]) -> None:
        self._own = own
        self._imported = imported

    def block(self, statements: list[ast.stmt]) -> Tokens:
        """The tokens of statements."""
        counters = {counter for node in statements if isinstance(node, ast.While) and (counter := _counter(node)[0])}
        found: Tokens = []
        for node in statements:
            if not (_is_start(node) and _name_of(node) in counters):
                found += self.node(node)
        return found

    def node(self, node: ast.AST) -> Tokens:
        """The tokens of a tree."""
        method = getattr(self, f"_{type(node).__name__}", None)
        return method(node) if method else self._other(node)

    def _other(self, node: ast.AST) -> Tokens:
        """The type of a node, then the tokens of its children."""
        if isinstance(node, NOTHING):
            return []
        if isinstance(node, DEFINITIONS):
            return [("def", node.lineno), *self.block(node.body)]
        if isinstance(node, COMPREHENSIONS):
            return self._comprehension(node)
        line = getattr(node, "lineno", 0)
        found: Tokens = [(type(node).__name__, line)] if line or isinstance(node, (ast.operator, ast.unaryop, ast.cmpop)) else []
        for _, value in ast.iter_fields(node):
            found += self._field(value, line)
        return found

    def _field(self, value: object, line: int) -> Tokens:
        if isinstance(value, list):
            if value and isinstance(value[0], ast.stmt):
                return self.block(value)
            return [token for one in value for token in self._field(one, line)]
        if isinstance(value, ast.AST):
            return [(token, at or line) for token, at in self.node(value)]
        return []

    # Names and constants

    def _Name(self, node: ast.Name) -> Tokens:
        name = OWN if node.id in self._own else self._imported.get(node.id, node.id)
        return [(name, node.lineno)] if name else []

    def _Attribute(self, node: ast.Attribute) -> Tokens:
        return [*self.node(node.value), (f".{node.attr}" if not self._is_module(node.value) else node.attr, node.lineno)]

    def _is_module(self, node: ast.expr) -> bool:
        """Whether an expression is a module, so that `np.zeros` gives the same token as `zeros`."""
        if isinstance(node, ast.Attribute):
            return self._is_module(node.value)
        return isinstance(node, ast.Name) and node.id not in self._own and self._imported.get(node.id) == ""

    def _Constant(self, node: ast.Constant) -> Tokens:
        value = node.value
        if isinstance(value, bool) or value is None or value is Ellipsis:
            token = repr(value)
        elif isinstance(value, (int, float, complex)):
            token = str(int(value.real)) if value in (0, 1) else "number"
        else:
            token = "string"
        return [(token, node.lineno)]

    def _JoinedStr(self, node: ast.JoinedStr) -> Tokens:
        return [("string", node.lineno)]

    def _Starred(self, node: ast.Starred) -> Tokens:
        return [("*", node.lineno), *self.node(node.value)]

    # Operators

    def _BinOp(self, node: ast.BinOp) -> Tokens:
        left, right = self.node(node.left), self.node(node.right)
        if isinstance(node.op, (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)) and _texts(right) < _texts(left):
            left, right = right, left
        return [(type(node.op).__name__, node.lineno), *left, *right]

    def _BoolOp(self, node: ast.BoolOp) -> Tokens:
        return [(type(node.op).__name__, node.lineno), *_flat(sorted(map(self.node, node.values), key=_texts))]

    def _Compare(self, node: ast.Compare) -> Tokens:
        sides = [self.node(side) for side in (node.left, *node.comparators)]
        ops = [type(op).__name__ for op in node.ops]
        if len(ops) == 1 and (
            ops[0] in ("Gt", "GtE") or (ops[0] in ("Eq", "NotEq", "Is", "IsNot") and _texts(sides[1]) < _texts(sides[0]))
        ):
            sides.reverse()
        elif set(ops) <= {"Gt", "GtE"}:
            sides.reverse()
            ops.reverse()
        names = {"Gt": "Lt", "GtE": "LtE", "Is": "Eq", "IsNot": "NotEq"}
        return [*((names.get(op, op), node.lineno) for op in ops), *_flat(sides)]

    def _UnaryOp(self, node: ast.UnaryOp) -> Tokens:
        inner = self.node(node.operand)
        return inner if isinstance(node.op, ast.UAdd) else [(type(node.op).__name__, node.lineno), *inner]

    def _Call(self, node: ast.Call) -> Tokens:
        arguments = [self.node(value) for value in node.args]
        named = sorted((self.node(keyword.value) for keyword in node.keywords), key=_texts)
        return [("call", node.lineno), *self.node(node.func), *_flat(arguments), *_flat(named)]

    def _Lambda(self, node: ast.Lambda) -> Tokens:
        return [("def", node.lineno), ("Return", node.lineno), *self.node(node.body)]

    def _IfExp(self, node: ast.IfExp) -> Tokens:
        return [("If", node.lineno), *self.node(node.test), *self.node(node.body), *self.node(node.orelse)]

    # Statements

    def _Expr(self, node: ast.Expr) -> Tokens:
        value = node.value
        if isinstance(value, ast.Constant):
            return []  # a docstring, or a statement without effect
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "append" and len(value.args) == 1:
            return [("append", node.lineno), *self.node(value.args[0])]
        return self.node(value)

    def _Assign(self, node: ast.Assign) -> Tokens:
        found: Tokens = []
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for one, value in pairs:
                found += [("Assign", node.lineno), *self.node(one), *self.node(value)]
        return found

    def _AnnAssign(self, node: ast.AnnAssign) -> Tokens:
        return [] if node.value is None else [("Assign", node.lineno), *self.node(node.target), *self.node(node.value)]

    def _AugAssign(self, node: ast.AugAssign) -> Tokens:
        target = self.node(node.target)
        both = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        return [("Assign", node.lineno), *target, *self._BinOp(both)]

    # Loops

    def _For(self, node: ast.For) -> Tokens:
        return [("loop", node.lineno), *self._iterable(node.iter), *self.block(node.body), *self.block(node.orelse)]

    def _While(self, node: ast.While) -> Tokens:
        counter, stop = _counter(node)
        if not counter:
            return [("loop", node.lineno), *self.node(node.test), *self.block(node.body), *self.block(node.orelse)]
        body = [statement for statement in node.body if not _steps(statement, counter)]
        return [("loop", node.lineno), ("range", node.lineno), *self.node(stop), *self.block(body), *self.block(node.orelse)]

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Tokens:
        found: Tokens = []
        for generator in node.generators:
            found += [("loop", node.lineno), *self._iterable(generator.iter)]
            for test in generator.ifs:
                found += [("If", node.lineno), *self.node(test)]
        elements = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        return [*found, ("append", node.lineno), *_flat(map(self.node, elements))]

    def _iterable(self, node: ast.expr) -> Tokens:
        """The iterable of a loop; for a range only its end."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "prange") and node.args:
            return [(node.func.id, node.lineno), *self.node(node.args[min(1, len(node.args) - 1)])]
        return self.node(node)


def _flat(parts: Iterator[Tokens] | list[Tokens]) -> Tokens:
    return [token for part in parts for token in part]


def _texts(some: Tokens) -> list[str]:
    return [token for token, _ in some]


def _counter(node: ast.While) -> tuple[str, ast.expr]:
    """The variable of `while i < n: …; i += 1`, and n; an empty name for other loops."""
    test = node.test
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Lt, ast.Gt, ast.NotEq)):
        sides = [test.left, test.comparators[0]]
        for variable, stop in (sides,) if isinstance(test.ops[0], ast.Lt) else (sides, sides[::-1]):
            if isinstance(variable, ast.Name) and any(_steps(statement, variable.id) for statement in node.body):
                return variable.id, stop
    return "", test


def _steps(node: ast.stmt, name: str) -> bool:
    """Whether a statement is `i += constant` or `i = i + constant`."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name and isinstance(node.value, ast.Constant)
    return (
        isinstance(node, ast.Assign)
        and _name_of(node) == name
        and isinstance(node.value, ast.BinOp)
        and any(isinstance(side, ast.Constant) for side in (node.value.left, node.value.right))
        and any(isinstance(side, ast.Name) and side.id == name for side in (node.value.left, node.value.right))
    )


def _is_start(node: ast.stmt) -> bool:
    """Whether a statement is `i = constant`."""
    return isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant)


def _name_of(node: ast.stmt) -> str:
    """The only variable that a statement assigns; empty if there is none."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
