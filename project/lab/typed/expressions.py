"""Expressions as input, such as x * y + log(z): parsed, checked against the allowed operations, and computed from the syntax tree."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from project.lab.cards import WrongResult
from project.lab.typed.source import Refused, Source, integer

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "log": lambda x: math.log(x + 1e-6),  # shifted as the course's log is
    "exp": math.exp,
    "sigmoid": lambda x: 0.5 + 0.5 * math.tanh(x / 2),
    "relu": lambda x: x if x > 0 else 0.0,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "sqrt": math.sqrt,
    "abs": math.fabs,
}
"""The functions for floats; for any other operand, the method of the same name is called."""

METHODS: dict[str, tuple[int, int]] = {
    "sum": (0, 1),
    "mean": (0, 1),
    "max": (0, 1),
    "min": (0, 1),
    "prod": (0, 1),
    "view": (1, 6),
    "permute": (1, 6),
    "expand": (1, 6),
    "transpose": (2, 2),
    "flatten": (0, 0),
    "squeeze": (0, 1),
    "unsqueeze": (1, 1),
    "contiguous": (0, 0),
}
"""The methods of tensors, with the smallest and the largest number of integer arguments. `FUNCTIONS` are methods without arguments."""

MOST_CHARACTERS = 600
MOST_ELEMENTS = 1000
DEEPEST = 150

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
}


@dataclass(frozen=True)
class Expression:
    """A valid expression.

    Attributes:
        text: The input.
        names: Its variables, sorted.
    """

    text: str
    names: tuple[str, ...]
    _tree: ast.expr

    def function(self, arguments: Sequence[str], number: Callable[[float], Any]) -> Callable[..., Any]:
        """Return the expression as a function, which raises WrongResult if an operator returns another type than its operands have.

        Args:
            arguments: The variables in the order of the parameters of the function; some may not occur in the expression.
            number: Converts a number in the expression to an operand: `float`, or a function that returns a Scalar.
        """

        def f(*values: Any) -> Any:
            out = _evaluate(self._tree, dict(zip(arguments, values, strict=True)), number)
            kind = type(values[0]) if values else float
            if kind is not float and not isinstance(out, kind):
                forgot = "; is the return missing?" if out is None else ""
                raise WrongResult(f"{self.text} expected to return a {kind.__name__}, got {type(out).__name__}{forgot}")
            return out

        return f


def parse(text: str, variables: Sequence[str], methods: bool = False) -> Expression:
    """Parse an expression.

    Args:
        text: The input, such as "x * y + log(z)".
        variables: The names that it may use.
        methods: Whether it may call methods of tensors, such as "(x * y).sum(0)".

    Raises:
        Refused: If it is not an allowed expression.
    """
    if not text.strip():
        raise Refused(f"column 1: expected an expression in {', '.join(variables)}, got nothing; write {variables[0]} * {variables[0]} + 1")
    source = Source(text, "an expression such as 2 * x + x ** 2", MOST_CHARACTERS)
    checker = _Checker(source, tuple(variables), methods)
    checker.check(source.tree, 1)
    return Expression(text, tuple(sorted(checker.names)), source.tree)


class _Checker:
    """Checks that an expression is allowed, and collects its variables.

    Args:
        source: The expression.
        variables: The names that it may use.
        methods: Whether it may call methods.
    """

    def __init__(self, source: Source, variables: tuple[str, ...], methods: bool) -> None:
        self.source, self.variables, self.methods = source, variables, methods
        self.names: set[str] = set()

    def check(self, node: ast.AST, depth: int) -> None:
        """Raise Refused if a node or one of its descendants is not allowed."""
        if depth > DEEPEST:
            raise self.source.error(node, f"expected at most {DEEPEST} nested operations; write a shorter expression")
        for child in self.operands(node):
            self.check(child, depth + 1)

    def operands(self, node: ast.AST) -> list[ast.expr]:
        """Return the operands of an allowed node."""
        match node:
            case ast.Constant(value=value):
                if not isinstance(value, int | float) or isinstance(value, bool):
                    raise self.source.error(node, f"expected a number, got {value!r:.40}")
                if not _is_finite(value):
                    raise self.source.error(node, "expected a number that a float can represent")
                return []
            case ast.Name(id=name):
                if name in FUNCTIONS:
                    raise self.source.error(node, f"{name} is a function; write {name}({self.variables[0]})")
                if name not in self.variables:
                    known = f"the variables are {', '.join(self.variables)}, the functions {', '.join(FUNCTIONS)}"
                    raise self.source.error(node, f"unknown name {name!r:.40}; {known}")
                self.names.add(name)
                return []
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return [operand]
            case ast.BinOp(left=left, op=op, right=right):
                if isinstance(op, ast.BitXor):
                    raise self.source.error(node, "^ is not the power operator; write **")
                if type(op) not in OPERATORS:
                    raise self.source.error(node, "unknown operator; use + - * / **")
                return [left, right]
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                if type(op) not in OPERATORS:
                    raise self.source.error(node, "unknown comparison; use <, > or ==")
                return [left, right]
            case ast.Compare():
                raise self.source.error(node, "expected a single comparison; write (x < y) * (y < z)")
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
                return [argument]
            case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
                raise self.source.error(node, f"{name} expected one argument; write {name}({self.variables[0]})")
            case ast.Call(func=ast.Name(id=name)) if self.methods and name in METHODS:
                raise self.source.error(node, f"{name} is a method; write {self.variables[0]}.{name}(…)")
            case ast.Call(func=ast.Name(id=name)):
                raise self.source.error(node, f"unknown function {name!r:.40}; the functions are {', '.join(FUNCTIONS)}")
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if self.methods:
                self.check_method(node, name)
                return [value]
            case ast.Attribute(attr=name) if self.methods:
                raise self.source.error(node, f"expected a call after the dot, got .{name:.40}; write {self.variables[0]}.sum()")
            case ast.Call() | ast.Attribute():
                raise self.source.error(
                    node, "dots and calls of results are not allowed; use only numbers, variables, operators and functions"
                )
        raise self.source.error(node, "not allowed here; use only numbers, variables, + - * / ** < > == and functions")

    def check_method(self, call: ast.Call, name: str) -> None:
        """Raise Refused if a method is unknown or its arguments are wrong."""
        if name not in METHODS and name not in FUNCTIONS:
            raise self.source.error(call, f"unknown method {name!r:.40}; the methods are {', '.join([*METHODS, *FUNCTIONS])}")
        fewest, most = METHODS.get(name, (0, 0))
        if call.keywords or not fewest <= len(call.args) <= most or any(integer(argument) is None for argument in call.args):
            count = str(most) if fewest == most else f"at most {most}" if fewest == 0 else f"{fewest} to {most}"
            what = f"{count} integer{'' if most == 1 else 's'}" if most else "no arguments"
            raise self.source.error(call, f"{name} expected {what}, got {self.source.excerpt(call)}")
        if name == "expand" and math.prod(abs(integer(argument) or 1) for argument in call.args) > MOST_ELEMENTS:
            raise self.source.error(call, f"expand expected a shape of at most {MOST_ELEMENTS} elements; write smaller sizes")


def _evaluate(node: ast.expr, values: dict[str, Any], number: Callable[[float], Any]) -> Any:
    """Return the value of a checked node."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return number(float(value))
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=op, operand=operand):
            value = _evaluate(operand, values, number)
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            return _operate(type(op), _evaluate(left, values, number), _evaluate(right, values, number))
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            value = _evaluate(argument, values, number)
            if isinstance(value, float):
                return FUNCTIONS[name](value)
            return abs(value) if name == "abs" else getattr(value, name)()
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=arguments):
            return getattr(_evaluate(value, values, number), name)(*[integer(argument) for argument in arguments])
    raise AssertionError(f"{type(node).__name__} passed the checker")


def _operate(op: type, left: Any, right: Any) -> Any:
    """Apply an operator; for floats the result is a float."""
    if isinstance(left, float) and isinstance(right, float):
        return math.pow(left, right) if op is ast.Pow else float(OPERATORS[op](left, right))
    return OPERATORS[op](left, right)


def _is_finite(value: float) -> bool:
    """Return whether a float can represent the value."""
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
