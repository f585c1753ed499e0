"""Stage 7 - Collective operations: every process calls them with a tensor of the same shape and dtype.

The elements travel from and to the storage of the tensor itself, as numbers and not as pickled objects. A tensor whose elements are not
contiguous, or are on a GPU, goes through a contiguous copy in host memory. Every call first checks, with a message of 16 bytes, that all
processes make the same one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.dtypes import compute_dtype, is_float, is_half
from minitorch.distributed.group import ProcessGroup, current_group
from minitorch.tensor import Tensor, make_tensor
from minitorch.tensor_data import TensorData

REDUCTIONS = ("sum", "mean")
"""The operations of `all_reduce`."""


def broadcast(tensor: Tensor, src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    """Overwrite a tensor by that of one process.

    Args:
        tensor: Of the same shape and dtype on every rank.
        src: The rank whose elements all others get.
        group: The processes that take part; all by default.

    Returns:
        The tensor.

    Raises:
        TypeError: If tensor is not a Tensor.
        ValueError: If src is not a rank.
        RuntimeError: If there is no group, or the processes make different calls or do not take part in time.
    """
    group = group or current_group("broadcast")
    check_tensor(tensor, "broadcast")
    if not isinstance(src, int) or not 0 <= src < group.size:
        raise ValueError(f"broadcast expected src from 0 to {group.size - 1}, got {src!r}; ranks count from 0")
    group.check_same("broadcast", f"broadcast(shape {tensor.shape}, {tensor.dtype.name}, src={src})")
    if group.size > 1 and tensor.numel():
        flat = flatten(tensor)
        group.wait([group.start_broadcast(flat, src)], "broadcast")
        write(tensor, flat)
    return tensor


def all_reduce(tensor: Tensor, op: str = "sum") -> Tensor:
    """Overwrite a tensor by its sum or mean over all processes. The result is the same to the last bit on every rank.

    Args:
        tensor: Of the same shape and dtype on every rank; half precision is summed in float32.
        op: "sum" or "mean".

    Returns:
        The tensor.

    Raises:
        TypeError: If tensor is not a Tensor, or its dtype has no such reduction.
        ValueError: If op is unknown.
        RuntimeError: If there is no group, or the processes make different calls or do not take part in time.
    """
    group = current_group("all_reduce")
    check_tensor(tensor, "all_reduce")
    if op not in REDUCTIONS:
        raise ValueError(f"all_reduce expected op to be 'sum' or 'mean', got {op!r}; divide or compare gathered tensors for others")
    if tensor.dtype.kind == "b" or (op == "mean" and not is_float(tensor.dtype)):
        wanted, remedy = ("numbers", "x.to(minitorch.int64)") if op == "sum" else ("floats", "x.double()")
        raise TypeError(f"all_reduce expected {wanted} for a {op}, got {tensor.dtype.name}; convert: {remedy}")
    group.check_same("all_reduce", f"all_reduce(shape {tensor.shape}, {tensor.dtype.name}, op={op})")
    if group.size > 1 and tensor.numel():
        flat = flatten(tensor)
        total = flat.astype(compute_dtype(flat.dtype)) if is_half(flat.dtype) else flat
        group.wait([group.start_sum(total)], "all_reduce")
        if op == "mean":
            total /= group.size
        write(tensor, total)
    return tensor


def all_gather(tensor: Tensor) -> list[Tensor]:
    """The tensors of all processes.

    Args:
        tensor: Of the same shape and dtype on every rank.

    Returns:
        New constants in the order of the ranks, on the backend of the tensor.

    Raises:
        TypeError: If tensor is not a Tensor.
        RuntimeError: If there is no group, or the processes make different calls or do not take part in time.
    """
    group = current_group("all_gather")
    check_tensor(tensor, "all_gather")
    group.check_same("all_gather", f"all_gather(shape {tensor.shape}, {tensor.dtype.name})")
    own = flatten(tensor)
    found = np.empty((group.size, own.size), own.dtype)
    if group.size > 1 and own.size:
        group.wait([group.start_gather(own, found)], "all_gather")
    else:
        found[0] = own
    return [make_tensor(TensorData(row.copy(), tensor.shape), tensor.backend, False) for row in found]


def barrier() -> None:
    """Wait until every process calls it.

    Raises:
        RuntimeError: If there is no group, or the processes make different calls or do not take part in time.
    """
    current_group("barrier").check_same("barrier", "barrier()")  # which waits for all of them


def check_tensor(tensor: Any, op: str) -> None:
    """Raise TypeError if an argument is not a tensor."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{op} expected a Tensor, got {type(tensor).__name__}; of a Parameter, pass its value")


def flatten(tensor: Tensor) -> np.ndarray:
    """The elements in order, in one dimension: the storage itself if they are contiguous in host memory, else a copy."""
    return tensor._tensor.array().reshape(-1)


def write(tensor: Tensor, flat: np.ndarray) -> None:
    """Write elements into a tensor, which need no copy if they are its storage, and count the write."""
    target = tensor._tensor.array()
    if not np.may_share_memory(target, flat):
        target[...] = flat.reshape(target.shape)
    tensor._tensor.bump_version()
