"""Stage 5 - Sizes as layers take them: one number for height and width, or one for each."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from minitorch.tensor_data import as_shape

Sizes = int | Sequence[int]
"""One number for all dimensions of a picture, or one for each."""


def sizes_of(op: str, name: str, given: Any, least: int, dims: int = 2) -> tuple[int, int]:
    """A setting for height and for width.

    Args:
        op: Who asks.
        name: Of the setting.
        given: What was passed for it.
        least: The smallest that it may be.
        dims: Of a picture; with 1 there are rows alone, whose height gets the least.

    Raises:
        TypeError: If a number is not whole.
        ValueError: If there are too few or too many, or one is too small.
    """
    both = " or two" * (dims == 2)
    try:
        sizes = tuple(map(operator.index, given)) if isinstance(given, (tuple, list)) else (operator.index(given),) * dims
    except TypeError:
        raise TypeError(f"{op} expected {name} as a whole number{both}, got {given!r}") from None
    if len(sizes) != dims:
        raise ValueError(f"{op} expected {name} as a whole number{both}, got {given!r}")
    if min(sizes) < least:
        raise ValueError(f"{op} expected {name} of at least {least}, got {given!r}")
    return (sizes[0], sizes[1]) if dims == 2 else (least, sizes[0])


def at_least_1(sizes: tuple[int, ...], layer: str, names: str) -> tuple[int, ...]:
    """Sizes that are whole numbers of at least 1.

    Args:
        sizes: Of a layer.
        layer: Its name.
        names: Theirs.

    Raises:
        TypeError: If one is not whole.
        ValueError: If one is less than 1.
    """
    found = as_shape(sizes, layer)
    if min(found) < 1:
        raise ValueError(f"{layer} expected {names} of at least 1, got {', '.join(map(str, sizes))}")
    return found
