"""Stage 2 - TensorBase: how the modules that come before tensor.py recognize and annotate a Tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias


class TensorBase:
    """Base class of `Tensor`, for `isinstance(x, TensorBase)` where the class itself cannot be imported yet."""

    __slots__ = ()

    if TYPE_CHECKING:  # what these modules use after that check; Tensor defines it
        _hooks: Any
        _tensor: Any
        backend: Any
        detach: Any
        dtype: Any
        expand: Any
        history: Any
        shape: Any
        to: Any
        zeros: Any
        _like: Any
        _plain: Any


def blank(x: Any, kind: Any = None) -> Any:
    """A tensor without elements on the backend of x, of its class or of another: its `_like` makes further ones."""
    made = object.__new__(kind or x._plain)
    made.backend, made._tensor = x.backend, type(x._tensor).empty((0,), x.dtype)
    return made


Tensor: TypeAlias = Any
"""Annotation of a `Tensor` in those modules. Type checkers accept any value for it."""

Dims: TypeAlias = int | Sequence[int] | None
"""The dimensions to reduce: one, several, or None for all. Negative ones count from the end."""
