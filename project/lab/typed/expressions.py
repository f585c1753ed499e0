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
"""The methods of tensors, with the fewest and the most whole numbers that they take. Those of `FUNCTIONS` are methods too and take none."""

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


def parse(text: str, variables: Sequence[str], methods: bool = False) -> Expression:
    """Read an expression.

    Args:
        text: Such as "x * y + log(z)".
        variables: The names that it may use.
        methods: Whether it may call the methods of tensors, such as "(x * y).sum(0)".

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
    reader = _Reader(line.strip(), indent, tuple(variables), methods)
    reader.check(tree, 1)
    return Expression(text, tuple(sorted(reader.names)), tree)


class _Reader:
    """Refuses what is not allowed in an expression, and gathers the names of its variables.

    Args:
        line: The expression as the parser got it.
        indent: How many characters stood before it.
        variables: The names that it may use.
        methods: Whether it may call methods.
    """

    def __init__(self, line: str, indent: int, variables: tuple[str, ...], methods: bool) -> None:
        self.line = line
        self.indent = indent
        self.variables = variables
        self.methods = methods
        self.names: set[str] = set()

    def refused(self, node: ast.AST, reason: str) -> Refused:
        """The refusal of a node, with its column."""
        offset = len(self.line.encode()[: getattr(node, "col_offset", 0)].decode())  # the parser counts bytes
        return Refused(f"column {self.indent + offset + 1}: {reason}")

    def check(self, node: ast.AST, depth: int) -> None:
        """Refuse what is not allowed at this node or below."""
        if depth > DEEPEST:
            raise self.refused(node, f"expected at most {DEEPEST} operations inside each other; write a shorter expression")
        for child in self.operands(node):
            self.check(child, depth + 1)

    def operands(self, node: ast.AST) -> list[ast.expr]:
        """What a node that is allowed is computed from."""
        match node:
            case ast.Constant(value=value):
                if not isinstance(value, int | float) or isinstance(value, bool):
                    raise self.refused(node, f"expected a number, got {value!r:.40}")
                if not _is_finite(value):
                    raise self.refused(node, "expected a number that a float can hold")
                return []
            case ast.Name(id=name):
                if name in FUNCTIONS:
                    raise self.refused(node, f"{name} is a function; write {name}({self.variables[0]})")
                if name not in self.variables:
                    known = f"the variables are {', '.join(self.variables)}, the functions {', '.join(FUNCTIONS)}"
                    raise self.refused(node, f"unknown name {name!r:.40}; {known}")
                self.names.add(name)
                return []
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return [operand]
            case ast.BinOp(left=left, op=op, right=right):
                if isinstance(op, ast.BitXor):
                    raise self.refused(node, "^ is not a power here; write **")
                if type(op) not in OPERATORS:
                    raise self.refused(node, "unknown operator; use + - * / **")
                return [left, right]
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                if type(op) not in OPERATORS:
                    raise self.refused(node, "unknown comparison; use <, > or ==")
                return [left, right]
            case ast.Compare():
                raise self.refused(node, "expected one comparison at a time; write (x < y) * (y < z)")
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
                return [argument]
            case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
                raise self.refused(node, f"{name} expected one argument; write {name}({self.variables[0]})")
            case ast.Call(func=ast.Name(id=name)) if self.methods and name in METHODS:
                raise self.refused(node, f"{name} is a method; write {self.variables[0]}.{name}(…)")
            case ast.Call(func=ast.Name(id=name)):
                raise self.refused(node, f"unknown function {name!r:.40}; the functions are {', '.join(FUNCTIONS)}")
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if self.methods:
                self.check_method(node, name)
                return [value]
            case ast.Attribute(attr=name) if self.methods:
                raise self.refused(node, f"expected a call after the dot, got .{name:.40}; write {self.variables[0]}.sum()")
            case ast.Call() | ast.Attribute():
                raise self.refused(node, "dots and calls of results are not allowed; use only numbers, variables, operators and functions")
        raise self.refused(node, "not allowed here; use only numbers, variables, + - * / ** < > == and functions")

    def check_method(self, call: ast.Call, name: str) -> None:
        """Refuse a method that is unknown, or called with anything but as many whole numbers as it takes."""
        if name not in METHODS and name not in FUNCTIONS:
            raise self.refused(call, f"unknown method {name!r:.40}; the methods are {', '.join([*METHODS, *FUNCTIONS])}")
        fewest, most = METHODS.get(name, (0, 0))
        if call.keywords or not fewest <= len(call.args) <= most or any(_whole(argument) is None for argument in call.args):
            count = str(most) if fewest == most else f"at most {most}" if fewest == 0 else f"{fewest} to {most}"
            got = ast.get_source_segment(self.line, call) or name
            what = f"{count} whole number{'' if most == 1 else 's'}" if most else "nothing between its brackets"
            raise self.refused(call, f"{name} expected {what}, got {got!r:.60}")
        if name == "expand" and math.prod(abs(_whole(argument) or 1) for argument in call.args) > MOST_ELEMENTS:
            raise self.refused(call, f"expand expected a shape of at most {MOST_ELEMENTS} elements; write smaller sizes")


def _whole(node: ast.expr) -> int | None:
    """The whole number that stands there, perhaps with a minus; None if anything else does."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))) if not isinstance(value, bool):
            return -value
    return None


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
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=arguments):
            return getattr(_evaluate(value, values, number), name)(*[_whole(argument) for argument in arguments])
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
