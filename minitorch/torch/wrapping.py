"""Stage 6 - Between the engine's tensors and those of `minitorch.torch`: `wrap`, `unwrap`, and `lift`, which makes functions of both."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.tensor import Tensor as EngineTensor

new = object.__new__


class Wrapper:
    """Base class of the Tensor of `minitorch.torch`, an object around a tensor of the engine.

    Attributes:
        _engine: The engine's tensor, which holds the numbers, the history and the gradient.
    """

    __slots__ = ("__weakref__", "_engine")

    _engine: EngineTensor


_class: Any = Wrapper


def result_class(cls: type[Wrapper]) -> type[Wrapper]:
    """Decorator of the class whose objects `wrap` and lifted functions return: Tensor."""
    global _class
    _class = cls
    return cls


def unwrap(x: Any) -> Any:
    """The engine's tensor in a Tensor; the same for the elements of lists, tuples and dictionaries; anything else unchanged."""
    if isinstance(x, Wrapper):
        return x._engine
    if isinstance(x, (list, tuple)):
        return tuple(map(unwrap, x)) if isinstance(x, tuple) else list(map(unwrap, x))
    if type(x) is dict:
        return {name: unwrap(value) for name, value in x.items()}
    return x


def wrap(x: Any) -> Any:
    """The converse of `unwrap`; named tuples keep their type."""
    if isinstance(x, EngineTensor):
        made = new(_class)
        made._engine = x
        return made
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(wrap, x))
    if type(x) in (list, tuple):
        return type(x)(map(wrap, x))
    return x


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "axes": "dims"}
"""Names of arguments that PyTorch accepts as well, because they are NumPy's."""


def unwrap_names(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments for a function of the engine's tensors."""
    return {NUMPY_NAMES.get(name, name): unwrap(value) for name, value in kwargs.items()}


def lift(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the engine's tensors as one of Tensors: a method in a class, a function elsewhere."""

    @functools.wraps(fn)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        args = tuple([x._engine if isinstance(x, Wrapper) else unwrap(x) for x in args])
        out = fn(*args, **unwrap_names(kwargs)) if kwargs else fn(*args)
        if type(out) is EngineTensor:
            made = new(_class)
            made._engine = out
            return made
        return wrap(out)

    return lifted
