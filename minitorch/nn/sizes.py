"""Stage 5 - What layers are given, checked: tensors, sizes (one number for height and width, or one for each), and shares."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from numbers import Real
from typing import Any

from minitorch.core.dtypes import is_float
from minitorch.tensor import Tensor

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


def a_tensor(op: str, x: Any, name: str) -> Tensor:
    """A tensor as it is.

    Args:
        op: Who asks.
        x: What was passed.
        name: As what.

    Raises:
        TypeError: If it is none.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"{op} expected a Tensor as {name}, got {type(x).__name__}; make one with tensor(...)")
    return x


def floats(op: str, x: Any, name: str = "") -> Tensor:
    """A tensor of floats as it is; see `a_tensor`.

    Raises:
        TypeError: If it is none.
    """
    if not isinstance(x, Tensor) or not is_float(x.dtype):
        got = x.dtype.name if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"{op} expected a Tensor of floats{f' as {name}' if name else ''}, got {got}; make one with tensor(...)")
    return x


def share(op: str, name: str, given: Any, of: str) -> float:
    """A share from 0 to 1.

    Args:
        op: Who asks.
        name: Of the setting.
        given: What was passed for it.
        of: What it is a share of, in words.

    Raises:
        TypeError: If it is no number.
        ValueError: If it is out of range.
    """
    if not isinstance(given, Real):
        raise TypeError(f"{op} expected {name} as a number from 0 to 1, got {given!r}; it is the share of {of}")
    number = float(given)
    if not 0 <= number <= 1:
        raise ValueError(f"{op} expected {name} from 0 to 1, got {given}; it is the share of {of}")
    return number


def at_least_1(sizes: Sequence[int], layer: str, names: str) -> tuple[int, ...]:
    """Sizes that are whole numbers of at least 1.

    Args:
        sizes: Of a layer.
        layer: Its name.
        names: Theirs.

    Raises:
        TypeError: If one is not whole.
        ValueError: If one is less than 1.
    """
    try:
        found = tuple(map(operator.index, sizes))
    except TypeError:
        raise TypeError(f"{layer} expected {names} as whole numbers, got {', '.join(map(repr, sizes))}") from None
    if min(found) < 1:
        raise ValueError(f"{layer} expected {names} of at least 1, got {', '.join(map(str, sizes))}")
    return found
