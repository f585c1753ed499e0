"""Memory that is read before anything has written to it: in a replay it holds NaN, or an index that no tensor has."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

MARK = -98_765
"""What an integer in such memory is; its product with a stride still fits in 32 bits."""

NEVER_WRITTEN = "a buffer is read to which nothing has been written; numpy.empty does not set its elements to 0"


def old_content(got: Any) -> str:
    """The words for a result that equals the old content of out."""
    words = "the old content, as if nothing was written"
    return f"{words}, or {NEVER_WRITTEN}" if np.isnan(got) else words


@contextlib.contextmanager
def marked_memory() -> Iterator[None]:
    """Let `numpy.empty` and `numpy.empty_like` return arrays of NaN or MARK."""
    functions = {name: getattr(np, name) for name in ("empty", "empty_like")}
    try:
        for name, function in functions.items():
            setattr(np, name, _marking(function))
        yield
    finally:
        for name, function in functions.items():
            setattr(np, name, function)


def _marking(function: Callable[..., Any]) -> Callable[..., Any]:
    def marked(*args: Any, **kwargs: Any) -> Any:
        array = function(*args, **kwargs)
        if array.dtype.kind == "f":
            array.fill(np.nan)
        elif array.dtype.kind == "i" and array.dtype.itemsize >= 4:
            array.fill(MARK)
        return array

    return marked


def is_unwritten(value: Any, storages: Iterable[Any]) -> bool:
    """Whether a wrong number is NaN, although all numbers that it may be computed from are finite."""
    return bool(np.isnan(value)) and all(np.isfinite(storage).all() for storage in storages)
