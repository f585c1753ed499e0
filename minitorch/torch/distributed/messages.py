"""Stage 7 - torch.distributed: messages from one process to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.core.errors import ArgumentError
from minitorch.distributed.collectives import check_tensor, flatten, write
from minitorch.tensor import Tensor
from minitorch.torch.distributed.collectives import root_of
from minitorch.torch.distributed.groups import ProcessGroup, Work, member_of


def _other(group: ProcessGroup, op: str, rank: int | None, group_rank: int | None) -> int:
    """The number in the group of the other process. Raises ValueError if it is this one."""
    found = root_of(group, op, rank, group_rank)
    if found == group.rank():
        raise ArgumentError(f"{op} expected the rank of another process, got {group.ranks[found]}, which is this one; copy with clone()")
    return found


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """Start to send a tensor to a process, which must not change before it is sent. `recv` there names the same tag.

    Raises:
        TypeError: If tensor is not a tensor.
        ValueError: If there is no group, or dst is this process.
    """
    found = member_of(group, "isend")
    if found is None:
        return None
    check_tensor(tensor, "isend")
    request = found.engine.start_send(flatten(tensor), _other(found, "isend", dst, group_dst), tag)
    return Work(found.engine, [request], lambda: None, "isend")


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> Work | None:
    """Start to overwrite a tensor by one that a process sends, or that any sends if src is None.

    Raises:
        TypeError: If tensor is not a tensor.
        ValueError: If there is no group, or src is this process.
    """
    found = member_of(group, "irecv")
    if found is None:
        return None
    check_tensor(tensor, "irecv")
    source = None if src is None and group_src is None else _other(found, "irecv", src, group_src)
    place = np.empty(tensor.numel(), tensor.dtype)
    request = found.engine.start_receive(place, source, tag)
    return Work(found.engine, [request], lambda: write(tensor, place), "irecv")


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a process."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Overwrite a tensor by one that a process sends; returns its rank, -1 if this process is not in the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    found = member_of(group, "recv")
    return found.ranks[work.source_rank()]  # type: ignore[union-attr]  # or there were no work


class P2POp:
    """A message for `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: What is sent or overwritten.
        peer: Rank of the other process.
        group: The processes; all by default.
        tag: Which messages match.
        group_peer: In place of peer: its number in the group.

    Raises:
        ValueError: If op is neither.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ArgumentError(f"P2POp expected op to be torch.distributed.isend or irecv, got {op!r}")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start several messages; returns what to wait for.

    Raises:
        TypeError: If one is not a P2POp.
    """
    for each in p2p_op_list:
        if not isinstance(each, P2POp):
            raise TypeError(f"batch_isend_irecv expected a list of P2POp, got {type(each).__name__} in it")
    started = [each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer) for each in p2p_op_list]
    return [work for work in started if work is not None]
