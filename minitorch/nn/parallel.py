"""Stage 7 - DataParallel, and DistributedDataParallel: one model in several processes, each on its own part of the batch.

The gradients are averaged while the backward pass still runs. It computes those of the last layers first; as soon as those of a bucket of
parameters are complete, MPI starts to sum the bucket over the processes. When backward ends, the sums are divided and replace the
gradients, so that every process makes the same step of the optimizer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from minitorch.core.context import grad_mode
from minitorch.core.dtypes import compute_dtype
from minitorch.core.gradients import Hook
from minitorch.core.recording import refuse
from minitorch.distributed.collectives import broadcast
from minitorch.distributed.group import ProcessGroup, current_group
from minitorch.distributed.staging import copy_to_host, host_buffer
from minitorch.nn.module import Module, Node
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.torch.cuda.devices import is_available as gpu_is_available


class DataParallel(Module):
    """A module whose batches PyTorch distributes over GPUs; here all of them go to one device.

    Args:
        module: The module; it is the child `module`, which the names of a state dict begin with.
        device_ids: The GPUs, at most one; without a GPU they are ignored, as in PyTorch.
        output_device: The GPU of the result.
        dim: The dimension of the batches.

    Raises:
        ValueError: If there are several GPUs.
    """

    def __init__(self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        devices = list(device_ids or []) if gpu_is_available() else []
        if len(devices) > 1:
            raise ValueError(f"DataParallel expected at most one device, got {len(devices)}; leave device_ids out")
        self.module, self.device_ids, self.output_device, self.dim = module, devices, output_device, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)


# Several processes

NAME = "DistributedDataParallel"


class DistributedDataParallel(Module):
    """A module that several processes train together, each on a part of every batch.

    Parameters and buffers begin as those of rank 0. After `backward()` every rank has the same gradients: the mean of those of the ranks,
    each weighted by its number of examples. If the loss of each rank is the mean over its examples, these are the gradients of the mean
    over all examples, also where one rank has fewer. A rank without examples counts as nothing; its loss may be NaN.

    BatchNorm normalizes by the statistics of a rank's own examples, as in PyTorch, so a model with it is not trained exactly as by one
    process; its running statistics are those of rank 0, whose buffers all get before every call that records gradients.

    The loss must be computed from the output. A penalty on the parameters may be added to it, after it: `loss + penalty`.

    Args:
        module: The module; its names begin with "module." in the state dict.
        device_ids: The GPU of the model, at most one; nothing on the CPU.
        output_device: Accepted for PyTorch.
        dim: The dimension of the first input that counts its examples.
        broadcast_buffers: Whether all get the buffers of rank 0 before every call; None means True.
        init_sync: Whether parameters and buffers begin as those of rank 0.
        process_group: The processes; all by default.
        bucket_cap_mb: Size of the buckets in MiB; 25 by default. Small ones start earlier, large ones need fewer messages.
        find_unused_parameters: Whether parameters may have no gradient on some ranks, where it counts as 0, or on all, where it stays None.
        check_reduction: Accepted for PyTorch.
        gradient_as_bucket_view: Accepted for PyTorch, which saves memory by it.
        static_graph: Allows parameters without a gradient, too.
        batch_dim: In place of dim; None weights all ranks equally, as PyTorch does.

    Raises:
        TypeError: If module is not a Module.
        ValueError: If bucket_cap_mb is not above 0, or device_ids has several, or one on the CPU.
        RuntimeError: If there is no process group, no parameter needs a gradient, or the ranks have different parameters or buffers.

    Source: Li et al. 2020, arXiv:2006.15704.
    """

    def __init__(
        self,
        module: Node,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        *,
        batch_dim: int | str | None = "dim",
    ) -> None:
        super().__init__()
        if not isinstance(module, Node):
            raise TypeError(f"{NAME} expected a Module, got {type(module).__name__}; pass the model itself")
        bucket_cap_mb = 25.0 if bucket_cap_mb is None else bucket_cap_mb
        if not bucket_cap_mb > 0:
            raise ValueError(f"{NAME} expected bucket_cap_mb > 0, got {bucket_cap_mb}; 25 is a good start")
        _check_devices(module, device_ids)
        self.module, self.bucket_cap_mb, self.dim = module, bucket_cap_mb, dim
        self.batch_dim = dim if isinstance(batch_dim, str) else batch_dim
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers is not False, find_unused_parameters or static_graph
        self._common = getattr(process_group, "engine", process_group) or current_group(NAME)
        self._common.check_same(NAME, f"{NAME}({type(module).__name__})")
        self._group = self._common.duplicate()  # no other operation can match the messages of a backward pass
        self._reducer: _Reducer | None = None
        self._synchronizes, self._copies = True, init_sync
        self._prepare()
        self._copies = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module. If gradients are recorded, every rank must call it equally often.

        Raises:
            TypeError: If there is no tensor among the inputs whose examples could be counted.
            RuntimeError: If the backward pass of the last call did not reach all parameters.
        """
        if self._group.size == 1 or not grad_mode.enabled:
            return self.module(*inputs, **kwargs)
        refuse(f"{NAME}, whose messages are Python,")
        reducer = self._prepare()
        reducer.averaging = self._synchronizes
        if not self._synchronizes:
            return self.module(*inputs, **kwargs)
        if self.broadcast_buffers:
            for _, value in self._module_buffers():
                broadcast(value, group=self._common)
        examples = 1 if self.batch_dim is None else self._examples([*inputs, *kwargs.values()], self.batch_dim)
        return reducer.mark(self.module(*inputs, **kwargs), examples)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Add gradients up on each rank for calls inside of the block; those of the first call after it are averaged with them.

        The sum counts for as many examples as that last call has.
        """
        self._synchronizes, before = False, self._synchronizes
        try:
            yield
        finally:
            self._synchronizes = before

    def extra_repr(self) -> str:
        return f"processes={self._group.size}"

    def _examples(self, inputs: Sequence[Any], batch_dim: int) -> int:
        """Number of examples of the first input that is a tensor."""
        first = next((x for x in inputs if isinstance(x, Tensor)), None)
        if first is None or not -first.dims <= batch_dim < first.dims:
            got = "no tensor" if first is None else f"shape {first.shape}"
            raise TypeError(
                f"{NAME} expected a first input with examples in dimension {batch_dim}, got {got}; "
                "pass batch_dim=None to weight all ranks equally"
            )
        return first.shape[batch_dim]

    def _prepare(self) -> _Reducer:
        """The reducer of the current parameters. A new one is made where they were replaced or converted, as by `to`."""
        trained = [(name, parameter.value) for name, parameter in self._module_parameters() if parameter.value.requires_grad]
        if self._reducer is not None:
            self._reducer.check_finished()
            if self._reducer.averages([value for _, value in trained]):
                return self._reducer
            self._reducer.remove()
        if self._group.size > 1:
            names = {id(value) for _, value in trained}
            named = [(name, parameter.value) for name, parameter in self._module_parameters()] + list(self._module_buffers())
            common = self._common
            common.check_same(NAME, f"{len(named)} parameters and buffers")
            for name, value in named:
                kind = "trained" if id(value) in names else "constant"
                common.check_same(NAME, f"{name} of shape {tuple(value.shape)}, {value.dtype.name}, {kind}")
                if self._copies:
                    broadcast(value, group=common)
        self._reducer = _Reducer(self._group, trained, self.bucket_cap_mb, self.find_unused_parameters)
        return self._reducer

    def _module_parameters(self) -> Sequence[tuple[str, Any]]:
        """The parameters of the wrapped module with their names in it."""
        return [(name.removeprefix("module."), parameter) for name, parameter in self.named_parameters()]

    def _module_buffers(self) -> Sequence[tuple[str, Tensor]]:
        """The buffers of the wrapped module with their names in it."""
        return [(name.removeprefix("module."), value) for name, value in self.named_buffers()]


def _check_devices(module: Node, device_ids: Sequence[Any] | None) -> None:
    """Raise an error if a model has nothing to train, or is not on the one device that is given."""
    values = [parameter.value for parameter in module.parameters()]
    if not any(value.requires_grad for value in values):
        raise RuntimeError(
            f"{NAME} expected a parameter that requires a gradient, got {len(values)} parameters without; call the module itself"
        )
    if device_ids and (len(device_ids) > 1 or not values[0].backend.cuda):
        where = "a GPU" if values[0].backend.cuda else "the CPU"
        raise ValueError(
            f"{NAME} expected one device or none, and none on the CPU, got {list(device_ids)} for a model on {where}; leave it out"
        )


class _Bucket:
    """Gradients that are summed over the processes in one message.

    Args:
        members: Indices of the parameters.
        values: All parameters.

    Attributes:
        buffer: The gradients one after the other, times the number of examples.
        places: For each index the part of the buffer.
        missing: Indices whose gradient has not come yet in this backward pass.
        request: The request of MPI, once the sum has started.
    """

    def __init__(self, members: Sequence[int], values: Sequence[Tensor]) -> None:
        first = values[members[0]]
        ends = np.cumsum([values[index].numel() for index in members]).tolist()
        self.buffer = host_buffer(ends[-1], compute_dtype(first.dtype), first.backend.cuda)
        starts = [0, *ends[:-1]]
        self.places = {index: self.buffer[start:end] for index, start, end in zip(members, starts, ends, strict=True)}
        self.missing, self.request = set(members), None


class _Reducer:
    """Averages the gradients of parameters over the processes.

    Hooks copy each gradient into its bucket. The buckets are sent in one order on all ranks, the order in which MPI matches messages. The
    end of the backward pass shows itself by `_end`, a leaf that every output depends on: the engine visits it after all parameters that
    only the outputs depend on.

    Args:
        group: The processes, with a communicator of its own.
        named: Names and values of the parameters.
        cap_mb: Size of a bucket in MiB.
        allow_unused: Whether parameters may have no gradient.

    Attributes:
        averaging: Whether the next backward pass averages; otherwise the gradients stay on their rank, until one does.
    """

    def __init__(self, group: ProcessGroup, named: Sequence[tuple[str, Tensor]], cap_mb: float, allow_unused: bool = False) -> None:
        self.averaging, self._allow_unused = True, allow_unused
        self._unsynchronized: set[int] = set()  # indices of parameters whose gradients are this rank's own
        self._group, self._names, self._values = group, [name for name, _ in named], [value for _, value in named]
        self._state = [(id(x), x.dtype, x.backend) for x in self._values]
        self._buckets = [_Bucket(members, self._values) for members in _assign(self._values, cap_mb * 2**20)] if group.size > 1 else []
        self._bucket_of = {index: bucket for bucket in self._buckets for index in bucket.places}
        self._hooks: list[Hook] = [self._values[i].register_hook(partial(self._collect, i)) for i in self._bucket_of]
        self._end: Tensor | None = None
        self._begin()

    def _begin(self) -> None:
        """Reset the state of a backward pass."""
        self._examples: int | None = None
        self._before: dict[int, Tensor | None] = {}  # what each parameter had accumulated
        self._sent = 0
        for bucket in self._buckets:
            bucket.missing, bucket.request = set(bucket.places), None

    def averages(self, values: Sequence[Tensor]) -> bool:
        """Whether these are the parameters, with the same dtypes and backends."""
        return [(id(x), x.dtype, x.backend) for x in values] == self._state

    def remove(self) -> None:
        """Remove the hooks."""
        for hook in self._hooks:
            hook.remove()

    def check_finished(self) -> None:
        """Raise RuntimeError if gradients came, but the end of the backward pass did not."""
        if self._before:
            raise RuntimeError(
                f"{NAME} expected the last backward pass to end, but it stopped after {len(self._before)} of {len(self._names)} "
                "parameters; call backward() on a loss computed from the output, not minitorch.grad"
            )

    def mark(self, output: Any, examples: int) -> Any:
        """The output, recorded so that its backward pass announces the number of examples and depends on `_end`."""
        if isinstance(output, dict):
            return {key: self.mark(value, examples) for key, value in output.items()}
        if isinstance(output, (tuple, list)):
            parts = [self.mark(value, examples) for value in output]
            return output._make(parts) if hasattr(output, "_make") else type(output)(parts)  # type: ignore[attr-defined]  # of a named tuple
        if not isinstance(output, Tensor) or output.history is None:
            return output
        if self._end is None or self._end.backend is not output.backend:
            self._end = output.zeros((1,)).requires_grad_()
            self._end.register_hook(self._finish)
        return _Mark.apply(self._end, output, self, examples)

    def announce(self, examples: int) -> None:
        """Take the number of examples of this backward pass."""
        if self._examples not in (None, examples):
            raise RuntimeError(
                f"{NAME} expected calls with equally many examples before one backward pass, got {self._examples} and {examples}; "
                "call backward() after each, or pass batch_dim=None"
            )
        self._examples = examples

    def _collect(self, index: int, grad: Tensor) -> None:
        """Copy a gradient into its bucket, and start the sums of full buckets."""
        if grad_mode.enabled:
            raise RuntimeError(f"{NAME} expected backward() without create_graph=True; differentiate twice through its `module`")
        if not self.averaging:
            self._unsynchronized.add(index)
            return
        bucket, value = self._bucket_of[index], self._values[index]
        place, weight = bucket.places[index], self._weight()
        own = value.grad if index in self._unsynchronized else None
        copy_to_host(grad if own is None else grad + own, place)
        if weight == 0:
            place[...] = 0  # not 0 · NaN
        elif weight != 1:
            place *= weight
        self._before[index] = value.grad if own is None else None
        bucket.missing.discard(index)
        self._send()

    def _weight(self) -> int:
        """The number of examples; 1 if the loss did not use the output."""
        return 1 if self._examples is None else self._examples

    def _send(self, all_of_them: bool = False) -> None:
        """Start the sums of the next buckets that are full, or of all that remain, and let those under way progress."""
        while self._sent < len(self._buckets) and (all_of_them or not self._buckets[self._sent].missing):
            bucket = self._buckets[self._sent]
            for index in bucket.missing:
                bucket.places[index][...] = 0
            bucket.request = self._group.start_sum(bucket.buffer)
            self._sent += 1
        for bucket in self._buckets[: self._sent]:
            bucket.request.Test()  # type: ignore[union-attr]  # MPI works on a message while it is asked about it

    def _finish(self, grad: Tensor) -> None:
        """At the end of backward: wait for the sums, and put the means into the parameters."""
        absent = [index for index in self._bucket_of if index not in self._before]
        for index in absent if self._allow_unused else ():
            self._add_unused(index)
        self._send(all_of_them=True)  # also on a rank that lacks gradients, so that no other waits for it
        counts = np.array([self._weight(), len(absent), *(int(index in self._before) for index in self._bucket_of)], np.int64)
        requests = [self._group.start_sum(counts), *[bucket.request for bucket in self._buckets]]
        self._group.wait(requests, "the average of the gradients")
        if counts[1] and not self._allow_unused:
            found = self._group.gather_texts(", ".join(self._names[index] for index in absent), NAME)
            listed = "".join(f"\n  rank {rank}: {names}" for rank, names in enumerate(found) if names)
            self._begin()
            raise RuntimeError(
                f"{NAME} expected a gradient for every parameter, got none from backward for{listed}\n"
                "use all of them in forward and in the loss, pass find_unused_parameters=True, or freeze them with requires_grad_(False); "
                "add a penalty after the loss: loss + penalty"
            )
        for used, (index, bucket) in zip(counts[2:], self._bucket_of.items(), strict=True):
            if not used:  # on no rank
                continue
            value, old = self._values[index], self._before[index] if index in self._before else self._values[index].grad
            mean = (bucket.places[index] / max(int(counts[0]), 1)).astype(value.dtype, copy=False)
            new = value._like(TensorData(mean, value.shape))
            value.grad = new if old is None else old + new
        self._unsynchronized.clear()
        self._begin()

    def _add_unused(self, index: int) -> None:
        """Take what a parameter without a gradient in this backward pass accumulated before on this rank alone."""
        value = self._values[index]
        if index in self._unsynchronized and value.grad is not None:
            self._collect(index, value._like(TensorData.zeros(value.shape, value.dtype)))


class _Mark(Function):
    """An output of the module. Its backward pass comes before those of the parameters."""

    @staticmethod
    def forward(ctx: Any, end: Tensor, output: Tensor, reducer: _Reducer, examples: int) -> Tensor:
        ctx.reducer, ctx.examples = reducer, examples
        return output.detach()

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[None, Tensor]:
        ctx.reducer.announce(ctx.examples)
        return None, grad_output  # the first argument is visited last: the engine orders a graph depth first


def _assign(values: Sequence[Tensor], cap: float) -> list[list[int]]:
    """Indices of the parameters of each bucket, in the order in which backward usually computes their gradients: the last first.

    Args:
        values: The parameters.
        cap: Bytes at which a bucket is full.
    """
    buckets: list[list[int]] = []
    open_buckets: dict[Any, list[int]] = {}  # one for each dtype and backend
    sizes: dict[Any, float] = {}
    for index in reversed(range(len(values))):
        value = values[index]
        kind, size = (compute_dtype(value.dtype), value.backend), value.numel() * compute_dtype(value.dtype).itemsize
        if kind not in open_buckets or sizes[kind] + size > cap:
            open_buckets[kind], sizes[kind] = [], 0.0
            buckets.append(open_buckets[kind])
        open_buckets[kind].append(index)
        sizes[kind] += size
    return buckets
