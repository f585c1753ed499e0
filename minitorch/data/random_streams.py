"""Stage 7 - Where random orders come from: a seed, a generator, or the generator that `manual_seed` seeds."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from minitorch.tensor import generator as default_generator


def check_integer(value: Any, name: str, least: int, error: type[Exception] = TypeError) -> int:
    """Validate an integer with a lower bound.

    Args:
        value: The value to check.
        name: Beginning of the message, such as "RandomSampler expected seed".
        least: Minimum.
        error: Class of the error if the value is not an integer.

    Raises:
        TypeError: If the value is not an integer, or the error that is given.
        ValueError: If it is less than the minimum.
    """
    try:
        found = operator.index(value)
    except TypeError:
        found = None
    if found is None or isinstance(value, (bool, np.bool_)):
        raise error(f"{name} as a whole number, got {value!r}; leave it out, or give one of at least {least}")
    if found < least:
        raise ValueError(f"{name} >= {least}, got {found}; give a larger one")
    return found


def check_seed(generator: Any, seed: int | None, name: str) -> int | None:
    """Validate the source of an order: a generator, a seed or neither.

    Raises:
        TypeError: If the seed is not an integer, or the generator is one.
        ValueError: If both are given, or the seed is negative.
    """
    if generator is not None and seed is not None:
        raise ValueError(f"{name} expected generator or seed, got both; leave one out")
    if isinstance(generator, (int, np.integer)):
        raise TypeError(f"{name} expected a Generator, got {generator!r}; pass seed={generator}")
    return None if seed is None else check_integer(seed, f"{name} expected seed", 0)


def random_stream(generator: Any, seed: int | list[int] | None = None) -> np.random.Generator:
    """NumPy's generator of a seed, or of a Generator of PyTorch or NumPy; the one that `manual_seed` seeds if there is neither."""
    if seed is not None:
        return np.random.default_rng(seed)
    return default_generator if generator is None else getattr(generator, "numpy", generator)
