"""Stage 7 - Argument checks of functions and layers: tensors, sizes and probabilities."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from numbers import Real
from typing import Any

from minitorch.core.dtypes import is_float
from minitorch.core.errors import DtypeError
from minitorch.tensor import Tensor

Sizes = int | Sequence[int]
"""An int for all spatial dimensions, or one per dimension."""


def as_sizes(op: str, name: str, given: Any, minimum: int, dims: int) -> tuple[int, ...]:
    """Return an option as a tuple with one integer for each spatial dimension.

    Args:
        op: Name of the function or layer, for the error message.
        name: Name of the option.
        given: The value passed by the caller; a single one holds for all dimensions.
        minimum: The smallest allowed value.
        dims: Number of spatial dimensions, from 1 to 3.

    Raises:
        TypeError: If a value is not an integer.
        ValueError: If the number of values is wrong, or one is too small.
    """
    integers = "an integer" + ("", " or two", " or three")[dims - 1]
    try:
        sizes = tuple(map(operator.index, given)) if isinstance(given, (tuple, list)) else (operator.index(given),)
    except TypeError:
        raise TypeError(f"{op} expected {name} as {integers}, got {given!r}") from None
    sizes = sizes * dims if len(sizes) == 1 else sizes
    if len(sizes) != dims:
        raise ValueError(f"{op} expected {name} as {integers}, got {given!r}")
    if min(sizes) < minimum:
        raise ValueError(f"{op} expected {name} of at least {minimum}, got {given!r}")
    return sizes


def as_pair(op: str, name: str, given: Any, minimum: int, dims: int = 2) -> tuple[int, int]:
    """Return an option as a pair (height, width); with dims=1, the height is the minimum. For the errors see `as_sizes`."""
    *height, width = as_sizes(op, name, given, minimum, dims)
    return height[0] if height else minimum, width


def check_tensor(op: str, x: Any, name: str) -> Tensor:
    """Return the argument x of a function if it is a Tensor. Raises TypeError otherwise."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{op} expected a Tensor as {name}, got {type(x).__name__}; make one with tensor(...)")
    return x


def check_float_tensor(op: str, x: Any, name: str = "") -> Tensor:
    """Return x if it is a floating-point Tensor; see `check_tensor`.

    Raises:
        TypeError: If it is not a Tensor.
        DtypeError: If it does not hold floating-point numbers.
    """
    if not isinstance(x, Tensor) or not is_float(x._tensor.dtype):
        expected = f"{op} expected a Tensor of floats{f' as {name}' if name else ''}"
        if not isinstance(x, Tensor):
            raise TypeError(f"{expected}, got {type(x).__name__}; make one with tensor(...)")
        raise DtypeError(f"{expected}, got {x.dtype.name}; convert it: {name or 'x'}.to(float32)")
    return x


def check_probability(op: str, name: str, given: Any, what: str) -> float:
    """Return a probability as a float.

    Args:
        op: Name of the function or layer, for the error message.
        name: Name of the option.
        given: The value passed by the caller.
        what: What is zeroed with this probability, for the error message.

    Raises:
        TypeError: If it is not a number.
        ValueError: If it is outside [0, 1].
    """
    if not isinstance(given, Real):
        raise TypeError(f"{op} expected {name} as a number from 0 to 1, got {given!r}; it is the probability that {what} is zeroed")
    number = float(given)
    if not 0 <= number <= 1:
        raise ValueError(f"{op} expected {name} from 0 to 1, got {given}; it is the probability that {what} is zeroed")
    return number


def positive_ints(sizes: Sequence[int], layer: str, names: str, minimum: int = 1) -> tuple[int, ...]:
    """Return sizes as a tuple of positive integers.

    Args:
        sizes: The values passed by the caller.
        layer: Name of the layer, for the error message.
        names: Names of the sizes.
        minimum: The smallest size; 0 for layers that PyTorch makes without inputs or outputs.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is less than the minimum.
    """
    try:
        integers = tuple(map(operator.index, sizes))
    except TypeError:
        raise TypeError(f"{layer} expected {names} as integers, got {', '.join(map(repr, sizes))}") from None
    if min(integers) < minimum:
        raise ValueError(f"{layer} expected {names} of at least {minimum}, got {', '.join(map(str, sizes))}")
    return integers
