"""Search for functions that compute the same as a removed solution, with other names, another order, or another loop.

A function is reduced to the expressions that it evaluates, without the names of variables and without constants. A `for`, a `while` and
a comprehension leave the same expressions, a value that is used once counts where it is used, and the order of statements does not
count. A function shows a solution if it has most of the solution's expressions, weighted by how rare they are in the workspace.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

SHARE = 0.65
"""A function with at least this share of a solution's expressions, by weight, shows the solution."""

OVERLAP = 0.5
"""For a solution with fewer than ENOUGH expressions, common expressions must also be this share of all expressions of the two."""

ENOUGH, FEWEST = 4, 2
"""A solution with fewer than FEWEST expressions cannot be recognized this way; the token search covers it."""

SMALLEST = 3
"""An expression with fewer nodes is too common to count."""

FENCE = re.compile(r"(?ms)^```(?:python|\{code-cell\})[^\n]*\n(?::[^\n]*\n)*(.*?)^```")
"""A block of code in a page of the book."""

KEPT = frozenset({"abs", "all", "any", "divmod", "filter", "isinstance", "len", "map", "max", "min", "pow", "reversed", "sorted", "sum"})
"""The names that are kept: built-in functions that say what is computed."""

LOOPS = ("range", "prange", "zip", "enumerate")
"""The functions that only say how a loop counts."""

CONVERSIONS = ("list", "tuple", "set", "int", "float")
"""The functions that only convert their argument."""

ACCUMULATIONS = {ast.Add: "sum", ast.Mult: "prod"}
"""The functions that do what `+=` and `*=` do in a loop."""

ELEMENT_METHODS = ("append", "add")
"""The methods that add an element to a collection, as a comprehension does."""

COMPARISONS = {
    **dict.fromkeys((ast.Eq, ast.NotEq), "="),
    **dict.fromkeys((ast.In, ast.NotIn), "in"),
    **dict.fromkeys((ast.Is, ast.IsNot), "is"),
}
"""Comparisons up to negation; all others are "<", up to the order of the operands."""

REVIEWED = {
    ("minitorch.operators:log", "tests/test_operators.py", "test_log_is_the_shifted_logarithm"): "the docstring of log gives the formula",
    (
        "minitorch.operators:log_back",
        "tests/test_operators.py",
        "test_log_back_is_d_times_the_derivative_of_log",
    ): "the name of the function and the docstring of log give the formula",
    ("minitorch.tensor:Tensor.__sub__", "minitorch/tensor.py", "Tensor.__rsub__"): "given as the example that the task's hint points to",
    ("minitorch.scalar_functions:Mul.backward", "minitorch/scalar_functions.py", "Pow.backward"): "returns two products, of other factors",
    ("project.run_sentiment:CNNSentimentKim.__init__", "project/lab/typed/steps.py", "_part"): "checks the parts of an index",
    ("project.run_sentiment:CNNSentimentKim.__init__", "minitorch/kernels/tiles.py", "write_tile"): "numbers of rows and vectors",
    ("minitorch.scalar_functions:Sigmoid.backward", "minitorch/optim/arithmetic.py", "running_mean_square"): "a moving average",
    ("minitorch.tensor_functions:Sigmoid.backward", "minitorch/optim/arithmetic.py", "running_mean_square"): "a moving average",
    ("minitorch.compiler.program:map_leaves", "minitorch/data/collate.py", "default_collate"): "asks for the same types",
    ("minitorch.compiler.program:map_leaves", "minitorch/kernels/jit.py", "run_alone"): "calls a kernel with its arguments",
    ("minitorch.autodiff:backpropagate", "minitorch/autograd/checkpoints.py", "collect_gradients"): "between two stops, beyond the course",
    ("minitorch.tensor_data:index_to_position", "minitorch/nn/packed.py", "_runs"): "adds up lengths of groups",
    ("minitorch.scalar_functions:Mul.backward", "minitorch/nn/pooling.py", "max_unpool2d"): "products of sizes",
}
"""Functions that may stay in a workspace: the solution, the file, the function, and the reason."""


@dataclass(frozen=True)
class Shape:
    """A function reduced to its expressions.

    Attributes:
        path: Its file.
        line: Its first line.
        name: Its qualified name.
        expressions: How often it evaluates each expression.
    """

    path: str
    line: int
    name: str
    expressions: Counter[str]


@dataclass(frozen=True)
class NearCopy:
    """A function that shows a solution.

    Attributes:
        name: The function whose body was removed, as in the manifest.
        shape: The function that shows the solution.
        share: The share of the solution's expressions that it has, by weight.
    """

    name: str
    shape: Shape
    share: float

    def __str__(self) -> str:
        place = f"{self.shape.path}:{self.shape.line}"
        return (
            f"{place} {self.shape.name} shows the solution of {self.name}: it evaluates {self.share:.0%} of its expressions; "
            f"compute the same in another way, or enter the two in REVIEWED of {__name__} with a reason"
        )


def find_near_copies(solutions: Mapping[str, str], files: Mapping[str, str | bytes]) -> list[NearCopy]:
    """The functions of a workspace that show a solution, those in REVIEWED excepted.

    Args:
        solutions: The removed bodies by the manifest's name of their function.
        files: The workspace; its Python files and the code in its pages are searched.
    """
    shapes = [shape for path, text in files.items() if isinstance(text, str) for shape in _shapes(path, text)]
    having: dict[str, list[Shape]] = defaultdict(list)
    for shape in shapes:
        for expression in shape.expressions:
            having[expression].append(shape)

    def weight(expressions: Mapping[str, int]) -> float:
        return sum(count * math.log((1 + len(shapes)) / (1 + len(having.get(each, ())))) for each, count in expressions.items())

    copies = []
    for name, body in solutions.items():
        expressions = _expressions(body)
        whole = weight(expressions)
        if expressions.total() < FEWEST or not whole:
            continue
        common: dict[int, float] = defaultdict(float)
        for each, count in expressions.items():
            for shape in having.get(each, ()):
                common[id(shape)] += weight({each: min(count, shape.expressions[each])})
        for shape in shapes:
            share = common[id(shape)] / whole if id(shape) in common else 0.0
            if share < SHARE or (name, shape.path, shape.name) in REVIEWED:
                continue
            if expressions.total() >= ENOUGH or common[id(shape)] >= OVERLAP * weight(expressions | shape.expressions):
                copies.append(NearCopy(name, shape, share))
    return sorted(copies, key=lambda copy: (copy.shape.path, copy.shape.line, copy.name))


@cache
def _expressions(body: str) -> Counter[str]:
    return expressions_of(ast.parse(body).body)


@cache
def _shapes(path: str, text: str) -> tuple[Shape, ...]:
    """The shapes of a file; cached because the handouts of several stages have most files in common."""
    if path.endswith(".py"):
        return tuple(shapes_of(path, text))
    if not path.endswith(".md"):
        return ()
    shapes = []
    for block in FENCE.finditer(text):
        above = text.count("\n", 0, block.start(1))
        try:
            found = [*shapes_of(path, block[1]), Shape(path, 1, "its code", expressions_of(ast.parse(block[1]).body))]
        except SyntaxError:  # a sketch, or commands of a notebook
            continue
        shapes += [Shape(path, above + shape.line, shape.name, shape.expressions) for shape in found]
    return tuple(shapes)


def shapes_of(path: str, source: str) -> Iterator[Shape]:
    """The functions of a file, including those inside functions and classes, and the values of its constants."""
    pending: list[tuple[str, ast.AST]] = [("", ast.parse(source))]
    while pending:
        prefix, parent = pending.pop()
        for node in ast.iter_child_nodes(parent):
            is_named = isinstance(node, ast.FunctionDef | ast.ClassDef)
            if isinstance(node, ast.FunctionDef):
                yield Shape(path, node.lineno, prefix + node.name, expressions_of(node.body))
            elif isinstance(node, ast.Assign | ast.AnnAssign) and not prefix:  # it may be a table of functions
                yield Shape(path, node.lineno, ast.unparse(node).partition(" ")[0].rstrip(":"), expressions_of([node]))
            if not isinstance(node, ast.expr):  # which holds no function but a lambda
                pending.append((f"{prefix}{node.name}." if is_named else prefix, node))


def expressions_of(body: Sequence[ast.stmt]) -> Counter[str]:
    """The expressions that statements evaluate, in canonical form."""
    reader = _Reader(body)
    for statement in body:
        reader.statement(statement)
    return reader.expressions


class _Reader:
    """Collects the expressions of a function.

    Args:
        body: Its statements.

    Attributes:
        expressions: How often each was found, in canonical form.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.expressions: Counter[str] = Counter()
        self.values = _used_once(body)

    def statement(self, node: ast.stmt) -> None:
        """Collect the expressions of a statement and of those inside it."""
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not (isinstance(targets[0], ast.Name) and targets[0].id in self.values):
                self._assignment(targets[0], node.value)
        elif isinstance(node, ast.AugAssign):
            self._accumulation(node.op, node.value)
            self._expression(node.target)
        elif isinstance(node, ast.Expr) and _is_element(node.value):
            self._expression(node.value.args[0])  # type: ignore[attr-defined]
        elif isinstance(node, ast.For | ast.While):
            self._loop(node.iter if isinstance(node, ast.For) else node.test)
        elif isinstance(node, ast.Return | ast.Expr | ast.If | ast.With) and not _is_docstring(node):
            for child in ast.iter_child_nodes(node):
                for value in [child.context_expr] if isinstance(child, ast.withitem) else [child]:
                    if isinstance(value, ast.expr):
                        self._expression(value)
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.stmt):
                self.statement(inner)
            elif isinstance(inner, ast.ExceptHandler | ast.match_case):
                for each in inner.body:
                    self.statement(each)

    def _assignment(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, its in zip(target.elts, value.elts, strict=True):
                self._assignment(one, its)
        elif isinstance(target, ast.Name) and isinstance(value, ast.BinOp) and _is_name(value.left, target.id):
            self._accumulation(value.op, value.right)  # x = x + …, as x += …
        else:
            self._expression(value)
            self._expression(target)

    def _accumulation(self, op: ast.operator, value: ast.expr) -> None:
        text, size = self._text(value)
        if size > 1:
            self._note(f"{ACCUMULATIONS.get(type(op), type(op).__name__)} {text}", size + 1)

    def _loop(self, header: ast.expr) -> None:
        """What a loop runs over or up to: the operands of a comparison, the arguments of range, zip and enumerate, or one iterable."""
        if isinstance(header, ast.Compare):
            parts = [header.left, *header.comparators]
        elif isinstance(header, ast.Call) and isinstance(header.func, ast.Name) and header.func.id in LOOPS:
            parts = header.args
        else:
            parts = [header]
        for part in parts:
            self._expression(part)

    def _expression(self, node: ast.expr) -> None:
        self._text(node)

    def _note(self, text: str, size: int) -> tuple[str, int]:
        """Count an expression, if it is large enough to be significant."""
        if size >= SMALLEST:
            self.expressions[text] += 1
        return text, size

    def _text(self, node: ast.expr) -> tuple[str, int]:
        """The canonical form of an expression and its number of nodes; it and its parts are collected."""
        if isinstance(node, ast.Name):
            if node.id in self.values:
                return self._text(self.values[node.id])
            return (node.id if node.id in KEPT else "v"), 1
        if isinstance(node, ast.Constant | ast.JoinedStr):
            return "k", 1
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id not in self.values:  # np.exp and math.exp are one
                return node.attr, 1
            text, size = self._text(node.value)
            return self._note(f"{text}.{node.attr}", size + 1)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Name):
            return "v", 1  # an element, which a loop may name itself
        if isinstance(node, ast.IfExp):
            for branch in (node.test, node.body, node.orelse):
                self._text(branch)
            return "v", 1
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                self._text(value)
            return "v", 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._text(node.operand)
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            return "k", 1
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            return self._comprehension(node, "")
        if isinstance(node, ast.Lambda):
            self._text(node.body)
            return "v", 1
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = sorted([self._text(node.left), self._text(node.comparators[0])])
            sign = COMPARISONS.get(type(node.ops[0]), "<")
            return self._note(f"({sides[0][0]} {sign} {sides[1][0]})", sides[0][1] + sides[1][1] + 1)
        if isinstance(node, ast.BinOp):
            sides = [self._text(node.left), self._text(node.right)]
            if isinstance(node.op, ast.Add | ast.Mult):
                sides.sort()
            return self._note(f"({sides[0][0]} {type(node.op).__name__} {sides[1][0]})", sides[0][1] + sides[1][1] + 1)
        parts = [self._text(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        text = f"{type(node).__name__}({', '.join(part for part, _ in parts)})"
        return self._note(text, sum(size for _, size in parts) + 1)

    def _call(self, node: ast.Call) -> tuple[str, int]:
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        first = node.args[0] if node.args else None
        if name in ACCUMULATIONS.values() and isinstance(first, ast.GeneratorExp | ast.ListComp):
            return self._comprehension(first, name)
        if name in CONVERSIONS and len(node.args) == 1:
            return self._text(node.args[0])
        parts = [self._text(each) for each in [node.func, *node.args, *(keyword.value for keyword in node.keywords)]]
        return self._note(f"{parts[0][0]}({', '.join(part for part, _ in parts[1:])})", sum(size for _, size in parts))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, accumulation: str) -> tuple[str, int]:
        for generator in node.generators:
            self._loop(generator.iter)
            for condition in generator.ifs:
                self._text(condition)
        text, size = self._text(node.value if isinstance(node, ast.DictComp) else node.elt)
        if accumulation and size > 1:
            self._note(f"{accumulation} {text}", size + 1)
        return "v", 1


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_element(node: ast.expr) -> bool:
    """Whether a call puts an element into a collection."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ELEMENT_METHODS and len(node.args) == 1


def _used_once(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """The values of variables that are assigned once and used once: they count where they are used."""
    nodes = [node for statement in body for node in _nodes(statement)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    stored = Counter(node.id for node in names if isinstance(node.ctx, ast.Store))
    loaded = Counter(node.id for node in names if isinstance(node.ctx, ast.Load))
    values = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if stored[name] == loaded[name] == 1 and name not in {each.id for each in _nodes(node.value) if isinstance(each, ast.Name)}:
                values[name] = node.value
    return values


def _nodes(top: ast.AST) -> list[ast.AST]:
    """A node and all nodes inside it, as of `ast.walk`, in half its time."""
    found = [top]
    for node in found:  # grows
        for value in map(node.__dict__.get, node._fields):
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
    return found
