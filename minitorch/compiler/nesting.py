"""Stage 5 - Tensors in nested lists, tuples and dictionaries: the arguments and the results of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autodiff import LEAF
from minitorch.core.tensor_base import TensorBase
from minitorch.tensor_data import TensorData


class Place(int):
    """The index of a new tensor, in place of that tensor in a result."""


class ArgumentPlace(int):
    """The index of an argument, in place of that argument in a result."""


def fill_places(structure: Any, tensors: Sequence[Any], arguments: Sequence[Any] = ()) -> Any:
    """A structure with its places filled by tensors and arguments."""
    if isinstance(structure, ArgumentPlace):
        return arguments[structure]
    if isinstance(structure, Place):
        return tensors[structure]
    return map_parts(structure, lambda part: fill_places(part, tensors, arguments))


def map_tensors(value: Any, fn: Callable[[Any], Any]) -> Any:
    """A value with fn of every tensor in it, in nested lists, tuples and dictionaries."""
    if isinstance(value, TensorBase):
        return fn(value)
    return map_parts(value, lambda part: map_tensors(part, fn))


def map_parts(value: Any, fn: Callable[[Any], Any]) -> Any:
    """A list, tuple or dictionary of the same class with fn of each of its parts; anything else as it is."""
    if isinstance(value, dict):
        return dict(zip(value, map(fn, value.values()), strict=True))
    if isinstance(value, (list, tuple)):
        return getattr(type(value), "_make", type(value))(map(fn, value))
    return value


COMPUTED = "computed"
"""In a layout, the history of a tensor that was computed with gradients."""


def layout_of(x: Any) -> tuple[Any, ...]:
    """What must be the same for a recording to fit an argument.

    Returns:
        Shape, strides, dtype, history (None for a constant, LEAF, or COMPUTED), backend, and whether its gradient is None.
    """
    data, history = x._tensor, x.history
    kind = history if history is None or history is LEAF else COMPUTED
    return data.shape, data.strides, data.dtype, kind, x.backend, x.grad is None


def outline(value: Any) -> Any:
    """A structure with the identity of every object in it, to tell whether a function has changed it."""
    if isinstance(value, (list, tuple)):
        return type(value), [outline(part) for part in value]
    if isinstance(value, dict):
        return {key: outline(part) for key, part in value.items()}
    return id(value)


def storage_of(x: Any) -> Any:
    """What a recorder knows a tensor's storage by."""
    data = x._tensor
    return data if x.backend.cuda else data._storage


def is_expanded(data: TensorData) -> bool:
    """Whether several elements share a place in memory."""
    return any(size > 1 and stride == 0 for size, stride in zip(data.shape, data.strides, strict=True))


def same_layout(data: TensorData) -> TensorData:
    """New data with the same shape and strides."""
    return TensorData(data._storage[data.offset :].copy(), data.shape, data.strides)


def copy_numbers(target: Any, source: Any) -> None:
    """Copy the numbers of a tensor into another of the same shape."""
    a, b = target._tensor, source._tensor
    if not target.backend.cuda and a.strides == b.strides and len(a._storage) == len(b._storage) == a.size:
        a._storage[:] = b._storage
    else:
        target.detach()[...] = source.detach()
