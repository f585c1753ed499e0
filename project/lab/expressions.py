"""Typed expressions: read by Python's parser, checked against what is allowed, worked out by walking the tree. Never `eval`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
"""What they compute on plain floats; any other operand is asked for the method of that name."""

MOST_CHARACTERS = 600
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


class Refused(ValueError):
    """An expression that is not allowed; the message is one line with the column."""


@dataclass(frozen=True)
class Expression:
    """An expression that has been read and found harmless.

    Attributes:
        text: As typed.
        names: The variables in it, sorted.
    """

    text: str
    names: tuple[str, ...]
    _tree: ast.expr

    def function(self, arguments: Sequence[str], number: Callable[[float], Any]) -> Callable[..., Any]:
        """The expression as a function.

        Args:
            arguments: The variables in the order in which the function takes them; those that do not occur are ignored.
            number: Makes an operand of a number in the text: `float`, or what makes a Scalar.
        """

        def f(*values: Any) -> Any:
            return _evaluate(self._tree, dict(zip(arguments, values, strict=True)), number)

        return f


def parse(text: str, variables: Sequence[str]) -> Expression:
    """Read an expression.

    Args:
        text: Such as "x * y + log(z)".
        variables: The names that it may use.

    Raises:
        Refused: If it is not an expression of the allowed kind.
    """
    if not text.strip():
        raise Refused(
            f"expected an expression in {', '.join(variables)}, got nothing; type for example {variables[0]} * {variables[0]} + 1"
        )
    if len(text) > MOST_CHARACTERS:
        raise Refused(f"expected at most {MOST_CHARACTERS} characters, got {len(text)}; column {MOST_CHARACTERS + 1} is one too many")
    line = text.replace("\n", " ")
    indent = len(line) - len(line.lstrip())
    try:
        tree = ast.parse(line.strip(), mode="eval").body
    except SyntaxError as error:
        raise Refused(f"column {indent + max(error.offset or 1, 1)}: not an expression ({error.msg}); write 2 * x, x ** 2") from None
    except (ValueError, RecursionError, MemoryError):
        raise Refused("column 1: not an expression that can be read; use numbers, variables and + - * / ** ( )") from None
    names: set[str] = set()
    _check(tree, line.strip(), indent, tuple(variables), names, 1)
    return Expression(text, tuple(sorted(names)), tree)


def _check(node: ast.AST, line: str, indent: int, variables: tuple[str, ...], names: set[str], depth: int) -> None:
    """Refuse what is not allowed at this node or below; gather the names of variables."""

    def refuse(reason: str, place: ast.AST = node) -> Refused:
        offset = len(line.encode()[: getattr(place, "col_offset", 0)].decode())  # the parser counts bytes
        return Refused(f"column {indent + offset + 1}: {reason}")

    if depth > DEEPEST:
        raise refuse(f"expected at most {DEEPEST} operations inside each other; write a shorter expression")
    below: list[ast.expr] = []
    match node:
        case ast.Constant(value=value):
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise refuse(f"expected a number, got {value!r:.40}")
            if not _is_finite(value):
                raise refuse("expected a number that a float can hold")
        case ast.Name(id=name):
            if name in FUNCTIONS:
                raise refuse(f"{name} is a function; write {name}({variables[0]})")
            if name not in variables:
                raise refuse(f"unknown name {name!r:.40}; the variables are {', '.join(variables)}, the functions {', '.join(FUNCTIONS)}")
            names.add(name)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            below = [operand]
        case ast.BinOp(left=left, op=op, right=right):
            if isinstance(op, ast.BitXor):
                raise refuse("^ is not a power here; write **")
            if type(op) not in OPERATORS:
                raise refuse("unknown operator; use + - * / **")
            below = [left, right]
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if type(op) not in OPERATORS:
                raise refuse("unknown comparison; use <, > or ==")
            below = [left, right]
        case ast.Compare():
            raise refuse("expected one comparison at a time; write (x < y) * (y < z)")
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            below = [argument]
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            raise refuse(f"{name} expected one argument; write {name}({variables[0]})")
        case ast.Call(func=ast.Name(id=name)):
            raise refuse(f"unknown function {name!r:.40}; the functions are {', '.join(FUNCTIONS)}")
        case ast.Call() | ast.Attribute():
            raise refuse("dots and calls of results are not allowed; use only numbers, variables, operators and functions")
        case _:
            raise refuse("not allowed here; use only numbers, variables, + - * / ** < > == and functions")
    for child in below:
        _check(child, line, indent, variables, names, depth + 1)


def _evaluate(node: ast.expr, values: dict[str, Any], number: Callable[[float], Any]) -> Any:
    """The value of a checked node."""
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
    raise AssertionError(f"{type(node).__name__} passed the check")


def _operate(op: type, left: Any, right: Any) -> Any:
    """One operator; on floats the result is a float too."""
    if isinstance(left, float) and isinstance(right, float):
        return math.pow(left, right) if op is ast.Pow else float(OPERATORS[op](left, right))
    return OPERATORS[op](left, right)


def _is_finite(value: float) -> bool:
    """Whether a float can hold it."""
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
