"""Stage 6 - The tensor of `minitorch.torch`: a tensor of the engine behind PyTorch's interface.

The engine's Tensor keeps the published course's interface: `sum(1)` keeps the dimension, `size` is a number. Its own functions rely on it,
so PyTorch's interface is an object around it instead of a subclass: `wrap` and `unwrap` lead from one to the other, and `lift` makes a
function of the engine one of `minitorch.torch`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.tensor import Tensor as EngineTensor
from minitorch.torch import arithmetic


def unwrap(x: Any) -> Any:
    """The engine's tensor in a Tensor; the same for the elements of lists, tuples and dictionaries; anything else unchanged."""
    if isinstance(x, Tensor):
        return x._engine
    if type(x) in (list, tuple):
        return type(x)(map(unwrap, x))
    if type(x) is dict:
        return {name: unwrap(value) for name, value in x.items()}
    return x


def wrap(x: Any) -> Any:
    """The converse of `unwrap`; named tuples keep their type."""
    if isinstance(x, EngineTensor):
        return Tensor._of(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(wrap, x))
    if type(x) in (list, tuple):
        return type(x)(map(wrap, x))
    return x


def lift(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the engine's tensors as one of Tensors: a method in a class, a function elsewhere."""

    @functools.wraps(fn)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        args = tuple([x._engine if isinstance(x, Tensor) else unwrap(x) for x in args])
        if kwargs:
            kwargs = {name: unwrap(value) for name, value in kwargs.items()}
        out = fn(*args, **kwargs)
        if type(out) is EngineTensor:
            made = Tensor.__new__(Tensor)
            made._engine = out
            return made
        return wrap(out)

    return lifted


class Tensor:
    """A tensor with PyTorch's interface.

    Attributes:
        _engine: The engine's tensor, which holds the numbers, the history and the gradient.
    """

    __slots__ = ("__weakref__", "_engine")

    _engine: EngineTensor

    @staticmethod
    def _of(x: EngineTensor) -> Tensor:
        """A Tensor around a tensor of the engine."""
        made = Tensor.__new__(Tensor)
        made._engine = x
        return made

    add, sub, mul, div, eq = map(lift, (arithmetic.add, arithmetic.sub, arithmetic.mul, arithmetic.div, arithmetic.eq))
    __add__ = __radd__ = add
    __mul__ = __rmul__ = mul
    __sub__, __truediv__, __eq__ = sub, div, eq
    __hash__ = object.__hash__
