"""Stage 6 - How functions of torch are called: NumPy's names of arguments, sizes by name, and errors of PyTorch's classes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from minitorch.tensor import Tensor


class ArgumentError(ValueError, RuntimeError):
    """A wrong value or shape. PyTorch raises RuntimeError for it."""


class ElementError(TypeError, ArgumentError):
    """Something else where a number is expected. PyTorch raises TypeError, ValueError or RuntimeError for it."""


class RangeError(ArgumentError, OverflowError):
    """A number that a dtype cannot represent. PyTorch raises RuntimeError for it."""


class DtypeError(TypeError, NotImplementedError):
    """A tensor of a dtype for which the function is not defined. PyTorch raises RuntimeError or NotImplementedError for it."""


class DivisionError(ZeroDivisionError, RuntimeError):
    """A division of integers by 0. PyTorch raises RuntimeError for it."""


class EmptyError(ArgumentError, IndexError):
    """A reduction of no elements that has no result. PyTorch raises RuntimeError, or IndexError if it would return an index."""


CLASSES: dict[type[Exception], type[Exception]] = {ValueError: ArgumentError, ZeroDivisionError: DivisionError}
"""The errors of the library, and what they become at the border: the same, and what PyTorch raises."""

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
"""Further names of arguments, which PyTorch takes from NumPy."""


def callable_as_in_torch(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes NumPy's names of its arguments as well, and raises errors of the classes that PyTorch raises.

    Raises:
        TypeError: If an argument that should be a tensor is none, or one is given under both names.
    """
    parameters = inspect.signature(fn).parameters
    renamed = {other: name for other, name in NUMPY_NAMES.items() if name in parameters and other not in parameters}

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        for other in renamed.keys() & kwargs.keys() if kwargs else ():
            if renamed[other] in kwargs:
                raise TypeError(f"{fn.__name__} expected {renamed[other]} or {other}, got both; leave one out")
            kwargs[renamed[other]] = kwargs.pop(other)
        try:
            return fn(*args, **kwargs)
        except (AttributeError, *CLASSES) as error:
            if isinstance(error, AttributeError):
                _require_tensors(fn, args, kwargs)
            if type(error) not in CLASSES:
                raise
            raise CLASSES[type(error)](*error.args).with_traceback(error.__traceback__) from None

    return call


def _require_tensors(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError if an argument that is annotated as a tensor is none."""
    signature = inspect.signature(fn)
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        if signature.parameters[name].annotation == "Tensor" and not isinstance(value, Tensor):
            raise TypeError(
                f"{fn.__name__} expected a Tensor as {name}, got {type(value).__name__}; convert it with torch.tensor(...)"
            ) from None


def size_by_name(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes sizes one by one or as a sequence, which may be named: `zeros(size=(2, 3))`."""

    @functools.wraps(fn)
    def made(*args: Any, size: Any = None, **kwargs: Any) -> Any:
        return fn(*args, **kwargs) if size is None else fn(*args, size, **kwargs)

    return made
