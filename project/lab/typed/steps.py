"""Shapes as input, and chains of operations such as x.permute(1, 0)[1:, ::2]."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

from project.lab.typed.source import Refused, Source, integer

MOST_CHARACTERS = 300
MOST_STEPS = 12
MOST_DIGITS = 6

IndexPart = int | slice | None | EllipsisType | list[int]

METHODS = {"permute": "1, 0", "transpose": "0, 1", "view": "3, 2", "expand": "2, 3, 4", "contiguous": ""}
"""The allowed methods, each with example arguments."""

EXPECTED = "x followed by operations, such as x.permute(1, 0)[1:, ::2]"
INDEX = "an index"


@dataclass(frozen=True)
class Step:
    """One operation of a chain.

    Attributes:
        text: Its text, such as ".permute(1, 0)" or "[1:, ::2]".
        method: One of METHODS, or "index".
        args: The arguments of the method, or the parts of the index.
    """

    text: str
    method: str
    args: tuple[Any, ...]


def parse_shape(text: str, most_dims: int, most_elements: int, fewest_dims: int = 1) -> tuple[int, ...]:
    """Parse a shape such as "2, 3, 4" or "(2, 3, 4)".

    Raises:
        Refused: If it is not a shape, or is too large.
    """
    inner = text.strip()
    if inner[:1] + inner[-1:] in ("()", "[]"):
        inner = inner[1:-1].strip()
    parts = [part for part in re.split(r"\s*,\s*", inner.removesuffix(",").strip()) if part or "," in inner]
    for part in parts:
        if not re.fullmatch(r"[0-9]+", part):
            raise Refused(f"expected integers separated by commas, got {part!r:.40} in {text!r:.60}")
        if len(part) > MOST_DIGITS:
            raise Refused(f"expected sizes of at most {min(most_elements, 10**MOST_DIGITS - 1)}, got {part:.40} in {text!r:.60}")
    shape = tuple(map(int, parts))
    if not fewest_dims <= len(shape) <= most_dims:
        raise Refused(f"expected a shape of {fewest_dims} to {most_dims} dimensions, got {len(shape)} in {text!r:.60}")
    if math.prod(shape) > most_elements:
        raise Refused(f"expected at most {most_elements} elements, got {math.prod(shape)} in shape {shape}")
    return shape


def parse_steps(text: str) -> list[Step]:
    """Parse a chain of operations on x.

    Raises:
        Refused: If it contains anything but the allowed methods and indices.
    """
    source = Source(text if text.strip() else "x", EXPECTED, MOST_CHARACTERS)
    steps: list[Step] = []
    node = source.tree
    while not isinstance(node, ast.Name):
        match node:
            case ast.Call(func=ast.Attribute(value=before, attr=method), args=args, keywords=[]):
                steps.append(_call(source, node, method, args))
            case ast.Subscript(value=before, slice=index):
                parts = _index(source, index)  # raises Refused for everything that cannot be unparsed
                steps.append(Step(f"[{ast.unparse(index).strip('()')}]", "index", parts))
            case _:
                raise source.error(node, f"expected {EXPECTED}, got {source.excerpt(node)}")
        node = before
    if node.id != "x":
        raise source.error(node, f"expected the tensor x, got {node.id!r:.40}")
    if len(steps) > MOST_STEPS:
        raise source.error(source.tree, f"expected at most {MOST_STEPS} operations, got {len(steps)}")
    return steps[::-1]


def to_text(steps: list[Step]) -> str:
    """Return the text of a chain."""
    return "x" + "".join(step.text for step in steps)


def permute(steps: list[Step], order: list[int]) -> list[Step]:
    """Return a chain whose result has its dimensions in another order. Two permutations in a row become one, or none.

    Args:
        steps: The chain.
        order: For each dimension of the new result, that of the result so far.
    """
    if steps and steps[-1].method == "permute":
        *steps, last = steps
        dims = [dim % len(order) for dim in last.args]
        order = [dims[dim] for dim in order]
    if order == list(range(len(order))):
        return steps
    return [*steps, Step(f".permute({', '.join(map(str, order))})", "permute", tuple(order))]


def flip(dim: str, dims: int) -> str:
    """Return the index that flips a dimension.

    Raises:
        Refused: If there is no such dimension.
    """
    if not re.fullmatch(r"\s*[0-9]+\s*", dim) or int(dim) >= dims:
        raise Refused(f"expected a dimension from 0 to {dims - 1}, got {dim!r:.40}")
    return f"[{':, ' * int(dim)}::-1]"


def _call(source: Source, call: ast.Call, method: str, args: list[ast.expr]) -> Step:
    """Return the operation of a method call."""
    if method not in METHODS:
        raise source.error(call, f"unknown method {method!r:.40}; use {', '.join(METHODS)} or an index such as [1:, ::2]")
    if len(args) == 1 and isinstance(args[0], ast.Tuple | ast.List):  # view((2, 3)) is view(2, 3)
        args = args[0].elts
    numbers = tuple(_integer(source, arg, method) for arg in args)
    wanted = {"transpose": 2, "contiguous": 0}.get(method)
    if wanted is not None and len(numbers) != wanted:
        example = f"write .{method}({METHODS[method]})"
        raise source.error(call, f"{method} expected {wanted or 'no'} arguments, got {len(numbers)}; {example}")
    return Step(f".{method}({', '.join(map(str, numbers))})", method, numbers)


def _index(source: Source, node: ast.expr) -> tuple[IndexPart, ...]:
    """Return the parts of an index."""
    return tuple(_part(source, part) for part in (node.elts if isinstance(node, ast.Tuple) else [node]))


def _part(source: Source, node: ast.expr) -> IndexPart:
    """Return one part of an index."""
    match node:
        case ast.Constant(value=None):
            return None
        case ast.Constant(value=EllipsisType()):
            return ...
        case ast.Slice(lower=low, upper=high, step=step):
            bounds = [None if bound is None else _integer(source, bound, INDEX) for bound in (low, high, step)]
            if bounds[2] == 0:
                raise source.error(node, "an index expected a step other than 0; write ::1")
            return slice(*bounds)
        case ast.List(elts=elements):
            return [_integer(source, element, INDEX) for element in elements]
    return _integer(source, node, INDEX)


def _integer(source: Source, node: ast.expr, where: str) -> int:
    """Return an integer of at most MOST_DIGITS digits."""
    value = integer(node)
    if value is not None and abs(value) >= 10**MOST_DIGITS:
        raise source.error(node, f"{where} expected integers of at most {MOST_DIGITS} digits, got {source.excerpt(node, 40)}")
    if value is None:
        others = ", slices, None, ... and lists of integers" if where == INDEX else ""
        raise source.error(node, f"{where} expected integers{others}, got {source.excerpt(node, 40)}")
    return value
