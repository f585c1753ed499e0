"""Stage 5 - Tensors in nested lists, tuples and dictionaries: the arguments and the results of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.core.tensor_base import TensorBase
from minitorch.tensor_data import TensorData


class Place(int):
    """Where a tensor stands in a result."""


def fill_places(structure: Any, tensors: Sequence[Any]) -> Any:
    """A structure with tensors at its places."""
    if isinstance(structure, Place):
        return tensors[structure]
    if isinstance(structure, (list, tuple)):
        parts = [fill_places(part, tensors) for part in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)
    if isinstance(structure, dict):
        return {key: fill_places(part, tensors) for key, part in structure.items()}
    return structure


def map_tensors(value: Any, fn: Callable[[Any], Any]) -> Any:
    """A value with fn of every tensor in it, in nested lists, tuples and dictionaries."""
    if isinstance(value, TensorBase):
        return fn(value)
    if isinstance(value, (list, tuple)):
        parts = [map_tensors(part, fn) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: map_tensors(part, fn) for key, part in value.items()}
    return value


def layout_of(x: Any) -> tuple[Any, ...]:
    """What must be the same for a recording to fit an argument: shape, strides, dtype, whether it is a constant, and its backend."""
    data = x._tensor
    return data.shape, data.strides, data.dtype, x.history is None, x.backend


def storage_of(x: Any) -> Any:
    """What a recorder knows a tensor's storage by."""
    data = x._tensor
    return data if x.backend.cuda else data._storage


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
