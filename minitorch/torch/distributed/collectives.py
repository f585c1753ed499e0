"""Stage 7 - torch.distributed: collective operations, which every process of a group calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from minitorch.core.dtypes import compute_dtype, is_float
from minitorch.core.errors import ArgumentError, DtypeError
from minitorch.distributed.collectives import check_tensor, flatten, write
from minitorch.tensor import Tensor
from minitorch.torch.distributed.groups import ProcessGroup, ReduceOp, Work, get_group_rank, member_of

BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def start(
    group: ProcessGroup, op: str, call: str, begin: Callable[[], Sequence[Any]], finish: Callable[[], None], async_op: bool
) -> Work | None:
    """Run an operation, or start it and return what to wait for.

    Args:
        group: The processes.
        op: Its name.
        call: Description of the call, which must be the same on every rank. That of an operation to wait for later is not compared.
        begin: Starts it and returns the requests.
        finish: Writes the result.
        async_op: Whether to return before it is complete.
    """
    if not async_op:
        group.engine.check_same(op, call)
    work = Work(group.engine, begin() if group.size() > 1 else [], finish, op)
    if async_op:
        return work
    work.wait()
    return None


def exchange(
    group: ProcessGroup, op: str, call: str, sent: Mapping[int, Any], received: Mapping[int, Any], async_op: bool = False
) -> Work | None:
    """Send a tensor to each of some ranks of the group, this one too, and overwrite some tensors by those that ranks send."""
    parts = {rank: flatten(tensor) for rank, tensor in sent.items()}
    places = {rank: np.empty(tensor.numel(), tensor.dtype) for rank, tensor in received.items()}
    own = group.rank()
    if own in places:
        places[own][...] = parts[own]

    def others(arrays: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        return {rank: array for rank, array in arrays.items() if rank != own}

    def finish() -> None:
        for rank, tensor in received.items():
            write(tensor, places[rank])

    return start(group, op, call, lambda: group.engine.start_exchange(others(parts), others(places)), finish, async_op)


def root_of(group: ProcessGroup, op: str, rank: int | None, group_rank: int | None, default: int | None = None) -> int:
    """The number in the group of src or dst, which count all processes, or of group_src or group_dst, which count in the group.

    Raises:
        ValueError: If there are both or none, or it is not in the group.
    """
    if rank is not None and group_rank is not None:
        raise ArgumentError(f"{op} expected a rank among all processes or one in the group, got both, {rank} and {group_rank}; pass one")
    if group_rank is not None:
        if not 0 <= group_rank < group.size():
            raise ArgumentError(f"{op} expected a rank from 0 to {group.size() - 1}, got {group_rank}; ranks count from 0")
        return group_rank
    if rank is None and default is None:
        raise ArgumentError(f"{op} expected a rank, got None; pass the number of a process")
    wanted = default if rank is None else rank
    try:
        return get_group_rank(group, wanted)  # type: ignore[arg-type]  # not None
    except ValueError as error:
        raise ArgumentError(f"{op} {error}") from None


def _list_for(op: str, name: str, tensors: Any, group: ProcessGroup, like: Tensor | None) -> list[Tensor]:
    """A list with a tensor for each process, all with the number of elements and the dtype of another tensor.

    Raises:
        TypeError: If they are not tensors.
        ValueError: If they are too many or too few, or differ.
    """
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{op} expected {name} to be a list of tensors, got {type(tensors).__name__}; one for each rank")
    if len(tensors) != group.size():
        raise ArgumentError(f"{op} expected {name} to have {group.size()} tensors, got {len(tensors)}; one for each rank")
    for tensor in tensors:
        check_tensor(tensor, op)
        if like is not None and (tensor.numel(), tensor.dtype) != (like.numel(), like.dtype):
            raise ArgumentError(
                f"{op} expected {name} to have tensors of {like.numel()} elements of {like.dtype.name}, got {tuple(tensor.shape)} of "
                f"{tensor.dtype.name}; make them with torch.empty_like"
            )
    return list(tensors)


def _describe(op: str, tensor: Tensor, *more: object) -> str:
    """Description of a call, which must be the same on every rank."""
    return f"{op}({', '.join([f'{tensor.numel()} elements of {tensor.dtype.name}', *map(str, more)])})"


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Work | None:
    """Wait until every process calls it."""
    found = member_of(group, "barrier")
    if found is None:
        return None
    token = np.zeros(1, np.int64)
    return start(found, "barrier", "barrier()", lambda: [found.engine.start_sum(token)], lambda: None, async_op)


# Reductions


def _reduced(op: str, tensor: Any, operation: Any) -> np.ndarray:
    """The elements in the dtype in which they are reduced: the storage itself, where it can be.

    Raises:
        TypeError: If tensor is not a tensor, or has no such reduction.
    """
    check_tensor(tensor, op)
    if not isinstance(operation, ReduceOp):
        raise TypeError(f"{op} expected op to be one of torch.distributed.ReduceOp, got {operation!r}; such as ReduceOp.SUM")
    kind = tensor.dtype.kind
    if kind == "b" and operation not in BITWISE:
        raise DtypeError(f"{op} expected numbers for {operation.name}, got bool; convert: x.to(torch.int64)")
    if operation is ReduceOp.AVG and not is_float(tensor.dtype):
        raise DtypeError(f"{op} expected floats for AVG, got {tensor.dtype.name}; convert: x.float()")
    if operation in BITWISE and is_float(tensor.dtype):
        raise DtypeError(f"{op} expected integers or bools for {operation.name}, got {tensor.dtype.name}; convert: x.to(torch.int64)")
    flat = flatten(tensor)
    return flat.view(np.uint8) if kind == "b" else flat.astype(compute_dtype(flat.dtype), copy=False)


def _engine_name(operation: ReduceOp) -> str:
    """The operation as the engine calls it."""
    return "SUM" if operation is ReduceOp.AVG else operation.value


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Overwrite a tensor by its sum over all processes, or another reduction. The result has the same bits on every rank.

    Raises:
        TypeError: If tensor is not a tensor, or its dtype has no such reduction.
        ValueError: If there is no group.
        RuntimeError: If the processes make different calls or do not take part in time.
    """
    return _reduce_to(tensor, op, group, async_op, None)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Overwrite the tensor of one process by the sum over all, or another reduction; those of the others stay as they are."""
    found = member_of(group, "reduce")
    return None if found is None else _reduce_to(tensor, op, group, async_op, root_of(found, "reduce", dst, group_dst))


def _reduce_to(tensor: Tensor, op: ReduceOp, group: Any, async_op: bool, dst: int | None) -> Work | None:
    """Reduce tensors and write the result on one rank, or on all."""
    name = "all_reduce" if dst is None else "reduce"
    found = member_of(group, name)
    if found is None:
        return None
    total = _reduced(name, tensor, op)
    if dst is not None:
        total = total.copy()

    def finish() -> None:
        if dst in (None, found.rank()):
            result = total / found.size() if op is ReduceOp.AVG else total
            write(tensor, result.view(tensor.dtype) if tensor.dtype.kind == "b" else result)

    call = _describe(name, tensor, op.name, *([] if dst is None else [f"dst={dst}"]))
    return start(found, name, call, lambda: [found.engine.start_sum(total, _engine_name(op))], finish, async_op)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce lists of tensors over all processes; rank r gets the reduction of the tensors with index r."""
    found = member_of(group, "reduce_scatter")
    if found is None:
        return None
    check_tensor(output, "reduce_scatter")
    tensors = _list_for("reduce_scatter", "input_list", input_list, found, output)
    total = np.concatenate([_reduced("reduce_scatter", tensor, op) for tensor in tensors])

    def finish() -> None:
        own = total.reshape(found.size(), -1)[found.rank()]
        result = own / found.size() if op is ReduceOp.AVG else own
        write(output, result.view(output.dtype) if output.dtype.kind == "b" else result)

    call = _describe("reduce_scatter", output, op.name)
    return start(found, "reduce_scatter", call, lambda: [found.engine.start_sum(total, _engine_name(op))], finish, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor over all processes; rank r gets part r of it."""
    found = member_of(group, "reduce_scatter_tensor")
    return None if found is None else reduce_scatter(output, _parts("reduce_scatter_tensor", input, found), op, group, async_op)


def _parts(op: str, tensor: Tensor, group: ProcessGroup, sizes: Sequence[int] | None = None) -> list[Tensor]:
    """Views of the parts of a tensor along its first dimension, one for each rank.

    Raises:
        TypeError: If it is not a tensor.
        ValueError: If it cannot be divided so, or its elements are not contiguous.
    """
    check_tensor(tensor, op)
    if not tensor.is_contiguous():
        raise ArgumentError(f"{op} expected a contiguous tensor, got strides {tensor.stride()}; pass x.contiguous()")
    rows = tensor.shape[0] if tensor.dims else 1
    if sizes is None:
        if tensor.numel() % group.size():
            raise ArgumentError(f"{op} expected a tensor that {group.size()} ranks can share evenly, got shape {tuple(tensor.shape)}")
        rows, sizes = tensor.numel(), [tensor.numel() // group.size()] * group.size()
    if sum(sizes) != rows or len(sizes) != group.size():
        raise ArgumentError(f"{op} expected {group.size()} sizes with the sum {rows}, got {list(sizes)}; one for each rank")
    flat, row = tensor.detach().view(-1), tensor.numel() // max(rows, 1)
    ends = [0, *np.cumsum(sizes).tolist()]
    return [flat[start * row : end * row] for start, end in pairwise(ends)]


# Exchanges


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Overwrite a tensor by that of one process."""
    found = member_of(group, "broadcast")
    if found is None:
        return None
    check_tensor(tensor, "broadcast")
    root = root_of(found, "broadcast", src, group_src)
    everyone = range(found.size())
    sent, received = (dict.fromkeys(everyone, tensor), {}) if found.rank() == root else ({}, {root: tensor})
    return exchange(found, "broadcast", _describe("broadcast", tensor, f"src={root}"), sent, received, async_op)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Overwrite the tensors of a list by those of all processes, in the order of the ranks."""
    found = member_of(group, "all_gather")
    if found is None:
        return None
    check_tensor(tensor, "all_gather")
    places = _list_for("all_gather", "tensor_list", tensor_list, found, tensor)
    sent = dict.fromkeys(range(found.size()), tensor)
    return exchange(found, "all_gather", _describe("all_gather", tensor), sent, dict(enumerate(places)), async_op)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Overwrite a tensor by those of all processes, one after the other along the first dimension."""
    found = member_of(group, "all_gather_into_tensor")
    if found is None:
        return None
    return all_gather(_parts("all_gather_into_tensor", output_tensor, found), input_tensor, group, async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Overwrite the tensors of a list in one process by those of all; dst is rank 0 by default."""
    found = member_of(group, "gather")
    if found is None:
        return None
    check_tensor(tensor, "gather")
    root = root_of(found, "gather", dst, group_dst, default=found.ranks[0])
    received = {}
    if found.rank() == root:
        received = dict(enumerate(_list_for("gather", "gather_list", gather_list, found, tensor)))
    elif gather_list:
        raise ArgumentError(f"gather expected no gather_list except on rank {found.ranks[root]}, got {len(gather_list)} tensors; pass None")
    return exchange(found, "gather", _describe("gather", tensor, f"dst={root}"), {root: tensor}, received, async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Overwrite the tensor of every process by its part of a list in one process; src is rank 0 by default."""
    found = member_of(group, "scatter")
    if found is None:
        return None
    check_tensor(tensor, "scatter")
    root = root_of(found, "scatter", src, group_src, default=found.ranks[0])
    sent = {}
    if found.rank() == root:
        sent = dict(enumerate(_list_for("scatter", "scatter_list", [] if scatter_list is None else scatter_list, found, tensor)))
    elif scatter_list:
        raise ArgumentError(
            f"scatter expected no scatter_list except on rank {found.ranks[root]}, got {len(scatter_list)} tensors; pass None"
        )
    return exchange(found, "scatter", _describe("scatter", tensor, f"src={root}"), sent, {root: tensor}, async_op)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False) -> Work | None:
    """Send tensor r of a list to rank r, and overwrite tensor r of another by that of rank r."""
    found = member_of(group, "all_to_all")
    if found is None:
        return None
    received = _list_for("all_to_all", "output_tensor_list", output_tensor_list, found, None)
    sent = _list_for("all_to_all", "input_tensor_list", input_tensor_list, found, None)
    return exchange(found, "all_to_all", "all_to_all()", dict(enumerate(sent)), dict(enumerate(received)), async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send part r of a tensor to rank r, and overwrite part r of another by that of rank r; the parts are equal by default."""
    found = member_of(group, "all_to_all_single")
    if found is None:
        return None
    received = _parts("all_to_all_single", output, found, output_split_sizes or None)
    return all_to_all(received, _parts("all_to_all_single", input, found, input_split_sizes or None), group, async_op)
