"""Arrays as input, such as [[1, 0, -1], [2, 0, -2]]."""

from __future__ import annotations

import ast
import math

import numpy as np

from project.lab.typed.source import Source, number

MOST_CHARACTERS = 1200
LARGEST = 1e4


def parse_array(text: str, dims: int, most: int, fewest_dims: int = 1) -> np.ndarray:
    """Parse numbers in nested brackets.

    Args:
        text: The input.
        dims: The number of dimensions; an array with fewer gets leading dimensions of size 1.
        most: The largest size of a dimension.
        fewest_dims: The smallest number of nested brackets.

    Returns:
        An array with `dims` dimensions.

    Raises:
        Refused: If the input is not an array of numbers, or is too large.
    """
    source = Source(text, "numbers in brackets, such as [1, 0, -1]", MOST_CHARACTERS)
    shape = _shape(source, dims)
    if len(shape) < fewest_dims:
        raise source.error(source.tree, f"expected at least {fewest_dims} levels of brackets, got {len(shape)}")
    if 0 in shape or max(shape) > most:
        raise source.error(source.tree, f"expected sizes of 1 to {most}, got shape {shape}")
    values = np.array(_numbers(source, source.tree, shape), float)
    return values.reshape((1,) * (dims - len(shape)) + shape)


def figure(value: float) -> str:
    """Return a number as a short text."""
    if not math.isfinite(value):
        return str(value)
    return f"{value:.4g}" if value else "0"  # no -0


def factor(value: float) -> str:
    """Return a number as the second factor of a product, in parentheses if it is negative."""
    return f"({figure(value)})" if value < 0 else figure(value)


def _shape(source: Source, dims: int) -> tuple[int, ...]:
    """Return the sizes of the first element at every level."""
    shape, node = [], source.tree
    while isinstance(node, ast.List | ast.Tuple):
        shape.append(len(node.elts))
        if len(shape) > dims:
            raise source.error(node, f"expected at most {dims} levels of brackets, got more")
        if not node.elts:
            break
        node = node.elts[0]
    return tuple(shape)


def _numbers(source: Source, node: ast.expr, shape: tuple[int, ...]) -> list[float]:
    """Return all numbers in order."""
    if shape:
        if not isinstance(node, ast.List | ast.Tuple) or len(node.elts) != shape[0]:
            raise source.error(node, f"expected rows of equal length, {shape[0]}, got {source.excerpt(node)}")
        return [value for element in node.elts for value in _numbers(source, element, shape[1:])]
    value = number(node)
    if value is None:
        raise source.error(node, f"expected a number, got {source.excerpt(node)}")
    if abs(value) > LARGEST:
        raise source.error(node, f"expected a number of at most {LARGEST:g}, got {source.excerpt(node)}")
    return [float(value) + 0.0]  # no -0
