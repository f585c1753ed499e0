"""Stage 7 - torch.distributed: any Python objects that can be pickled. As in PyTorch, call these only between processes you trust."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minitorch.core.errors import ArgumentError
from minitorch.torch.creation import empty, from_numpy, zeros
from minitorch.torch.distributed.collectives import exchange, root_of
from minitorch.torch.distributed.groups import ProcessGroup, member_of


def _exchange_objects(group: ProcessGroup, op: str, sent: Mapping[int, Any], sources: Sequence[int]) -> dict[int, Any]:
    """Send an object to each of some ranks; returns those that ranks sent: first the lengths, then the bytes."""
    made: dict[int, Any] = {}  # by identity: an object that all get is pickled once
    for value in sent.values():
        if id(value) not in made:
            made[id(value)] = from_numpy(np.frombuffer(pickle.dumps(value), np.uint8).copy())
    parts = {rank: made[id(value)] for rank, value in sent.items()}
    lengths = {rank: zeros(1, dtype=np.dtype(np.int64)) for rank in sources}
    own_lengths = {rank: from_numpy(np.array([part.numel()])) for rank, part in parts.items()}
    exchange(group, op, f"{op}()", own_lengths, lengths)
    found = {rank: empty(int(length.item()), dtype=np.dtype(np.uint8)) for rank, length in lengths.items()}
    exchange(group, op, f"{op}(), the objects", parts, found)
    return {rank: pickle.loads(tensor.numpy().tobytes()) for rank, tensor in found.items()}


def _check_list(op: str, name: str, objects: Any, length: int) -> None:
    """Raise ValueError if an argument is not a list with an item for each process."""
    if not isinstance(objects, list) or len(objects) != length:
        got = f"{len(objects)} items" if isinstance(objects, list) else repr(objects)
        raise ArgumentError(f"{op} expected {name} to be a list of {length} items, one for each rank, got {got}; [None] * {length} is one")


def _refuse_weights_only(op: str, weights_only: bool) -> None:
    """Raise ValueError for an option that restricts what is unpickled."""
    if weights_only:
        raise ArgumentError(f"{op} expected weights_only=False, got True; send tensors with the functions for tensors")


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None, weights_only: bool = False) -> None:
    """Overwrite the items of a list by the objects of all processes.

    Raises:
        ValueError: If the list is too long or too short.
    """
    found = member_of(group, "all_gather_object")
    if found is None:
        return
    _refuse_weights_only("all_gather_object", weights_only)
    _check_list("all_gather_object", "object_list", object_list, found.size())
    everyone = range(found.size())
    objects = _exchange_objects(found, "all_gather_object", dict.fromkeys(everyone, obj), everyone)
    object_list[:] = [objects[rank] for rank in everyone]


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    weights_only: bool = False,
) -> None:
    """Overwrite the items of a list by those of one process; rank 0 by default."""
    op = "broadcast_object_list"
    found = member_of(group, op)
    if found is None:
        return
    _refuse_weights_only(op, weights_only)
    root = root_of(found, op, src, group_src, default=found.ranks[0])
    sent = dict.fromkeys(range(found.size()), object_list) if found.rank() == root else {}
    (items,) = _exchange_objects(found, op, sent, [root]).values()
    if len(items) != len(object_list):
        raise ArgumentError(
            f"{op} expected lists of the same length on every rank, got {len(object_list)} items here, {len(items)} on the source"
        )
    if found.rank() != root:
        object_list[:] = items


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
    weights_only: bool = False,
) -> None:
    """Overwrite the items of a list in one process, rank 0 by default, by the objects of all."""
    found = member_of(group, "gather_object")
    if found is None:
        return
    _refuse_weights_only("gather_object", weights_only)
    root = root_of(found, "gather_object", dst, group_dst, default=found.ranks[0])
    if found.rank() == root:
        _check_list("gather_object", "object_gather_list", object_gather_list, found.size())
    sources = range(found.size()) if found.rank() == root else []
    objects = _exchange_objects(found, "gather_object", {root: obj}, sources)
    if object_gather_list is not None and found.rank() == root:
        object_gather_list[:] = [objects[rank] for rank in sources]


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Sequence[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
    weights_only: bool = False,
) -> None:
    """Put this process's part of a list in one process, rank 0 by default, into the first item of another."""
    op = "scatter_object_list"
    found = member_of(group, op)
    if found is None:
        return
    _refuse_weights_only(op, weights_only)
    root, sent = root_of(found, op, src, group_src, default=found.ranks[0]), {}
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ArgumentError(f"{op} expected a list of at least one item for the result, got {scatter_object_output_list!r}; [None] is one")
    if found.rank() == root:
        items = None if scatter_object_input_list is None else list(scatter_object_input_list)
        _check_list(op, "scatter_object_input_list", items, found.size())
        sent = dict(enumerate(items or []))
    (scatter_object_output_list[0],) = _exchange_objects(found, op, sent, [root]).values()
