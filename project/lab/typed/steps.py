"""Typed shapes, and typed chains of steps such as x.permute(1, 0)[1:, ::2]: read by Python's parser, never evaluated."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

from project.lab.typed.expressions import Refused

MOST_CHARACTERS = 300
MOST_STEPS = 12

IndexPart = int | slice | None | EllipsisType | list[int]

METHODS = {"permute": "1, 0", "transpose": "0, 1", "view": "3, 2", "expand": "2, 3, 4", "contiguous": ""}
"""The methods that a step may call, each with arguments as an example."""


@dataclass(frozen=True)
class Step:
    """One step of a chain.

    Attributes:
        text: As Python writes it, such as ".permute(1, 0)" or "[1:, ::2]".
        method: One of METHODS, or "index".
        args: Whole numbers for a method, the parts of an index.
    """

    text: str
    method: str
    args: tuple[Any, ...]


def parse_shape(text: str, most_dims: int, most_elements: int, fewest_dims: int = 1) -> tuple[int, ...]:
    """Read a shape such as "2, 3, 4" or "(2, 3, 4)".

    Raises:
        Refused: If it is something else, or larger than allowed.
    """
    inner = text.strip()
    if inner[:1] + inner[-1:] in ("()", "[]"):
        inner = inner[1:-1].strip()
    parts = [part for part in re.split(r"\s*,\s*", inner.removesuffix(",").strip()) if part or "," in inner]
    for part in parts:
        if not re.fullmatch(r"[0-9]{1,6}", part):
            raise Refused(f"expected whole numbers separated by commas, got {part!r:.40} in {text!r:.60}")
    shape = tuple(map(int, parts))
    if not fewest_dims <= len(shape) <= most_dims:
        raise Refused(f"expected a shape of {fewest_dims} to {most_dims} dimensions, got {len(shape)} in {text!r:.60}")
    if math.prod(shape) > most_elements:
        raise Refused(f"expected at most {most_elements} elements, got {math.prod(shape)} in shape {shape}")
    return shape


def parse_steps(text: str) -> list[Step]:
    """Read a chain of steps that begins with x.

    Raises:
        Refused: If it holds anything but the known methods and indices.
    """
    if len(text) > MOST_CHARACTERS:
        raise Refused(f"expected at most {MOST_CHARACTERS} characters, got {len(text)}")
    try:
        node = ast.parse(text.strip() or "x", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused(f"expected x followed by steps, got {text!r:.60}; write for example x.permute(1, 0)[1:, ::2]") from None
    steps: list[Step] = []
    while not isinstance(node, ast.Name):
        match node:
            case ast.Call(func=ast.Attribute(value=before, attr=method), args=args, keywords=[]):
                steps.append(_call(method, args))
            case ast.Subscript(value=before, slice=index):
                parts = _index(index)  # refuses all that could not be written out again
                steps.append(Step(f"[{ast.unparse(index).strip('()')}]", "index", parts))
            case _:
                raise Refused(f"expected x followed by steps, got {_source(node)!r:.60}; write for example x.permute(1, 0)[1:, ::2]")
        node = before
    if node.id != "x":
        raise Refused(f"expected the tensor x, got {node.id!r:.40}; begin with x")
    if len(steps) > MOST_STEPS:
        raise Refused(f"expected at most {MOST_STEPS} steps, got {len(steps)}")
    return steps[::-1]


def written(steps: list[Step]) -> str:
    """The chain as text again."""
    return "x" + "".join(step.text for step in steps)


def flip(dim: str, dims: int) -> str:
    """The index that turns one dimension round.

    Raises:
        Refused: If it is none of the dimensions.
    """
    if not re.fullmatch(r"\s*[0-9]+\s*", dim) or int(dim) >= dims:
        raise Refused(f"expected the number of a dimension, 0 to {dims - 1}, got {dim!r:.40}")
    return f"[{':, ' * int(dim)}::-1]"


def _call(method: str, args: list[ast.expr]) -> Step:
    """The call of a method with whole numbers."""
    if method not in METHODS:
        raise Refused(f"unknown step {method!r:.40}; the steps are {', '.join(METHODS)} and an index such as [1:, ::2]")
    if len(args) == 1 and isinstance(args[0], ast.Tuple | ast.List):  # view((2, 3)) is view(2, 3)
        args = args[0].elts
    numbers = tuple(_whole(arg, method) for arg in args)
    wanted = {"transpose": 2, "contiguous": 0}.get(method)
    if wanted is not None and len(numbers) != wanted:
        raise Refused(f"{method} expected {wanted or 'no'} numbers, got {len(numbers)}; write .{method}({METHODS[method]})")
    return Step(f".{method}({', '.join(map(str, numbers))})", method, numbers)


def _index(node: ast.expr) -> tuple[IndexPart, ...]:
    """The parts of an index."""
    return tuple(_part(part) for part in (node.elts if isinstance(node, ast.Tuple) else [node]))


def _part(node: ast.expr) -> IndexPart:
    """One part of an index."""
    match node:
        case ast.Constant(value=None):
            return None
        case ast.Constant(value=EllipsisType()):
            return ...
        case ast.Slice(lower=low, upper=high, step=step):
            bounds = [None if bound is None else _whole(bound, "an index") for bound in (low, high, step)]
            if bounds[2] == 0:
                raise Refused("an index expected a step other than 0; write ::1")
            return slice(*bounds)
        case ast.List(elts=elements):
            return [_whole(element, "an index") for element in elements]
    return _whole(node, "an index")


def _whole(node: ast.expr, where: str) -> int:
    """A whole number, perhaps negative."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool) and value < 10**6:
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if not isinstance(value, bool) and value < 10**6:
            return -value
    others = ", slices, None, ... and lists of whole numbers" if where == "an index" else ""
    raise Refused(f"{where} expected whole numbers{others}, got {_source(node)!r:.40}")


def _source(node: ast.expr) -> str:
    """What was typed there."""
    try:
        return ast.unparse(node)
    except RecursionError:  # hundreds of signs in a row
        return "..."
