"""Stage 3 - The part of Python that numba.cuda compiles: what a kernel must not contain, why, and what to write instead.

The compiler translates the whole source of a kernel and of the functions that it calls, also lines that no thread reaches; so the source
is checked, not the run. `cuda_limits` checks arrays and launches.

Source: numba-cuda's documentation, "Supported Python features in CUDA Python". The tests compare the tables with the compiler.
"""

from __future__ import annotations

import ast
import builtins
import math
import types
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numba.core import types as numba_types

from minitorch.cuda.calls import MATH, PYTHON, dtype_of
from minitorch.cuda.findings import KernelError
from minitorch.cuda.source import Cuda, Function, as_cuda
from minitorch.cuda.source import function as find_function


class Rule(NamedTuple):
    """What a kernel must not contain.

    Attributes:
        what: The construct.
        why: The reason.
        instead: What to write instead.
        compiled: Whether numba.cuda compiles it, and only the interpreter does not know it.
    """

    what: str
    why: str
    instead: str
    compiled: bool = False

    def message(self, source: str) -> str:
        """The sentence for a piece of source."""
        who = "the interpreter does not run" if self.compiled else "numba.cuda cannot compile"
        return f"{who} {self.what}, got {source!r}: {self.why}; {self.instead}"


_MEMORY = "a thread cannot allocate memory"
_NO_CATCH = "a GPU has no exceptions that a thread could catch"
_NO_STRING = "a thread cannot build a string"
_SUSPENDED = "a thread runs to its end and cannot be suspended"
_COMPILED = "it is Python that numba.cuda compiles and the interpreter does not know"

_DICT = Rule("a dictionary", _MEMORY, "use an array whose index is the key")
_SET = Rule("a set", _MEMORY, "write a tuple after in, or compare the numbers")
_COMPREHENSION = Rule("a comprehension", _MEMORY, "write a for loop that fills cuda.local.array(size, dtype) or adds to a variable")
_GENERATOR = Rule("a generator", _SUSPENDED, "write each value to an element of an array")
_ASYNC = Rule("an async function", _SUSPENDED, "remove async and await")
_TRY = Rule("try", _NO_CATCH, "test with if what would raise the exception")
_IMPORT = Rule("an import", "a module is imported before the kernel is compiled", "import it at the top of the file")
_NESTED = Rule("a function inside of a kernel", _COMPILED, "define it outside, with @cuda.jit(device=True)", compiled=True)
_MATCH = Rule("match", _COMPILED, "write if and elif", compiled=True)

CONSTRUCTS: dict[type[ast.AST], Rule] = {
    ast.Dict: _DICT,
    ast.DictComp: _DICT,
    ast.Set: _SET,
    ast.SetComp: _SET,
    ast.ListComp: _COMPREHENSION,
    ast.GeneratorExp: _COMPREHENSION,
    ast.JoinedStr: Rule("an f-string", _NO_STRING, "write the numbers to an array, and format them after the launch"),
    ast.Yield: _GENERATOR,
    ast.YieldFrom: _GENERATOR,
    ast.AsyncFunctionDef: _ASYNC,
    ast.Await: _ASYNC,
    ast.Try: _TRY,
    getattr(ast, "TryStar", ast.Try): _TRY,
    ast.With: Rule("with", "a thread cannot enter a context", "enter it around the launch"),
    ast.Import: _IMPORT,
    ast.ImportFrom: _IMPORT,
    ast.ClassDef: Rule("a class", _MEMORY, "pass its numbers as arguments"),
    ast.Delete: Rule("del", "a variable of a thread is a register", "remove the line"),
    ast.FunctionDef: _NESTED,
    ast.Lambda: _NESTED,
    ast.Match: _MATCH,
}
"""The constructs, by the class of their nodes."""

_NO_VERSION = "it has no version for a GPU"

FUNCTIONS: dict[str, Rule] = {
    "dict": _DICT,
    "set": _SET,
    "frozenset": _SET,
    "list": Rule("a list", _MEMORY, "use cuda.local.array(size, dtype)"),
    "reversed": Rule("reversed", _NO_VERSION, "count down with range(n - 1, -1, -1)"),
    "any": Rule("any", _NO_VERSION, "join the conditions with or"),
    "all": Rule("all", _NO_VERSION, "join the conditions with and"),
    "getattr": Rule("getattr", "the compiler must know the attribute", "write the attribute after a dot"),
    "str": Rule("a string", _NO_STRING, "write the numbers to an array, and format them after the launch"),
    "print": Rule("print", _COMPILED, "remove it here, and read report.arrays and report.trace", compiled=True),
    **{
        name: Rule(name, _COMPILED, "write it with numbers, arrays and tuples", compiled=True)
        for name in ("complex", "hasattr", "isinstance", "iter", "ord", "repr", "slice", "type")
    },
}
"""Functions of Python for which there is more to say than that they have no version for a GPU."""

COMPILED_MATH = frozenset(("exp2", "frexp", "ldexp", "modf", "nextafter", "remainder"))
"""Functions of math that numba.cuda compiles and the interpreter does not know."""

UFUNCS = frozenset(
    getattr(np, name, None)
    for name in (
        "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
        "conjugate", "cos", "cosh", "deg2rad", "degrees", "divide", "equal", "fmax", "fmin", "greater", "greater_equal", "hypot", "invert",
        "isnan", "left_shift", "less", "less_equal", "log", "log10", "log2", "logical_and", "logical_not", "logical_or", "logical_xor",
        "maximum", "minimum", "not_equal", "rad2deg", "radians", "right_shift", "sin", "sinh", "tan", "tanh", "true_divide",
    )
)  # fmt: skip
"""NumPy's functions of numbers that numba.cuda compiles."""

OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "power": "**", "remainder": "%", "floor_divide": "//", "negative": "-"}
"""The operators with which to write NumPy's functions."""

_MODULES = (types.ModuleType, types.BuiltinFunctionType, np.ufunc, Cuda, type(np.sum), np.dtype, np.ndarray)
_NUMBERS = (bool, int, float, complex, np.generic, str, Enum, type(None))


def check_language(function: Function, compiled: bool = True) -> None:
    """Check that numba.cuda can compile a kernel and the functions that it calls.

    Args:
        function: The kernel.
        compiled: Whether `cuda.jit` has made the kernel. A plain Python function stands for a kernel; what it calls may be plain, too.

    Raises:
        KernelError: If it cannot, with the line of the first construct, the reason and what to write instead.
    """
    _check(function, True, compiled, set())


def _check(function: Function, is_kernel: bool, compiled: bool, seen: set[types.FunctionType]) -> None:
    seen.add(function.python)
    source = _Source(function, is_kernel, compiled)
    problems = [(getattr(node, "lineno", 0), node, rule) for node in source.nodes() if (rule := source.rule(node)) is not None]
    for _, node, rule in sorted(problems, key=lambda problem: problem[0])[:1]:
        place = function.place(node)
        raise KernelError(f"{place.file}, line {place.line}: {rule.message(ast.unparse(node).splitlines()[0])}")
    for called in source.called:
        if called.python not in seen:
            _check(called, False, compiled, seen)


class _Source:
    """The syntax tree of one function.

    Attributes:
        called: The compiled functions that it names.
    """

    def __init__(self, function: Function, is_kernel: bool, compiled: bool) -> None:
        self.function, self.is_kernel, self.compiled = function, is_kernel, compiled
        code = function.python.__code__
        self.local = {*code.co_varnames, *code.co_cellvars}
        self.called: list[Function] = []

    def nodes(self) -> Iterator[ast.AST]:
        """The nodes that are compiled: all but annotations and the classes of exceptions."""
        if not isinstance(self.function.node, (ast.FunctionDef, ast.Lambda)):
            yield self.function.node
        pending: list[ast.AST] = [*self.function.body]
        while pending:
            node = pending.pop()
            yield node
            children = ast.iter_child_nodes(node)
            if isinstance(node, ast.AnnAssign):
                children = (child for child in children if child is not node.annotation)
            elif isinstance(node, ast.Raise):
                children = iter(node.exc.args if isinstance(node.exc, ast.Call) else ())
            pending += children

    def rule(self, node: ast.AST) -> Rule | None:
        """The rule that a node breaks."""
        check = getattr(self, f"_{type(node).__name__.lower()}", None)
        return CONSTRUCTS.get(type(node)) or (check(node) if check else None)

    def meaning(self, node: ast.expr) -> Any:
        """The value of a name that is not local, or of an attribute of a module; None if it is unknown."""
        if isinstance(node, ast.Name) and node.id not in self.local:
            try:
                return self.function.lookup(node.id)
            except KeyError:
                return None
        owner = self.meaning(node.value) if isinstance(node, ast.Attribute) else None
        if isinstance(node, ast.Attribute) and isinstance(owner, types.ModuleType):
            return as_cuda(node.attr, getattr(owner, node.attr, None))
        return None

    def _return(self, node: ast.Return) -> Rule | None:
        value = None if isinstance(node.value, ast.Constant) and node.value.value is None else node.value
        if value is None or not self.is_kernel:
            return None
        return Rule("a kernel that returns a value", "nothing receives it", "write it to an element of an array")

    def _raise(self, node: ast.Raise) -> Rule | None:
        constant = not isinstance(node.exc, ast.Call) or (
            all(isinstance(argument, ast.Constant) for argument in node.exc.args) and not node.exc.keywords
        )
        if node.cause is None and constant:
            return None
        return Rule("raise with a value or a cause", "the text of an exception must be a constant", 'write raise ValueError("text")')

    def _global(self, node: ast.Global | ast.Nonlocal) -> Rule | None:
        targets = {each.id for each in self.nodes() if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        if targets.isdisjoint(node.names):
            return None
        what = "an assignment to a variable outside of a kernel"
        return Rule(what, "it is a constant for the GPU", "pass an array and write to an element")

    _nonlocal = _global

    def _assign(self, node: ast.Assign) -> Rule | None:
        if any(isinstance(element, ast.Starred) for target in node.targets for element in getattr(target, "elts", ())):
            return Rule("* left of =", _MEMORY, "name every element, or use a slice of the tuple")
        return None

    def _binop(self, node: ast.BinOp | ast.AugAssign) -> Rule | None:
        if isinstance(node.op, ast.MatMult):
            return Rule("@", "a thread has no product of matrices", "write the loop that adds the products")
        if isinstance(node.op, ast.Mod) and isinstance(node, ast.BinOp) and isinstance(getattr(node.left, "value", None), str):
            return FUNCTIONS["str"]
        return None

    _augassign = _binop

    def _call(self, node: ast.Call) -> Rule | None:
        if any(keyword.arg is None for keyword in node.keywords):
            return Rule("** in a call", "the compiler must know the names of the arguments", "write every argument")
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant) and isinstance(node.func.value.value, str):
            return FUNCTIONS["str"]
        called = self.meaning(node.func)
        if called is print and node.keywords:
            return Rule("print with keyword arguments", "only print(value, …) is there", "remove sep, end, file and flush")
        return None

    def _attribute(self, node: ast.Attribute) -> Rule | None:
        return self._used(node, self.meaning(node))

    def _name(self, node: ast.Name) -> Rule | None:
        return self._used(node, self.meaning(node))

    def _used(self, node: ast.Name | ast.Attribute, value: Any) -> Rule | None:
        """The rule that the use of a value from outside of the kernel breaks."""
        name = ast.unparse(node)
        if value is None:
            return None
        if getattr(builtins, name, None) is value:
            known = FUNCTIONS.get(name, Rule(name, _NO_VERSION, "compute it before the launch, or write a loop"))
            return None if value in PYTHON else known
        if isinstance(value, types.BuiltinFunctionType):
            return None if value in MATH or getattr(math, value.__name__, None) is not value else _rule_of_math(name, value)
        if isinstance(value, np.ufunc):
            return None if value in UFUNCS else Rule(name, _NO_VERSION, _instead_of(value))
        if isinstance(value, types.FunctionType) and self.compiled and name in self.function.python.__globals__:
            remedy = "put @cuda.jit(device=True) before its def"
            return Rule(f"{name}, a plain function of Python", "a kernel calls compiled functions only", remedy)
        if isinstance(value, types.FunctionType) and value.__module__.startswith("numpy"):
            return None  # there is more to say when it is called
        if (called := find_function(value, self.function.kernel_file)) is not None:
            self.called.append(called)
            keywords = Rule(f"keyword-only parameters, as {name} has", "a GPU passes arguments by position", "remove the *")
            return keywords if called.python.__code__.co_kwonlyargcount else None
        if _is_known(value):
            return None
        kind = "a class" if isinstance(value, type) else f"of type {type(value).__name__}"
        what = f"{name}, a variable outside of the kernel that is {kind}"
        return Rule(what, "a GPU knows numbers, tuples and arrays", "pass its numbers as arguments")


def _rule_of_math(name: str, function: Any) -> Rule:
    """The rule for a function of math that the interpreter does not know."""
    if function.__name__ in COMPILED_MATH:
        return Rule(name, _COMPILED, "write it with functions that it knows, such as math.exp", compiled=True)
    return Rule(name, _NO_VERSION, "compute it before the launch, or write it with operators and functions such as math.exp")


def _instead_of(ufunc: np.ufunc) -> str:
    """What to write instead of a function of NumPy."""
    name = ufunc.__name__
    if ufunc is np.absolute:
        return "write abs"
    if name in OPERATORS:
        return f"write {OPERATORS[name]}"
    return f"write math.{name}" if getattr(math, name, None) in MATH else "write it with operators and functions of math"


def _is_known(value: Any) -> bool:
    """Whether the compiler may know what a variable outside of the kernel means; the interpreter has more to say about some."""
    if isinstance(value, tuple):
        return all(map(_is_known, value))
    if isinstance(value, (_NUMBERS, _MODULES, numba_types.Type)):
        return True
    if isinstance(value, type):
        return dtype_of(value) is not None or issubclass(value, (bool, Enum, BaseException))
    return type(value).__module__.split(".")[0] in ("numba", "numba_cuda", "numpy", "functools") or callable(value)
