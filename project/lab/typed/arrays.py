"""Typed arrays such as [[1, 0, -1], [2, 0, -2]]: read by Python's parser, never evaluated."""

from __future__ import annotations

import ast
import math

import numpy as np

from project.lab.typed.expressions import Refused

MOST_CHARACTERS = 1200
LARGEST = 1e4


def parse_array(text: str, dims: int, most: int, fewest_dims: int = 1) -> np.ndarray:
    """Read numbers in nested brackets.

    Args:
        text: As typed.
        dims: The most brackets in each other; an array with fewer gets leading dimensions of size 1.
        most: The largest size of a dimension.
        fewest_dims: The fewest brackets in each other.

    Returns:
        An array of so many dimensions.

    Raises:
        Refused: If it is something else, or larger than allowed.
    """
    if len(text) > MOST_CHARACTERS:
        raise Refused(f"expected at most {MOST_CHARACTERS} characters, got {len(text)}")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise Refused(f"expected numbers in brackets, such as [1, 0, -1], got {text!r:.60}") from None
    shape = _shape(node, dims)
    if len(shape) < fewest_dims:
        raise Refused(f"expected at least {fewest_dims} brackets in each other, got {len(shape)} in {text!r:.60}")
    if 0 in shape or max(shape) > most:
        raise Refused(f"expected sizes of 1 to {most}, got shape {shape}")
    values = np.array(_numbers(node, shape), float)
    return values.reshape((1,) * (dims - len(shape)) + shape)


def figure(value: float) -> str:
    """A number in few characters."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.4g}" if value else "0"  # no -0


def factor(value: float) -> str:
    """A number as the second factor of a product."""
    return f"({figure(value)})" if value < 0 else figure(value)


def _shape(node: ast.expr, dims: int) -> tuple[int, ...]:
    """The sizes, from the first element of every bracket."""
    shape = []
    while isinstance(node, ast.List | ast.Tuple):
        shape.append(len(node.elts))
        if len(shape) > dims:
            raise Refused(f"expected at most {dims} brackets in each other, got more")
        if not node.elts:
            break
        node = node.elts[0]
    return tuple(shape)


def _numbers(node: ast.expr, shape: tuple[int, ...]) -> list[float]:
    """All numbers in order."""
    if not shape:
        return [_number(node)]
    if not isinstance(node, ast.List | ast.Tuple) or len(node.elts) != shape[0]:
        raise Refused(f"expected rows of equal length, got {ast.unparse(node):.60} where {shape[0]} elements are due")
    return [value for element in node.elts for value in _numbers(element, shape[1:])]


def _number(node: ast.expr) -> float:
    """One number, with or without a sign."""
    sign = 1.0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign, node = (-1.0 if isinstance(node.op, ast.USub) else 1.0), node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Refused(f"expected numbers, got {ast.unparse(node):.60}")
    if abs(value) > LARGEST:
        raise Refused(f"expected numbers of at most {LARGEST:g}, got {ast.unparse(node):.60}")
    return sign * value + 0.0  # no -0
